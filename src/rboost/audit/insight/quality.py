"""How good the model is, although nobody knows the true labels.

If the noise model holds, each row's posterior says how likely a prediction is to be right; the mean
over rows is the expected accuracy. Predictions are made without the row's own label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rboost._typing import Floats
from rboost.audit.labels import NO_LABEL, TableLabels

ASSUMPTIONS = (
    "whether a label is wrong depends on the true class (and on the context, if any is named), or "
    "the label was guessed from what the columns show",
    "every row was labelled by itself, unless it repeats another one, label and all",
    "the probability of a class follows a sigmoid of its score",
)


@dataclass(frozen=True, eq=False)
class Quality:
    """Shares of rows whose held-out prediction agrees with the label, and with the true class.

    ``accuracy_by_class`` refers to true classes. ``label_accuracy`` is the expected share of
    labels, given or corrected, that are right: where it is below ``accuracy`` the model knows
    better than the table.
    """

    agreement: float
    accuracy: float
    accuracy_by_class: Floats
    label_accuracy: float
    n_rows: int


def estimate_quality(posterior: Floats, probability: Floats, labels: TableLabels) -> Quality:
    """Expected accuracy of the predictions p(true | features) under the posterior."""
    labelled = np.flatnonzero(labels.current != NO_LABEL)
    posterior = posterior[labelled]
    predicted = probability[labelled].argmax(axis=1)
    right = posterior[np.arange(len(labelled)), predicted]
    current = labels.current[labelled]
    by_class = [
        float(posterior[predicted == k, k].sum() / max(posterior[:, k].sum(), 1e-300))
        for k in range(len(labels.classes))
    ]
    return Quality(
        agreement=float(np.mean(predicted == current)),
        accuracy=float(right.mean()),
        accuracy_by_class=np.array(by_class),
        label_accuracy=float(posterior[np.arange(len(labelled)), current].mean()),
        n_rows=len(labelled),
    )
