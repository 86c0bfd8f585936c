"""Models and their parts as records; one more class takes one more declaration.

Compiled code follows trees blindly, so that everything in a forest that leads somewhere is checked
before it is used. An estimator has its parameters in a file, and the attributes of its fit that
predictions need; those of training rows stay behind. A forest that was calibrated is read as arrays
that predict the same (:class:`SavedForest`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils import Tags, gen_batches

from rboost._typing import Floats
from rboost._validation import check_parameters
from rboost.calibration import (
    IsotonicCalibration,
    LogisticCalibration,
    PlattCalibration,
    SoftmaxCalibration,
)
from rboost.engines import ENGINES
from rboost.engines.engine import Stack
from rboost.engines.learners import VOTES, Ensemble
from rboost.engines.logistic import LinearScores
from rboost.engines.pool import (
    KEPT_BYTES,
    BoostedLearners,
    StackedLearners,
    VotingKernels,
    VotingLinear,
    VotingTrees,
)
from rboost.engines.trees import BoostedTrees, Forest
from rboost.learners import RandomKernelClassifier, RobustLogisticRegression
from rboost.model import AdaRBoostClassifier, RBoostClassifier
from rboost.model.fit import StackedModel
from rboost.noise.annotators import AnnotatorNoise
from rboost.noise.answers import LearntFromAnswers, scales
from rboost.noise.class_model import Fit, Kind, Layout
from rboost.noise.classes import MOST_OVERLAPS, ClassesPosterior
from rboost.noise.posterior import NoiseAwarePlatt, Steepening
from rboost.noise.row_dependent import GUESSED_SHARES, RowDependentNoise
from rboost.noise.row_dependent import Levels as NoiseLevels
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
    declare,
    flag,
    floats,
    number,
    require,
    text,
    texts,
    whole,
)
from rboost.table.cells import FORMATS, ISO, NumberStyle
from rboost.table.columns import CATEGORY, TEXT
from rboost.table.columns import KINDS as COLUMN_KINDS
from rboost.table.features import (
    DATE_PARTS,
    N_DIRECTIONS,
    ColumnEncoder,
    Levels,
    TableEncoder,
    TextTerms,
)
from rboost.wrappers import NoiseCalibratedClassifier

MEMBERS = ("boosted learners", "boosted trees", "linear scores")
VOTERS = ("voting trees", "voting kernels", "voting linear")
CURVES = ("platt", "classes posterior")
NOISE = ("row-dependent", "learnt from answers", "annotators")
CALIBRATIONS = ("platt scaling", "logistic", "isotonic", "softmax")
# What may be inside of a calibrated classifier.
INNER = ("rboost", "algorithm 1", "robust logistic", "voting forest", "logistic regression")
# The smallest number that a spread or a scale may be.
TINY = 1e-300
# Random features of a kernel machine, which rows take at prediction, at most.
MOST_COMPONENTS = 10_000
# Nodes of trees that are checked at a time.
BLOCK_NODES = 2**16


def of_two(made: Any, sizes: Sizes) -> bool:
    """Whether there are two classes."""
    return sizes["classes"] == 2


# --- tables


declare("number style", NumberStyle)(decimal=text("", ".", ","), unit=text())

declare("levels", Levels, is_sound=lambda made, _: len(set(made.words)) == len(made.words) > 0)(
    words=texts("words"), counts=Array("i8", ("words",), low=1, below=2**53), n_missing=whole()
)

declare(
    "text terms",
    TextTerms,
    is_sound=lambda made, _: (
        len(set(made.words)) == len(made.words)
        and len(set(made.parts)) == len(made.parts)
        and made.idf.shape == (len(made),)
        and len(made.components) <= N_DIRECTIONS
    ),
)(
    words=texts("words of texts"),
    parts=texts("parts of words"),
    idf=Array("f4", ("terms",)),
    components=Array("f4", ("directions", "terms")),
)

declare(
    "column",
    ColumnEncoder,
    is_sound=lambda made, _: (
        (made.levels is not None) == (made.kind == CATEGORY)
        and (made.terms is not None) == (made.kind == TEXT)
        and len(set(made.parts)) == len(made.parts)
    ),
)(
    name=text(),
    kind=text(*COLUMN_KINDS),
    style=OrNone(Record(("number style",))),
    date_format=OrNone(text(ISO, *FORMATS)),
    is_truth=flag(),
    is_constant=flag(),
    is_empty=flag(),
    parts=Each(text(*DATE_PARTS)),
    center=number(),
    scale=number(TINY),
    levels=OrNone(Record(("levels",))),
    terms=OrNone(Record(("text terms",))),
)

declare(
    "table encoder",
    TableEncoder,
    is_sound=lambda made, _: len(set(made.names)) == len(made.columns) > 0,
)(columns=Each(Record(("column",)), "columns"))


# --- trees


def _lead_forward(made: Forest | VotingTrees, n_leaves: int, leaves_are_shared: bool) -> bool:
    """Whether children are later nodes or leaves, and each node has one way to it, so walks end.

    Were nodes shared, a small file could unfold into trees that fill the memory. Leaves may be
    roots of several trees where they ``are_shared``. Some nodes at a time, as copies add up.
    """
    n_nodes = len(made.left)
    is_reached, is_taken, n_ways = np.zeros(n_nodes, bool), np.zeros(n_leaves, bool), 0
    n_leaf_ways = 0
    for leads in (made.left, made.right, made.roots):
        is_root = leads is made.roots
        for some in gen_batches(len(leads), BLOCK_NODES) if len(leads) else ():
            own = leads[some]
            after = -1 if is_root else np.arange(some.start, some.start + len(own))
            inner, leaves = own[own >= 0], ~own[own < 0]
            is_later = (own < 0) | ((own > after) & (own < n_nodes))
            if not is_later.all() or (leaves.size and leaves.max() >= n_leaves):
                return False
            is_reached[inner], n_ways = True, n_ways + len(inner)
            if not (is_root and leaves_are_shared):
                is_taken[leaves], n_leaf_ways = True, n_leaf_ways + len(leaves)
    return bool(
        n_ways == n_nodes and is_reached.all() and n_leaf_ways == np.count_nonzero(is_taken)
    )


def _is_sound_forest(made: Forest, sizes: Sizes) -> bool:
    starts = made.set_starts
    return (
        _lead_forward(made, len(made.leaf_value), True)
        and made.n_outputs == sizes["scores"]
        and len(made.roots) % (made.n_boosters * made.n_outputs) == 0
        and len(starts) > 0
        and bool(np.all(made.category_set < len(starts) - 1))
        and bool(starts[0] == 0 and np.all(np.diff(starts) > 0))
        and starts[-1] <= len(made.bitset)
    )


NODES: dict[str, Field] = {
    "feature": Array("i4", ("nodes",), low=0, below="columns of trees"),
    "threshold": floats("nodes", finite=False),
    "left": Array("i4", ("nodes",)),
    "right": Array("i4", ("nodes",)),
    "nan_left": Array("b1", ("nodes",)),
    "roots": Array("i4", ("trees",)),
}

declare("forest", Forest, is_sound=_is_sound_forest)(
    importances=floats("columns of trees"),
    **NODES,
    category_set=Array("i4", ("nodes",), low=-1),
    set_starts=Array("i4", ("ends of sets",)),
    bitset=Array("u4", ("words of bits",)),
    leaf_value=floats("leaves"),
    n_outputs=whole(1),
    n_boosters=whole(1),
)

declare(
    "voting trees",
    VotingTrees,
    is_sound=lambda made, _: len(made.roots) and _lead_forward(made, len(made.votes), False),
)(n_columns=whole(1, "columns of trees"), **NODES, votes=floats("leaves", "outputs"))


# --- learners


# Parameters of the machine and of how a fit shows itself are not kept; base learners are records.
OF_THE_MACHINE = ("n_jobs", "verbose", "estimator")


def settings_of(estimator: Any) -> dict[str, Any]:
    """The parameters that are kept."""
    every = estimator.get_params(deep=False)
    return {own: value for own, value in every.items() if own not in OF_THE_MACHINE}


def with_settings(estimator: Any, settings: dict[str, Any]) -> Any:
    """An estimator with the settings that it has; other versions of a library may have others."""
    require(not set(settings) & set(OF_THE_MACHINE), "a setting is one that no file has")
    known = estimator.get_params(deep=False)
    return estimator.set_params(**{name: settings[name] for name in known if name in settings})


# Classifiers before they are fitted, which a new fit with a base learner of one's own needs.
UNFITTED: dict[str, Any] = {
    "unfitted tree": DecisionTreeClassifier,
    "unfitted extra tree": ExtraTreeClassifier,
    "unfitted kernel": RandomKernelClassifier,
    "unfitted robust logistic": RobustLogisticRegression,
    "unfitted logistic": LogisticRegression,
}
for unfitted, base_learner in UNFITTED.items():
    declare(
        unfitted,
        base_learner,
        take=lambda own: {"settings": settings_of(own)},
        make=lambda settings, made_of=base_learner: with_settings(made_of(), settings),
    )(settings=Settings())

VOTERS_FIELDS: dict[str, Field] = {"steps": floats("learners"), "votes": text(*VOTES)}


def _is_sound_kernel(made: VotingKernels, sizes: Sizes) -> bool:
    """Whether there are features, and directions, which are drawn, take little more than rows."""
    most = min(MOST_COMPONENTS, KEPT_BYTES // (8 * max(sizes["features"], 1)))
    return 0 < sizes["components"] <= max(RandomKernelClassifier.n_components, most)


declare("voting kernels", VotingKernels, is_sound=_is_sound_kernel)(
    **VOTERS_FIELDS,
    medians=floats("learners", "features"),
    center=floats("learners", "features"),
    scale=floats("learners", "features"),
    width=floats("learners", low=TINY),
    seed=Array("i8", ("learners",), low=0, below=2**32),
    coef=floats("learners", "components", "scores"),
    intercept=floats("learners", "scores"),
)

declare("voting linear", VotingLinear)(
    **VOTERS_FIELDS,
    coef=floats("learners", "features", "scores"),
    intercept=floats("learners", "scores"),
)


def _columns_of(part: Any) -> int:
    """How many columns rows must have, (L, columns) or (L, columns, S) but for trees."""
    if isinstance(part, VotingTrees):
        return part.n_columns
    matrix = part.scale if isinstance(part, VotingKernels) else part.coef
    return int(matrix.shape[1])


def _is_sound_ensemble(made: StackedLearners, sizes: Sizes) -> bool:
    trees = [part for part in made.parts if isinstance(part, VotingTrees)]
    widths = {made.n_columns, *(_columns_of(part) for part in made.parts)}
    return (
        all(part.votes.shape[1] == sizes["scores"] for part in trees)
        and len(widths) == 1
        and bool(made.parts) == (made.n_learners > 0)
    )


declare("stacked learners", StackedLearners, is_sound=_is_sound_ensemble)(
    parts=Each(Record(VOTERS), "parts"),
    n_learners=whole(),
    n_classes=whole(2, "classes"),
    n_columns=whole(1, "features"),
    importances=OrNone(floats("features")),
)


OfAStack = BoostedLearners | BoostedTrees | LinearScores


# The form of a table that each member of a stack takes.
FORMS: dict[type, str] = {BoostedLearners: "dense", BoostedTrees: "trees", LinearScores: "sparse"}


def width_of(member: OfAStack) -> int:
    """The number of columns that a member of the stack was fitted to."""
    if isinstance(member, LinearScores):
        return len(member.weights) - 1
    if isinstance(member, BoostedTrees):
        return len(member.forest.importances)
    return member.ensemble.n_columns


def _fits_table(member: OfAStack, sizes: Sizes) -> bool:
    """Whether each column that a member was given has a source, if others than the table's."""
    n_given = sizes["used columns"] if member.source is None else len(member.source)
    return width_of(member) == n_given


