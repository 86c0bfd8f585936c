"""Rows that people checked: what they teach of all labels, and a second fit to that.

A first fit takes the labels as they are. Its scores of rows that it was not fitted to, and what
people said, give p(y | score, label) of every row (``noise/answers.py``). A second fit is to these
probabilities in the place of labels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats
from rboost._validation import check_checked_labels
from rboost.boosting.choice import LEARNERS, POOL
from rboost.boosting.fitting import Fitted, Training, begin, fit_rounds
from rboost.boosting.groups import grouped_noise
from rboost.boosting.parameters import BoostingParameters, noise_update_name
from rboost.boosting.several import fit_stack
from rboost.tables import Rows


def with_answers(
    parameters: BoostingParameters,
    rows: Rows,
    y_checked: Any,
    n_rows: int,
    classes: NDArray[Any],
    sample_weight: Any,
) -> Rows:
    """Rows of positive weight with what people said of them, if they said anything."""
    checked = check_checked_labels(y_checked, n_rows, classes)
    if checked is None:
        return rows
    if not parameters.out_of_bag or noise_update_name(parameters) == "paper":
        raise ValueError(
            "y_checked needs out_of_bag=True and noise_estimator='noise-aware', as answers are "
            "compared with held-out scores; set these, or pass checked rows as X_trusted."
        )
    if parameters.calibration != "platt":
        raise ValueError(
            "y_checked needs calibration='platt', as a model that is fitted to probabilities of "
            f"classes is read by them, not {parameters.calibration!r}."
        )
    if parameters.warm_start:
        raise ValueError(
            "y_checked needs two fits, which warm_start=True cannot continue; set it to False."
        )
    if sample_weight is not None:
        checked = checked[np.asarray(sample_weight) > 0]
    return replace(rows, checked=checked)


def fit_rows(
    parameters: BoostingParameters,
    names: list[str],
    classes: NDArray[Any],
    rows: Rows,
    fixed_noise: Floats | None,
    begun: Training,
    calibrating: Rows | None,
) -> Fitted:
    """Fit engines to labels as they are, and again to what answers say of them, if there are any.

    Algorithm 1 alone goes on from where it has ``begun``; ``calibrating`` are trusted rows that it
    is not fitted to.
    """

    def fit_to(rows: Rows, begun: Training) -> Fitted:
        if names in ([POOL], [LEARNERS]):
            return fit_rounds(parameters, names[0], begun, rows, calibrating)
        return fit_stack(parameters, names, classes, rows, fixed_noise)

    first = fit_to(rows, begun)
    if rows.checked is None:
        return first
    rows = with_soft_labels(rows, first)
    return fit_to(rows, begin(parameters, rows, classes, fixed_noise))


def with_soft_labels(rows: Rows, fitted: Fitted) -> Rows:
    """The rows with probabilities of their true classes; those that people know are certain."""
    assert rows.checked is not None
    assert fitted.noise is not None
    assert fitted.held_out is not None
    if rows.group is None:
        known = fitted.noise.posterior(fitted.held_out, rows.observed)
    else:
        by_group = grouped_noise(fitted.held_out, rows, fitted.noise)
        known = by_group.posterior(fitted.held_out, rows.observed, rows.group)
    certain = np.where(rows.trusted, rows.observed, rows.checked)
    known[certain >= 0] = np.eye(rows.n_classes)[certain[certain >= 0]]
    return replace(rows, known=known)
