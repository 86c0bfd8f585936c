"""What src/native/module.cpp binds. Arrays are C-contiguous; those that are not are copied."""

from rboost._typing import Floats
from numpy.typing import NDArray
import numpy as np

def instruction_set() -> str: ...
def choose_instruction_set(name: str) -> None: ...
def stream_sum(values: NDArray[np.float32]) -> float: ...

class _Rounds:
    def __init__(
        self,
        X: NDArray[np.floating],
        labels: Floats,
        sample_weight: Floats | None,
        trusted: NDArray[np.bool_] | None,
        votes: Floats,
        missed: Floats | None,
        last_vote: NDArray[np.float32],
        *,
        C: float | None,
        fit_intercept: bool,
        estimate_noise: bool,
        into_1: float,
        into_0: float,
        max_iter: int,
        tol: float,
        probability: bool,
        flip_negative: bool,
        update_noise: bool,
        paper_mixing: bool,
        learning_rate: float,
        max_step: float,
        min_step: float,
        useless_learners: int,
        n_threads: int,
    ) -> None: ...
    def run(
        self, n_rounds: int, samples: NDArray[np.int64] | None, starts: Floats
    ) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats, int]: ...
    def set_noise(self, noise: Floats) -> None: ...
    def resume(self, total_step: float, useless: int) -> None: ...
    def settle(self) -> None: ...
    def pass_only(self) -> None: ...
    @property
    def total_step(self) -> float: ...
    @property
    def useless(self) -> int: ...
    @property
    def center(self) -> Floats: ...
    @property
    def bytes_per_pass(self) -> float: ...

class FloatRounds(_Rounds): ...
class DoubleRounds(_Rounds): ...

def fit_logistic(
    X: NDArray[np.floating],
    observed: Floats,
    weight: Floats,
    center: Floats,
    scale: Floats,
    starts: Floats,
    *,
    C: float | None,
    fit_intercept: bool,
    estimate_noise: bool,
    into_1: float,
    into_0: float,
    max_iter: int,
    tol: float,
) -> tuple[Floats, float, int, bool]: ...
def linear_scores(
    X: NDArray[np.floating],
    coefs: Floats,
    intercepts: Floats,
    steps: Floats,
    center: Floats,
    probability: bool,
    n_threads: int,
) -> Floats: ...