OF_A_MEMBER: dict[str, Field] = {
    "n_columns": whole(1, "used columns"),
    "source": OrNone(Array("i8", ("columns given",), low=0, below="used columns")),
}

declare("boosted learners", BoostedLearners, is_sound=_fits_table)(
    ensemble=Record(("stacked learners",)),
    total_step=number(0),
    shares=floats("classes", low=0),
    **OF_A_MEMBER,
)

declare(
    "boosted trees",
    BoostedTrees,
    take=lambda made: vars(made) | {"start": np.atleast_1d(made.start)},
    make=lambda start, **own: BoostedTrees(start=start[0] if len(start) == 1 else start, **own),
    is_sound=_fits_table,
)(forest=Record(("forest",)), start=floats("scores"), **OF_A_MEMBER)

declare(
    "linear scores",
    LinearScores,
    is_sound=lambda made, sizes: (
        _fits_table(made, sizes)
        and len(made.scale) == width_of(made)
        and (made.center is None or len(made.center) == width_of(made))
    ),
)(
    weights=Array("f4", ("linear columns and 1", "scores")),
    scale=floats("linear columns", low=TINY),
    center=OrNone(floats("linear columns")),
    **OF_A_MEMBER,
)


def _stack_of(engines: tuple[str, ...], members: Any, weights: Any, shares: Any) -> Stack:
    values = (members, weights.tolist(), shares.tolist())
    return Stack(*(dict(zip(engines, own, strict=True)) for own in values))


