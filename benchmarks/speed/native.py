"""What is timed or counted inside a fit; the only use of anything but the public names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.speed.data import Rows
from rboost import RobustLogisticRegression, native


def n_learners(model: Any) -> int:
    """How many trees and other base learners a fitted model asks: those of all folds."""
    members = model._model.stack.members.values()
    return sum(len(m.forest.roots if hasattr(m, "forest") else m) for m in members)


@dataclass(frozen=True)
class FusedPass:
    """One pass over the rows as each round makes it, ready to be timed, and the bytes it moves."""

    run: Callable[[], Any]
    n_bytes: float


def fused_pass(X: Rows) -> FusedPass | None:
    """The pass of an out-of-bag round, after a few rounds; None without the native core."""
    module, learner = native.compiled(), RobustLogisticRegression(n_init=1, tol=1e-2)
    options = learner.native_options()
    if module is None or options is None:
        return None
    n_rows, n_features = X.shape
    rounds = module.FloatRounds(
        X,
        np.where(X[:, 0] > 0, 1.0, -1.0),
        None,
        None,
        np.zeros(n_rows),
        np.zeros(n_rows),
        np.zeros(n_rows, dtype=np.float32),
        **options,
        probability=True,
        flip_negative=True,
        total_step=0.0,
        n_threads=1,
    )
    samples = np.random.default_rng(0).integers(n_rows, size=(3, min(n_rows, 1000)))
    for seed, sample in enumerate(samples):
        rounds.fit_learner(np.eye(2), sample, learner.starts(n_features, seed))
        rounds.judge()
        rounds.move(0.015)
    # Beside X: votes and last votes, read and written, missed steps and flags.
    n_bytes = X.nbytes + n_rows * (2 * 8 + 2 * 4 + 8 + 1)
    return FusedPass(rounds.judge, n_bytes)
