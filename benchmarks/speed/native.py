"""What the native core offers to be timed alone; the only use of anything but the public names."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.speed.data import Rows
from rboost import RobustLogisticRegression, native


def stream_bandwidth(X: Rows, repeats: int) -> tuple[float, str]:
    """Bytes per second of one thread that reads X once in order, and who read it.

    Without the native core it is a dot product of X with itself, which reads it once.
    """
    module, flat, seconds = native.compiled(), X.reshape(-1), []
    read: Callable[[Any], Any] = (lambda x: x.dot(x)) if module is None else module.stream_sum
    for _ in range(repeats):
        start = time.perf_counter()
        read(flat)
        seconds.append(time.perf_counter() - start)
    return X.nbytes / min(seconds), "NumPy" if module is None else "native"


@dataclass(frozen=True)
class FusedPass:
    """One pass over the rows as each round makes it, ready to be timed.

    ``move`` reads and writes the same bytes and computes nothing.
    """

    run: Callable[[], Any]
    move: Callable[[], Any]
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
    for sample, starts in zip(samples, learner.starts(n_features, [0, 1, 2]), strict=True):
        rounds.fit_learner(np.eye(2), sample, starts)
        rounds.judge()
        rounds.move(0.015)
    return FusedPass(rounds.pass_only, rounds.stream_only, rounds.bytes_per_pass)


def row_kernel(model: Any) -> Callable[[Any], Any] | None:
    """Prediction of one row without the checks of ``predict``; None without the native core."""
    module, learners = native.compiled(), _linear_ensemble(model).learners
    if module is None or not hasattr(learners, "coefs"):
        return None
    coefs, intercepts, center = learners.coefs, learners.intercepts, learners.center
    steps = _linear_ensemble(model).steps
    return lambda X: module.linear_scores(X, coefs, intercepts, steps, center, True, 1)


def _linear_ensemble(model: Any) -> Any:
    return model._model.stack.members["linear"].ensemble