declare(
    "stack",
    Stack,
    take=lambda made: (
        {"engines": list(made.members)}
        | {name: list(values.values()) for name, values in vars(made).items()}
    ),
    make=_stack_of,
    is_sound=lambda made, sizes: 0 < sizes["members"] == len(made.members),
)(
    engines=Each(text(*ENGINES), "members"),
    members=Each(Record(MEMBERS), "members"),
    weights=floats("members", low=0),
    shares=floats("members", low=0),
)

declare("stacked model", StackedModel)(stack=Record(("stack",)), noise=Record(NOISE))


# --- noise


declare("annotators", AnnotatorNoise)(
    slope=number(0),
    offsets=floats("classes"),
    majority=floats("classes", "classes", low=0),
    deviation=floats("classes", "classes", low=0),
    matrices=floats("annotators", "classes", "classes", low=0),
    support=floats("annotators", "classes", low=0),
    accuracy=floats(3, "annotators"),
    kind=Array("i8", ("annotators",), low=0),
)

declare("steepening", Steepening)(strength=number(), center=number(), spread=number(TINY))

declare(
    "platt",
    NoiseAwarePlatt,
    is_sound=lambda made, sizes: of_two(made, sizes) and sizes["points"] > 0,
)(
    rates=floats("points", 2),
    lowest=floats("points", 2),
    highest=floats("points", 2),
    slopes=floats("points"),
    offsets=floats("points"),
    weights=floats("points"),
    steepening=Record(("steepening",)),
)

