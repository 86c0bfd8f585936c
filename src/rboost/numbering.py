"""Pseudo-random numbers by row: folds and samples that depend on the number of a row alone.

Numbers of rows are hashed, so that processes that hold different rows, in any order, agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats

# The golden ratio in 64 bits, and the multipliers of SplitMix64 (Steele, Lea & Flood, 2014).
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
# What a number is drawn for: draws for two purposes are independent.
FOLDS, SAMPLE, NOISE, BAGS = 1, 2, 3, 4


def draws(numbers: NDArray[Any], seed: int, purpose: int) -> Floats:
    """A number between 0 and 1 for each of the rows with these numbers."""
    return (_hashed(numbers, seed, purpose) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _hashed(numbers: NDArray[Any], seed: int, purpose: int) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        start = _mixed(np.array([seed], dtype=np.uint64) * GOLDEN + np.uint64(purpose))
        return _mixed((numbers.astype(np.uint64) + np.uint64(1)) * GOLDEN + start)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for shift, multiplier in zip(SHIFTS, MULTIPLIERS, strict=False):
        bits = (bits ^ (bits >> shift)) * multiplier
    return bits ^ (bits >> SHIFTS[-1])


def hashed_folds(numbers: NDArray[Any], n_folds: int, seed: int) -> NDArray[np.uint8]:
    """The fold that leaves each of the rows with these numbers out."""
    return (draws(numbers, seed, FOLDS) * n_folds).astype(np.uint8)


def in_sample(first: int, n_rows: int, share: float, seed: int) -> NDArray[np.bool_]:
    """Whether each of the rows first, first + 1, … is in a sample of this share of all rows."""
    return draws(np.arange(first, first + n_rows), seed, SAMPLE) < share


class Bags:
    """Samples of the same rows, one after the other, each of the same share of them.

    Rows are in an array of ``xp``, NumPy or CuPy. One multiplication a row makes a sample, of what
    was hashed once.
    """

    def __init__(self, numbers: NDArray[Any], share: float, seed: int, xp: Any = np) -> None:
        self._hashed = xp.asarray(_hashed(numbers, seed, BAGS).astype(np.uint32))
        self._below = np.uint32(share * 2**32)

    def without(self, bag: int) -> Any:
        """Which of the rows are not in a sample."""
        factor = _hashed(np.array([bag]), 0, BAGS).astype(np.uint32)[0] | np.uint32(1)
        return self._hashed * factor >= self._below
