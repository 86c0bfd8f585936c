"""Rows as engines are given them, with labels of a known noise."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rboost.engines.engine import EngineRows, EngineSettings
from rboost.engines.trees import n_folds, stratified_folds
from rboost.labels import Patterns
from rboost.noise import flip_labels, symmetric
from rboost.noise.inference import NoiseInference
from rboost.noise.likelihood import Likelihood
from rboost.numbering import hashed_folds


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows with one label each; ``trusted`` ones are right, ``known`` is L itself, if at all."""

    X: Any
    observed: np.ndarray
    n_classes: int = 2
    weight: Any = None
    trusted: Any = None
    known: Any = None

    def __len__(self):
        return len(self.observed)

    @cached_property
    def weights(self):
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def shares(self):
        said = np.eye(self.n_classes)[self.observed] if self.known is None else self.known
        return self.weights @ said / self.weights.sum()

    @cached_property
    def patterns(self):
        return Patterns.of_labels(self.observed, self.trusted, self.n_classes)

    def likelihood(self, noise=None):
        """L with this noise matrix, or with labels taken as they are."""
        if self.known is not None:
            return Likelihood.dense(self.known, self.weights)
        columns = self.patterns.first_likelihoods()
        if noise is not None:
            columns = self.patterns.likelihoods([noise, noise])
        return Likelihood(self.patterns.code, columns, self.weights)

    def folds(self, seed=0, hashed=False):
        """Folds as a fit deals them: by label, or by the numbers of rows."""
        number = n_folds(len(self))
        if hashed:
            return hashed_folds(np.arange(len(self)), number, seed)
        return stratified_folds(self.observed, number, seed)

    def engine_rows(self, noise=None, X=None, seed=0, hashed=False):
        """What an engine is given."""
        never = self.patterns.trusted if self.known is None else np.zeros(len(self), dtype=bool)
        return EngineRows(
            self.X if X is None else X, self.likelihood(noise), self.shares,
            self.folds(seed, hashed), never,
        )  # fmt: skip

    def take(self, rows):
        """Some of the rows."""
        chosen = {
            name: getattr(self, name)[rows]
            for name in ("X", "observed", "weight", "trusted", "known")
            if getattr(self, name) is not None
        }
        return replace(self, **chosen)


def table(n_classes=2, n_rows=300, rate=0.2, seed=0):
    """Rows of five columns, the first two of which tell the class, and the true classes."""
    random = np.random.RandomState(seed)
    X = np.where(random.uniform(size=(n_rows, 5)) < 0.3, 0.0, random.standard_normal((n_rows, 5)))
    told = X[:, 0] + X[:, 1] ** 2 + 0.1 * random.standard_normal(n_rows)
    true = np.digitize(told, np.quantile(told, np.arange(1, n_classes) / n_classes))
    observed, _ = flip_labels(true, symmetric(rate, n_classes), random_state=seed)
    return Labelled(X, observed, n_classes), true


def fit_engine(engine, rows, noise=None, X=None, hashed=False, **options):
    """Fit an engine as a fit with one engine does; without ``noise`` it is inferred."""
    settings = EngineSettings(**{"max_iter": 20, "n_jobs": 1, "random_state": 0, **options})
    is_settled = noise is not None or rows.known is not None
    infer = None if is_settled else NoiseInference(rows.patterns)
    return engine(rows.engine_rows(noise, X, settings.seed, hashed), infer, settings)


def noise_of(fitted, n_classes):
    """The noise matrix that an engine ended with: L of given labels."""
    return fitted.columns[:, :n_classes]
