"""Intervals for rates and shares whose probability is spread over cells.

Each cell has a low and a high end and a probability; one without width is an atom.
"""

from __future__ import annotations

import numpy as np

from rboost import native
from rboost._typing import Floats

# Low ends, high ends and probabilities of cells.
Cells = tuple[Floats, Floats, Floats]


def shortest_interval(
    low: Floats, high: Floats, weights: Floats, level: float
) -> tuple[float, float]:
    """Shortest interval of probability ``level`` when each weight is spread over its cell."""
    compiled = native.compiled()
    if compiled is not None:
        return compiled.shortest_interval(low, high, weights, level)
    ends, before, up_to = _probability_below(low, high, weights)
    last = np.searchsorted(up_to, before + level * (1 - 1e-9))
    first = np.flatnonzero(last < len(ends))
    lengths = ends[last[first]] - ends[first]
    shortest = first[int(np.argmin(lengths))]
    return float(ends[shortest]), float(ends[last[shortest]])


def lowest_interval(
    low: Floats, high: Floats, weights: Floats, level: float
) -> tuple[float, float]:
    """The interval of probability ``level`` that begins at the lowest value there is."""
    ends, _, up_to = _probability_below(low, high, weights)
    last = min(int(np.searchsorted(up_to, level * (1 - 1e-9))), len(ends) - 1)
    return float(ends[0]), float(ends[last])


def _probability_below(low: Floats, high: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """All ends of cells, and the probability below each, without and with what lies at it."""
    ends = np.unique(np.concatenate([low, high]))
    share = (ends[:, np.newaxis] - low) / np.maximum(high - low, 1e-12)
    # A cell without width is an atom: it lies inside an interval that begins or ends at it.
    return ends, np.clip(share, 0, 1) @ weights, np.clip(share + (high <= low), 0, 1) @ weights
