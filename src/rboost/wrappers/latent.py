"""EM over the latent true label, for any classifier with weights and probabilities.

    y     true class, 0 … K − 1, not seen
    ỹ     observed label, 0 … K − 1
    γ     noise matrix, ``noise_matrix[j, k] = p(ỹ = k | y = j)``
    p     p(y = j | x) by the classifier, shape (n_rows, K)
    μ     p(y = j | x, ỹ), shape (n_rows, K)

The E step computes μ from p and γ. The M step fits the classifier to μ and updates γ, eq. (5)–(7).
Both raise the likelihood of the observed labels, eq. (2), where the classifier maximises the
weighted likelihood of what it is fitted to and p is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from rboost._typing import Floats, Integers
from rboost._validation import check_classifier
from rboost.noise.likelihood import joint_probability, true_posterior
from rboost.noise.matrix import keep_informative, multiplicative_update, symmetric
from rboost.progress import track
from rboost.wrappers.out_of_fold import aligned

# The flip rate of every class to start from.
FIRST_RATE = 0.1
# No classifier finds a class less likely than this, so that none ever loses all its rows.
LEAST = 1e-6
# Iterations without a gain after which EM stops.
PATIENCE = 5
# A row is left out as one of a class that has a smaller share of it.
NEGLIGIBLE = 1e-7


def weight_argument(estimator: Any) -> str:
    """What ``fit`` calls the weights; of a pipeline, those of its last step."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{weight_argument(last)}"
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight; use another classifier, or "
            "NoiseCalibratedClassifier, which needs none."
        )
    return "sample_weight"


def check_probabilistic(estimator: Any) -> None:
    """Fail with one sentence when the estimator has no weights or no probabilities."""
    check_classifier(estimator, "RandomForestClassifier()")
    weight_argument(estimator)
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{type(estimator).__name__} has no predict_proba; use another classifier, or "
            "NoiseCalibratedClassifier, which takes scores of any kind."
        )


def fit_soft(model: Any, X: Any, share: Floats, sample_weight: Floats) -> Any:
    """Fit a model to every row once as each class j, with weight w·μⱼ."""
    rows, classes = np.nonzero((share > NEGLIGIBLE) & (sample_weight[:, np.newaxis] > 0))
    weight = {weight_argument(model): sample_weight[rows] * share[rows, classes]}
    return model.fit(_safe_indexing(X, rows), classes, **weight)


def class_probability(model: Any, X: Any, n_classes: int) -> Floats:
    """p(y = j | x) by a model fitted to classes 0 … K − 1; 0 for those that it was not shown."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    return aligned(found, np.asarray(model.classes_, dtype=np.intp), n_classes, absent=0.0)


def unsure_probability(model: Any, X: Any, n_classes: int) -> Floats:
    """p(y = j | x), where no class is impossible."""
    probability = class_probability(model, X, n_classes)
    if not np.isfinite(probability).all():
        raise ValueError(
            f"{type(model).__name__} gave probabilities that are not finite; scale the features, "
            "or use another estimator."
        )
    probability = np.clip(probability, LEAST, 1 - LEAST)
    return probability / probability.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class LatentFit:
    """Where EM ended; ``log_likelihood`` is the mean of eq. (2) after each iteration."""

    probability: Floats
    noise_matrix: Floats
    log_likelihood: list[float]
    converged: bool


def fit_latent(
    probability_after: Callable[[Floats], Floats],
    observed: Integers,
    sample_weight: Floats,
    fixed_noise: Floats | None,
    *,
    max_iter: int,
    tol: float,
    verbose: bool,
) -> LatentFit:
    """Iterate until the likelihood per row has grown by no more than ``tol`` in some iterations.

    Every class is observed. ``probability_after(μ)`` fits to μ and returns p. Where p is of rows
    that were left out, the likelihood need not grow in each iteration, while γ still gets better.
    """

    def mean_log_likelihood(probability: Floats, noise_matrix: Floats) -> float:
        mixture = joint_probability(probability, observed, noise_matrix).sum(axis=1)
        return float(np.average(np.log(mixture), weights=sample_weight))

    n_classes = int(observed.max()) + 1
    noise_matrix = symmetric(FIRST_RATE, n_classes) if fixed_noise is None else fixed_noise
    probability = probability_after(np.eye(n_classes)[observed])
    history = [mean_log_likelihood(probability, noise_matrix)]
    description = "Fitting to what labels probably are"
    for _ in track(range(max_iter), max_iter, description, enabled=verbose):
        probability = probability_after(true_posterior(probability, observed, noise_matrix))
        if fixed_noise is None:
            updated = multiplicative_update(noise_matrix, probability, observed, sample_weight)
            noise_matrix = keep_informative(updated)
        history.append(mean_log_likelihood(probability, noise_matrix))
        if max(history[-PATIENCE:]) <= max(history[:-PATIENCE], default=-np.inf) + tol:
            return LatentFit(probability, noise_matrix, history, converged=True)
    return LatentFit(probability, noise_matrix, history, converged=False)
