"""What the files in src/native bind. Arrays are C-contiguous; those that are not are copied."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats

_LinePrior = tuple[float, float, float, int, float]

def instruction_set() -> str: ...
def choose_instruction_set(name: str) -> None: ...

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
        total_step: float,
        n_threads: int,
    ) -> None: ...
    def fit_learner(
        self, coefficients: Floats, sample: NDArray[np.int64] | None, starts: Floats
    ) -> bool: ...
    def judge(self) -> tuple[float, float, float, float, float]: ...
    def move(self, step: float) -> None: ...
    def kept(self) -> tuple[Floats, Floats]: ...
    def settle(self) -> None: ...
    @property
    def total_step(self) -> float: ...

class FloatRounds(_Rounds): ...
class DoubleRounds(_Rounds): ...

def is_moderate(X: NDArray[Any]) -> bool: ...
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

class Forest:
    def scores(self, X: NDArray[np.floating], n_threads: int) -> Floats: ...

def pack_forest(
    feature: NDArray[np.int32],
    threshold: Floats,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    nan_left: NDArray[np.bool_],
    category_set: NDArray[np.int32],
    set_starts: NDArray[np.int32],
    bitset: NDArray[np.uint32],
    leaf_value: Floats,
    roots: NDArray[np.int32],
    n_outputs: int,
) -> Forest: ...

# Noise-aware Platt scaling: the compiled twins of rboost.noise.platt.
def fit_lines(
    scores: Floats,
    observed: Floats,
    trusted: Floats,
    rates: Floats,
    start: Floats,
    prior: _LinePrior,
) -> tuple[Floats, Floats]: ...
def explore_noise(
    scores: Floats,
    observed: Floats,
    trusted: Floats,
    masses: Floats,
    kinds: NDArray[np.int64],
    largest_sum: float,
    rare: float,
    negligible: float,
    prior: _LinePrior,
) -> tuple[Floats, Floats, Floats, Floats, Floats]: ...
def count_labels(
    scores: NDArray[Any],
    labels: NDArray[Any],
    weights: NDArray[Any] | None,
    trusted: NDArray[Any] | None,
    edges: Floats,
    middle: float,
    half_range: float,
    far: float,
) -> tuple[int, Floats, Floats]: ...
def mixture_probability(
    scores: Floats, slopes: Floats, offsets: Floats, weights: Floats
) -> Floats: ...
def mixture_log_odds(
    scores: Floats, slopes: Floats, offsets: Floats, weights: Floats
) -> Floats: ...
def issue_probability(
    scores: Floats,
    labels: NDArray[np.bool_],
    rates: Floats,
    slopes: Floats,
    offsets: Floats,
    weights: Floats,
) -> Floats: ...
def mixture_threshold(
    slopes: Floats, offsets: Floats, weights: Floats, lowest: float, highest: float
) -> float: ...
