"""Methods of other papers that the package implements, with their own defaults.

Each is built from a noise matrix, or None, and a seed; only those that are marked "told" make use
of the former.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rboost import NoiseAwareClassifier
from rboost._typing import Floats
from rboost.rivals import (
    AdaCostClassifier,
    BaggedBoostClassifier,
    CostSensitiveBoostClassifier,
    EtaBoostClassifier,
    GentleBoostClassifier,
    LogitBoostClassifier,
    ModestBoostClassifier,
    OutlierRemovalBoostClassifier,
    RobustBoostClassifier,
)
from rboost.robust import (
    DepurationNeighborsClassifier,
    MultiAnnotatorLogisticRegression,
    RobustDiscriminantClassifier,
    RobustGaussianProcessClassifier,
    RobustKernelLogisticRegression,
    RobustMixtureDiscriminantClassifier,
)

Build = Callable[[Floats | None, int], Any]

BOOSTERS: dict[str, Any] = {
    "GentleBoost": GentleBoostClassifier,
    "ModestBoost": ModestBoostClassifier,
    "LogitBoost": LogitBoostClassifier,
    "bagged boosting (BB)": BaggedBoostClassifier,
    "AdaBoost without outliers": OutlierRemovalBoostClassifier,
    "RobustBoost": RobustBoostClassifier,
    "AdaCost": AdaCostClassifier,
    "AdaCost, costs outside": partial(AdaCostClassifier, cost_factor="outside"),
    "cost-sensitive AdaBoost": CostSensitiveBoostClassifier,
    "eta-boost": EtaBoostClassifier,
}
# Their scores are no probabilities, or those of classes weighted by costs.
UNCALIBRATED = (
    "AdaCost",
    "AdaCost, costs outside",
    "cost-sensitive AdaBoost",
    "bagged boosting (BB)",
    "RobustBoost",
)
# Those that take a noise matrix and standardise, or have no need to.
TOLD: dict[str, Callable[..., Any]] = {
    "robust discriminant": RobustDiscriminantClassifier,
    "robust Gaussian process": RobustGaussianProcessClassifier,
    "kernel rLR": RobustKernelLogisticRegression,
}
SCALED: dict[str, Callable[[int], Any]] = {
    "mixture discriminant": lambda seed: RobustMixtureDiscriminantClassifier(random_state=seed),
    "depuration": lambda seed: DepurationNeighborsClassifier(),
    "rLR of annotators, one of them": lambda seed: MultiAnnotatorLogisticRegression(),
}


def _booster(name: str) -> Build:
    return lambda noise_matrix, seed: BOOSTERS[name](random_state=seed)


def _told(name: str) -> Build:
    def build(noise_matrix: Floats | None, seed: int) -> Any:
        told: dict[str, Any] = {} if noise_matrix is None else {"noise_matrix": noise_matrix}
        model = TOLD[name](**told)
        return model.set_params(random_state=seed) if hasattr(model, "random_state") else model

    return build


def _scaled(name: str) -> Build:
    return lambda noise_matrix, seed: make_pipeline(StandardScaler(), SCALED[name](seed))


def _expectation_maximisation(noise_matrix: Floats | None, seed: int) -> Any:
    # Half as many trees as usual: there are dozens of fits.
    forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=seed)
    return NoiseAwareClassifier(forest, random_state=seed)


# How each is built, and what it would be with the true noise known (see benchmarks.methods).
LITERATURE: dict[str, tuple[Build, str | None]] = {
    **{name: (_booster(name), None if name in UNCALIBRATED else "threshold") for name in BOOSTERS},
    **{name: (_told(name), "told") for name in TOLD},
    **{name: (_scaled(name), None) for name in SCALED},
    "noise-aware forest (EM)": (_expectation_maximisation, None),
}
