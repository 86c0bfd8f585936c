from typing import Any

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_LinePrior = tuple[float, float, float, int]

def instruction_set() -> str: ...
def choose_instruction_set(name: str) -> None: ...
def stream_sum(values: NDArray[np.float32]) -> float: ...

# Noise-aware Platt scaling: the compiled twins of rboost.noise.{sigmoid,structures,platt}.
def fit_lines(
    scores: _Floats,
    observed: _Floats,
    trusted: _Floats,
    rates: _Floats,
    start: _Floats,
    prior: _LinePrior,
) -> tuple[_Floats, _Floats]: ...
def explore_noise(
    scores: _Floats,
    observed: _Floats,
    trusted: _Floats,
    masses: _Floats,
    kinds: NDArray[np.int64],
    largest_sum: float,
    rare: float,
    negligible: float,
    prior: _LinePrior,
) -> tuple[_Floats, _Floats, _Floats, _Floats, _Floats]: ...
def count_rows(
    scores: NDArray[Any],
    labels: NDArray[Any],
    weights: NDArray[Any] | None,
    trusted: NDArray[Any] | None,
    edges: _Floats,
    middle: float,
    half_range: float,
    far: float,
) -> tuple[int, _Floats, _Floats]: ...
def mixture_probability(
    scores: _Floats, slopes: _Floats, offsets: _Floats, weights: _Floats
) -> _Floats: ...
def mixture_log_odds(
    scores: _Floats, slopes: _Floats, offsets: _Floats, weights: _Floats
) -> _Floats: ...
def issue_probability(
    scores: _Floats,
    labels: NDArray[np.bool_],
    rates: _Floats,
    slopes: _Floats,
    offsets: _Floats,
    weights: _Floats,
) -> _Floats: ...
def mixture_threshold(
    slopes: _Floats, offsets: _Floats, weights: _Floats, lowest: float, highest: float
) -> float: ...
def shortest_interval(
    low: _Floats, high: _Floats, weights: _Floats, level: float
) -> tuple[float, float]: ...
