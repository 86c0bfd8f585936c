"""The noise matrix: how true labels turn into observed ones.

Convention, here and everywhere in the package: ``noise_matrix[j, k]`` is the probability that a row
whose true class is ``j`` is observed with the label ``k``, classes in sorted order. Each row sums
to 1. The paper's ω (section 2) and γ (section 3) are both this matrix. For two classes,

    γ01 = noise_matrix[0, 1]    negatives observed as positive
    γ10 = noise_matrix[1, 0]    positives observed as negative

Class probabilities have shape (n_rows, n_classes) and rows that sum to 1. Here are checks and
identities of the matrix, its update from class probabilities, and labels drawn from it.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, check_random_state

from rboost._typing import Floats
from rboost._validation import plain_labels


def check_noise_matrix(
    noise_matrix: ArrayLike, *, n_classes: int | None = None, informative: bool = True
) -> Floats:
    """Validate a noise matrix and return it as a new float64 array.

    With ``n_classes`` it must have that size. With ``informative`` the observed labels must say
    something about the true ones: for two classes γ01 + γ10 < 1 (not each below ½); for more, the
    matrix is invertible. Raises a ValueError that says what is wrong and how it should look.
    """
    try:
        matrix = np.array(noise_matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"noise_matrix must be a square array of numbers, not {noise_matrix!r}."
        ) from error
    if matrix.ndim == 0:
        raise ValueError(
            f"noise_matrix must be a square array, not {noise_matrix!r}; "
            "rboost.noise.symmetric(rate) makes one from a rate."
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        raise ValueError(
            f"noise_matrix must be square with one row per class, but its shape is {matrix.shape}."
        )
    if n_classes is not None and len(matrix) != n_classes:
        raise ValueError(
            f"noise_matrix is for {len(matrix)} classes but there are {n_classes}; "
            f"pass a {n_classes}×{n_classes} array."
        )
    # Written so that NaN fails the comparison too.
    if not np.all((matrix >= 0) & (matrix <= 1)):
        raise ValueError("noise_matrix holds probabilities, so its entries must be in [0, 1].")
    sums = matrix.sum(axis=1)
    if not np.allclose(sums, 1, rtol=0, atol=1e-8):
        worst = int(np.argmax(np.abs(sums - 1)))
        raise ValueError(
            f"Each row of noise_matrix must sum to 1, but row {worst} sums to {sums[worst]:.6g}; "
            "row j holds p(observed label | true class j)."
        )
    matrix /= sums[:, np.newaxis]
    if not informative:
        return matrix
    if len(matrix) > 2 and np.linalg.matrix_rank(matrix) < len(matrix):
        raise ValueError(
            "noise_matrix must be invertible, but two classes are observed alike; merge them."
        )
    total = matrix[0, 1] + matrix[1, 0]
    if len(matrix) == 2 and total >= 1:
        raise ValueError(
            f"The two flip rates of noise_matrix must sum to less than 1, but "
            f"{matrix[0, 1]:.6g} + {matrix[1, 0]:.6g} = {total:.6g}: such labels carry no "
            "information, or the two classes are swapped."
        )
    return matrix


def check_noise_parameter(
    noise_matrix: ArrayLike | str | None, n_classes: int = 2
) -> Floats | None:
    """Check an estimator's ``noise_matrix``: a fixed matrix, or None for ``"estimate"``."""
    if noise_matrix is None or isinstance(noise_matrix, str):
        if noise_matrix != "estimate":
            raise ValueError(
                f"noise_matrix must be 'estimate' or a {n_classes}×{n_classes} array, "
                f"not {noise_matrix!r}."
            )
        return None
    if np.shape(noise_matrix) == (2, 2) and n_classes > 2:
        raise ValueError(
            f"Only binary classification is supported with a 2×2 noise_matrix, but there are "
            f"{n_classes} classes; pass a {n_classes}×{n_classes} array or 'estimate'."
        )
    return check_noise_matrix(noise_matrix, n_classes=n_classes)


def keep_informative(noise_matrix: Floats, largest_sum: float = 0.99) -> Floats:
    """Shrink the flip rates until each label is likeliest in its own class, γkk > γjk.

    Otherwise label k would speak for another class than k, and the classes could trade places. In
    terms of flip rates, (1 − γkk) + γjk < 1 for all j ≠ k; of two classes, γ01 + γ10 < 1. Updates
    that look at one rate at a time know nothing of this. Where a sum exceeds ``largest_sum``, all
    rates are multiplied by the same number, such that none does.
    """
    flips = noise_matrix * (1 - np.eye(len(noise_matrix)))
    sums = flips.sum(axis=1) + flips
    np.fill_diagonal(sums, 0)
    if sums.max() <= largest_sum:
        return noise_matrix
    flips *= largest_sum / sums.max()
    return flips + np.diag(1 - flips.sum(axis=1))


