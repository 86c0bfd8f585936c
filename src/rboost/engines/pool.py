"""Engines "pool" and "linear": Algorithm 1 on out-of-bag votes.

Each round fits a base learner to half of the rows, which the other half judges. So every row has a
held-out score at no extra fit: the mean vote of the learners that have not seen it. The pool takes
learners that err in different ways in turn: trees that look for the best cut among a few columns,
trees with random cuts, and smooth kernel machines; small leaves and penalties keep each of them
from following single labels. "linear" boosts robust logistic regression alone, in the native core
where there are two classes.

What prediction needs of fitted learners is kept as arrays (:class:`StackedLearners`). A learner's
vote is g = (K·p − 1) / (K − 1), as in :mod:`rboost.engines.learners`; for two classes the vote for
class 1 alone. Each kind of learner is stacked: arrays have one entry a learner, and a part of an
ensemble returns Σ α·g over its learners, shape (n_rows, S), S = 1 for two classes, else K. Sums
differ from those of :class:`rboost.engines.learners.Ensemble` by rounding alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils import check_array, check_random_state, gen_batches

from rboost._typing import Floats, Integers
from rboost.engines.engine import EngineFit, EngineRows, EngineSettings, Infer
from rboost.engines.learners import (
    BaseLearner,
    Ensemble,
    LearnerRounds,
    NativeRounds,
    Randomness,
    RoundSettings,
    check_classes,
    coded,
    in_blocks,
    native_rounds,
    of_all_classes,
)
from rboost.engines.rounds import (
    ExponentialLoss,
    LikelihoodLoss,
    Loss,
    Progress,
    Rounds,
    RowVotes,
    boost,
    mixed,
)
from rboost.engines.trees import PackedTrees
from rboost.labels import class_probabilities, decided_classes
from rboost.learners import RandomKernelClassifier, RobustLogisticRegression
from rboost.learners.kernel import (
    KernelMachine,
    decisions_of_dense,
    directions_of,
    machines_at_once,
)
from rboost.native.threads import one_blas_thread
from rboost.noise.inference import ScoredRows, smoothed_scores
from rboost.table.features import by_table_column, for_dense, source_of

# Rounds of an engine alone; beside others, by the number of rows: the larger a table, the less the
# last ones add. Chosen on the suite "development" and tables of "sizes".
ROUNDS_ALONE, ROUNDS_BY_ROWS, FEWEST_ROUNDS = 300, {2000: 200, 8000: 100}, 60
# A learner of the pool sees no more rows than this.
MAX_ROWS = 4096
# The first round after which noise is inferred; then again each time the rounds have doubled.
FIRST_INFERENCE = 25
# Rows whose votes are read at a time.
BLOCK_ROWS = 2**16
# Sparse rows that are made dense at a time; leaves that are looked up at a time, and their trees.
SPARSE_ROWS, BLOCK_LEAVES, BLOCK_TREES = 1024, 2**18, 2**12
# Random directions that are kept between predictions, at most.
KEPT_BYTES = 2**28
# Rows at a time for which the margins of all linear models fit into the cache.
FEW_ROWS = 256
# The intercept of a class that a learner has not seen: its probability is 0.
NEVER = -1e300
NO_SETS, NO_BITS = np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint32)


def fit_pool(rows: EngineRows, infer: Infer | None, settings: EngineSettings) -> EngineFit:
    """Boost learners of three kinds."""
    pool = [BaseLearner.of(learner) for learner in pool_learners()]
    pool = [replace(own, max_rows=min(own.max_rows or MAX_ROWS, MAX_ROWS)) for own in pool]
    return _fit_rounds(rows, infer, settings, pool)


def pool_learners() -> list[Any]:
    """The learners that take turns: none follows single labels."""
    return [
        DecisionTreeClassifier(max_depth=6, max_features="sqrt"),
        ExtraTreeClassifier(min_samples_leaf=5, max_features=None),
        RandomKernelClassifier(),
    ]


def fit_linear(rows: EngineRows, infer: Infer | None, settings: EngineSettings) -> EngineFit:
    """Boost robust logistic regression."""
    return _fit_rounds(rows, infer, settings, [BaseLearner.of(linear_learner())])


def linear_learner() -> RobustLogisticRegression:
    """A weak learner: what a longer search gains in one of many is lost in their average."""
    return RobustLogisticRegression(n_init=1, max_rows=1024, tol=1e-2)


def rounds_for(n_rows: int, is_alone: bool) -> int:
    """Rounds of Algorithm 1, unless ``max_iter`` is set."""
    if is_alone:
        return ROUNDS_ALONE
    return next((n for most, n in ROUNDS_BY_ROWS.items() if n_rows <= most), FEWEST_ROUNDS)


def is_due(n_rounds: int) -> bool:
    """Whether noise is inferred after this round."""
    doubled, rest = divmod(n_rounds, FIRST_INFERENCE)
    return rest == 0 and doubled & (doubled - 1) == 0


def _fit_rounds(
    rows: EngineRows, infer: Infer | None, settings: EngineSettings, pool: list[BaseLearner]
) -> EngineFit:
    likelihood, X = rows.likelihood, for_dense(rows.X)
    n_rows, n_classes = len(likelihood), likelihood.n_classes
    check_classes(pool, n_classes)
    loss: Loss = ExponentialLoss() if n_classes == 2 else LikelihoodLoss()
    start = likelihood.with_columns(_columns_for(loss, likelihood.columns))
    votes = RowVotes.zero(n_rows, n_classes, out_of_bag=True)
    random = Randomness(check_random_state(settings.random_state))
    round_settings = RoundSettings(loss, pool, random, n_jobs=settings.n_jobs)
    rounds: Rounds | None = native_rounds(X, start, votes, round_settings, rows.always_kept)
    if rounds is None:
        label = likelihood.columns.argmax(axis=0)[likelihood.code]
        rounds = LearnerRounds(X, start, label, votes, round_settings)
    progress = Progress(start.columns)

    def scored() -> ScoredRows:
        """Held-out scores; a row that every learner was fitted to has weight 0."""
        votes, weight = rounds.votes, likelihood.weight
        assert votes.steps is not None
        judged = votes.steps > 0
        if judged.any() and not judged.all():
            weight = weight * judged
        return ScoredRows(vote_scores(votes.means, rows.shares), likelihood.code, weight)

    def update_noise() -> None:
        if infer is not None and is_due(progress.n_rounds):
            progress.columns = _columns_for(loss, infer(scored()))

    n_rounds = settings.max_iter or rounds_for(n_rows, settings.is_alone)
    numbers = range(1, n_rounds + 1)
    rate = settings.learning_rate or loss.learning_rate
    with one_blas_thread():
        shown = settings.track(numbers, n_rounds, "Boosting")
        boost(rounds, progress, update_noise, rate, shown)
    final = scored()
    steps, by = np.array(progress.steps), round_settings.votes
    if isinstance(rounds, NativeRounds):
        learners = StackedLearners.of_linear(*rounds.finish_as_arrays(), steps, by)
    else:
        learners = StackedLearners.of(Ensemble(rounds.finish(), steps, by, n_classes), X.shape[1])
    source = source_of(rows.X, "dense")
    member = BoostedLearners(
        learners,
        rounds.votes.total,
        rows.shares,
        source,
        rows.X.shape[1],
    )
    return EngineFit(member, final.scores, final, None, progress.n_rounds, progress.stop_reason)


def _columns_for(loss: Loss, columns: Floats) -> Floats:
    """Likelihoods as the loss takes them."""
    return mixed(columns) if isinstance(loss, ExponentialLoss) else columns


def vote_scores(mean_votes: Floats, shares: Floats) -> Floats:
    """Mean votes read as probabilities: their log-odds, for more than two classes their logs.

    ``shares`` is the share of each class, by which unanimous votes are smoothed.
    """
    n_classes, scores = len(shares), np.empty_like(mean_votes)
    for begin in range(0, len(scores), BLOCK_ROWS):  # copies of all rows add up
        votes = mean_votes[begin : begin + BLOCK_ROWS]
        probability = (1 + (n_classes - 1) * votes) / n_classes
        if n_classes == 2:
            probability = np.column_stack([1 - probability, probability])
        scores[begin : begin + BLOCK_ROWS] = smoothed_scores(probability, shares)
    return scores


@dataclass(frozen=True)
class BoostedLearners:
    """Learners of Algorithm 1, whose mean votes are read as probabilities.

    ``total_step`` is Σ α. The table has ``n_columns``, and ``source[c]`` is the one from which the
    learners' column c was made; None where the learners were given the table's own columns.
    """

    ensemble: StackedLearners
    total_step: float
    shares: Floats
    source: Integers | None = None
    n_columns: int = 0

    def __len__(self) -> int:
        return len(self.ensemble)

    def scores(self, X: Any, n_jobs: int | None) -> Floats:
        """The mean votes, as scores."""
        sums = self.ensemble.scores(for_dense(X), n_jobs)
        return vote_scores(sums / (self.total_step or 1.0), self.shares)

    def feature_importances(self) -> Floats:
        """Mean importance over the learners."""
        return by_table_column(self.ensemble.feature_importances(), self.source, self.n_columns)


# --- fitted learners as arrays


class Part(Protocol):
    """Learners of one kind."""

    def sums(self, X: Any) -> Floats:
        """Σ α·g of rows, (n_rows, S)."""


@dataclass(frozen=True, eq=False)
class VotingTrees:
    """Trees of scikit-learn whose leaves have ``votes``, (n_leaves, S).

    Nodes are numbered through all trees; a root or child that is negative is the leaf ~number.
    Values up to the threshold go left, NaN goes left if ``nan_left``. Rows are compared in float32.
    """

    feature: NDArray[np.int32]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    nan_left: NDArray[np.bool_]
    roots: NDArray[np.int32]
    votes: Floats
    n_columns: int

    @classmethod
    def of(cls, trees: Sequence[Any], votes: Sequence[Floats], n_columns: int) -> VotingTrees:
        """Fitted trees with the votes of all their nodes; None stands for a tree of one leaf."""
        parts: dict[str, list[NDArray[Any]]] = {name: [] for name in cls.__annotations__}
        n_splits = n_leaves = 0
        for tree, own in zip(trees, votes, strict=True):
            left = np.array([-1]) if tree is None else tree.children_left
            is_leaf = left < 0
            number = np.where(
                is_leaf, ~(n_leaves + np.cumsum(is_leaf) - 1), n_splits + np.cumsum(~is_leaf) - 1
            )
            parts["roots"].append(number[:1])
            parts["votes"].append(own[is_leaf])
            if tree is not None:
                splits = np.flatnonzero(~is_leaf)
                parts["left"].append(number[left[splits]])
                parts["right"].append(number[tree.children_right[splits]])
                parts["feature"].append(tree.feature[splits])
                parts["threshold"].append(tree.threshold[splits])
                parts["nan_left"].append(tree.missing_go_to_left[splits] != 0)
            n_leaves += int(is_leaf.sum())
            n_splits += int((~is_leaf).sum())

        def joined(name: str, dtype: Any) -> NDArray[Any]:
            return np.concatenate([np.zeros(0), *parts[name]]).astype(dtype)

        whole = {name: joined(name, np.int32) for name in ("feature", "left", "right", "roots")}
        return cls(
            **whole,
            threshold=joined("threshold", np.float64),
            nan_left=joined("nan_left", np.bool_),
            votes=np.concatenate(parts["votes"]),
            n_columns=n_columns,
        )

    @cached_property
    def _used(self) -> NDArray[np.int32]:
        """The columns that splits depend on, or one that none does."""
        return np.unique(self.feature if len(self.feature) else np.zeros(1, dtype=np.int32))

    def sums(self, X: Any) -> Floats:
        """Σ α·g of rows."""
        with np.errstate(over="ignore"):  # what float32 cannot hold is refused as infinite
            X = check_array(X, dtype=np.float32, accept_sparse="csr", ensure_all_finite="allow-nan")
        if not sparse.issparse(X):
            return self._walked(X, self._packed)
        blocks = gen_batches(X.shape[0], SPARSE_ROWS)
        return np.concatenate(
            [self._walked(X[own][:, self._used].toarray(), self._packed_used) for own in blocks]
        )

    @cached_property
    def _packed(self) -> list[PackedTrees]:
        return self._pack(self.feature)

    @cached_property
    def _packed_used(self) -> list[PackedTrees]:
        """For rows of the used columns alone."""
        return self._pack(np.searchsorted(self._used, self.feature).astype(np.int32))

    def _pack(self, feature: NDArray[np.int32]) -> list[PackedTrees]:
        """All trees; of more classes in parts, where each tree has an output of its own."""
        no_set = np.full(len(feature), -1, dtype=np.int32)
        nodes = (
            feature, self.threshold, self.left, self.right, self.nan_left, no_set, NO_SETS, NO_BITS
        )  # fmt: skip
        if self.votes.shape[1] == 1:
            return [PackedTrees(*nodes, np.ascontiguousarray(self.votes[:, 0]), self.roots, 1)]
        numbers = np.arange(len(self.votes), dtype=np.float64)  # of leaves
        parts = [self.roots[trees] for trees in gen_batches(len(self.roots), BLOCK_TREES)]
        return [PackedTrees(*nodes, numbers, roots, len(roots)) for roots in parts]

    def _walked(self, X: NDArray[Any], parts: list[PackedTrees]) -> Floats:
        X = np.ascontiguousarray(X)
        if self.votes.shape[1] == 1:
            return parts[0].scores(X)
        sums = np.zeros((len(X), self.votes.shape[1]))
        for part in parts:
            n_trees = min(BLOCK_TREES, len(self.roots))
            for block in gen_batches(len(X), max(1, BLOCK_LEAVES // n_trees)):
                leaves = part.scores(X[block]).astype(np.intp)
                sums[block] += np.sum([self.votes[own] for own in leaves.T], axis=0)
        return sums


@dataclass(frozen=True, eq=False, kw_only=True)
class Voters:
    """Learners with decisions of their own, and their steps α (L,).

    ``coef`` (L, D, S) and ``intercept`` (L, S). A class that a learner has not seen has the
    intercept ``NEVER`` and coefficients of 0; of two classes that it has seen among more, the first
    has the score 0.
    """

    steps: Floats
    votes: str
    coef: Floats
    intercept: Floats

    def decisions(self, number: int, X: Any) -> Floats:
        """Scores of one learner, (n_rows, S)."""
        raise NotImplementedError

    def sums(self, X: Any) -> Floats:
        """Σ α·g of rows."""
        sums = np.zeros((X.shape[0], self.coef.shape[2]))
        for number, step in enumerate(self.steps):
            sums += step * self._votes(self.decisions(number, X))
        return sums

    def _votes(self, decisions: Floats) -> Floats:
        """Votes of scores, both (n, S)."""
        scores = decisions[:, 0] if decisions.shape[1] == 1 else decisions
        probability = class_probabilities(scores)
        if self.votes == "class":
            probability = np.eye(probability.shape[1])[decided_classes(scores)]
        return coded(probability.astype(np.float64)).reshape(decisions.shape)


def _for_all_classes(
    coef: Floats, intercept: Any, seen: Integers, n_classes: int
) -> tuple[Floats, Floats]:
    """Coefficients (D, S) and intercepts (S,) of a learner that has seen some of the classes."""
    if n_classes == 2:
        return coef.reshape(-1, 1), np.reshape(intercept, 1)
    places = seen if coef.ndim == 2 else seen[1:]
    all_coef, all_intercepts = np.zeros((len(coef), n_classes)), np.full(n_classes, NEVER)
    all_intercepts[seen] = 0
    all_coef[:, places], all_intercepts[places] = coef.reshape(len(coef), -1), intercept
    return all_coef, all_intercepts


def _stacked(pairs: Iterable[tuple[Floats, Floats]]) -> dict[str, Any]:
    coef, intercept = zip(*pairs, strict=True)
    return {"coef": np.stack(coef), "intercept": np.stack(intercept)}


@dataclass(frozen=True, eq=False, kw_only=True)
class VotingKernels(Voters):
    """Random kernel machines: the arrays of :class:`KernelMachine`, stacked.

    Their random directions are drawn when they first predict, and kept where all together take no
    more than ``KEPT_BYTES``. Several machines are evaluated at a time.
    """

    medians: Floats
    center: Floats
    scale: Floats
    width: Floats
    seed: Integers

    @cached_property
    def _machines(self) -> list[KernelMachine]:
        arrays = [getattr(self, name) for name in KernelMachine.__dataclass_fields__]
        return [KernelMachine(*own) for own in zip(*arrays, strict=True)]

    @property
    def _are_kept(self) -> bool:
        return self.scale.size * self.coef.shape[1] * self.scale.itemsize <= KEPT_BYTES

    @cached_property
    def _directions(self) -> NDArray[np.float32]:
        """The random directions of all machines."""
        return self._drawn(slice(None))

    def _drawn(self, machines: slice) -> NDArray[np.float32]:
        return directions_of([replace(own) for own in self._machines[machines]])

    def decisions(self, number: int, X: Any) -> Floats:
        """Scores of one machine."""
        machine = self._machines[number]
        return (machine if self._are_kept else replace(machine)).decisions(X)

    def sums(self, X: Any) -> Floats:
        """Σ α·g of rows, of which sparse ones are made dense for machines fitted to dense ones."""
        if sparse.issparse(X) and not self.center.any():
            return super().sums(X)
        if sparse.issparse(X):
            blocks = gen_batches(X.shape[0], SPARSE_ROWS)
            return np.concatenate([self.sums(X[rows].toarray()) for rows in blocks])
        n_machines, n_components, n_outputs = self.coef.shape
        sums = np.zeros((len(X), n_outputs))
        at_once = machines_at_once(len(X), X.shape[1], n_components)
        for begin in range(0, n_machines, at_once):
            own = slice(begin, begin + at_once)
            directions = self._directions[own] if self._are_kept else self._drawn(own)
            scaled = self.medians[own], self.center[own], self.scale[own]
            decisions = decisions_of_dense(X, *scaled, directions, self.coef[own])
            decisions += self.intercept[own, np.newaxis]
            votes = self._votes(decisions.reshape(-1, n_outputs)).reshape(decisions.shape)
            sums += np.tensordot(self.steps[own], votes, 1)
        return sums

    @classmethod
    def of(cls, learners: Sequence[Any], steps: Floats, ensemble: Ensemble) -> VotingKernels:
        """Fitted learners, by positions of classes."""
        machines: list[KernelMachine] = [learner.machine_ for learner in learners]
        names = ("medians", "center", "scale", "width", "seed")
        arrays = {name: np.array([getattr(own, name) for own in machines]) for name in names}
        ends = (
            _for_all_classes(own.coef, own.intercept, learner.classes_, ensemble.n_classes)
            for own, learner in zip(machines, learners, strict=True)
        )
        return cls(**arrays, **_stacked(ends), steps=steps, votes=ensemble.votes)


@dataclass(frozen=True, eq=False, kw_only=True)
class VotingLinear(Voters):
    """Linear models: D is the number of columns."""

    def decisions(self, number: int, X: Any) -> Floats:
        """Scores of one model."""
        return np.asarray(X @ self.coef[number] + self.intercept[number])

    def sums(self, X: Any) -> Floats:
        """Σ α·g of rows; of two classes all models at once."""
        if self.coef.shape[2] > 1:
            return super().sums(X)
        coef, intercept, sums = self.coef[:, :, 0].T / 2, self.intercept[:, 0] / 2, []
        for rows in gen_batches(X.shape[0], FEW_ROWS):
            half = X[rows] @ coef + intercept
            by_class = self.votes == "class"
            votes = np.where(half > 0, 1.0, -1.0) if by_class else np.tanh(half)  # 2σ(m) − 1
            sums.append(votes @ self.steps)
        return np.concatenate(sums)[:, np.newaxis]

    @classmethod
    def of(cls, learners: Sequence[Any], steps: Floats, ensemble: Ensemble) -> VotingLinear:
        """Fitted models with ``coef_`` and ``intercept_``, by positions of classes."""
        ends = (
            _for_all_classes(
                own.coef_[0] if len(own.coef_) == 1 else own.coef_.T,
                own.intercept_,
                own.classes_,
                ensemble.n_classes,
            )
            for own in learners
        )
        return cls(**_stacked(ends), steps=steps, votes=ensemble.votes)


@dataclass(frozen=True, eq=False)
class StackedLearners:
    """The learners of an ensemble by their kinds, with their mean importances, if any have some.

    ``n_columns`` is the number of columns that they were fitted to.
    """

    parts: tuple[Part, ...]
    n_learners: int
    n_classes: int
    n_columns: int
    importances: Floats | None

    @classmethod
    def of(cls, ensemble: Ensemble, n_columns: int) -> StackedLearners:
        """The learners of an ensemble; fails with one sentence where a kind has no arrays here."""
        kinds = [_kind_of(learner) for learner in ensemble.learners]
        try:
            importances = ensemble.feature_importances()
        except AttributeError:
            importances = None
        parts: list[Part] = []
        for kind in dict.fromkeys(kinds):
            chosen = [number for number, own in enumerate(kinds) if own is kind]
            learners = [ensemble.learners[number] for number in chosen]
            if kind is VotingTrees:
                parts.append(_voting_trees(learners, ensemble.steps[chosen], ensemble, n_columns))
            else:
                parts.append(kind.of(learners, ensemble.steps[chosen], ensemble))
        return cls(tuple(parts), len(ensemble), ensemble.n_classes, n_columns, importances)

    @classmethod
    def of_linear(
        cls, coef: Floats, intercept: Floats, steps: Floats, votes: str
    ) -> StackedLearners:
        """Linear models of two classes; those with an infinite intercept are constant."""
        intercept = np.nan_to_num(intercept)[:, np.newaxis]
        linear = VotingLinear(
            steps=steps, votes=votes, coef=coef[:, :, np.newaxis], intercept=intercept
        )
        return cls((linear,), len(steps), 2, coef.shape[1], None)

    def __len__(self) -> int:
        return self.n_learners

    def scores(self, X: Any, n_jobs: int | None) -> Floats:
        """H(x), eq. (8): the sum over the learners."""
        n_outputs = 1 if self.n_classes == 2 else self.n_classes

        def score(rows: Any) -> Floats:
            sums = np.zeros((rows.shape[0], n_outputs))
            for part in self.parts:
                sums += part.sums(rows)
            return sums[:, 0] if n_outputs == 1 else sums

        return in_blocks(score, X, n_jobs)

    def feature_importances(self) -> Floats:
        """Mean importance over the learners that have any, weighted by their steps."""
        if self.importances is None:
            raise AttributeError("The base learners have no feature_importances_.")
        return self.importances

    @property
    def learners(self) -> NoReturn:
        """The learners themselves are not kept: raises AttributeError."""
        raise AttributeError(
            "A model from a file holds no single base learners; fit again to have them."
        )

    def contributions(self, X: Any) -> Iterator[Floats]:
        """What each learner adds is not kept: raises the error of ``learners``."""
        return self.learners


def _voting_trees(
    learners: Sequence[Any], steps: Floats, ensemble: Ensemble, n_columns: int
) -> VotingTrees:
    """Trees; learners of a sample with one class are trees of one leaf."""
    votes = []
    for step, learner in zip(steps, learners, strict=True):
        is_constant = isinstance(learner, DummyClassifier)
        shares = np.ones((1, 1)) if is_constant else learner.tree_.value[:, 0, :]
        if ensemble.votes == "class":
            shares = np.eye(shares.shape[1])[shares.argmax(axis=1)]
        probability = of_all_classes(shares, learner.classes_, ensemble.n_classes)
        votes.append(step * coded(probability).reshape(len(shares), -1))
    return VotingTrees.of([getattr(own, "tree_", None) for own in learners], votes, n_columns)


KINDS: dict[type, Any] = {
    DecisionTreeClassifier: VotingTrees,
    ExtraTreeClassifier: VotingTrees,
    DummyClassifier: VotingTrees,
    RandomKernelClassifier: VotingKernels,
    RobustLogisticRegression: VotingLinear,
    LogisticRegression: VotingLinear,
}


def _kind_of(learner: Any) -> Any:
    """The class that stacks a learner; subclasses are refused, as they may predict differently."""
    if type(learner) not in KINDS or not is_multinomial(learner):
        raise ValueError(
            f"A model with {type(learner).__name__} as base learner is not saved, since a model "
            "file holds arrays of known learners alone; keep it with joblib."
        )
    return KINDS[type(learner)]


def is_multinomial(learner: Any) -> bool:
    """Whether probabilities of a linear model are a softmax; those of others are not supported."""
    if not isinstance(learner, LogisticRegression) or len(learner.classes_) == 2:
        return True
    is_ovr = learner.get_params().get("multi_class") == "ovr"
    return learner.solver != "liblinear" and not is_ovr
