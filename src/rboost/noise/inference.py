"""infer_noise: from scores and observed labels to the noise and the true classes.

Scores are of rows that the scorer was not fitted to: of its training rows it explains wrong labels
as well as right ones. Two classes have one score a row and their noise is integrated over
(``noise/platt``); more have one score for each class, and one joint model with several kinds of
noise (``noise/classes``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from rboost._typing import Floats, Integers
from rboost.noise.answers import learn_from_answers
from rboost.noise.classes.fit import fit_kind
from rboost.noise.classes.kinds import known_noise
from rboost.noise.classes.model import Layout, Rows
from rboost.noise.classes.posterior import ClassesPosterior, relative_scores
from rboost.noise.classes.search import compare_kinds
from rboost.noise.matrix import check_noise_matrix
from rboost.noise.platt import fit_noise_aware_platt, read_two_ways
from rboost.noise.posterior import FlippedOrGuessed, NoisePosterior, seen_together

# Overlaps of this many pairs of classes per class are looked at, and of so many in all.
OVERLAPS_PER_CLASS, MOST_OVERLAPS = 2, 24
# Guesses are this many times as plausible as labels that are all right, of more than two classes:
# tables of many classes as they come overlap much, and are rarely that wrong.
GUESSED_TO_NONE = 0.3
# Rows that stand for all where it is asked how often classes are confused.
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
    if array.ndim == 1:
        found = _of_two_classes(array, observed, weight, trusted, noise_matrix)
    else:
        found = _of_more_classes(array, observed, weight, trusted, noise_matrix)
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


def _of_two_classes(
    scores: Floats, observed: Any, weight: Any, trusted: Any, noise_matrix: Any
) -> NoisePosterior:
    if noise_matrix is not None:
        return fit_noise_aware_platt(
            scores, observed, weight, trusted=trusted, noise_matrix=noise_matrix
        )
    return _with_guesses(*read_two_ways(scores, observed, weight, trusted), scores, weight)


def _of_more_classes(
    scores: Floats, observed: Any, weight: Any, trusted: Any, noise_matrix: Any
) -> NoisePosterior:
    rows, spread = _standardised(scores, observed, weight, trusted)
    if noise_matrix is not None:
        kind = known_noise(check_noise_matrix(noise_matrix, n_classes=rows.n_classes))
        layout = Layout(rows.n_classes, rows.overlapping, kind)
        return ClassesPosterior((fit_kind(rows, kind, [layout.center]),), np.ones(1), spread)
    found = compare_kinds(rows)
    weights = np.exp([log_weight for log_weight, _ in found])
    flipped = ClassesPosterior(tuple(fit for _, fit in found), weights, spread)
    clean = [number for number, (_, fit) in enumerate(found) if fit.layout.kind.name == "none"]
    if not clean:
        return _with_guesses(flipped, flipped, 0.0, scores, weight)
    # Guesses explain the labels exactly as well as no noise at all.
    odds = float(weights[clean[0]]) * GUESSED_TO_NONE
    overlap = ClassesPosterior((found[clean[0]][1],), np.ones(1), spread)
    return _with_guesses(flipped, overlap, odds / (1 + odds), scores, weight)


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


def _standardised(
    scores: NDArray[Any],
    observed: ArrayLike,
    sample_weight: ArrayLike | None,
    trusted: ArrayLike | None,
) -> tuple[Rows, float]:
    """Checked rows with scores relative to the largest of their row, in units of their spread."""
    if scores.ndim != 2 or scores.shape[1] < 3 or not len(scores):
        raise ValueError(
            "scores must have rows and one column for each class; of two classes, one score a row."
        )
    n_rows, n_classes = scores.shape
    label = np.asarray(observed)
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    trust = np.zeros(n_rows, dtype=bool) if trusted is None else np.asarray(trusted, dtype=bool)
    if any(column.shape != (n_rows,) for column in (label, weight, trust)):
        raise ValueError("scores, observed, sample_weight and trusted must have one entry a row.")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite numbers.")
    if scores.min() >= 0 and np.allclose(scores.sum(axis=1), 1):
        raise ValueError(
            "scores look like probabilities; pass their logarithms, such as "
            "numpy.log(probabilities + 0.001)."
        )
    if not np.isin(label, np.arange(n_classes)).all():
        raise ValueError(f"observed must hold positions of classes, 0 to {n_classes - 1}.")
    if np.any(weight < 0) or not 0 < weight.sum() < np.inf:
        raise ValueError("sample_weight must not be negative and must not be 0 for every row.")
    used = np.flatnonzero(weight)
    label, weight, trust = label[used].astype(np.intp), weight[used], trust[used]
    relative = relative_scores(scores[used])
    spread = float(np.sqrt(np.average((relative**2).mean(axis=1), weights=weight))) or 1.0
    overlapping = _overlapping(softmax(relative, axis=1), label, weight)
    return Rows(relative / spread, label, weight, trust, overlapping), spread


def _overlapping(probability: Floats, observed: Integers, weight: Floats) -> Integers:
    """The pairs of classes that scores and labels confuse most, either way."""
    n_classes = probability.shape[1]
    confused = np.zeros((n_classes, n_classes))
    np.add.at(confused, observed, weight[:, np.newaxis] * probability)
    first, second = np.triu_indices(n_classes, 1)
    order = np.argsort(-(confused + confused.T)[first, second], kind="stable")
    chosen = order[: min(OVERLAPS_PER_CLASS * n_classes, MOST_OVERLAPS)]
    return np.column_stack([first[chosen], second[chosen]])
