"""The base learners that were kept, with what is known of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rboost._typing import Floats


@dataclass(frozen=True)
class Ensemble:
    """Learners in the order of their rounds; ``noise_matrices`` are those after each round.

    ``steps`` and ``errors`` have shape (n_kept,), ``noise_matrices`` (n_kept, 2, 2).
    """

    learners: Sequence[Any] = ()
    steps: Floats = field(default_factory=lambda: np.zeros(0))
    errors: Floats = field(default_factory=lambda: np.zeros(0))
    noise_matrices: Floats = field(default_factory=lambda: np.zeros((0, 2, 2)))

    def __len__(self) -> int:
        return len(self.steps)

    def __add__(self, later: Ensemble) -> Ensemble:
        return Ensemble(
            later.learners if not len(self) else _joined(self.learners, later.learners),
            np.concatenate([self.steps, later.steps]),
            np.concatenate([self.errors, later.errors]),
            np.concatenate([self.noise_matrices, later.noise_matrices]),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "listed"}

    @cached_property
    def listed(self) -> list[Any]:
        """The learners as a list."""
        return list(self.learners)

    def feature_importances(self) -> Floats:
        """Mean importance over the learners that have any, weighted by their steps."""
        # Constant learners, fitted where a sample held one class, have none.
        weighted = [
            (step, learner.feature_importances_)
            for step, learner in zip(self.steps, self.listed, strict=True)
            if hasattr(learner, "feature_importances_")
        ]
        if not weighted:
            raise AttributeError("The base learners have no feature_importances_.")
        steps, importances = map(np.array, zip(*weighted, strict=True))
        return steps @ importances / steps.sum()


def _joined(first: Sequence[Any], second: Sequence[Any]) -> Sequence[Any]:
    joined = getattr(first, "joined", None)
    return [*first, *second] if joined is None else joined(second)