declare("kind of noise", Kind)(
    name=text(),
    directions=floats("rates", "classes", "classes"),
    origin=floats("classes", "classes"),
    largest=number(0),
    log_prior=number(),
    is_known=flag(),
)

declare("layout", Layout, is_sound=lambda made, _: len(made.overlapping) <= MOST_OVERLAPS)(
    n_classes=whole(2, "classes"),
    overlapping=Array("i8", ("overlaps", 2), low=0, below="classes"),
    kind=Record(("kind of noise",)),
)

declare(
    "fit",
    Fit,
    is_sound=lambda made, sizes: (
        sizes["rates"] == made.layout.kind.n_rates
        and sizes["parameters"] == made.layout.n_calibration + made.layout.kind.n_rates
    ),
)(
    layout=Record(("layout",)),
    parameters=floats("parameters"),
    log_evidence=number(),
    covariance=floats("rates", "rates"),
)

declare(
    "classes posterior",
    ClassesPosterior,
    is_sound=lambda made, sizes: sizes["classes"] > 2 and sizes["fits"] > 0,
)(fits=Each(Record(("fit",)), "fits"), weights=floats("fits"), spread=number(TINY))

declare(
    "levels of noise",
    NoiseLevels,
    is_sound=lambda made, sizes: sizes["noise levels"] > 0 and sizes["knots"] > 0,
)(
    knots=floats("knots"),
    issue=floats("noise levels", "knots"),
    mean_issue=floats("knots"),
    weight=floats("noise levels"),
    half=floats("noise levels"),
    deviation=floats("noise levels"),
    is_right=floats("noise levels"),
    n_rows=number(0),
    rates=floats("classes", "classes"),
    rate_interval=floats(2, "classes", "classes"),
    margin_weight=number(0, 1),
)

