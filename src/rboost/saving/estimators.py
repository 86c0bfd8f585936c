"""Fitted classifiers as records: those of rboost, and what stands for those of scikit-learn.

Attributes of training rows stay behind. A forest or a logistic regression that was calibrated is
read as arrays that predict the same (:class:`SavedForest`, :class:`SavedLinear`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils import Tags, check_array

from rboost._typing import Floats, Integers
from rboost._validation import check_parameters
from rboost.engines import ENGINES
from rboost.engines.engine import Stack
from rboost.engines.pool import (
    BoostedLearners,
    StackedLearners,
    VotingTrees,
    is_multinomial,
    said_by,
)
from rboost.learners import RandomKernelClassifier, RobustLogisticRegression
from rboost.model import AdaRBoostClassifier, RBoostClassifier
from rboost.model.fit import StackedModel
from rboost.saving.kinds import (
    CALIBRATIONS,
    MEMBERS,
    NOISE,
    floats,
    known_settings,
)
from rboost.saving.schema import (
    Array,
    Classes,
    Field,
    Flag,
    Number,
    OrNone,
    Record,
    Records,
    Settings,
    Sizes,
    Text,
    Texts,
    Whole,
    declare,
    require,
)
from rboost.wrappers import NoiseCalibratedClassifier

# What every estimator has. Parameters of the machine and of how a fit shows itself are not kept.
COMMON: dict[str, Field] = {
    "settings": Settings(),
    "classes": Classes(),
    "n_columns": Whole(1, "columns"),
    "names": OrNone(Texts("columns")),
}
OF_THE_MACHINE = ("n_jobs", "verbose", "estimator")
MATRIX, INTERVAL = floats("classes", "classes"), OrNone(floats(2, "classes", "classes"))
# Base learners of Algorithm 1 by their names in a file.
BASE_LEARNERS: dict[str, Any] = {
    "tree": DecisionTreeClassifier,
    "extra tree": ExtraTreeClassifier,
    "kernel": RandomKernelClassifier,
    "robust logistic": RobustLogisticRegression,
    "logistic": LogisticRegression,
}
ESTIMATORS = ("rboost", "algorithm 1", "robust logistic regression", "calibrated")
INNER = (*ESTIMATORS[:3], "forest", "linear")


def _common(model: Any) -> dict[str, Any]:
    settings = model.get_params(deep=False).items()
    return {
        "settings": {name: value for name, value in settings if name not in OF_THE_MACHINE},
        "classes": model.classes_,
        "n_columns": model.n_features_in_,
        "names": getattr(model, "feature_names_in_", None),
    }


def _restored(
    model: Any, classes: NDArray[Any], n_columns: int, names: list[str] | None, **fitted: Any
) -> Any:
    """A model with what is known after a fit; a value of None is left out."""
    check_parameters(model, getattr(model, "_requirements", {}))
    known = {"classes_": classes, "n_features_in_": n_columns, "_is_from_file": True, **fitted}
    if names is not None:
        known["feature_names_in_"] = np.array(names, dtype=object)
    vars(model).update({name: value for name, value in known.items() if value is not None})
    return model


# --- RBoostClassifier


def _rboost_to_data(model: RBoostClassifier) -> dict[str, Any]:
    stack = model._model.stack
    names = list(stack.members)
    return {
        **_common(model),
        "encoder": model._encoder,
        "allows_nan": model._allows_nan,
        "engines": ",".join(names),
        "members": [stack.members[name] for name in names],
        "weights": [stack.weights[name] for name in names],
        "shares": [stack.shares[name] for name in names],
        "noise": model._model.noise,
        "noise_matrix": model.noise_matrix_,
        "noise_interval": vars(model).get("noise_interval_"),
        "groups": GroupTable.of(vars(model).get("noise_by_group_")),
        "stop_reason": model.stop_reason_,
        "n_iter": model.n_iter_,
    }


def _rboost_from_data(
    settings: dict[str, Any],
    encoder: Any,
    allows_nan: bool,
    engines: str,
    members: list[Any],
    weights: Floats,
    shares: Floats,
    noise: Any,
    groups: GroupTable | None,
    noise_matrix: Floats,
    noise_interval: Floats | None,
    stop_reason: str,
    n_iter: int,
    **common: Any,
) -> RBoostClassifier:
    names = engines.split(",")
    is_known = set(names) <= set(ENGINES) and len(set(names)) == len(names) == len(members)
    require(is_known, "an engine is unknown")
    stack = Stack(
        dict(zip(names, members, strict=True)),
        dict(zip(names, weights.tolist(), strict=True)),
        dict(zip(names, shares.tolist(), strict=True)),
    )
    model = RBoostClassifier(**known_settings(RBoostClassifier, settings))
    model._encoder = encoder
    return _restored(
        model,
        **common,
        _allows_nan=allows_nan,
        _model=StackedModel(stack, noise),
        engine_weights_=stack.weights,
        noise_matrix_=noise_matrix,
        noise_interval_=noise_interval,
        noise_by_group_=None if groups is None else groups.listed(),
        stop_reason_=stop_reason,
        n_iter_=n_iter,
    )


def _is_sound_stack(model: RBoostClassifier, sizes: Sizes) -> bool:
    """Whether members are given as many columns as they were fitted to."""
    encoder = model._encoder
    member: Any
    for member in model._model.stack.members.values():
        is_pool = isinstance(member, BoostedLearners)
        width = sizes["columns"]
        if encoder is not None:
            width = len(encoder.source("dense" if is_pool else "trees"))
        seen = member.ensemble.n_columns if is_pool else len(member.forest.importances)
        if seen != width or (encoder is None) != (member.source is None):
            return False
    return True


@dataclass(frozen=True, eq=False)
class GroupTable:
    """``noise_by_group_`` by columns."""

    name: list[str]
    n_rows: Integers
    wrong_share: Floats
    low: Floats
    high: Floats
    noise_matrix: Floats
    interval: Floats

    @classmethod
    def of(cls, groups: list[dict[str, Any]] | None) -> GroupTable | None:
        """The columns of the records."""
        if not groups:
            return None
        columns = {name: np.array([own[name] for own in groups]) for name in list(groups[0])[1:]}
        return cls([own["name"] for own in groups], **columns)

    def listed(self) -> list[dict[str, Any]]:
        """One record a group, as a fit has it."""
        columns = [self.name, self.n_rows.tolist(), self.wrong_share.tolist(), self.low.tolist(),
                   self.high.tolist(), list(self.noise_matrix), list(self.interval)]  # fmt: skip
        rows = zip(*columns, strict=True)
        return [dict(zip(self.__dataclass_fields__, row, strict=True)) for row in rows]


declare(
    "groups", GroupTable,
    {
        "name": Texts("groups"),
        "n_rows": Array("i8", ("groups",), low=0),
        **{name: floats("groups") for name in ("wrong_share", "low", "high")},
        "noise_matrix": floats("groups", "classes", "classes"),
        "interval": floats("groups", 2, "classes", "classes"),
    },
)  # fmt: skip

declare(
    "rboost", RBoostClassifier,
    {
        **COMMON,
        "encoder": OrNone(Record(("table encoder",))),
        "allows_nan": Flag(),
        "engines": Text(),
        "members": Records(MEMBERS, "members"),
        "weights": floats("members", low=0),
        "shares": floats("members", low=0),
        "noise": Record(NOISE),
        "noise_matrix": MATRIX,
        "noise_interval": INTERVAL,
        "groups": OrNone(Record(("groups",))),
        "stop_reason": Text(),
        "n_iter": Whole(),
    },
    take=_rboost_to_data, make=_rboost_from_data, is_sound=_is_sound_stack,
)  # fmt: skip


# --- AdaRBoostClassifier


@dataclass(frozen=True)
class BaseSettings:
    """A base learner before it is fitted: its name in a file, and its parameters."""

    name: str
    settings: dict[str, Any]

    @classmethod
    def of(cls, estimator: Any) -> BaseSettings:
        """What stands for an estimator in a file."""
        names = {own: name for name, own in BASE_LEARNERS.items()}
        if type(estimator) not in names:
            raise ValueError(
                f"A model with {type(estimator).__name__} as base learner is not saved, since a "
                "model file holds arrays of known learners alone; keep it with joblib."
            )
        return cls(names[type(estimator)], estimator.get_params(deep=False))

    def estimator(self) -> Any:
        """The estimator, with its own defaults for what the file does not say."""
        own = BASE_LEARNERS[self.name]
        return own(**known_settings(own, self.settings))


declare(
    "base learner", BaseSettings,
    {"name": Text(tuple(BASE_LEARNERS)), "settings": Settings(flat=True)},
)  # fmt: skip


def _algorithm_1_to_data(model: AdaRBoostClassifier) -> dict[str, Any]:
    several = isinstance(model.estimator, (list, tuple))
    bases = model.estimator if several else [model.estimator] * (model.estimator is not None)
    ensemble: Any = model._ensemble
    if not isinstance(ensemble, StackedLearners):  # it is not from a file itself
        ensemble = StackedLearners.of(ensemble, model.n_features_in_)
    return {
        **_common(model),
        "bases": [BaseSettings.of(own) for own in bases],
        "takes_turns": several,
        "ensemble": ensemble,
        "calibration": model._calibration,
        "steps": model.estimator_weights_,
        "errors": model.estimator_errors_,
        "noise_matrix": model.noise_matrix_,
        "noise_history": model.noise_matrix_history_,
        "stop_reason": model.stop_reason_,
        "n_iter": model.n_iter_,
    }


def _algorithm_1_from_data(
    settings: dict[str, Any],
    bases: list[BaseSettings],
    takes_turns: bool,
    ensemble: Any,
    calibration: Any,
    steps: Floats,
    errors: Floats,
    noise_matrix: Floats,
    noise_history: Floats,
    stop_reason: str,
    n_iter: int,
    **common: Any,
) -> AdaRBoostClassifier:
    learners: Any = [own.estimator() for own in bases]
    require(learners or not takes_turns, "there is no base learner")
    if not takes_turns:
        learners = learners[0] if learners else None
    model = AdaRBoostClassifier(learners, **known_settings(AdaRBoostClassifier, settings))
    return _restored(
        model,
        **common,
        _ensemble=ensemble,
        _calibration=calibration,
        estimator_weights_=steps,
        estimator_errors_=errors,
        noise_matrix_=noise_matrix,
        noise_matrix_history_=noise_history,
        stop_reason_=stop_reason,
        n_iter_=n_iter,
    )


declare(
    "algorithm 1", AdaRBoostClassifier,
    {
        **COMMON,
        "bases": Records(("base learner",), "bases"),
        "takes_turns": Flag(),
        "ensemble": Record(("stacked learners",)),
        "calibration": Record(CALIBRATIONS),
        "steps": floats("kept"),
        "errors": floats("kept", finite=False),
        "noise_matrix": MATRIX,
        "noise_history": floats("kept", "classes", "classes"),
        "stop_reason": Text(),
        "n_iter": Whole(),
    },
    take=_algorithm_1_to_data, make=_algorithm_1_from_data,
    is_sound=lambda made, sizes: made._ensemble.n_columns == sizes["columns"],
)  # fmt: skip


# --- RobustLogisticRegression


def _robust_from_data(
    settings: dict[str, Any], coef: Floats, intercept: Floats, noise_matrix: Floats, loss: float,
    n_iter: int, **common: Any,
) -> RobustLogisticRegression:  # fmt: skip
    model = RobustLogisticRegression(**known_settings(RobustLogisticRegression, settings))
    return _restored(
        model, **common, coef_=coef, intercept_=intercept, noise_matrix_=noise_matrix, loss_=loss,
        n_iter_=n_iter,
    )  # fmt: skip


declare(
    "robust logistic regression", RobustLogisticRegression,
    {
        **COMMON,
        "coef": floats("scores", "columns"),
        "intercept": floats("scores"),
        "noise_matrix": MATRIX,
        "loss": Number(finite=False),
        "n_iter": Whole(),
    },
    take=lambda model: {
        **_common(model), "coef": model.coef_, "intercept": model.intercept_,
        "noise_matrix": model.noise_matrix_, "loss": model.loss_, "n_iter": model.n_iter_,
    },
    make=_robust_from_data,
)  # fmt: skip


# --- NoiseCalibratedClassifier


class SavedClassifier(ClassifierMixin, BaseEstimator):
    """A fitted classifier of scikit-learn as arrays, from a file; it predicts and is not fitted."""

    def fit(self, X: Any, y: Any) -> NoReturn:
        """Only predictions are possible."""
        raise ValueError(
            "A classifier of scikit-learn from a model file predicts only; fit one with an "
            "estimator of your own."
        )

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


class SavedForest(SavedClassifier):
    """The mean of trees, each with the shares of classes in its leaves."""

    def __init__(self, classes: NDArray[Any], trees: VotingTrees) -> None:
        self.classes = self.classes_ = classes
        self.trees, self.n_features_in_ = trees, trees.n_columns

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class."""
        return self.trees.sums(X) / len(self.trees.roots)


