"""The columns of Tables 2–5: which booster with which base learner.

What the paper leaves open was chosen to come near its published test errors, one value for all
sets at once; the closeness of the result is a fit, not a confirmation. A base learner sees n rows
drawn with replacement in proportion to the weights and counts them alike. LR is penalised (C = .03
on standardised features). rLR is not; it starts from β ~ N(0, 1) and takes 50 conjugate-gradient
steps, with an update of its flip rates after every five. A row with a negative weight keeps its
label; in our own columns it gets the opposite one, which is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rboost import AdaRBoostClassifier, RobustLogisticRegression
from rboost._typing import Floats
from rboost.rivals import GentleBoostClassifier, ModestBoostClassifier

Build = Callable[[Floats, int], Any]

NO_NOISE = np.eye(2)
BASES: dict[str, Any] = {
    "LR": make_pipeline(StandardScaler(), LogisticRegression(C=0.03, solver="newton-cholesky")),
    "rLR": RobustLogisticRegression(C=None, solver="alternating", n_init=1, max_iter=50),
}


@dataclass(frozen=True)
class Method:
    """A column: booster and base learner as the paper's tables name them, and how to build it.

    ``build(noise_matrix, n_rounds)`` is told the true noise; only those columns use it that fix γ.
    ``ours`` marks columns that the paper does not have.
    """

    booster: str
    base: str
    build: Build
    ours: bool = False

    @property
    def name(self) -> str:
        """The key of the column."""
        return f"{self.booster} {self.base}"


def _boosted(
    base: str, mixing: str, noise: Callable[[Floats], Any]
) -> Callable[[Floats, int], Any]:
    def build(noise_matrix: Floats, n_rounds: int) -> AdaRBoostClassifier:
        return AdaRBoostClassifier(
            BASES[base],
            n_estimators=n_rounds,
            sampling="weights",
            noise_matrix=noise(noise_matrix),
            mixing=mixing,
            negative_weights="keep" if mixing == "paper" else "flip",
        )

    return build


def _method(booster: str, base: str) -> Method:
    noise, mixing = {
        "AdaBoost": (lambda true: NO_NOISE, "paper"),
        "rBoost-fixed": (lambda true: true, "paper"),
        "rBoost": (lambda true: "estimate", "paper"),
        "rBoost-posterior": (lambda true: true, "posterior"),
    }[booster]
    return Method(booster, base, _boosted(base, mixing, noise), ours=booster == "rBoost-posterior")


METHODS = {
    method.name: method
    for method in [
        *(
            _method(booster, base)
            for booster in ["AdaBoost", "rBoost-fixed", "rBoost"]
            for base in ["LR", "rLR"]
        ),
        Method("GentleBoost", "tree", lambda noise, n: GentleBoostClassifier(n_estimators=n)),
        Method("ModestBoost", "tree", lambda noise, n: ModestBoostClassifier(n_estimators=n)),
        _method("rBoost-posterior", "LR"),
        _method("rBoost-posterior", "rLR"),
    ]
}