def with_rates(into_1: float, into_0: float) -> Floats:
    """The 2×2 noise matrix with the flip rates γ01 and γ10."""
    return np.array([[1 - into_1, into_1], [into_0, 1 - into_0]])


def rates_of(noise_matrix: Floats) -> Floats:
    """The flip rates γ01 and γ10 of a 2×2 noise matrix."""
    return noise_matrix[[0, 1], [1, 0]]


def symmetric(rate: float, n_classes: int = 2) -> Floats:
    """Noise that flips every class at the same rate, to each other class equally often.

    >>> symmetric(0.2)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """
    rate = _check_rate(rate)
    if n_classes < 2:
        raise ValueError(f"n_classes must be at least 2, not {n_classes!r}.")
    matrix = np.full((n_classes, n_classes), rate / (n_classes - 1))
    np.fill_diagonal(matrix, 1 - rate)
    return matrix


def asymmetric(rate: float, from_class: int, n_classes: int = 2) -> Floats:
    """Noise that flips one class alone, to each other class equally often.

    ``from_class`` is the position of the class in sorted order, not its label.

    >>> asymmetric(0.3, from_class=0)
    array([[0.7, 0.3],
           [0. , 1. ]])
    """
    rate = _check_rate(rate)
    is_position = isinstance(from_class, numbers.Integral) and not isinstance(from_class, bool)
    if not (is_position and 0 <= from_class < n_classes):
        raise ValueError(
            f"from_class is a class position from 0 to {n_classes - 1}, not {from_class!r}."
        )
    matrix = np.eye(n_classes)
    matrix[from_class] = symmetric(rate, n_classes)[from_class]
    return matrix


def _check_rate(rate: float) -> float:
    if not (isinstance(rate, numbers.Real) and 0 <= float(rate) <= 1):
        raise ValueError(f"A flip rate is a probability in [0, 1], not {rate!r}.")
    return float(rate)


def compose(first: ArrayLike, second: ArrayLike) -> Floats:
    """Noise of labels that pass through ``first`` and then through ``second``: a matrix product."""
    first = check_noise_matrix(first, informative=False)
    return first @ check_noise_matrix(second, n_classes=len(first), informative=False)


def observed_probability(true_probability: ArrayLike, noise_matrix: ArrayLike) -> Floats:
    """p(ỹ = k | x) = Σⱼ p(y = j | x)·noise_matrix[j, k], eq. (1)."""
    matrix = check_noise_matrix(noise_matrix, informative=False)
    return _check_probabilities(true_probability, len(matrix)) @ matrix


def true_probability(observed_probability: ArrayLike, noise_matrix: ArrayLike) -> Floats:
    """p(y = j | x) from p(ỹ = k | x): the inverse of :func:`observed_probability`.

    Estimated probabilities can lie outside what the noise allows; what would be negative becomes 0,
    so that the result is always a distribution.
    """
    matrix = check_noise_matrix(noise_matrix)
    observed = _check_probabilities(observed_probability, len(matrix))
    unmixed = np.clip(np.linalg.solve(matrix.T, observed.T).T, 0, None)
    return unmixed / unmixed.sum(axis=-1, keepdims=True)


def _check_probabilities(probability: ArrayLike, n_classes: int) -> Floats:
    array = np.asarray(probability, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != n_classes:
        raise ValueError(
            f"Class probabilities must have one column for each of the {n_classes} classes, but "
            f"their shape is {array.shape}."
        )
    if not np.allclose(array.sum(axis=-1), 1) or np.any(array < 0):
        raise ValueError("Class probabilities must not be negative and must sum to 1 in each row.")
    return array


def posterior(noise_matrix: ArrayLike, prior: ArrayLike | None = None) -> Floats:
    """p(y = j | ỹ = k), an array whose row ``k`` is the observed, column ``j`` the true class.

    ``prior[j] = p(y = j)``, uniform when None. An observed class that cannot occur gets the prior.
    """
    matrix = check_noise_matrix(noise_matrix, informative=False)
    prior = np.full(len(matrix), 1 / len(matrix)) if prior is None else np.asarray(prior, float)
    if prior.shape != (len(matrix),) or np.any(prior < 0) or not np.isclose(prior.sum(), 1):
        raise ValueError(
            f"prior must hold {len(matrix)} class probabilities that sum to 1, not {prior!r}."
        )
    return posterior_of(matrix, prior)


def posterior_of(noise_matrix: Floats, prior: Floats) -> Floats:
    """The same of a matrix and a prior that were checked."""
    joint = (prior[:, np.newaxis] * noise_matrix).T
    total = joint.sum(axis=1, keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1), prior)


