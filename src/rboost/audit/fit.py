"""The model of an audit fitted, and what its held-out scores say of the noise and of every row."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from rboost._typing import Floats, Integers
from rboost.audit.inference import Inference, infer
from rboost.audit.labels import Labels
from rboost.audit.scorers import TableModel, fit_scorer
from rboost.labels import Groups


def fit_model(
    scorer: Any,
    vectorizer: Any,
    dates: dict[str, str],
    features: Floats,
    labels: Labels,
    groups: Groups | None,
    copy_of: Integers | None,
) -> tuple[Floats, Inference, TableModel]:
    """Fit a clone of the scorer to features and labels; return scores, inference and model."""
    fitted = clone(scorer)
    scores = fit_scorer(fitted, features, labels, groups, copy_of)
    found = infer(scores, labels, groups, copy_of)
    return scores, found, TableModel(vectorizer, dates, fitted, labels.classes, found.noise)