declare(
    "row-dependent",
    RowDependentNoise,
    take=lambda made: vars(made) | {"basis": made.levels},
)(
    flipped=Record(CURVES),
    overlap=Record(CURVES),
    overlapping=number(0, 1),
    basis=Record(("levels of noise",)),
    is_known=flag(),
)

declare(
    "learnt from answers",
    LearntFromAnswers,
    is_sound=lambda made, sizes: (
        sizes["coefficients"] == len(scales(sizes["classes"]))
        and sizes["draws"] > 0
        and max(made.assumed.max(), made.drawn_from.max()) <= len(GUESSED_SHARES)
    ),
)(
    before=Record(("row-dependent",)),
    assumed=Array("i8", ("cases",), low=0),
    coefficients=floats("cases", "coefficients"),
    errors=floats("cases", "reviewers"),
    weights=floats("cases"),
    n_answers=floats("reviewers", low=0),
    drawn=floats("draws", "coefficients"),
    drawn_from=Array("i8", ("draws",), low=0),
    matrices=floats("draws", "classes", "classes"),
    deviations=floats("draws", "classes", "classes"),
    information=number(0),
)


# --- calibrations


declare("platt scaling", PlattCalibration, is_sound=of_two)(slope=number(), offset=number())
declare("logistic", LogisticCalibration, is_sound=of_two)(link_matrix=floats(2, 2))
declare(
    "isotonic",
    IsotonicCalibration,
    is_sound=lambda made, sizes: of_two(made, sizes) and sizes["points"] > 0,
)(scores=floats("points"), levels=floats("points"), noise_matrix=floats(2, 2))
declare("softmax", SoftmaxCalibration, is_sound=lambda made, sizes: sizes["classes"] > 2)(
    scale=number(), link_matrix=floats("classes", "classes")
)


# --- estimators


MATRIX, INTERVAL = floats("classes", "classes"), OrNone(floats(2, "classes", "classes"))
COMMON: dict[str, Field] = {
    "settings": Settings(),
    "classes_": Classes(),
    "n_features_in_": whole(1, "columns"),
    "feature_names_in_": OrNone(texts("columns")),
}


def _attributes(model: Any) -> Mapping[str, Any]:
    """Attributes of a fitted estimator, None where it has none, and the settings that are kept."""
    return defaultdict(lambda: None, vars(model), settings=settings_of(model))


def _restored(
    made_of: Callable[[], Any],
    settings: dict[str, Any],
    feature_names_in_: tuple[str, ...] | None,
    **fitted: Any,
) -> Any:
    """A model with what is known after a fit; public attributes of None are left out."""
    model = with_settings(made_of(), settings)
    check_parameters(model, getattr(model, "_requirements", {}))
    known = {own: value for own, value in fitted.items() if own[-1] != "_" or value is not None}
    if feature_names_in_ is not None:
        known["feature_names_in_"] = np.array(feature_names_in_, dtype=object)
    vars(model).update(known | {"_is_from_file": True})
    return model