class SavedLinear(SavedClassifier):
    """Logistic regression."""

    def __init__(
        self, classes: NDArray[Any], n_columns: int, coef: Floats, intercept: Floats
    ) -> None:
        self.classes = self.classes_ = classes
        self.n_columns = self.n_features_in_ = n_columns
        self.coef, self.intercept = coef, intercept

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class."""
        X = check_array(X, accept_sparse="csr")
        scores = X @ self.coef.T + self.intercept
        return said_by(scores if scores.shape[1] > 1 else scores[:, 0], "probability")


def _forest_of(model: Any) -> SavedForest:
    trees = [tree.tree_ for tree in model.estimators_]
    votes = [tree.value[:, 0, :] for tree in trees]
    return SavedForest(model.classes_, VotingTrees.of(trees, votes, model.n_features_in_))


def _inner(model: Any) -> Any:
    """The fitted classifier in a calibrated one, as a file holds it."""
    if type(model) in (ExtraTreesClassifier, RandomForestClassifier):
        return _forest_of(model)
    if type(model) is LogisticRegression and is_multinomial(model):
        return SavedLinear(model.classes_, model.n_features_in_, model.coef_, model.intercept_)
    return model


declare(
    "forest", SavedForest, {"classes": Classes(), "trees": Record(("voting trees",))},
    make=SavedForest,
    is_sound=lambda made, _: made.trees.votes.shape[1] == len(made.classes) and len(
        made.trees.roots
    ),
)  # fmt: skip


declare(
    "linear", SavedLinear,
    {
        "classes": Classes(),
        "n_columns": Whole(1, "columns"),
        "coef": Array("f8 f4", ("scores", "columns")),
        "intercept": Array("f8 f4", ("scores",)),
    },
)  # fmt: skip


def _calibrated_to_data(model: NoiseCalibratedClassifier) -> dict[str, Any]:
    return {
        **_common(model),
        "estimator": _inner(model.estimator_),
        "prevalence": model._prevalence,
        "noise": model._noise,
        "noise_matrix": model.noise_matrix_,
        "noise_interval": vars(model).get("noise_interval_"),
    }


def _calibrated_from_data(
    settings: dict[str, Any], estimator: Any, prevalence: Floats, noise: Any, noise_matrix: Floats,
    noise_interval: Floats | None, **common: Any,
) -> NoiseCalibratedClassifier:  # fmt: skip
    own = {name: value for name, value in settings.items() if name in ("cv", "noise_matrix")}
    seed = settings.get("random_state")
    return _restored(
        NoiseCalibratedClassifier(estimator, **own, random_state=seed),
        **common,
        estimator_=estimator,
        _prevalence=prevalence,
        _noise=noise,
        noise_matrix_=noise_matrix,
        noise_interval_=noise_interval,
    )


def is_inner(classifier: Any, n_classes: int) -> bool:
    """Whether the classes of an inner classifier are positions among those of the outer one."""
    classes = classifier.classes_
    return classes.dtype.kind in "iu" and bool(np.all((classes >= 0) & (classes < n_classes)))


declare(
    "calibrated", NoiseCalibratedClassifier,
    {
        **COMMON,
        "estimator": Record(INNER, apart=True),
        "prevalence": floats("classes", low=0),
        "noise": Record(NOISE),
        "noise_matrix": MATRIX,
        "noise_interval": INTERVAL,
    },
    take=_calibrated_to_data, make=_calibrated_from_data,
    is_sound=lambda made, sizes: (
        is_inner(made.estimator_, sizes["classes"])
        and made.estimator_.n_features_in_ == sizes["columns"]
    ),
)  # fmt: skip
