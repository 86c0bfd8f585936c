"""The rows of an audit in two dimensions: the plane in which they differ most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from rboost._typing import Floats, Integers
from rboost.audit.insight.suspects import Suspects
from rboost.audit.labels import NO_LABEL, TableLabels

# More points than this cannot be told apart in a picture.
MOST_ROWS, MOST_SUSPECTS = 3000, 500


@dataclass(frozen=True, eq=False)
class Projection:
    """Some labelled rows in the plane of their first two principal components.

    Attributes
    ----------
    rows : ndarray of shape (n_points,)
        Positions in the table: suspects last, the most suspicious of them at the very end.
    points : ndarray of shape (n_points, 2)
        Where they lie.
    label : ndarray of shape (n_points,)
        Position of the class whose label each row carries.
    is_suspect : ndarray of shape (n_points,)
        Which of them are suspects.
    explained : float
        The share of all variance that is seen in this plane.
    """

    rows: Integers
    points: Floats
    label: Integers
    is_suspect: NDArray[np.bool_]
    explained: float


def project(standardized: Floats, labels: TableLabels, suspects: Suspects) -> Projection:
    """Project a sample of the labelled rows, and the suspects; always the same sample."""
    doubted = suspects.rows[:MOST_SUSPECTS][::-1]
    others = np.setdiff1d(np.flatnonzero(labels.current != NO_LABEL), doubted)
    if len(others) > MOST_ROWS:
        others = np.sort(np.random.RandomState(0).choice(others, MOST_ROWS, replace=False))
    rows = np.concatenate([others, doubted]).astype(np.intp)
    points, explained = _plane(np.asarray(standardized[rows], dtype=np.float64))
    is_suspect = np.arange(len(rows)) >= len(others)
    return Projection(rows, points, labels.current[rows], is_suspect, explained)


def _plane(features: Floats) -> tuple[Floats, float]:
    """Coordinates of the rows in the plane, and the share of the variance that it keeps."""
    if not np.ptp(features, axis=0).any():  # all alike, and no direction is better than another
        return np.zeros((len(features), 2)), 1.0
    n_components = min(2, *features.shape)
    fitted = PCA(n_components, random_state=0).fit(features)
    points = np.zeros((len(features), 2))
    points[:, :n_components] = fitted.transform(features)
    return points, float(fitted.explained_variance_ratio_.sum())
