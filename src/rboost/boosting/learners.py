"""Base learners: which classifiers can be boosted, and what they can do besides.

Any classifier can be a base learner. What more it may have is declared here, and looked for in one
place, :func:`check_learner`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from rboost._typing import Floats
from rboost._validation import check_classifier


@runtime_checkable
class LimitsRows(Protocol):
    """``max_rows`` is the number of rows beyond which more are of no use; None sets no limit."""

    max_rows: int | None


@runtime_checkable
class TunedForBoosting(Protocol):
    """``boosting_settings`` are parameters as one of many learners needs them.

    They replace defaults only: what a user has set to anything else stays.
    """

    boosting_settings: ClassVar[Mapping[str, Any]]


@runtime_checkable
class FittedNatively(Protocol):
    """A linear classifier of two classes that the native core can fit, as its options say."""

    max_rows: int | None

    def native_options(self) -> dict[str, Any] | None:
        """How the native core is to fit it; None when it cannot."""

    def starts(self, n_features: int, random_states: list[Any]) -> Floats:
        """Where the fits with these random states start: (n_fits, n_starts, n_parameters)."""

    def set_fitted(
        self, coef: Floats, intercept: float, rates: Floats, loss: float, n_iter: int
    ) -> None:
        """Become what the native core has found."""


@runtime_checkable
class HasImportances(Protocol):
    """A fitted learner that says how much each column told it."""

    feature_importances_: Floats


@dataclass(frozen=True)
class BaseLearner:
    """A classifier to be boosted, and what it can do."""

    estimator: Any
    max_rows: int | None
    seeded: list[str]
    nested: bool
    native: FittedNatively | None

    def new(self, next_seed: Callable[[], int]) -> Any:
        """An unfitted copy with seeds of its own."""
        if self.seeded == ["random_state"] and not self.nested:  # a clone takes as long as a fit
            learner = copy(self.estimator)
            learner.random_state = next_seed()
            return learner
        return clone(self.estimator).set_params(**{name: next_seed() for name in self.seeded})


def check_learner(
    estimator: Any, sampling: str, votes: str, out_of_bag: bool = False
) -> BaseLearner:
    """Say what an estimator can do; fail with one sentence when it cannot be boosted this way.

    With ``out_of_bag`` it is tuned for boosting; without, as in the paper, it is taken as it is.
    """
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
    tuned = out_of_bag and isinstance(estimator, TunedForBoosting)
    estimator = tuned_for_boosting(estimator) if tuned else clone(estimator)
    return BaseLearner(
        estimator,
        estimator.max_rows if isinstance(estimator, LimitsRows) else None,
        seeded_parameters(estimator),
        any("__" in name for name in estimator.get_params(deep=True)),
        estimator if isinstance(estimator, FittedNatively) else None,
    )


def tuned_for_boosting(estimator: TunedForBoosting) -> Any:
    """A copy whose parameters have the values for boosting wherever they have their defaults."""
    defaults = signature(type(estimator)).parameters
    return clone(estimator).set_params(
        **{
            name: value
            for name, value in estimator.boosting_settings.items()
            if getattr(estimator, name) == defaults[name].default
        }
    )


def check_classes(pool: Sequence[BaseLearner], n_classes: int) -> None:
    """Fail with one sentence when a base learner knows two classes only, but there are more."""
    for learner in pool:
        if n_classes > 2 and not get_tags(learner.estimator).classifier_tags.multi_class:
            raise ValueError(
                f"Only binary classification is supported by {type(learner.estimator).__name__}, "
                f"but y holds {n_classes} classes; boost another estimator."
            )


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


def seeded_parameters(estimator: Any) -> list[str]:
    """Every parameter that takes a seed, in the order in which scikit-learn's ensembles seed."""
    return [
        name
        for name in sorted(estimator.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    ]
