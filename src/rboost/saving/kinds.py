"""Parts of models as records: encoders, learners, forests, posteriors of noise, calibrations.

Compiled code follows trees blindly, so that everything in a forest that leads somewhere is checked
before it is used. One more class takes one more :func:`rboost.saving.schema.declare`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost.calibration import (
    IsotonicCalibration,
    LogisticCalibration,
    PlattCalibration,
    SoftmaxCalibration,
)
from rboost.engines.learners import VOTES, Ensemble
from rboost.engines.linear import LinearLearners
from rboost.engines.pool import (
    BoostedLearners,
    StackedLearners,
    VotingKernels,
    VotingLinear,
    VotingTrees,
)
from rboost.engines.trees import BoostedTrees
from rboost.learners import RobustLogisticRegression
from rboost.learners.forest import Forest
from rboost.noise.answers import LearntFromAnswers
from rboost.noise.class_model import Fit, Kind, Layout
from rboost.noise.classes import ClassesPosterior
from rboost.noise.posterior import SHARES, FlippedOrGuessed, NoiseAwarePlatt, Steepening
from rboost.saving.schema import (
    Array,
    Choices,
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
)
from rboost.table.cells import FORMATS, ISO, NumberStyle
from rboost.table.columns import CATEGORY, TEXT
from rboost.table.columns import KINDS as COLUMN_KINDS
from rboost.table.features import DATE_PARTS, ColumnEncoder, Levels, TableEncoder, TextDirections

MEMBERS = ("boosted learners", "boosted trees")
ENSEMBLES = ("stacked learners", "linear rounds")
VOTERS = ("voting trees", "voting kernels", "voting linear")
CURVES = ("platt", "classes posterior")
NOISE = (*CURVES, "flipped or guessed", "learnt from answers")
CALIBRATIONS = ("platt scaling", "logistic", "isotonic", "softmax")
# The smallest number that a spread or a scale may be.
TINY = 1e-300


def floats(*shape: int | str, low: float = -np.inf, finite: bool = True) -> Array:
    """An array of float64."""
    return Array("f8", shape, low=low, finite=finite)


# --- tables


declare(
    "number style", NumberStyle,
    {"decimal": Text(("", ".", ",")), "unit": Text()},
)  # fmt: skip

declare(
    "levels", Levels,
    {
        "words": Texts("words"),
        "counts": Array("i8", ("words",), low=1, below=2**53),
        "n_missing": Whole(),
    },
    make=lambda words, **own: Levels(tuple(words), **own),
    is_sound=lambda made, _: len(set(made.words)) == len(made.words) > 0,
)  # fmt: skip

declare(
    "text directions", TextDirections,
    {
        "terms": Texts("terms"),
        "idf": Array("f4", ("terms",)),
        "components": Array("f4", ("directions", "terms")),
    },
    make=lambda terms, **own: TextDirections(tuple(terms), **own),
    is_sound=lambda made, _: len(set(made.terms)) == len(made.terms),
)  # fmt: skip

declare(
    "column", ColumnEncoder,
    {
        "name": Text(),
        "holds": Text(COLUMN_KINDS),
        "style": OrNone(Record(("number style",), apart=True)),
        "date_format": OrNone(Text((ISO, *FORMATS))),
        "is_truth": Flag(),
        "is_constant": Flag(),
        "is_empty": Flag(),
        "parts": Choices(DATE_PARTS),
        "center": Number(),
        "scale": Number(TINY),
        "levels": OrNone(Record(("levels",), apart=True)),
        "directions": OrNone(Record(("text directions",), apart=True)),
    },
    take=lambda made: {**vars(made), "holds": made.kind},
    make=lambda holds, **own: ColumnEncoder(kind=holds, **own),
    is_sound=lambda made, _: (made.levels is not None) == (made.kind == CATEGORY)
    and (made.directions is not None) == (made.kind == TEXT),
)  # fmt: skip

declare(
    "table encoder", TableEncoder,
    {"columns": Records(("column",), "columns")},
    make=lambda columns: TableEncoder(tuple(columns)),
)  # fmt: skip


# --- forests


def _lead_forward(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    roots: NDArray[np.int32],
    n_leaves: int,
    leaves_are_shared: bool,
) -> bool:
    """Whether children are later nodes or leaves, and each node has one way to it, so walks end.

    Were nodes shared, a small file could unfold into trees that fill the memory. Leaves may be
    roots of several trees where they ``are_shared``.
    """
    n_nodes, children = len(left), np.concatenate([left, right])
    leads = np.concatenate([children, roots])
    if not np.all((leads < n_nodes) & (leads >= -n_leaves)):
        return False
    inner = children >= 0
    if not np.all(children[inner] > np.tile(np.arange(n_nodes), 2)[inner]):
        return False
    nodes = np.bincount(leads[leads >= 0], minlength=n_nodes)
    below = children if leaves_are_shared else leads
    leaves = np.bincount(~below[below < 0], minlength=n_leaves)
    return bool(np.all(nodes == 1) and np.all(leaves <= 1))


def _is_sound_forest(made: BoostedTrees, sizes: Sizes) -> bool:
    forest = made.forest
    n_sets, starts = len(forest.set_starts) - 1, forest.set_starts
    return (
        _lead_forward(forest.left, forest.right, forest.roots, len(forest.leaf_value), True)
        and forest.n_outputs == sizes["scores"]
        and (made.source is not None or sizes["tree columns"] == sizes["columns"])
        and len(forest.roots) % (forest.n_boosters * forest.n_outputs) == 0
        and bool(np.all(forest.category_set < n_sets))
        and n_sets >= 0
        and bool(
            starts[0] == 0 and np.all(np.diff(starts) > 0) and starts[-1] <= len(forest.bitset)
        )
    )


FOREST: dict[str, Field] = {
    "importances": floats("tree columns"),
    "feature": Array("i4", ("nodes",), low=0, below="tree columns"),
    "threshold": floats("nodes", finite=False),
    "left": Array("i4", ("nodes",)),
    "right": Array("i4", ("nodes",)),
    "nan_left": Array("b1", ("nodes",)),
    "category_set": Array("i4", ("nodes",), low=-1),
    "set_starts": Array("i4", ("ends of sets",)),
    "bitset": Array("u4", ("words of bits",)),
    "leaf_value": floats("leaves"),
    "roots": Array("i4", ("trees",)),
    "n_outputs": Whole(1),
    "n_boosters": Whole(1),
}


def _trees_from_data(
    start: Floats, n_columns: int, source: Integers | None, **forest: Any
) -> BoostedTrees:
    own = start[0] if len(start) == 1 else start
    return BoostedTrees(Forest(**forest), own, n_columns, source)


declare(
    "boosted trees", BoostedTrees,
    {
        "start": floats("scores"),
        **FOREST,
        "n_columns": Whole(1, "columns"),
        "source": OrNone(Array("i8", ("tree columns",), low=0, below="columns")),
    },
    take=lambda made: {
        "start": np.atleast_1d(made.start), **vars(made.forest), "n_columns": made.n_columns,
        "source": made.source,
    },
    make=_trees_from_data, is_sound=_is_sound_forest,
)  # fmt: skip

declare(
    "voting trees", VotingTrees,
    {
        "n_columns": Whole(1, "features"),
        "feature": Array("i4", ("nodes",), low=0, below="features"),
        **{name: FOREST[name] for name in ("threshold", "left", "right", "nan_left", "roots")},
        "votes": floats("leaves", "outputs"),
    },
    is_sound=lambda made, _: _lead_forward(
        made.left, made.right, made.roots, len(made.votes), False
    ),
)  # fmt: skip


# --- learners


VOTERS_FIELDS: dict[str, Field] = {
    "steps": floats("learners"),
    "seen": Array("b1", ("learners", "classes")),
    "votes": Text(tuple(VOTES)),
}
KERNEL_FIELDS = {name: floats("learners", "features") for name in ("medians", "center", "scale")}


def _have_seen_two(made: VotingKernels | VotingLinear, sizes: Sizes) -> bool:
    return bool(np.all(made.seen.sum(axis=1) >= 2))


declare(
    "voting kernels", VotingKernels,
    {
        **VOTERS_FIELDS,
        **KERNEL_FIELDS,
        "directions": Array("f8 f4", ("learners", "features", "components")),
        "phases": Array("f8 f4", ("learners", "components")),
        "coef": floats("learners", "components", "scores"),
        "intercept": floats("learners", "scores"),
    },
    is_sound=lambda made, sizes: _have_seen_two(made, sizes) and sizes["components"] > 0,
)  # fmt: skip

declare(
    "voting linear", VotingLinear,
    {
        **VOTERS_FIELDS,
        "coef": Array("f8 f4", ("learners", "features", "scores")),
        "intercept": Array("f8 f4", ("learners", "scores")),
    },
    is_sound=_have_seen_two,
)  # fmt: skip


def _is_sound_ensemble(made: StackedLearners, sizes: Sizes) -> bool:
    trees = [part for part in made.parts if isinstance(part, VotingTrees)]
    votes_fit = all(part.votes.shape[1] == sizes["scores"] for part in trees)
    return votes_fit and bool(made.parts) == (made.n_learners > 0)


declare(
    "stacked learners", StackedLearners,
    {
        "parts": Records(VOTERS, "parts"),
        "n_learners": Whole(),
        "n_classes": Whole(2, "classes"),
        "importances": OrNone(floats("features")),
    },
    make=lambda parts, **others: StackedLearners(tuple(parts), **others),
    is_sound=_is_sound_ensemble,
)  # fmt: skip

LINEAR_ROUNDS = ("coefs", "intercepts", "rates", "losses", "iterations", "center")


def _rounds_to_data(made: Ensemble) -> dict[str, Any]:
    learners: Any = made.learners
    own = {name: getattr(learners, name) for name in LINEAR_ROUNDS}
    settings = learners.estimator.get_params()
    return {"settings": settings, "steps": made.steps, "votes": made.votes, **own}


def _rounds_from_data(
    settings: dict[str, Any], steps: Floats, votes: str, **arrays: Any
) -> Ensemble:
    estimator = RobustLogisticRegression(**known_settings(RobustLogisticRegression, settings))
    return Ensemble(LinearLearners(estimator, **arrays), steps, votes, 2)


def known_settings(of: type, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that a class has; other versions of a library may have others."""
    return {name: settings[name] for name in of().get_params(deep=False) if name in settings}


