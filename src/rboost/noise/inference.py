"""infer_noise: from scores and observed labels to the noise and the true classes.

Scores are of rows that the scorer was not fitted to: of its training rows it explains wrong labels
as well as right ones. Two classes have one score a row and their noise is integrated over
(``noise/platt.py``); more have one score for each class, and one joint model with several kinds of
noise (``noise/classes.py``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rboost._typing import Floats, Integers
from rboost.noise.answers import learn_from_answers
from rboost.noise.classes import compare_kinds, fit_known_noise
from rboost.noise.platt import fit_noise_aware_platt, read_two_ways
from rboost.noise.posterior import FlippedOrGuessed, NoisePosterior, seen_together

# The confusion of classes is averaged over every n-th row of a large table, at least this many.
CURVE_ROWS = 20_000


def infer_noise(
    scores: ArrayLike,
    observed: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    trusted: ArrayLike | None = None,
    checked: ArrayLike | None = None,
    noise_matrix: ArrayLike | None = None,
) -> NoisePosterior:
    """Infer the noise, and how scores are to be read, from held-out scores and labels.

    Parameters
    ----------
    scores : array-like of shape (n_rows,) or (n_rows, n_classes)
        Scores by a model that was not fitted to the row. Of two classes, one score a row, larger
        for class 1; of more, one for each class, such as logarithms of probabilities.
    observed : array-like of shape (n_rows,)
        Observed labels as positions of classes, 0 to n_classes − 1.
    sample_weight : array-like of shape (n_rows,), default=None
        How often each row counts.
    trusted : array-like of bool of shape (n_rows,), default=None
        Rows whose labels are known to be right.
    checked : array-like of shape (n_rows,), default=None
        What people said who looked at rows that have an observed label: positions of classes, −1
        where nobody looked. They may choose rows by label and score as they like.
    noise_matrix : array-like of shape (n_classes, n_classes), default=None
        The noise matrix, where it is known; only the calibration of scores is then fitted.

    Returns
    -------
    posterior : NoisePosterior
        The noise matrix with intervals, and probabilities of true classes for any scores.

    Examples
    --------
    >>> import numpy as np
    >>> from rboost.noise import asymmetric, flip_labels, infer_noise
    >>> random = np.random.RandomState(0)
    >>> scores = random.normal(scale=3, size=3000)
    >>> true = (random.uniform(size=3000) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    >>> observed, _ = flip_labels(true, asymmetric(0.3, from_class=0), random_state=0)
    >>> infer_noise(scores, observed).noise_matrix.round(1)
    array([[0.7, 0.3],
           [0. , 1. ]])
    """
    array, weight = np.asarray(scores), sample_weight
    found: NoisePosterior
    if noise_matrix is not None:
        fit = fit_noise_aware_platt if array.ndim == 1 else fit_known_noise
        found = fit(array, observed, weight, trusted=trusted, noise_matrix=noise_matrix)
    elif array.ndim == 1:
        found = _with_guesses(*read_two_ways(array, observed, weight, trusted), array, weight)
    else:
        found = _with_guesses(*compare_kinds(array, observed, weight, trusted), array, weight)
    answers = None if checked is None else check_answers(checked, array, found)
    if answers is None:
        return found
    before = found  # where flips are known, nothing is guessed
    if not isinstance(before, FlippedOrGuessed):
        before = _with_guesses(before, before, 0.0, array, weight)
    weights = np.ones(len(array)) if weight is None else np.asarray(weight, dtype=np.float64)
    rows = weights > 0
    if trusted is not None:
        rows &= ~np.asarray(trusted, dtype=bool)
    given = np.asarray(observed).astype(np.intp)
    return learn_from_answers(before, array[rows], given[rows], answers[rows], weights[rows])


def check_answers(checked: ArrayLike, scores: Floats, found: NoisePosterior) -> Integers | None:
    """Positions of checked classes, −1 where nobody looked; None where nobody looked at all."""
    answers = np.asarray(checked)
    n_classes = len(found.noise_matrix)
    if answers.shape != (len(scores),) or not np.isin(answers, np.arange(-1, n_classes)).all():
        raise ValueError(
            f"checked must have the position of a class, 0 to {n_classes - 1}, or -1 for each row."
        )
    return answers.astype(np.intp) if np.any(answers >= 0) else None


def _with_guesses(
    flipped: NoisePosterior,
    overlap: NoisePosterior,
    share: float,
    scores: Floats,
    weight: ArrayLike | None,
) -> FlippedOrGuessed:
    some = slice(None, None, max(1, len(scores) // CURVE_ROWS))
    curve = overlap.observed_probability(np.asarray(scores[some], dtype=np.float64))
    weights = None if weight is None else np.asarray(weight, dtype=np.float64)[some]
    return FlippedOrGuessed(flipped, overlap, share, seen_together(curve, weights))
