"""Rows that fit no class, and rows between two: neither is a wrong label, nor doubted more.

A row is unusual for a class if its mean distance to the nearest rows of that class, itself and its
copies left out, is beyond the cutoff of the class, and fits no class if it is so for all. Rows of a
class are those whose likeliest class it is, by columns and label, so that every row is of one. The
cutoff is where a log-normal distribution with the median and the upper decile of these distances
leaves a share of ``FALSE_ALARMS``: outliers, if fewer than a tenth, hardly move it, and where none
stands out hardly any row is beyond it.

A row is between classes if its two likeliest classes, by held-out scores without its label, are
nearly as probable.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rboost._typing import Floats, Integers
from rboost.audit.insight.likeness import TINY, Points

NO_CLASS, BETWEEN, ORDINARY = "fits no class", "between classes", ""
# Of ordinary rows about this share is said to fit no class.
FALSE_ALARMS = 0.01
# The second class is at least this likely, as a share of the first.
NEARLY = 0.8
# Neighbours of a row; rows among which they are looked for, of all classes at most, of each at
# least; rows of a class by which its tail is measured, at most.
N_NEAREST, MOST_SEARCHED, FEWEST_SEARCHED, MOST_MEASURED = 10, 2000, 20, 4000
BLOCK_ROWS = 4096


def row_fit(
    rows: Integers,
    points: Points | None,
    posterior: Floats,
    probability: Floats,
    copy_of: Integers | None = None,
) -> NDArray[np.object_]:
    """What is said of each of some rows: "fits no class", "between classes" or nothing.

    ``posterior`` (n, K) is p(class | row, its label), ``probability`` the same without the label,
    ``copy_of`` the first row that each is a copy of. Without ``points`` there are no distances.
    """
    best, second = -np.partition(-probability[rows], 1, axis=1)[:, :2].T
    found = np.where(second >= NEARLY * best, BETWEEN, ORDINARY).astype(object)
    if points is not None:
        first = np.arange(len(probability)) if copy_of is None else copy_of
        found[np.isin(rows, _unusual(rows, points, posterior.argmax(axis=1), first))] = NO_CLASS
    return found


def _unusual(rows: Integers, points: Points, likeliest: Integers, first: Integers) -> Integers:
    """Those of the rows that are unusual for every class."""
    classes, is_judged = np.unique(likeliest), False
    most = max(FEWEST_SEARCHED, MOST_SEARCHED // len(classes))
    for k in classes.tolist():
        own = np.flatnonzero(likeliest == k)
        alone = own[first[own] == own]
        if len(alone) < FEWEST_SEARCHED:
            rows = np.setdiff1d(rows, own)  # too few to say what is usual among them
            continue
        is_judged, searched = True, _some(alone, most)
        cutoff = tail_cutoff(_distances(points, _some(alone, MOST_MEASURED), searched, first))
        rows = rows[_distances(points, rows, searched, first) > cutoff]
    return rows if is_judged else rows[:0]


def _some(rows: Integers, most: int) -> Integers:
    return rows[:: -(-len(rows) // most)]


def _distances(points: Points, rows: Integers, searched: Integers, first: Integers) -> Floats:
    """The mean distance of each row to the nearest of those searched that it is no copy of."""
    found = np.empty(len(rows))
    for start in range(0, len(rows), BLOCK_ROWS):
        asked = rows[start : start + BLOCK_ROWS]
        distance = points.distances(asked, searched)
        distance[first[asked][:, np.newaxis] == searched] = np.inf  # itself, in whatever copy
        nearest = np.partition(distance, N_NEAREST - 1, axis=1)[:, :N_NEAREST]
        found[start : start + BLOCK_ROWS] = nearest.mean(axis=1)
    return found


def tail_cutoff(distance: Floats) -> float:
    """The distance beyond which a share of ``FALSE_ALARMS`` is expected by most of the others."""
    median, decile = np.quantile(np.log(distance + TINY), [0.5, 0.9])
    if decile - median < TINY:  # nearly all are as far
        return float(np.quantile(distance, 1 - FALSE_ALARMS))
    return float(np.exp(median + (decile - median) * ndtri(1 - FALSE_ALARMS) / ndtri(0.9)))
