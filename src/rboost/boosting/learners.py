"""Base learners: which classifiers can be boosted, and fitting one to weighted targets.

Any classifier can be a base learner. Two things that it may have make it a fast one:

    prepare(X)      returns something that stands for the rows of X, has a ``shape``, is indexed by
                    rows, and is taken by ``fit`` and the predictions in the place of X; called once
                    before the first round, and once for all learners whose ``prepare`` is equal
    max_rows        the number of rows beyond which more are of no use to it; None sets no limit
"""

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
from rboost.boosting.sampling import SAMPLINGS, Randomness
from rboost.tables import Table

Vote = Callable[[Any, Any], Floats]


@dataclass(frozen=True)
class Learned:
    """A fitted base learner, the rows it has seen, and all training rows as it takes them."""

    learner: Any
    seen: NDArray[np.bool_]
    X: Any


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
            "sampling='uniform', or set out_of_bag=False with noise_estimator='paper' or a "
            "noise_matrix."
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


def prepare_pool(pool: Sequence[Any], X: Any) -> list[tuple[Any, Any]]:
    """Pair each base learner with the rows as it takes them."""
    ways = [getattr(learner, "prepare", None) for learner in pool]
    prepared = {way: X if way is None else way(X) for way in set(ways)}
    return [(learner, prepared[way]) for learner, way in zip(pool, ways, strict=True)]


def fit_learner(
    pool: Sequence[tuple[Any, Any]],
    train: Table,
    targets: Floats,
    weights: Floats,
    number: int,
    *,
    sampling: str,
    max_samples: float,
    random: Randomness,
) -> Learned:
    """Fit a fresh copy of an estimator of the pool, in turn, to rows drawn by ``sampling``.

    ``pool`` comes from :func:`prepare_pool`. Targets become classes 0 and 1. Weights are scaled to
    the total that the rows had before boosting, so that a penalty such as ``C`` means the same as
    in a fit of the estimator alone.
    """
    estimator, X = pool[number % len(pool)]
    max_rows = getattr(estimator, "max_rows", None)
    rows, row_weights = SAMPLINGS[sampling](weights, max_samples, random, max_rows)
    classes = (targets[rows] > 0).astype(np.intp)
    learner = clone(estimator)
    seeds = {name: random.seed() for name in seeded_parameters(estimator)}
    if seeds:
        learner.set_params(**seeds)
    seen = np.zeros(len(targets), dtype=bool)
    seen[rows] = True
    X_seen = X if isinstance(rows, slice) else X[rows]  # a slice would copy a sparse X
    if row_weights is None:
        return Learned(_choice(learner, classes).fit(X_seen, classes), seen, X)
    row_weights = scaled_weights(row_weights, train.sample_weight[rows])
    learner = _choice(learner, classes[row_weights > 0])
    return Learned(learner.fit(X_seen, classes, sample_weight=row_weights), seen, X)


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
    return learner if np.ptp(classes) > 0 else DummyClassifier(strategy="prior")


def seeded_parameters(estimator: Any) -> list[str]:
    """Every parameter that takes a seed, in the order in which scikit-learn's ensembles seed."""
    return [
        name
        for name in sorted(estimator.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    ]
