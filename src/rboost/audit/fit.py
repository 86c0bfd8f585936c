"""The model of an audit fitted, and what its held-out scores say of the noise and of every row."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from rboost._typing import Floats, Integers
from rboost.audit.inference import Inference, infer, judge_rows
from rboost.audit.labels import TableLabels
from rboost.audit.scorers import TableModel, fit_scorer
from rboost.table.features import Features


def fit_model(
    scorer: Any,
    features: Features,
    labels: TableLabels,
    copy_of: Integers | None,
) -> tuple[Floats, Inference, TableModel]:
    """Fit a clone of the scorer to features and labels; return scores, inference and model.

    The scorer has inferred the noise from the same scores and labels, unless it was given others,
    or knows the noise.
    """
    fitted = clone(scorer)
    scores, is_of_labels = fit_scorer(fitted, features, labels, copy_of)
    if is_of_labels and isinstance(fitted.noise_matrix, str):
        found = judge_rows(fitted.label_noise, scores, labels, copy_of, fitted.group_noise)
    else:
        found = infer(scores, labels, copy_of)
    return scores, found, TableModel(features.encoder, fitted, labels.classes, found.noise)
