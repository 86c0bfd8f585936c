"""The loss that rBoost minimises: two exponentials mixed by the noise matrix, eq. (10)–(18).

Nothing here sees the features: labels, scores and a noise matrix go in. Signs and shapes:

    labels          ỹ, −1 or +1, shape (n_rows,)
    scores          H, positive for class +1, shape (n_rows,)
    coefficients    c[k, j], shape (2, 2): how much a row observed in class k counts as class j

A row observed in class k adds c[k, k]·e^(−ỹH) + c[k, 1−k]·e^(+ỹH) to the loss. With c the identity
that is AdaBoost's exponential loss, eq. (9). For a fixed noise matrix the loss is convex in H (a
sum of positive multiples of exponentials), and each row's minimum is at a finite score: a row is
never worth pushing further than its label can be trusted. That, not non-convexity, makes it robust.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rboost._typing import Floats
from rboost.noise import check_noise_matrix, posterior

# A larger step needs a weighted error below what float64 can tell from zero.
MAX_STEP = float(-np.log(np.finfo(np.float64).eps) / 2)
# A smaller one is what rounding makes of a learner that cannot improve anything.
MIN_STEP = 1e-12


def _paper_coefficients(noise_matrix: Floats) -> Floats:
    """Eq. (10) as printed: a row observed in class k is mixed by the rate of flips *into* k."""
    into_0, into_1 = noise_matrix[1, 0], noise_matrix[0, 1]
    return np.array([[1 - into_0, into_0], [into_1, 1 - into_1]])


# How a noise matrix becomes mixing coefficients c[k, j].
#   "posterior"  c[k, j] = p(y = j | ỹ = k) for balanced classes: the columns of the noise matrix,
#                normalised. Its population minimiser has the sign of the Bayes rule for the true
#                classes, for every noise matrix (see docs/method.md for the derivation).
#   "paper"      eq. (10). The same for symmetric noise; otherwise its threshold is off, and a flip
#                rate near ½ breaks it.
MIXINGS = {"posterior": posterior, "paper": _paper_coefficients}


def mixing_coefficients(noise_matrix: ArrayLike, mixing: str = "posterior") -> Floats:
    """Coefficients c[k, j] of the mixture loss for a 2×2 noise matrix; rows sum to 1."""
    return MIXINGS[mixing](check_noise_matrix(noise_matrix, n_classes=2))


@dataclass(frozen=True)
class LossTerms:
    """The two weighted exponentials of every row, eq. (13), up to the common factor e^log_scale.

    ``right`` is w00 where ỹ = +1 and w11 where ỹ = −1: what a row costs for not being further on
    the side of its label. ``wrong`` is w01 and w10: what it costs for being too far on that side.
    """

    right: Floats
    wrong: Floats
    log_scale: float

    @property
    def row_weights(self) -> Floats:
        """Eq. (12). Negative for a row that is already more certain than its label deserves."""
        return self.right - self.wrong

    @property
    def at_minimum(self) -> bool:
        """Whether the weights are but rounding: every row is where its own loss is smallest."""
        return bool(np.abs(self.row_weights).sum() <= 1e-14 * (self.right + self.wrong).sum())

    @property
    def loss(self) -> float:
        """The loss of eq. (10); infinite when it exceeds float64."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_scale) * (self.right.sum() + self.wrong.sum()))

    def split(
        self, agreement: Floats | NDArray[np.bool_], rows: NDArray[np.bool_] | None = None
    ) -> tuple[float, float]:
        """Sums (falling, rising) such that a step α costs falling·e^(−α) + rising·e^α, eq. (11).

        ``agreement`` is (1 + ỹh)/2: 1 where the base learner predicts the observed label, 0 where
        it does not. In the paper's symbols falling = A − ε and rising = B + ε, where A and B sum
        ``right`` and ``wrong`` and ε is the weighted error. Summed as here, every term is
        non-negative and nothing cancels. For votes h between −1 and +1 the cost is an upper bound,
        by convexity of the exponential in h (Schapire & Singer 1999). ``rows`` restricts the sums.
        """
        falling = agreement * self.right + (1 - agreement) * self.wrong
        rising = agreement * self.wrong + (1 - agreement) * self.right
        if rows is not None:
            falling, rising = falling[rows], rising[rows]
        return float(falling.sum()), float(rising.sum())


def loss_terms(
    labels: Floats,
    scores: Floats,
    coefficients: Floats,
    sample_weight: Floats | None = None,
    trusted: NDArray[np.bool_] | None = None,
) -> LossTerms:
    """Evaluate both exponentials of every row, eq. (13) and (15)–(18).

    ``trusted`` marks rows whose label is known to be right: their coefficients are (1, 0).

    Only ratios matter to boosting, so the largest term is scaled to 1 before the sample weights
    come in. Scores of any size are safe: what is negligible becomes 0, nothing overflows.
    """
    is_positive = labels > 0
    margin = labels * scores
    with np.errstate(divide="ignore"):  # log 0 = −inf is the right answer for a coefficient of 0
        log_coefficients = np.log(coefficients)
    log_right = np.where(is_positive, log_coefficients[1, 1], log_coefficients[0, 0]) - margin
    log_wrong = np.where(is_positive, log_coefficients[1, 0], log_coefficients[0, 1]) + margin
    if trusted is not None and trusted.any():
        log_right = np.where(trusted, -margin, log_right)
        log_wrong = np.where(trusted, -np.inf, log_wrong)
    log_scale = float(max(log_right.max(), log_wrong.max()))
    weight = 1.0 if sample_weight is None else sample_weight
    return LossTerms(
        weight * np.exp(log_right - log_scale), weight * np.exp(log_wrong - log_scale), log_scale
    )


def step_size(falling: float, rising: float) -> float:
    """The step α that minimises falling·e^(−α) + rising·e^α, the closed form of eq. (14).

    α = ½·ln(falling / rising). The paper solves eq. (14) numerically; multiplied by e^α it is
    linear in e^(2α). Never negative: a learner no better than chance gets 0. At most ``MAX_STEP``:
    a perfect learner has rising = 0.
    """
    if falling <= rising:
        return 0.0
    if rising <= 0:
        return MAX_STEP
    step = float(np.log(falling) - np.log(rising)) / 2
    return 0.0 if step < MIN_STEP else min(step, MAX_STEP)


def population_minimiser(
    observed_probability: ArrayLike, noise_matrix: ArrayLike, mixing: str = "posterior"
) -> Floats:
    """The score that minimises the expected loss where p(ỹ = +1 | x) is ``observed_probability``.

    H = ½·ln(p̃·c[:, 1] / p̃·c[:, 0]) with p̃ = (p(ỹ = −1), p(ỹ = +1)). With ``mixing="posterior"``
    it changes sign at :func:`rboost.noise.threshold`, the Bayes threshold for the true classes.
    """
    positive = np.asarray(observed_probability, dtype=np.float64)
    mass = np.stack([1 - positive, positive], axis=-1) @ mixing_coefficients(noise_matrix, mixing)
    return (np.log(mass[..., 1]) - np.log(mass[..., 0])) / 2