declare(
    "linear rounds", Ensemble,
    {
        "settings": Settings(),
        "steps": floats("learners"),
        "votes": Text(tuple(VOTES)),
        "coefs": floats("learners", "features"),
        "intercepts": floats("learners", finite=False),
        "rates": floats("learners", 2),
        "losses": floats("learners", finite=False),
        "iterations": floats("learners", low=0),
        "center": floats("features"),
    },
    take=_rounds_to_data, make=_rounds_from_data,
    is_sound=lambda made, sizes: sizes["classes"] == 2,
)  # fmt: skip


def stacked(ensemble: Any, n_columns: int) -> Any:
    """An ensemble whose learners are arrays."""
    is_list = isinstance(ensemble, Ensemble) and not isinstance(ensemble.learners, LinearLearners)
    return StackedLearners.of(ensemble, n_columns) if is_list else ensemble


def n_features_of(ensemble: Any) -> int | None:
    """The number of columns that the learners of an ensemble were given; None without any."""
    if not len(ensemble):
        return None
    if isinstance(ensemble, StackedLearners):
        return ensemble.parts[0].n_columns
    return int(ensemble.listed[0].n_features_in_)


def _member_to_data(made: BoostedLearners) -> dict[str, Any]:
    n_features = n_features_of(made.ensemble) or (1 if made.source is None else len(made.source))
    return vars(made) | {"n_features": n_features, "ensemble": stacked(made.ensemble, n_features)}


