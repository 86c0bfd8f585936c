"""How far each label is doubted, and what it would be instead.

Shapes, here and in all of ``insight``: ``posterior[i, j]`` = p(true class j | row i, its label),
``probability[i, j]`` the same without its label, ``labels`` one entry a row.
"""

from __future__ import annotations

import numpy as np

from rboost._typing import Floats, Integers
from rboost.audit.labels import NO_LABEL, TableLabels
from rboost.noise.inference import wrong_probability


def issue_probability(posterior: Floats, labels: TableLabels) -> Floats:
    """How likely each label is to be wrong: 0 if checked, NaN for rows without a label."""
    return np.where(labels.is_checked, 0.0, wrong_probability(posterior, labels.given))


def suggested_classes(posterior: Floats, probability: Floats, labels: TableLabels) -> Integers:
    """Position of the likeliest class other than the given one."""
    # Of a confirmed row all other classes have the posterior 0; the features then decide.
    chances = posterior + 1e-9 * probability
    labelled = np.flatnonzero(labels.given != NO_LABEL)
    chances[labelled, labels.given[labelled]] = -1.0
    return chances.argmax(axis=1)
