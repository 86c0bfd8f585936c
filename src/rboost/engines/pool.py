"""Engines "pool" and "linear": Algorithm 1 on out-of-bag votes.

Each round fits a base learner to half of the rows, which the other half judges. So every row has a
held-out score at no extra fit: the mean vote of the learners that have not seen it. The pool takes
learners that err in different ways in turn: trees that look for the best cut among a few columns,
trees with random cuts, and smooth kernel machines; small leaves and penalties keep each of them
from following single labels. "linear" boosts robust logistic regression alone, in the native core
where there are two classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from rboost._typing import Floats, Integers
from rboost.engines.arrays import StackedLearners
from rboost.engines.engine import EngineFit, EngineRows, EngineSettings, Infer
from rboost.engines.learners import (
    BaseLearner,
    Ensemble,
    LearnerRounds,
    Randomness,
    RoundSettings,
    check_classes,
)
from rboost.engines.linear import native_rounds
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
from rboost.learners import RandomKernelClassifier, RobustLogisticRegression
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
    """Rounds of Algorithm 1, unless the user says otherwise."""
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
    ways = RoundSettings(n_jobs=settings.n_jobs)
    label = likelihood.columns.argmax(axis=0)[likelihood.code]
    rounds: Rounds = LearnerRounds(X, start, label, loss, pool, votes, random, ways)
    if len(pool) == 1:
        own = native_rounds(X, start, loss, pool, votes, random, ways, rows.always_kept)
        rounds = own or rounds
    progress = Progress(start.columns)

    def scored() -> ScoredRows:
        """Held-out scores; a row that every learner was fitted to has no say."""
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
    with threadpool_limits(1, "blas"):  # many small products, for which threads only wait
        shown = settings.track(numbers, n_rounds, "Boosting")
        boost(rounds, progress, update_noise, rate, shown)
    final = scored()
    ensemble = Ensemble(rounds.finish(), np.array(progress.steps), ways.votes, n_classes)
    kept = ensemble if len(pool) == 1 else StackedLearners.of(ensemble, X.shape[1])
    source = source_of(rows.X, "dense")
    member = BoostedLearners(kept, rounds.votes.total, rows.shares, source, rows.X.shape[1])
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

    ``total_step`` is Σ α. ``source`` is the column of the table behind each that the learners were
    given, if others; the table has ``n_columns``.
    """

    ensemble: Ensemble | StackedLearners
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
