"""The interface of an engine: what it is given and what it returns; and the stack of several.

An engine is a function ``fit(rows, infer, settings) -> EngineFit`` in a file of its own, with a
name in :data:`rboost.engines.ENGINES`. Of labels it sees the likelihood L alone. Scores of two
classes are log-odds, (n_rows,), of more classes logarithms of probabilities up to a constant,
(n_rows, K). Noise is not yet taken into account in them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rboost._typing import Floats
from rboost.native.boosters import lightgbm, xgboost
from rboost.noise.inference import ScoredRows
from rboost.noise.likelihood import Likelihood
from rboost.progress import track

POOL, LINEAR, LOGISTIC, TREES, XGBOOST = "pool", "linear", "logistic", "trees", "xgboost"
# The most rows for which "auto" takes the pool: on more it takes longer than trees.
POOL_ROWS = 20_000
# The fewest rows per class with which trees improve on the pool; fewer for two classes, since
# one tree a round serves both.
ROWS_PER_CLASS = {"two": 50, "more": 400}
# A table of more columns than this, or than rows, is wide.
MANY_COLUMNS = 2000
# From held-out scores to the likelihoods that an engine goes on with, (K, n_patterns).
Infer = Callable[[ScoredRows], Floats]

# L2 penalty on the weights of engines, which stay finite where two classes are separable.
PENALTY = 1e-2
# An engine with a smaller share of the spread of the stack's scores is not kept.
SMALLEST_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class EngineRows:
    """The training rows: the table, the likelihoods of their labels, and class shares, (K,).

    ``fold`` is the fold that leaves each row out, for engines that are fitted fold by fold; it is
    empty where none of those of this package is.
    ``always_kept``, (n_patterns,), marks patterns whose class is certain: their rows are kept where
    others are sampled.
    """

    X: Any
    likelihood: Likelihood
    shares: Floats
    fold: NDArray[np.uint8]
    always_kept: NDArray[np.bool_]


@dataclass(frozen=True)
class EngineSettings:
    """Parameters of an engine that users may set; None means that the engine chooses.

    ``seed`` is drawn from ``random_state``. ``is_alone``: no other engine is in the stack,
    ``doing`` what to add to the description of a progress bar.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    random_state: Any = None
    seed: int = 0
    n_jobs: int | None = None
    verbose: bool = False
    device: str = "cpu"
    is_alone: bool = True
    doing: str = ""

    def track(self, numbers: Iterable[int], total: int, description: str) -> Iterable[int]:
        """The numbers, with a progress bar if ``verbose``."""
        if not self.verbose:
            return numbers
        return track(numbers, total, f"{description}{self.doing}", enabled=True)


class Member(Protocol):
    """A fitted model that scores rows of tables."""

    def __len__(self) -> int:
        """The number of rounds."""

    def scores(self, X: Any, n_jobs: int | None) -> Floats:
        """Scores of rows."""

    def feature_importances(self) -> Floats:
        """Importances of the columns, as shares; AttributeError where they are not known."""


@dataclass(frozen=True, eq=False)
class EngineFit:
    """A fitted member, and the scores of all training rows by models not fitted to the row.

    ``scored`` are the rows to infer noise from: all, or representative ones. ``columns`` are
    the likelihoods that the engine ended with, None where they follow from its last scores.
    """

    member: Member
    held_out: Floats
    scored: ScoredRows
    columns: Floats | None
    n_iter: int
    stop_reason: str


class Engine(Protocol):
    """Fits a member of the stack.

    ``infer`` is None where L is settled: where the noise is known, or another engine found it.
    """

    def __call__(
        self, rows: EngineRows, infer: Infer | None, settings: EngineSettings
    ) -> EngineFit:
        """Fit to the rows."""


def start_scores(shares: Floats) -> Floats:
    """The scores with which every row has the classes as often as their shares: () or (K,)."""
    logarithms = np.log(shares)
    return logarithms[1] - logarithms[0] if len(shares) == 2 else logarithms


def check_engines(engines: Any, device: str, known: Collection[str]) -> None:
    """Fail with one sentence when ``engines`` is no choice of engines, or not for the device."""
    if isinstance(engines, str) and engines == "auto":
        return
    names = [engines] if isinstance(engines, str) else engines
    is_list = isinstance(names, (list, tuple)) and len(names) > 0
    if not is_list or not all(isinstance(name, str) and name in known for name in names):
        choices = ", ".join(map(repr, known))
        raise ValueError(
            f"engines must be 'auto', or one or a list of {choices}, not {engines!r}; a model of "
            "your own goes into NoiseCalibratedClassifier."
        )
    if device != "cpu" and not {TREES, XGBOOST} & set(names):
        raise ValueError(
            f"device={device!r} is where trees grow, but engines={engines!r} grow none; use "
            "'xgboost', or device='cpu'."
        )


class Table(NamedTuple):
    """What the choice of engines depends on.

    ``many_terms``: whether "no" column is a text or a category of many levels, "some" are, or there
    are texts "only".
    """

    n_rows: int
    n_columns: int
    n_classes: int
    is_sparse: bool = False
    many_terms: str = "no"

    @property
    def is_wide(self) -> bool:
        """Whether there are more columns than rows, or many."""
        return self.n_columns > min(self.n_rows, MANY_COLUMNS)


