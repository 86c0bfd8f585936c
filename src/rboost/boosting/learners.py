"""Base learners: which classifiers can be boosted, and fitting one to weighted targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import has_fit_parameter

from rboost._typing import Floats
from rboost._validation import check_classifier
from rboost.boosting.sampling import SAMPLINGS
from rboost.tables import Table

Vote = Callable[[Any, Any], Floats]


@dataclass(frozen=True)
class Learned:
    """A fitted base learner and the rows it has seen."""

    learner: Any
    seen: NDArray[np.bool_]


def check_sampling(
    sampling: str, max_samples: float, out_of_bag: bool, noise_estimator: str
) -> None:
    """Fail with one sentence when the rows that learners see do not fit the rest."""
    if sampling == "uniform" and max_samples > 1:
        raise ValueError(
            "max_samples is a fraction and must be at most 1 for sampling='uniform', "
            f"not {max_samples!r}."
        )
    leaves_none_out = sampling == "none" or (sampling == "uniform" and max_samples == 1)
    if out_of_bag and leaves_none_out:
        raise ValueError(
            f"out_of_bag=True needs rows that a learner has not seen, but sampling={sampling!r} "
            f"with max_samples={max_samples!r} leaves none out; lower max_samples with "
            "sampling='uniform', or set out_of_bag=False."
        )
    if noise_estimator == "noise-aware" and not out_of_bag:
        raise ValueError(
            "noise_estimator='noise-aware' needs out-of-bag scores; set out_of_bag=True, or "
            "noise_estimator='paper', or give a noise_matrix."
        )


def check_learner(estimator: Any, sampling: str, votes: str) -> None:
    """Fail with one sentence when the estimator cannot be boosted this way."""
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


def fit_learner(
    pool: Sequence[Any],
    train: Table,
    targets: Floats,
    weights: Floats,
    number: int,
    *,
    sampling: str,
    max_samples: float,
    random_state: np.random.RandomState,
) -> Learned:
    """Fit a fresh copy of an estimator of the pool, in turn, to rows drawn by ``sampling``.

    Targets become classes 0 and 1. Weights are scaled to the total that the rows had before
    boosting, so that a penalty such as ``C`` means the same as in a fit of the estimator alone.
    """
    estimator = pool[number % len(pool)]
    rows, row_weights = SAMPLINGS[sampling](weights, max_samples, random_state)
    classes = (targets[rows] > 0).astype(np.intp)
    learner = clone(estimator)
    seeds = {
        name: random_state.randint(np.iinfo(np.int32).max) for name in seeded_parameters(estimator)
    }
    if seeds:
        learner.set_params(**seeds)
    seen = np.zeros(len(targets), dtype=bool)
    seen[rows] = True
    X = train.X if isinstance(rows, slice) else train.X[rows]  # a slice would copy a sparse X
    if row_weights is None:
        return Learned(_choice(learner, classes).fit(X, classes), seen)
    row_weights = scaled_weights(row_weights, train.sample_weight[rows])
    learner = _choice(learner, classes[row_weights > 0])
    return Learned(learner.fit(X, classes, sample_weight=row_weights), seen)


def scaled_weights(weights: Floats, sample_weight: Floats) -> Floats:
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
    scale = sample_weight.sum() / weights.sum()
    return sample_weight * np.ldexp(np.round(np.ldexp(weights / sample_weight * scale, 32)), -32)


def _choice(learner: Any, classes: NDArray[np.intp]) -> Any:
    """The learner, or the constant vote where a single class leaves nothing else to learn."""
    return learner if len(np.unique(classes)) > 1 else DummyClassifier(strategy="prior")


def seeded_parameters(estimator: Any) -> list[str]:
    """Every parameter that takes a seed, in the order in which scikit-learn's ensembles seed."""
    return [
        name
        for name in sorted(estimator.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    ]