declare(
    "boosted learners", BoostedLearners,
    {
        "n_features": Whole(1, "features"),
        "ensemble": Record(ENSEMBLES),
        "total_step": Number(0),
        "shares": floats("classes", low=0),
        "n_columns": Whole(1, "columns"),
        "source": OrNone(Array("i8", ("features",), low=0, below="columns")),
    },
    take=_member_to_data,
    make=lambda n_features, **own: BoostedLearners(**own),
)  # fmt: skip


# --- noise


declare(
    "steepening", Steepening,
    {"strength": Number(), "center": Number(), "spread": Number(TINY)},
)  # fmt: skip

declare(
    "platt", NoiseAwarePlatt,
    {
        **{name: floats("points", 2) for name in ("rates", "lowest", "highest")},
        **{name: floats("points") for name in ("slopes", "offsets", "weights")},
        "steepening": Record(("steepening",)),
    },
    is_sound=lambda made, sizes: sizes["classes"] == 2 and sizes["points"] > 0,
)  # fmt: skip


def _fit_to_data(fit: Fit) -> dict[str, Any]:
    return vars(fit) | vars(fit.layout.kind) | {"overlapping": fit.layout.overlapping}


def _fit_from_data(
    parameters: Floats, log_evidence: float, covariance: Floats, overlapping: Any, **kind: Any
) -> Fit:
    layout = Layout(len(kind["origin"]), overlapping, Kind(**kind))
    return Fit(layout, parameters, log_evidence, covariance)


