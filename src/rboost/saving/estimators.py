"""Fitted classifiers as records: those of rboost, and what stands for those of scikit-learn.

A classifier has its parameters in a file, and the attributes of its fit that predictions need;
those of training rows stay behind. A forest that was calibrated is read as arrays that predict the same
(:class:`SavedForest`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags

from rboost._typing import Floats
from rboost._validation import check_parameters
from rboost.engines.pool import BoostedLearners, VotingTrees
from rboost.learners import RobustLogisticRegression
from rboost.model import AdaRBoostClassifier, RBoostClassifier
from rboost.model.fit import StackedModel
from rboost.saving.kinds import (
    CALIBRATIONS,
    ENSEMBLES,
    NOISE,
    Unfitted,
    n_features_of,
    width_of,
    with_settings,
)
from rboost.saving.schema import (
    STAND_INS,
    Array,
    Classes,
    Each,
    Field,
    OrNone,
    Record,
    Settings,
    Sizes,
    Texts,
    declare,
    flag,
    floats,
    number,
    text,
    whole,
)
from rboost.wrappers import NoiseCalibratedClassifier

# Parameters of the machine and of how a fit shows itself are not kept.
OF_THE_MACHINE = ("n_jobs", "verbose", "estimator")
MATRIX, INTERVAL = floats("classes", "classes"), OrNone(floats(2, "classes", "classes"))


def _declare_estimator(
    name: str,
    made_of: Any,
    make: Callable[..., Any] | None = None,
    is_sound: Callable[[Any, Sizes], Any] = lambda made, sizes: True,
) -> Callable[..., None]:
    """Declare an estimator; what is returned takes the attributes that are saved.

    Its parameters are saved too, and what is known of the columns.
    """

    def with_attributes(**attributes: Field) -> None:
        fields: dict[str, Field] = {
            "settings": Settings(),
            "classes_": Classes(),
            "n_features_in_": whole(1, "columns"),
            "feature_names_in_": OrNone(Texts("columns")),
            **attributes,
        }

        def take(model: Any) -> dict[str, Any]:
            settings = model.get_params(deep=False).items()
            kept = {own: value for own, value in settings if own not in OF_THE_MACHINE}
            return {own: getattr(model, own, None) for own in fields} | {"settings": kept}

        def restored(**fitted: Any) -> Any:
            return _restored(made_of(), **fitted)

        declare(name, made_of, take=take, make=make or restored, is_sound=is_sound)(**fields)

    return with_attributes


def _restored(
    model: Any, settings: dict[str, Any], feature_names_in_: tuple[str, ...] | None, **fitted: Any
) -> Any:
    """A model with what is known after a fit; public attributes of None are left out."""
    check_parameters(with_settings(model, settings), getattr(model, "_requirements", {}))
    known = {own: value for own, value in fitted.items() if own[-1] != "_" or value is not None}
    if feature_names_in_ is not None:
        known["feature_names_in_"] = np.array(feature_names_in_, dtype=object)
    vars(model).update(known | {"_is_from_file": True})
    return model


# --- classifiers of rboost


def _restored_rboost(
    _model: StackedModel, noise_by_group_: tuple[dict[str, Any], ...] | None, **fitted: Any
) -> RBoostClassifier:
    fitted["engine_weights_"] = _model.stack.weights
    fitted["noise_by_group_"] = None if noise_by_group_ is None else list(noise_by_group_)
    restored: RBoostClassifier = _restored(RBoostClassifier(), _model=_model, **fitted)
    return restored


def _fits_encoder(model: RBoostClassifier, sizes: Sizes) -> bool:
    """Whether members are given as many columns as they were fitted to."""
    encoder = model._encoder
    member: Any
    for member in model._model.stack.members.values():
        if (encoder is None) != (member.source is None):
            return False
        form = "dense" if isinstance(member, BoostedLearners) else "trees"
        width = sizes["columns"] if encoder is None else len(encoder.source(form))
        if width_of(member) not in (width, None):
            return False
    return True


declare("context group", dict, take=lambda group: group)(
    name=text(),
    n_rows=whole(),
    wrong_share=number(),
    low=number(),
    high=number(),
    noise_matrix=MATRIX,
    interval=floats(2, "classes", "classes"),
)

_declare_estimator("rboost", RBoostClassifier, make=_restored_rboost, is_sound=_fits_encoder)(
    _encoder=OrNone(Record(("table encoder",))),
    _allows_nan=flag(),
    _model=Record(("stacked model",)),
    noise_matrix_=MATRIX,
    noise_interval_=INTERVAL,
    noise_by_group_=OrNone(Each(Record(("context group",)), "groups")),
    stop_reason_=text(),
    n_iter_=whole(),
)

_declare_estimator(
    "algorithm 1",
    AdaRBoostClassifier,
    is_sound=lambda made, sizes: n_features_of(made._ensemble) in (sizes["columns"], None),
)(
    estimator=Unfitted(),
    _ensemble=Record(ENSEMBLES),
    _calibration=Record(CALIBRATIONS),
    estimator_weights_=floats("kept"),
    estimator_errors_=floats("kept", finite=False),
    noise_matrix_=MATRIX,
    noise_matrix_history_=floats("kept", "classes", "classes"),
    stop_reason_=text(),
    n_iter_=whole(),
)

_declare_estimator("robust logistic regression", RobustLogisticRegression)(
    coef_=floats("scores", "columns"),
    intercept_=floats("scores"),
    noise_matrix_=MATRIX,
    loss_=number(),
    n_iter_=whole(),
)


def is_inner(classifier: Any, n_classes: int) -> bool:
    """Whether the classes of an inner classifier are positions among those of the outer one."""
    classes = classifier.classes_
    return classes.dtype.kind in "iu" and bool(np.all((classes >= 0) & (classes < n_classes)))


_declare_estimator(
    "calibrated",
    NoiseCalibratedClassifier,
    make=lambda **fitted: _restored(NoiseCalibratedClassifier(fitted["estimator_"]), **fitted),
    is_sound=lambda made, sizes: (
        is_inner(made.estimator_, sizes["classes"])
        and made.estimator_.n_features_in_ == sizes["columns"]
    ),
)(
    estimator_=Record(
        ("rboost", "algorithm 1", "robust logistic regression", "voting forest", "linear"),
        apart=True,
    ),
    _prevalence=floats("classes", low=0),
    _noise=Record(NOISE),
    noise_matrix_=MATRIX,
    noise_interval_=INTERVAL,
)


# --- classifiers of scikit-learn


class SavedForest(ClassifierMixin, BaseEstimator):
    """The mean of trees, each with the shares of classes in its leaves; it predicts only."""

    def __init__(self, classes: NDArray[Any], trees: VotingTrees) -> None:
        self.classes = self.classes_ = classes
        self.trees, self.n_features_in_ = trees, trees.n_columns

    @classmethod
    def of(cls, forest: ExtraTreesClassifier | RandomForestClassifier) -> SavedForest:
        """The arrays of a fitted forest."""
        trees = [tree.tree_ for tree in forest.estimators_]
        votes = [tree.value[:, 0, :] for tree in trees]
        return cls(forest.classes_, VotingTrees.of(trees, votes, forest.n_features_in_))

    def fit(self, X: Any, y: Any) -> NoReturn:
        """Only predictions are possible."""
        raise ValueError(
            "A forest of scikit-learn from a model file predicts only; fit one with an estimator "
            "of your own."
        )

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class."""
        return self.trees.sums(X) / len(self.trees.roots)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


STAND_INS[ExtraTreesClassifier] = STAND_INS[RandomForestClassifier] = SavedForest.of

declare(
    "voting forest",
    SavedForest,
    is_sound=lambda made, _: (
        made.trees.votes.shape[1] == len(made.classes) and len(made.trees.roots)
    ),
)(classes=Classes(), trees=Record(("voting trees",)))

_declare_estimator("linear", LogisticRegression)(
    coef_=Array("f8 f4", ("scores", "columns")), intercept_=Array("f8 f4", ("scores",))
)