def chosen_engines(engines: Any, table: Table, device: str = "cpu") -> set[str]:
    """The names of the engines for a table."""
    if isinstance(engines, str) and engines == "auto":
        names = _usual_engines(table)
    else:
        names = {engines} if isinstance(engines, str) else set(engines)
    if device != "cpu" and TREES in names:
        names = names - {TREES} | {XGBOOST}
    if XGBOOST in names:
        xgboost()  # says what is missing, before other engines are fitted
    if TREES in names and lightgbm() is None:
        names = names - {TREES} or {POOL}
    return names


def _usual_engines(table: Table) -> set[str]:
    """What "auto" takes; whether the pool is included does not depend on the number of classes."""
    if table.many_terms == "only" or (table.is_sparse and table.is_wide):
        return {LOGISTIC}
    linear = {LOGISTIC} if table.many_terms == "some" or table.is_wide else set()
    fewest = table.n_classes * ROWS_PER_CLASS["two" if table.n_classes == 2 else "more"]
    if table.is_sparse or table.n_rows < min(fewest, POOL_ROWS):
        return linear | {POOL}
    return linear | ({POOL, TREES} if table.n_rows <= POOL_ROWS else {TREES})


# --- several engines as one model


@dataclass(frozen=True)
class Stack:
    """Members with their weights; ``shares`` are their shares of the spread of the scores.

    A row's score is Σₑ wₑ·Fₑ(x) with weights wₑ ≥ 0 of maximum likelihood, given the noise: a
    robust logistic regression whose features are the engines' held-out scores.
    """

    members: dict[str, Member]
    weights: dict[str, float]
    shares: dict[str, float]

    def scores(self, X: Any, n_jobs: int | None) -> Floats:
        """The weighted sum of the members' scores."""
        return self.sum({name: m.scores(X, n_jobs) for name, m in self.members.items()})

    def sum(self, scores: Mapping[str, Floats]) -> Floats:
        """Scores of the members, weighed and added up."""
        weighted = [self.weights[name] * own for name, own in scores.items()]
        return np.sum(weighted, axis=0)

    def feature_importances(self) -> Floats:
        """The importances of the members that have any, by their shares."""
        known = {}
        for name, member in self.members.items():
            with suppress(AttributeError):
                known[name] = self.shares[name] * member.feature_importances()
        if not known:
            raise AttributeError("The base learners have no feature_importances_.")
        return np.sum(list(known.values()), axis=0) / sum(self.shares[name] for name in known)


def combine(
    members: Mapping[str, Member], held_out: Mapping[str, Floats], likelihood: Likelihood
) -> tuple[Stack, Floats]:
    """Weigh members by their scores of rows they were not fitted to; return those of the stack."""
    names = list(members)
    found = likeliest_weights([held_out[name] for name in names], likelihood)
    spreads = found * [spread(held_out[name]) for name in names]
    if not spreads.any():  # all engines are constant: the first one stands for them
        found, spreads = np.ones(len(names)), np.eye(len(names))[0]
    shares = spreads / spreads.sum()
    kept = [number for number, share in enumerate(shares) if share > SMALLEST_SHARE]
    stack = Stack(
        {names[number]: members[names[number]] for number in kept},
        {names[number]: float(found[number]) for number in kept},
        {names[number]: float(shares[number]) for number in kept},
    )
    return stack, stack.sum({name: held_out[name] for name in stack.members})


def spread(scores: Floats) -> float:
    """How much scores differ from row to row: exactly 0 where all rows have the same."""
    return float(np.sqrt(np.var(scores - scores[:1], axis=0).mean()))


def likeliest_weights(held_out: Sequence[Floats], likelihood: Likelihood) -> Floats:
    """The weights, none negative, that make the labels likeliest; every class has an offset too.

    One engine has the weight 1, since the noise is inferred from scores of any scale.
    """
    if len(held_out) == 1:
        return np.ones(1)
    n_engines, shape = len(held_out), held_out[0].shape[1:]
    scale = np.array([spread(scores) or 1.0 for scores in held_out])
    features = np.stack([scores / unit for scores, unit in zip(held_out, scale, strict=True)])

    def cost(parameters: Floats) -> tuple[float, Floats]:
        weights, offsets = parameters[:n_engines], parameters[n_engines:]
        scores = np.tensordot(weights, features, 1) + offsets.reshape(shape)
        gradient = likelihood.derivatives(scores)[0]
        by_weights = np.tensordot(features, gradient, gradient.ndim) + 2 * PENALTY * weights
        total = likelihood.loss_sum(scores) + PENALTY * float(weights @ weights)
        return total, np.append(by_weights, gradient.sum(axis=0))

    n_offsets = int(np.prod(shape))
    start = np.append(np.full(n_engines, scale.mean() / n_engines), np.zeros(n_offsets))
    bounds = [(0, None)] * n_engines + [(None, None)] * n_offsets
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return found.x[:n_engines] / scale