def _declare_estimator(name: str, made_of: Any, **how: Any) -> Callable[..., None]:
    """Declare an estimator; what is returned takes the attributes that are saved beside others."""
    how = {"take": _attributes, "make": partial(_restored, made_of), **how}
    return partial(declare(name, made_of, **how), **COMMON)


def _restored_rboost(
    _model: StackedModel, noise_by_group_: tuple[dict[str, Any], ...] | None, **fitted: Any
) -> Any:
    fitted["engine_weights_"] = _model.stack.weights
    fitted["noise_by_group_"] = None if noise_by_group_ is None else list(noise_by_group_)
    return _restored(RBoostClassifier, _model=_model, **fitted)


def _fits_encoder(model: RBoostClassifier, sizes: Sizes) -> bool:
    """Whether members are given as many columns as they were fitted to."""
    used = None if model._encoder is None else model._encoder.only_used
    n_used = sizes["columns"] if used is None else len(used.columns)
    member: Any
    for member in model._model.stack.members.values():
        if (used is None) != (member.source is None) or member.n_columns != n_used:
            return False
        form = FORMS[type(member)]
        if width_of(member) != (n_used if used is None else len(used.source(form))):
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
    noise_by_group_=OrNone(Each(Record(("context group",)), "groups")),
    stop_reason_=text(),
    n_iter_=whole(),
)


def _algorithm_1_attributes(model: AdaRBoostClassifier) -> Mapping[str, Any]:
    """Its learners as arrays, if it is not from a file itself, and its base learners as a list."""
    own: Any = model._ensemble
    found, several = _attributes(model), model.estimator
    stacked = StackedLearners.of(own, model.n_features_in_) if isinstance(own, Ensemble) else own
    listed = several if isinstance(several, (list, tuple)) else [several]
    learners = [one for one in listed if one is not None]
    return defaultdict(lambda: None, found, _ensemble=stacked, estimator=learners)


def _restored_algorithm_1(estimator: tuple[Any, ...], **fitted: Any) -> Any:
    several: Any = list(estimator) if len(estimator) > 1 else next(iter(estimator), None)
    return _restored(AdaRBoostClassifier, estimator=several, **fitted)


_declare_estimator(
    "algorithm 1",
    AdaRBoostClassifier,
    take=_algorithm_1_attributes,
    make=_restored_algorithm_1,
    is_sound=lambda made, sizes: made._ensemble.n_columns == sizes["columns"],
)(
    estimator=Each(Record(tuple(UNFITTED))),
    _ensemble=Record(("stacked learners",)),
    _calibration=Record(CALIBRATIONS),
    estimator_weights_=floats("kept"),
    estimator_errors_=floats("kept", finite=False),
    noise_matrix_=MATRIX,
    noise_matrix_history_=floats("kept", "classes", "classes"),
    stop_reason_=text(),
    n_iter_=whole(),
)

_declare_estimator("robust logistic", RobustLogisticRegression)(
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


def _restored_calibrated(estimator_: Any, **fitted: Any) -> Any:
    around = partial(NoiseCalibratedClassifier, estimator_)
    return _restored(around, estimator_=estimator_, **fitted)


_declare_estimator(
    "calibrated",
    NoiseCalibratedClassifier,
    make=_restored_calibrated,
    is_sound=lambda made, sizes: (
        is_inner(made.estimator_, sizes["classes"])
        and made.estimator_.n_features_in_ == sizes["columns"]
    ),
)(
    estimator_=Record(INNER, apart=True),
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

_declare_estimator("logistic regression", LogisticRegression)(
    coef_=Array("f8 f4", ("scores", "columns")),
    intercept_=Array("f8 f4", ("scores",)),
)
