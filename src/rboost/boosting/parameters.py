"""The parameters of RBoostClassifier: what they may be, and what follows from them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from rboost._validation import Number, OneOf, Requirements, Switch, check_parameters
from rboost.boosting.additive import AdditiveClassifier
from rboost.boosting.choice import LEARNERS, check_choice, chosen_engines, given_learners
from rboost.boosting.learners import BaseLearner, check_classes, check_learner, check_sampling
from rboost.boosting.sampling import NEGATIVE_WEIGHTS, SAMPLINGS
from rboost.boosting.votes import VOTES
from rboost.calibration import CALIBRATIONS
from rboost.learners.pool import default_pool
from rboost.losses import LOSSES, MIXINGS, Loss, loss_named
from rboost.native.xgboost import DEVICES, arrays_on

# Algorithm 1 as the paper has it: every row judges every learner, which votes for one class.
ALGORITHM_1: dict[str, Any] = {
    "n_estimators": 150,
    "learning_rate": 1.0,
    "loss": "exponential",
    "sampling": "none",
    "max_samples": 1.0,
    "out_of_bag": False,
    "votes": "class",
    "noise_estimator": "paper",
}

# A learner of the default pool sees no more rows than this.
MAX_ROWS = 4096


class BoostingParameters(AdditiveClassifier):
    """What :class:`rboost.RBoostClassifier` is told; its documentation says what each means."""

    _requirements: ClassVar[Requirements] = {
        "n_estimators": Number(1, integer=True, closed=True, optional=True),
        "learning_rate": Number(0, optional=True),
        "loss": OneOf(LOSSES),
        "sampling": OneOf(SAMPLINGS),
        "max_samples": Number(0),
        "out_of_bag": Switch(),
        "votes": OneOf(tuple(VOTES)),
        "noise_estimator": OneOf(("noise-aware", "paper")),
        "mixing": OneOf(tuple(MIXINGS)),
        "negative_weights": OneOf(tuple(NEGATIVE_WEIGHTS)),
        "calibration": OneOf(tuple(CALIBRATIONS)),
        "device": OneOf(DEVICES),
        "n_jobs": Number(-math.inf, integer=True, optional=True),
        "warm_start": Switch(),
        "verbose": Switch(),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int | None = None,
        learning_rate: float | None = None,
        loss: str = "auto",
        sampling: str = "uniform",
        max_samples: float = 0.5,
        out_of_bag: bool = True,
        votes: str = "probability",
        noise_matrix: Any = "estimate",
        noise_estimator: str = "noise-aware",
        mixing: str = "posterior",
        negative_weights: str = "flip",
        calibration: str = "platt",
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.sampling = sampling
        self.max_samples = max_samples
        self.out_of_bag = out_of_bag
        self.votes = votes
        self.noise_matrix = noise_matrix
        self.noise_estimator = noise_estimator
        self.mixing = mixing
        self.negative_weights = negative_weights
        self.calibration = calibration
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    def _base_learners(self) -> list[Any]:
        return given_learners(self.estimator)

    def _check_parameters(self) -> None:
        """Fail with one sentence when a parameter is wrong."""
        check_parameters(self, self._requirements)
        check_choice(self.estimator)
        arrays_on(self.device)  # says what is missing
        if self.n_jobs == 0:
            raise ValueError("n_jobs must be a number of threads, -1 for all or None, not 0.")
        check_sampling(
            self.sampling, self.max_samples, bool(self.out_of_bag), noise_update_name(self)
        )
        pool_of(self, LEARNERS)

    def _takes_classes(self) -> bool:
        """Whether calibration and noise matrix are for more than two classes."""
        calibrations = ("platt",) if self.out_of_bag else ("platt", "logistic")
        return self.calibration in calibrations and np.shape(self.noise_matrix) != (2, 2)

    def chosen_loss(self, n_classes: int) -> Loss:
        """The loss for so many classes."""
        return loss_named(self.loss, self.mixing, n_classes)


def noise_update_name(parameters: BoostingParameters) -> str:
    """The name of what finds the noise matrix, "none" when it is given."""
    return parameters.noise_estimator if isinstance(parameters.noise_matrix, str) else "none"


def engines_for(parameters: BoostingParameters, X: Any, n_classes: int) -> list[str]:
    """The names of the engines that run on these rows."""
    can_stack = bool(
        parameters.out_of_bag
        and parameters.calibration == "platt"
        and noise_update_name(parameters) != "paper"
        and not parameters.warm_start
    )
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    return chosen_engines(
        parameters.estimator, n_rows, issparse(X), n_classes, can_stack, parameters.device
    )


def pool_of(parameters: BoostingParameters, engine: str) -> list[BaseLearner]:
    """The base learners of an engine: those that were given, or the default ones."""
    given = engine == LEARNERS
    options = parameters.sampling, parameters.votes, bool(parameters.out_of_bag)
    estimators = given_learners(parameters.estimator) if given else default_pool()
    learners = [check_learner(estimator, *options) for estimator in estimators]
    if given:
        return learners
    return [replace(own, max_rows=min(own.max_rows or MAX_ROWS, MAX_ROWS)) for own in learners]


def check_number_of_classes(
    parameters: BoostingParameters, pool: list[BaseLearner], n_classes: int
) -> None:
    """Fail with one sentence when parameters are for two classes, but there are more."""
    check_classes(pool, n_classes)
    if n_classes > 2 and not parameters._takes_classes():
        raise ValueError(
            "Only binary classification is supported with "
            f"calibration={parameters.calibration!r} and out_of_bag={parameters.out_of_bag!r}, but "
            f"y holds {n_classes} classes; use calibration='platt'."
        )