declare(
    "fit", Fit,
    {
        "name": Text(),
        "directions": floats("rates", "classes", "classes"),
        "origin": floats("classes", "classes"),
        "largest": Number(0),
        "log_prior": Number(),
        "is_known": Flag(),
        "overlapping": Array("i8", ("overlaps", 2), low=0, below="classes"),
        "parameters": floats("parameters"),
        "log_evidence": Number(),
        "covariance": floats("rates", "rates"),
    },
    take=_fit_to_data, make=_fit_from_data,
    is_sound=lambda made, sizes: (
        sizes["parameters"] == made.layout.n_calibration + made.layout.kind.n_rates
    ),
)  # fmt: skip

declare(
    "classes posterior", ClassesPosterior,
    {"fits": Records(("fit",), "fits"), "weights": floats("fits"), "spread": Number(TINY)},
    make=lambda fits, **others: ClassesPosterior(tuple(fits), **others),
    is_sound=lambda made, sizes: sizes["classes"] > 2 and sizes["fits"] > 0,
)  # fmt: skip

declare(
    "flipped or guessed", FlippedOrGuessed,
    {
        "flipped": Record(CURVES),
        "overlap": Record(CURVES),
        "guessed": Number(0, 1),
        "together": floats("classes", "classes"),
    },
)  # fmt: skip

declare(
    "learnt from answers", LearntFromAnswers,
    {
        "before": Record(("flipped or guessed",)),
        "weights": floats("cases"),
        "coefficients": floats("cases", "coefficients"),
        "drawn": floats("draws", "coefficients"),
        "assumed": Array("i8", ("draws",), low=0, below="cases"),
        "matrices": floats("draws", "classes", "classes"),
    },
    is_sound=lambda made, sizes: (
        sizes["cases"] == 2 * (1 + len(SHARES))
        and sizes["coefficients"] == 3 + 2 * sizes["classes"]
        and sizes["draws"] > 0
    ),
)  # fmt: skip


# --- calibrations


def _of_two(made: Any, sizes: Sizes) -> bool:
    return sizes["classes"] == 2


declare(
    "platt scaling", PlattCalibration, {"slope": Number(), "offset": Number()}, is_sound=_of_two
)
declare("logistic", LogisticCalibration, {"link_matrix": floats(2, 2)}, is_sound=_of_two)
declare(
    "isotonic", IsotonicCalibration,
    {"scores": floats("points"), "levels": floats("points"), "noise_matrix": floats(2, 2)},
    is_sound=lambda made, sizes: sizes["classes"] == 2 and sizes["points"] > 0,
)  # fmt: skip
declare(
    "softmax", SoftmaxCalibration,
    {"scale": Number(), "link_matrix": floats("classes", "classes")},
    is_sound=lambda made, sizes: sizes["classes"] > 2,
)  # fmt: skip
