"""A fit of RBoostClassifier, step by step.

    L₀                the likelihood before any noise is inferred: labels are taken as they are
    engines grow      each gives every row a held-out score
    noise inferred    from these scores and the labels, and with it the next L, with which the same
                      engine goes on (rounds of Algorithm 1, trees alone) or the next one begins
    stack             the engines' held-out scores, weighed by the likelihood
    noise inferred    once more, from the scores of the stack

Answers of people who checked rows are used only after stacking: they say how far to believe all
labels. p(y | score, label), as learnt from them, is the target of a second fit. (L ∝ p(y | score,
label) / p(y | score) in the place of targets was measured: no better in the mean of all tables.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats
from rboost.engines import ENGINES, LINEAR, LOGISTIC, POOL, TREES, XGBOOST
from rboost.engines.engine import EngineFit, EngineRows, EngineSettings, Stack, combine
from rboost.engines.trees import n_folds, stratified_folds
from rboost.labels import NO_CLASS, Labels
from rboost.noise.inference import (
    AnnotatorInference,
    NoiseInference,
    ScoredRows,
    infer_by_group,
    infer_with_answers,
    judge,
)
from rboost.noise.likelihood import Likelihood
from rboost.noise.posterior import NoisePosterior
from rboost.numbering import hashed_folds

# Pseudo-count of each class, so that no class share is 0 when answers are used.
PSEUDO_COUNT = 0.5


@dataclass(frozen=True, eq=False)
class StackedModel:
    """p(true class | x) for new rows: a stack of engines, and the noise."""

    stack: Stack
    noise: NoisePosterior

    def scores(self, X: Any, n_jobs: int | None) -> Floats:
        """Scores of rows, before the noise is taken into account."""
        return self.stack.scores(X, n_jobs)

    def decisions(self, X: Any, n_jobs: int | None) -> Floats:
        """Log-odds of class 1; of more than two classes log-probabilities less their mean."""
        logs = self.noise.log_odds(self.scores(X, n_jobs))
        return logs if logs.ndim == 1 else logs - logs.mean(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The model, and held-out scores of the training rows unless they are on a cluster."""

    model: StackedModel
    held_out: Floats | None
    n_iter: int
    stop_reason: str


def fit_rows(
    X: Any,
    labels: Labels,
    weight: Floats,
    engines: Sequence[str],
    known_noise: Floats | None,
    settings: EngineSettings,
) -> Fitted:
    """Fit engines to the labels; with answers, again to p(y | score, label) learnt from them."""
    n_rows = len(labels)
    infer, likelihood, always_kept = _first_likelihood(labels, weight, known_noise)
    fold = np.zeros(0, dtype=np.uint8)
    if not {POOL, LINEAR, LOGISTIC}.issuperset(engines):
        fold = stratified_folds(labels.observed, n_folds(n_rows), settings.seed)
    rows = EngineRows(X, likelihood, labels.shares(weight), fold, always_kept)
    found = fit_engines(rows, engines, infer if known_noise is None else None, settings)
    if isinstance(infer, AnnotatorInference):  # answers about rows of theirs are in L
        return found.fitted(infer.final(found.scored))
    if not labels.has_answers:
        return found.fitted(infer.noise(found.scored))
    noise = infer_with_answers(found.scores, labels, found.weight, known_noise)
    by_group = infer_by_group(noise, found.scores, labels, weight)
    judged = judge(noise, found.scores, labels, by_group)
    counts = weight @ judged.posterior + PSEUDO_COUNT
    rows = replace(
        rows,
        likelihood=Likelihood.dense(judged.posterior, weight, are_targets=True),
        shares=counts / counts.sum(),
        always_kept=np.zeros(n_rows, dtype=bool),
    )
    again = replace(settings, doing=" again, with the answers")
    found = fit_engines(rows, engines, None, again)
    return found.fitted(infer_with_answers(found.scores, labels, found.weight, known_noise))


def _first_likelihood(
    labels: Labels, weight: Floats, known_noise: Floats | None
) -> tuple[NoiseInference | AnnotatorInference, Likelihood, NDArray[np.bool_]]:
    """How noise is inferred, L₀, and which of its columns are certain."""
    if labels.n_annotators:
        crowd = AnnotatorInference(labels)
        columns = crowd.first_likelihoods()
        code = np.arange(len(labels), dtype=np.int32)
        return crowd, Likelihood(code, columns, weight), labels.known != NO_CLASS
    patterns = labels.patterns
    infer = NoiseInference(patterns, known_noise)
    columns = patterns.first_likelihoods()
    if known_noise is not None:
        columns = infer.likelihoods(known_noise)
    return infer, Likelihood(patterns.code, columns, weight), patterns.trusted


@dataclass(frozen=True, eq=False)
class FittedEngines:
    """Engines in a stack, its held-out scores, and the rows to infer the noise from.

    ``weight`` is 0 for rows without a held-out score, as every learner was fitted to them.
    """

    engines: dict[str, EngineFit]
    stack: Stack
    scores: Floats
    scored: ScoredRows
    weight: Floats

    def fitted(self, noise: NoisePosterior) -> Fitted:
        """The model with what is known of the noise."""
        kept = {name: self.engines[name] for name in self.stack.members}
        return Fitted(
            StackedModel(self.stack, noise),
            self.scores,
            max(fit.n_iter for fit in kept.values()),
            "; ".join(f"{name}: {fit.stop_reason}" for name, fit in kept.items()),
        )


def fit_engines(
    rows: EngineRows,
    engines: Sequence[str],
    infer: NoiseInference | AnnotatorInference | None,
    settings: EngineSettings,
) -> FittedEngines:
    """Fit engines one after the other, and weigh them.

    Without ``infer`` L is settled. Rounds of Algorithm 1 start from L₀ and infer the noise as they
    go; trees start from what the pool has found, and infer it themselves where there is no pool.
    The noise that linear learners infer may be far off, and that of logistic regression is a quick
    estimate; no other engine uses it.
    """
    found: dict[str, EngineFit] = {}
    settled = rows.likelihood if infer is None else None
    grow = [name for name in engines if name in (TREES, XGBOOST)]
    for name in engines:
        own, update = rows, None
        if settled is not None and name in grow:
            own = replace(rows, likelihood=settled)
        elif infer is not None:
            quick = infer.quick if name == LOGISTIC else infer.common
            update = infer if name in grow else quick
        if name == XGBOOST:
            numbers = np.arange(len(rows.likelihood))
            fold = hashed_folds(numbers, n_folds(len(numbers)), settings.seed)
            own = replace(own, fold=fold)
        rate = settings.learning_rate if name in grow or not grow else None
        fit = ENGINES[name](
            own, update, replace(settings, learning_rate=rate, is_alone=len(engines) == 1)
        )
        found[name] = fit
        if infer is not None and len(engines) > 1 and name not in (LINEAR, LOGISTIC):
            columns = infer(fit.scored) if fit.columns is None else fit.columns
            settled = rows.likelihood.with_columns(columns)
    members = {name: fit.member for name, fit in found.items()}
    held_out = {name: fit.held_out for name, fit in found.items()}
    stack, scores = combine(members, held_out, rows.likelihood if settled is None else settled)
    weight = rows.likelihood.weight
    scored = ScoredRows(scores, rows.likelihood.code, weight)
    if len(found) == 1:
        scored = found[engines[0]].scored
        weight = scored.weight if len(scored.weight) == len(weight) else weight
    return FittedEngines(found, stack, scores, scored, weight)