def threshold(noise_matrix: ArrayLike) -> float:
    """p(ỹ = 1 | x) at which the true classes are equally likely: (1 − γ10 + γ01) / 2.

    A model of the *observed* labels predicts the *true* class best with this threshold, not ½.
    """
    matrix = check_noise_matrix(noise_matrix, n_classes=2)
    return float((1 - matrix[1, 0] + matrix[0, 1]) / 2)


def multiplicative_update(
    noise_matrix: Floats,
    true_probability: Floats,
    observed_class: NDArray[np.intp],
    sample_weight: Floats | None = None,
) -> Floats:
    """One multiplicative update of the noise matrix, eq. (5)–(7) and (20)–(22).

    g[j, k] = γ[j, k] · Σᵢ 1(ỹᵢ = k)·p(y = j | xᵢ) / p(ỹ = k | xᵢ), and each row of γ becomes the
    row of g divided by its sum. This is the EM step for the noise matrix when the probabilities of
    the true class are held fixed, so the likelihood of eq. (2) never decreases. An entry that is
    zero stays zero. ``observed_class`` has the positions of the labels ỹᵢ.
    """
    noise_matrix, true_probability = np.asarray(noise_matrix), np.asarray(true_probability)
    mixture = true_probability @ noise_matrix  # eq. (1)
    responsibility = np.zeros_like(mixture)
    rows = np.arange(len(mixture))
    weight = 1.0 if sample_weight is None else sample_weight
    # The floor only matters where a row is impossible under the model: 0/0 must count as 0.
    likelihood = np.maximum(mixture[rows, observed_class], 1e-200)
    responsibility[rows, observed_class] = weight / likelihood
    g = noise_matrix * (true_probability.T @ responsibility)  # eq. (7), (22)
    total = g.sum(axis=1, keepdims=True)
    # A class that no row can belong to teaches nothing: its row stays as it is.
    return np.where(total > 0, g / np.where(total > 0, total, 1), noise_matrix)


def flip_labels(
    y: ArrayLike,
    noise_matrix: ArrayLike,
    random_state: int | np.random.RandomState | None = None,
    *,
    classes: ArrayLike | None = None,
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Draw an observed label for each true label.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels: strings, numbers, booleans.
    noise_matrix : array-like of shape (n_classes, n_classes)
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order; any stochastic
        matrix, even one that destroys all information.
    random_state : int, RandomState instance or None, default=None
        Seed of the flips.
    classes : array-like, default=None
        The classes in the order of the matrix, when some of them do not occur in ``y``.

    Returns
    -------
    noisy : ndarray of shape (n_rows,)
        The observed labels.
    flipped : ndarray of bool of shape (n_rows,)
        Where they differ from the true ones.

    Examples
    --------
    >>> from rboost.noise import flip_labels, symmetric
    >>> noisy, flipped = flip_labels(["cat", "dog"] * 50, symmetric(0.2), random_state=0)
    >>> int(flipped.sum())
    16
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be one-dimensional, but its shape is {labels.shape}.")
    if labels.dtype.kind == "O":
        labels = plain_labels(labels)
    assert_all_finite(labels, input_name="y")
    matrix = check_noise_matrix(noise_matrix, informative=False)
    known = np.unique(labels) if classes is None else np.asarray(classes)
    if len(known) != len(matrix) or len(np.unique(known)) < len(known):
        raise ValueError(
            f"noise_matrix is for {len(matrix)} classes but there are {len(np.unique(known))}; "
            "where a class does not occur in y, name all of them with classes=[...]."
        )
    is_class = labels[:, np.newaxis] == known
    if not is_class.any(axis=1).all():
        raise ValueError("y holds labels that are not in classes; name every class there.")
    true_class = is_class.argmax(axis=1)

    # Inverse transform sampling: the observed class is the first whose cumulative probability
    # exceeds a uniform draw. The last entry is 1 up to rounding; +inf makes it certain.
    cumulative = matrix.cumsum(axis=1)
    cumulative[:, -1] = np.inf
    # Data are often made with the same seed as the flips. A stream seeded by that stream's output
    # keeps the flips independent of the data, which "noise at random" means.
    seeds = check_random_state(random_state).randint(2**31, size=8, dtype=np.int64)
    draws = np.random.RandomState(seeds).uniform(size=len(labels))
    observed_class = (draws[:, np.newaxis] >= cumulative[true_class]).sum(axis=1)
    return known[observed_class], observed_class != true_class
