"""Rounds of Algorithm 1 with any classifiers of scikit-learn as base learners, or natively.

Base learners are trained on positions of classes. A learner's class probabilities p have shape
(n_rows, K). Its vote is g = (K·p − 1) / (K − 1), which is 1 for a class that it is sure of and sums
to 0. For two classes g = (−h, h) with the paper's h, and h alone is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from rboost import native
from rboost._typing import Floats, Integers
from rboost._validation import check_classifier
from rboost.engines.rounds import ExponentialLoss, ExponentialSums, Loss, RowVotes, Sums, Terms
from rboost.learners.kernel import RandomKernelClassifier, filled, medians_of
from rboost.learners.tree import grow_tree, is_plain_tree
from rboost.noise.likelihood import Likelihood

# "uniform": a fraction of the rows without replacement, weighted; "weights": rows drawn with
# replacement in proportion to their weights, then counted equally; "none": every row, weighted.
SAMPLINGS = ("none", "uniform", "weights")
# Copies of rows with a smaller weight than this share of the largest are left out.
NEGLIGIBLE = 1e-6
# Rows predicted at a time. The blocks do not depend on n_jobs, so neither do the results.
BLOCK_ROWS = 8192

# Class weights and steps below these are rounding errors of float32.
ROUNDING, SMALLEST_STEP = 4e-7, 1e-7


@dataclass(frozen=True)
class BaseLearner:
    """A classifier to be boosted, and what it can do besides ``fit`` and ``predict``.

    ``max_rows`` is the number of rows beyond which more are of no use, if it has such an attribute.
    ``seeded`` are its parameters that take a seed. One with ``native_options`` can be fitted by the
    native core (:class:`NativeRounds`).
    """

    estimator: Any
    max_rows: int | None
    seeded: list[str]
    nested: bool

    @classmethod
    def of(cls, estimator: Any) -> BaseLearner:
        """What a classifier can do, found out once."""
        nested = any("__" in name for name in estimator.get_params(deep=True))
        max_rows = getattr(estimator, "max_rows", None)
        return cls(estimator, max_rows, seeded_parameters(estimator), nested)

    def new(self, next_seed: Callable[[], int]) -> Any:
        """An unfitted copy with seeds of its own."""
        if self.seeded == ["random_state"] and not self.nested:  # a clone takes as long as a fit
            learner = copy(self.estimator)
            learner.random_state = next_seed()
            return learner
        return clone(self.estimator).set_params(**{name: next_seed() for name in self.seeded})


def check_learner(estimator: Any, sampling: str, votes: str) -> BaseLearner:
    """Fail with one sentence when a classifier cannot be boosted this way."""
    check_classifier(estimator, "DecisionTreeClassifier(max_depth=1)")
    if sampling != "weights" and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight, which sampling={sampling!r} needs;"
            " use sampling='weights', which draws rows instead, or another estimator."
        )
    if votes == "probability" and not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{type(estimator).__name__} has no predict_proba, which votes='probability' needs; "
            "use votes='class' or another estimator."
        )
    return BaseLearner.of(clone(estimator))


def check_classes(pool: Sequence[BaseLearner], n_classes: int) -> None:
    """Fail with one sentence when a base learner takes two classes only, but there are more."""
    for learner in pool:
        if n_classes > 2 and not get_tags(learner.estimator).classifier_tags.multi_class:
            raise ValueError(
                f"Only binary classification is supported by {type(learner.estimator).__name__}, "
                f"but y holds {n_classes} classes; boost another estimator."
            )


def seeded_parameters(estimator: Any) -> list[str]:
    """Every parameter that takes a seed, in the order in which scikit-learn's ensembles seed."""
    return [
        name
        for name in sorted(estimator.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    ]


def scaled_weights(weights: Floats, sample_weight: Floats, total: float | None = None) -> Floats:
    """Scale boosting weights to the total of the sample weights, on a grid of steps of 2⁻³².

    Multiples of a power of two are summed exactly, in any order. So a tree that finds two splits
    equally good finds them so, and takes the same one, whatever the order of the rows, and whether
    a row has weight 2 or stands there twice (for whole sample weights of up to a million rows; else
    up to rounding). Weights below 10⁻¹⁰ of the mean become 0.
    """
    largest = weights.max()
    if largest <= 0:  # a sample of rows so well fitted that their weights vanished: all alike
        return sample_weight
    weights = weights / largest  # they may all be close to the smallest number there is
    scale = (sample_weight.sum() if total is None else total) / weights.sum()
    return sample_weight * np.ldexp(np.round(np.ldexp(weights / sample_weight * scale, 32)), -32)


# --- votes


def named_class(learner: Any, X: Any, n_classes: int, **options: bool) -> Floats:
    """Probability 1 for the predicted class, as in the paper."""
    return np.eye(n_classes)[np.asarray(learner.predict(X, **options), dtype=np.intp)]


def class_probability(learner: Any, X: Any, n_classes: int, **options: bool) -> Floats:
    """The learner's class probabilities."""
    probability = np.asarray(learner.predict_proba(X, **options), dtype=np.float64)
    return of_all_classes(probability, learner.classes_, n_classes)


def of_all_classes(outputs: Floats, seen: Integers, n_classes: int, absent: float = 0.0) -> Floats:
    """One column for each class, ``absent`` for those that a learner has not seen."""
    if outputs.shape[1] == n_classes:
        return outputs
    found = np.full((len(outputs), n_classes), absent)
    found[:, seen] = outputs
    return found


VOTES = {"class": named_class, "probability": class_probability}


def coded(probability: Floats) -> Floats:
    """The votes of class probabilities."""
    n_classes = probability.shape[1]
    if n_classes == 2:
        return 2 * probability[:, 1] - 1
    return (n_classes * probability - 1) / (n_classes - 1)


def expanded(scores: Floats) -> Floats:
    """F, (n_rows, K), also for two classes."""
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


class ValidatedRows:
    """Rows of X, validated once, so that not every learner of an ensemble does it again.

    Trees of scikit-learn, which compute in float32, and kernel machines can skip their checks. On a
    few thousand rows these take longer than the fits.
    """

    def __init__(self, X: Any) -> None:
        self._X = X

    @property
    def _holds_floats(self) -> bool:
        return isinstance(self._X, np.ndarray) and self._X.dtype.kind == "f"

    @cached_property
    def _for_trees(self) -> Any:
        """The rows in float32; None where they are not dense floats, or infinite."""
        if not self._holds_floats:
            return None
        with np.errstate(over="ignore"):
            rows = np.asarray(self._X, dtype=np.float32)
        return None if np.isinf(rows).any() else rows

    @cached_property
    def _for_kernels(self) -> tuple[Floats, Floats]:
        """The rows to fit to with medians in the place of missing values, and these medians."""
        medians = medians_of(self._X)
        return filled(self._X, medians), medians

    def _ready_for(self, learner: Any) -> bool:
        return is_plain_tree(learner) and self._for_trees is not None

    def fit(self, learner: Any, rows: Integers, targets: Integers, **weighted: Any) -> Any:
        """Fit a learner to some of the rows."""
        if self._ready_for(learner):
            return grow_tree(learner, self._for_trees[rows], targets, **weighted)
        if type(learner) is RandomKernelClassifier and self._holds_floats and weighted:
            X, medians = self._for_kernels
            return learner.fit_validated(X[rows], targets, weighted["sample_weight"], medians)
        return learner.fit(self._X[rows], targets, **weighted)

    def votes(self, learner: Any, votes: str, n_classes: int, rows: Any = slice(None)) -> Floats:
        """Class probabilities of some of the rows by a learner; 0 and 1 for votes by class."""
        if self._ready_for(learner):
            shares = learner.tree_.predict(self._for_trees[rows])
            if votes == "class":
                return np.eye(n_classes)[learner.classes_[shares.argmax(axis=1)]]
            return of_all_classes(shares, learner.classes_, n_classes)
        if type(learner) is RandomKernelClassifier and self._holds_floats and votes != "class":
            return VOTES[votes](learner, self._X[rows], n_classes, check_input=False)
        return VOTES[votes](learner, self._X[rows], n_classes)


# --- what a base learner is given


@dataclass
class Randomness:
    """Where random numbers come from; ``deck`` holds the shuffled rows not drawn yet.

    ``seeds`` are drawn many at a time and then used one by one.
    """

    state: np.random.RandomState
    deck: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    seeds: list[int] = field(default_factory=list)

    @cached_property
    def generator(self) -> np.random.Generator:
        """Draws a few rows of many, where the random state would permute all of them."""
        return np.random.default_rng(self.state.randint(2**31 - 1))

    def deal(self, n_rows: int, n_drawn: int) -> NDArray[np.intp]:
        """Take rows from a shuffled deck of all, and shuffle anew when too few are left.

        So learners that are given halves come in pairs, and every row is left out by one of
        each pair: all rows are judged by equally many learners.
        """
        if len(self.deck) < n_drawn:
            self.deck = self.state.permutation(n_rows)
        rows, self.deck = self.deck[:n_drawn], self.deck[n_drawn:]
        return rows

    def seed(self) -> int:
        """A number for the ``random_state`` of a base learner."""
        if not self.seeds:  # drawing many at once is cheaper
            self.seeds = self.state.randint(2**31 - 1, size=64).tolist()
        return self.seeds.pop()


def draw_uniformly(
    n_rows: int, max_samples: float, random: Randomness, max_rows: int | None = None
) -> NDArray[np.intp]:
    """A fraction of the rows without replacement, but no more than a learner has use for."""
    n_drawn = n_uniform(n_rows, max_samples)
    if max_rows is not None and max_rows < n_drawn:
        return random.generator.choice(n_rows, max_rows, replace=False, shuffle=False)
    return random.deal(n_rows, n_drawn)


def n_uniform(n_rows: int, max_samples: float) -> int:
    """The number of rows that a fraction comes to, at least one."""
    return max(1, round(max_samples * n_rows))


class Copies(NamedTuple):
    """Rows, each as often as it has targets; ``weights`` of None stand for equal ones."""

    rows: Integers
    targets: Integers
    weights: Floats | None

    def drawn(self, n_drawn: int, random: Randomness) -> Copies:
        """Some of them with replacement, in proportion to their weights."""
        assert self.weights is not None
        weights = self.weights if self.weights.any() else np.ones_like(self.weights)
        found = random.state.choice(len(weights), size=n_drawn, p=weights / weights.sum())
        return Copies(self.rows[found], self.targets[found], None)


def flip_negative(class_weights: Floats, label: Integers) -> Copies:
    """Each row once for every class but the worst, with its class weight less that of the worst.

    Σⱼ wⱼ·1(h ≠ j) = const + Σⱼ (wⱼ − minₗ wₗ)·1(h ≠ j), so a learner that minimises the right side
    minimises the left. Of two classes one is left: where the paper's weight w is negative, that is
    the opposite label with weight |w|.
    """
    excess = class_weights - class_weights.min(axis=1, keepdims=True)
    every, largest = np.arange(len(label)), excess.max()
    if class_weights.shape[1] == 2:  # also rows of weight 0, which some learners count
        flipped = excess[every, 1 - label] > 0
        return Copies(every, np.where(flipped, 1 - label, label), excess.sum(axis=1))
    if largest <= 0:
        return Copies(every, label, np.zeros(len(label)))
    rows, targets = np.nonzero(excess > NEGLIGIBLE * largest)
    return Copies(rows, targets, excess[rows, targets])


def keep_labels(class_weights: Floats, label: Integers) -> Copies:
    """The label as observed, with |w|: not what eq. (11) asks for, but nearer to the paper."""
    every = np.arange(len(label))
    own = class_weights[every, label]
    return Copies(every, label, np.abs(own - class_weights.mean(axis=1)))


# What a base learner is given for a row that is more certain than its label deserves, whose weight
# in the paper is negative; the paper does not say.
NEGATIVE_WEIGHTS = {"flip": flip_negative, "keep": keep_labels}


@dataclass(frozen=True)
class RoundSettings:
    """How rounds are run; the defaults are those of the pool, whose learners take turns."""

    loss: Loss
    pool: list[BaseLearner]
    random: Randomness
    sampling: str = "uniform"
    max_samples: float = 0.5
    votes: str = "probability"
    negative_weights: str = "flip"
    n_jobs: int | None = None


class LearnerRounds:
    """:class:`rboost.engines.rounds.Rounds` that take the base learners of a pool in turn.

    ``label`` is the class that each row is given as where all class weights are equal.
    """

    def __init__(
        self,
        X: Any,
        likelihood: Likelihood,
        label: Integers,
        votes: RowVotes,
        settings: RoundSettings,
        n_rounds: int = 0,
    ) -> None:
        self._table, self._likelihood, self._label = ValidatedRows(X), likelihood, label
        self._settings, self._random, self._loss = settings, settings.random, settings.loss
        self._number, self._kept = n_rounds, list[Any]()
        self.votes, self.out_of_bag = votes.copy(), votes.steps is not None

    def fit_learner(self, columns: Floats) -> None:
        """Fit a fresh copy of a base learner to rows drawn by ``sampling``."""
        weight, scores = self._likelihood.weight, expanded(self.votes.scores)
        self._terms: Terms = self._loss.terms(self._likelihood.with_columns(columns), scores)
        base = self._settings.pool[self._number % len(self._settings.pool)]
        self._number += 1
        copies, total = self._draw(base.max_rows)
        self.learner = base.new(self._random.seed)
        self._unseen: Integers | None = None
        if self.out_of_bag:
            is_unseen = np.ones(len(self._label), dtype=bool)
            is_unseen[copies.rows] = False
            self._unseen = np.flatnonzero(is_unseen)
        targets, weights = copies.targets, None
        if copies.weights is not None:
            weights = scaled_weights(copies.weights, weight[copies.rows], total)
        if np.ptp(targets if weights is None else targets[weights > 0]) == 0:
            self.learner = DummyClassifier(strategy="prior")  # one class: nothing else to learn
        weighted = {} if weights is None else {"sample_weight": weights}
        self.learner = self._table.fit(self.learner, copies.rows, targets, **weighted)

    def _draw(self, max_rows: int | None) -> tuple[Copies, float]:
        """What the next learner is given, and the total weight of the rows that it is drawn from.

        Weights are scaled to that total, so that a penalty such as ``C`` means the same as in a fit
        of the estimator alone.
        """
        settings, drawn = self._settings, np.arange(len(self._label))
        if settings.sampling == "uniform":
            drawn = draw_uniformly(len(drawn), settings.max_samples, self._random, max_rows)
            drawn.sort()
        ways = NEGATIVE_WEIGHTS[settings.negative_weights]
        copies = ways(self._terms.class_weights[drawn], self._label[drawn])
        if settings.sampling == "weights":
            n_drawn = n_uniform(len(drawn), settings.max_samples)
            copies = copies.drawn(min(n_drawn, max_rows or n_drawn), self._random)
        copies = copies._replace(rows=drawn[copies.rows])
        return copies, float(self._likelihood.weight[drawn].sum())

    def judge(self) -> Sums:
        """Ask the learner about all rows, or about those that it has not seen."""
        n_classes, judges = self._likelihood.n_classes, self._unseen
        if judges is not None and not len(judges):
            self._said = np.zeros((0, n_classes))
        else:
            rows = slice(None) if judges is None else judges
            self._said = self._table.votes(self.learner, self._settings.votes, n_classes, rows)
        return self._terms.judge(self._said, judges)

    def move(self, step: float) -> None:
        """Keep the learner and count its votes."""
        judges = slice(None) if self._unseen is None else self._unseen
        self.votes.add(step, coded(self._said), judges)
        self._kept.append(self.learner)

    def finish(self) -> list[Any]:
        """The learners that were kept."""
        return self._kept


# --- rounds in the native core


def native_rounds(
    X: Any,
    likelihood: Likelihood,
    votes: RowVotes,
    settings: RoundSettings,
    certain: NDArray[np.bool_],
) -> NativeRounds | None:
    """The rounds in the native core, or None when they are not for it.

    It takes one linear learner of two classes and the exponential loss, draws no rows by their
    weights, and knows patterns 0 and 1, of labels 0 and 1, and 2 and 3, of labels that are certain.
    """
    learner = settings.pool[0].estimator
    has_options = len(settings.pool) == 1 and hasattr(learner, "native_options")
    if not has_options or not isinstance(settings.loss, ExponentialLoss):
        return None
    if likelihood.n_classes > 2 or settings.sampling == "weights":
        return None
    used = likelihood.code.max() + 1
    if used > 4 or certain[:2].any() or not certain[2:used].all():
        return None
    options, rows = learner.native_options(), native.rows_for_native(X)
    if options is None or rows is None:
        return None
    return NativeRounds(rows, likelihood, options, votes, settings)


class NativeRounds:
    """:class:`rboost.engines.rounds.Rounds` in the native core, with one linear base learner.

    The core reads the rows once a round: the votes of a learner are added in the pass that judges
    the next one. It computes what :class:`LearnerRounds` does; both are tested to agree. The
    learner has ``native_options()``, ``starts(n_features, random_state)`` and ``set_fitted(...)``,
    as :class:`rboost.RobustLogisticRegression` does.
    """

    def __init__(
        self,
        X: NDArray[Any],
        likelihood: Likelihood,
        options: dict[str, Any],
        votes: RowVotes,
        settings: RoundSettings,
    ) -> None:
        module, votes = native.compiled(), votes.copy()
        assert module is not None
        self._settings, self._learner = settings, clone(settings.pool[0].estimator)
        self._shape, self._n_unconverged = X.shape, 0
        self.out_of_bag = votes.steps is not None
        # The core changes these in place.
        self._votes = votes.sums
        self._missed = None if votes.steps is None else votes.total - votes.steps
        kind = module.FloatRounds if X.dtype == np.float32 else module.DoubleRounds
        certain = likelihood.code >= 2
        self._rounds = kind(
            X,
            2.0 * (likelihood.code % 2) - 1,
            None if np.all(likelihood.weight == 1) else likelihood.weight,
            certain if certain.any() else None,
            self._votes,
            self._missed,
            np.zeros(len(X), dtype=np.float32),
            **options,
            probability=settings.votes == "probability",
            flip_negative=settings.negative_weights == "flip",
            total_step=votes.total,
            n_threads=effective_n_jobs(settings.n_jobs),
        )
        self._lone_start: Floats | None = None

    def fit_learner(self, columns: Floats) -> None:
        """Fit the learner to rows drawn by ``sampling``."""
        sample = None
        if self._settings.sampling == "uniform":
            n_rows, max_rows = self._shape[0], self._learner.max_rows
            sample = draw_uniformly(
                n_rows, self._settings.max_samples, self._settings.random, max_rows
            )
        seed = self._settings.random.seed()
        starts = self._lone_start
        if starts is None:
            starts = self._learner.starts(self._shape[1], seed)
            if len(starts) == 1:  # the same for every seed
                self._lone_start = starts
        mixing = np.ascontiguousarray(columns[:, :2].T)
        self._n_unconverged += not self._rounds.fit_learner(mixing, sample, starts)

    def judge(self) -> ExponentialSums:
        """Add the votes of the learner before, and judge this one, in one pass over the rows."""
        falling, rising, total, net, least_agreement = self._rounds.judge()
        perfect = rising == 0 and least_agreement > 0
        sums = ExponentialSums(falling, rising, total, net, perfect, 2, ROUNDING, SMALLEST_STEP)
        return sums.with_one_more_row(self._shape[0]) if self.out_of_bag else sums

    def move(self, step: float) -> None:
        """Keep the learner and count its votes."""
        self._rounds.move(step)

    @property
    def votes(self) -> RowVotes:
        """The votes of the learners so far."""
        self._rounds.settle()
        total = self._rounds.total_step
        return RowVotes(self._votes, None if self._missed is None else total - self._missed, total)

    def finish(self) -> list[Any]:
        """The learners that were kept; those that did not converge are reported in one warning."""
        both = zip(*self._finished(), strict=True)
        return [self._fitted(coef, *numbers) for coef, numbers in both]

    def finish_as_arrays(self) -> tuple[Floats, Floats]:
        """Their coefficients (L, n_columns) and intercepts (L,), infinite where one is constant."""
        coef, numbers = self._finished()
        return np.array(coef), np.array([own[0] for own in numbers])

    def _finished(self) -> tuple[Any, Any]:
        if self._n_unconverged:
            warnings.warn(
                f"{self._n_unconverged} base learners stopped at max_iter before they converged; "
                "raise their max_iter or tol, or penalise more with a smaller C.",
                ConvergenceWarning,
                stacklevel=5,
            )
        coef, numbers = self._rounds.kept()
        return coef, numbers

    def _fitted(self, coef: Floats, intercept: float, *found: float) -> Any:
        """A fitted learner; an infinite intercept is the constant one of a sample of one class."""
        if np.isinf(intercept):
            constant = [int(intercept > 0)]
            return DummyClassifier(strategy="prior").fit(coef[np.newaxis], constant)
        learner = copy(self._learner)
        learner.set_fitted(coef, intercept, *found)
        return learner


# --- the learners that were kept


@dataclass(frozen=True)
class Ensemble:
    """Learners in the order of their rounds, with their steps α; ``votes`` names how they vote."""

    learners: Sequence[Any]
    steps: Floats
    votes: str
    n_classes: int

    def __len__(self) -> int:
        return len(self.steps)

    def contributions(self, X: Any) -> Iterator[Floats]:
        """What each learner adds to the scores of rows."""
        rows = ValidatedRows(X)
        for step, learner in zip(self.steps, self.learners, strict=True):
            yield step * coded(rows.votes(learner, self.votes, self.n_classes))

    def scores(self, X: Any, n_jobs: int | None) -> Floats:
        """H(x), eq. (8): the sum over the learners."""
        return summed(self.contributions, X, self.n_classes, n_jobs)

    def feature_importances(self) -> Floats:
        """Mean importance over the learners that have any, weighted by their steps."""
        # Constant learners, fitted where a sample held one class, have none.
        found = map(_importances_of, self.learners)
        weighted = [
            (step, own) for step, own in zip(self.steps, found, strict=True) if own is not None
        ]
        if not weighted:
            raise AttributeError("The base learners have no feature_importances_.")
        steps, importances = map(np.array, zip(*weighted, strict=True))
        return steps @ importances / steps.sum()


def _importances_of(learner: Any) -> Floats | None:
    if is_plain_tree(learner):  # without checks, which take as long as the tree
        importances: Floats = learner.tree_.compute_feature_importances()
        return importances
    return getattr(learner, "feature_importances_", None)


def summed(
    contributions: Callable[[Any], Iterator[Floats]], X: Any, n_classes: int, n_jobs: int | None
) -> Floats:
    """The sum of what each learner adds to the scores of rows: (n_rows,) or (n_rows, K)."""

    def score(rows: Any) -> Floats:
        scores = np.zeros((rows.shape[0], *([n_classes] if n_classes > 2 else [])))
        for contribution in contributions(rows):
            scores += contribution
        return scores

    return in_blocks(score, X, n_jobs)


def in_blocks(score: Callable[[Any], Floats], X: Any, n_jobs: int | None) -> Floats:
    """Scores of rows, a block at a time, on several threads where there are several blocks."""
    if X.shape[0] <= BLOCK_ROWS:
        return score(X)
    blocks = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(score)(X[block]) for block in gen_batches(X.shape[0], BLOCK_ROWS)
    )
    return np.concatenate(blocks)
