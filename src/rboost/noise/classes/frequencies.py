"""How frequent the true classes are to the model, and how plausible that is.

Two classes that scores hardly tell apart could be explained as one class whose label is often
wrong, while the other has no rows at all. But a class has a name because it has rows: the logarithm
of π_j / π̃_j, the frequencies of true classes and of labels, is Gaussian beforehand.

Shapes: ``frequencies`` π (K,), their ``jacobian`` by parameters (n_parameters, K).
"""

from __future__ import annotations

import numpy as np

from rboost._typing import Floats
from rboost.noise.classes.model import Layout, Rows

# Standard deviation of log(π_j / π̃_j) beforehand: classes seldom lose or gain a third.
SCALE = 0.35
# The smallest frequency that is told from 0.
SMALLEST = 1e-4


def label_frequencies(rows: Rows) -> Floats:
    """π̃, with half a row more of each class."""
    counts = np.bincount(rows.observed, rows.weight, rows.n_classes) + 0.5
    return counts / counts.sum()


def log_density(frequencies: Floats, labels: Floats) -> float:
    """−½·Σ_j (log(π_j / π̃_j) / SCALE)², up to a constant."""
    deviation = np.log(np.maximum(frequencies, SMALLEST) / labels) / SCALE
    return float(-deviation @ deviation / 2)


def log_density_derivatives(
    frequencies: Floats, labels: Floats, jacobian: Floats
) -> tuple[Floats, Floats]:
    """Gradient by parameters, and its expected change with the sign turned."""
    floored = np.maximum(frequencies, SMALLEST)
    relative = jacobian / (floored * SCALE)
    return -relative @ (np.log(floored / labels) / SCALE), relative @ relative.T


def frequency_jacobian(layout: Layout, parameters: Floats, rows: Rows, true: Floats) -> Floats:
    """∂π_k by each parameter: the mean over rows of Σ_j ∂F_j·p_j·(δ_jk − p_k)."""
    found = np.zeros((len(parameters), rows.n_classes))
    share = (rows.weight / rows.weight.sum())[:, np.newaxis] * true
    stretched, mixing = layout.stretched(parameters, rows.scores), layout.mixing(parameters)
    found[layout.offsets] = np.diag(share.sum(axis=0)) - true.T @ share
    along = stretched * (true @ mixing)
    found[layout.deviations] = mixing * (stretched.T @ share) - along.T @ share
    found[0] = found[layout.deviations].sum(axis=0)
    if len(layout.overlapping):
        gaps = stretched @ layout.differences.T
        apart = gaps * (true @ layout.differences.T)
        found[layout.overlaps] = apart.T @ share - layout.differences * (gaps.T @ share)
    return found
