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

    @cached_property
    def listed(self) -> list[Any]:
        """The learners as a list."""
        return list(self.learners)


def _joined(first: Sequence[Any], second: Sequence[Any]) -> Sequence[Any]:
    joined = getattr(first, "joined", None)
    return [*first, *second] if joined is None else joined(second)
