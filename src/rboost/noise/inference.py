"""infer_noise: from held-out scores and observed labels to the posterior of noise and classes.

Scores must be held out: on its training rows a scorer explains wrong labels as well as right ones.
Two classes have one score a row, and their noise is integrated over (``noise/platt.py``); more have
one score for each class, and one joint model with several kinds of noise (``noise/classes.py``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from rboost._typing import Floats, Integers
from rboost.noise.answers import learn_from_answers
from rboost.noise.classes import compare_kinds, fit_known_noise
from rboost.noise.platt import fit_noise_aware_platt, read_two_ways
from rboost.noise.posterior import FlippedOrGuessed, NoisePosterior, seen_together

# Pseudo-counts that smooth mean votes, as a share of all votes: a few hundred unanimous votes are
# no certainty. They are in proportion to the class frequencies, because equal ones would make the
# small probabilities of a rare class indistinguishable.
SMOOTHING = 0.01
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
    """Infer the noise, and the calibration of scores, from held-out scores and labels.

    Parameters
    ----------
    scores : array-like of shape (n_rows,) or (n_rows, n_classes)
        Scores by a model that was not fitted to the row. Of two classes, one score a row, larger
        for class 1; of more, one for each class, such as logarithms of probabilities.
    observed : array-like of shape (n_rows,)
        Observed labels as positions of classes, 0 to n_classes − 1.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row in the likelihood.
    trusted : array-like of bool of shape (n_rows,), default=None
        Rows whose labels are known to be right.
    checked : array-like of shape (n_rows,), default=None
        Classes that people found on checking rows that have an observed label, as positions; −1
        for unchecked rows. Rows may be selected for checking by label and score.
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
    before = found
    if not isinstance(before, FlippedOrGuessed):  # known noise leaves nothing to guesses
        before = _with_guesses(before, before, 0.0, array, weight)
    weights = np.ones(len(array)) if weight is None else np.asarray(weight, dtype=np.float64)
    rows = weights > 0
    if trusted is not None:
        rows &= ~np.asarray(trusted, dtype=bool)
    given = np.asarray(observed).astype(np.intp)
    return learn_from_answers(before, array[rows], given[rows], answers[rows], weights[rows])


def check_answers(checked: ArrayLike, scores: Floats, found: NoisePosterior) -> Integers | None:
    """Positions of checked classes, −1 for unchecked rows; None where no row was checked."""
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


def prevalence_of(observed: Integers, n_classes: int, weight: Floats | None = None) -> Floats:
    """The share of each label, shape (n_classes,)."""
    counts = np.bincount(observed, weight, n_classes)
    return counts / counts.sum()


def smoothed_scores(probability: Floats, prevalence: Floats) -> Floats:
    """Scores of smoothed class probabilities, in which calibration is linear.

    The log-odds of class 1 of two classes, shape (n,); the logarithms of more, (n, K).
    ``prevalence`` is the share of each label.
    """
    logarithms = np.log(probability + SMOOTHING * prevalence)
    return logarithms if logarithms.shape[1] > 2 else logarithms[:, 1] - logarithms[:, 0]


def smoothed_log_odds(probability: Floats, prevalence: float) -> Floats:
    """The same of two classes, from the probability and the prevalence of class 1."""
    more, less = SMOOTHING * prevalence, SMOOTHING * (1 - prevalence)
    return np.log(probability + more) - np.log(1 - probability + less)


def probability_of(log_odds: Floats, prevalence: float) -> Floats:
    """The inverse of :func:`smoothed_log_odds`."""
    return (1 + SMOOTHING) * expit(log_odds) - SMOOTHING * prevalence
