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
from rboost.noise.classes.fit import fit_kind
from rboost.noise.classes.kinds import known_noise
from rboost.noise.classes.model import Layout, Rows
from rboost.noise.classes.posterior import ClassesPosterior, relative_scores
from rboost.noise.classes.search import compare_kinds
from rboost.noise.guessed import FlippedOrGuessed, seen_together
from rboost.noise.matrix import check_noise_matrix
from rboost.noise.platt.scaling import fit_noise_aware_platt, read_two_ways
from rboost.noise.posterior import NoisePosterior
from rboost.tables import check_flip_counts

# Overlaps of this many pairs of classes per class are looked at, and of so many in all.
OVERLAPS_PER_CLASS, MOST_OVERLAPS = 2, 24
# Guesses are this much more plausible than labels that are all right, of more than two classes.
GUESSED_TO_NONE = 1.7
# Rows that stand for all where it is asked how often classes are confused.
CURVE_ROWS = 20_000


def infer_noise(
    scores: ArrayLike,
    observed: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    trusted: ArrayLike | None = None,
    flip_counts: ArrayLike | None = None,
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
    flip_counts : array-like of shape (n_classes, n_classes), default=None
        Where trusted rows had a label before it was checked: ``flip_counts[j, k]`` of them had the
        label k and are of class j. Needed when rows were not picked for the check by chance.
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
    if array.ndim == 1 and noise_matrix is not None:
        return fit_noise_aware_platt(
            array, observed, weight, trusted=trusted, noise_matrix=noise_matrix
        )
    if array.ndim == 1:
        both = read_two_ways(array, observed, weight, trusted, flip_counts)
        return _with_guesses(*both, array, weight)
    rows, spread = _standardised(array, observed, weight, trusted, flip_counts)
    if noise_matrix is None:
        found = compare_kinds(rows)
    else:
        kind = known_noise(check_noise_matrix(noise_matrix, n_classes=rows.n_classes))
        layout = Layout(rows.n_classes, rows.overlapping, kind)
        found = [(0.0, fit_kind(rows, kind, [layout.center]))]
    weights = np.exp([log_weight for log_weight, _ in found])
    flipped = ClassesPosterior(tuple(fit for _, fit in found), weights, spread)
    clean = [number for number, (_, fit) in enumerate(found) if fit.layout.kind.name == "none"]
    if not clean:
        return flipped
    # Guesses explain the labels exactly as well as no noise at all.
    odds = float(weights[clean[0]]) * GUESSED_TO_NONE
    overlap = ClassesPosterior((found[clean[0]][1],), np.ones(1), spread)
    return _with_guesses(flipped, overlap, odds / (1 + odds), array, weight)


def _with_guesses(
    flipped: NoisePosterior,
    overlap: NoisePosterior,
    share: float,
    scores: Floats,
    weight: ArrayLike | None,
) -> NoisePosterior:
    some = slice(None, None, max(1, len(scores) // CURVE_ROWS))
    curve = overlap.observed_probability(np.asarray(scores[some], dtype=np.float64))
    weights = None if weight is None else np.asarray(weight, dtype=np.float64)[some]
    return FlippedOrGuessed(flipped, overlap, share, seen_together(curve, weights))


def _standardised(
    scores: NDArray[Any],
    observed: ArrayLike,
    sample_weight: ArrayLike | None,
    trusted: ArrayLike | None,
    flip_counts: ArrayLike | None,
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
    flips = check_flip_counts(flip_counts, n_classes)
    overlapping = _overlapping(softmax(relative, axis=1), label, weight)
    return Rows(relative / spread, label, weight, trust, flips, overlapping), spread


def _overlapping(probability: Floats, observed: Integers, weight: Floats) -> Integers:
    """The pairs of classes that scores and labels confuse most, either way."""
    n_classes = probability.shape[1]
    confused = np.zeros((n_classes, n_classes))
    np.add.at(confused, observed, weight[:, np.newaxis] * probability)
    first, second = np.triu_indices(n_classes, 1)
    order = np.argsort(-(confused + confused.T)[first, second], kind="stable")
    chosen = order[: min(OVERLAPS_PER_CLASS * n_classes, MOST_OVERLAPS)]
    return np.column_stack([first[chosen], second[chosen]])
