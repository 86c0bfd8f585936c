"""The joint model of K classes: kinds of noise, calibrated scores, and the fit of one kind.

The true class follows a softmax of calibrated scores, the observed label is a flipped copy,

    F = M·(s ∘ z) + b,   p = softmax(F),   p(ỹ = k) = Σ_j p_j·T_jk,   T = I' + Σ_m r_m·D_m.

**Calibration.** z are the scores, s > 0 a slope for each class, b an offset for each. M = I −
Σ_u o_u·d_u·d_uᵀ with d_u = e_j − e_k pulls the scores of two overlapping classes together: at
o_u = ½ the scores do not distinguish them. Without slopes and overlaps of their own, classes that
the scores cannot separate would look like flipped labels.

**Kinds of noise.** I' is nearly the identity: ``SLIPS`` of the labels of every class go to all
others alike, so that a label that all scores contradict is suspicious under any kind. A *direction*
D_m says where labels go per unit of its rate r_m; its rows sum to 0. A kind of noise is a list of
directions:

    none            no direction, slips alone
    symmetric       every class to all others alike
    out of a class  that class to all others alike
    into a class    all others to that class
    one other       every class to one other class, all at the same rate
    pairs           single classes to single others, each at its own rate
    any             all pairs of classes that are ever confused

Fewer rows suffice to distinguish a kind with few rates from overlap of the classes. So each kind is
weighted by its marginal likelihood times its prior probability.

**Fit.** Parameters are one vector θ = (log slope of all classes, deviations of single ones, offsets
b, overlaps o, rates r). All but the rates have Gaussian priors; the density of a rate decreases
linearly from 0 to the largest, where two classes would be one. The mode is found by damped Fisher
scoring (Levenberg–Marquardt); the marginal likelihood of a kind is Laplace's approximation there,
so that a kind with many rates has to explain the labels correspondingly better. A trusted row has
the likelihood p(y).

**Frequencies of classes.** Two classes that scores hardly distinguish could be explained as one
class whose label is often wrong, while the other has no rows at all. But a class has a name because
it has rows: log(π_j / π̃_j), the frequencies of true classes and of labels, has a Gaussian prior.

Shapes: ``scores`` (n_rows, K), ``observed`` (n_rows,).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr, softmax

from rboost._typing import Floats, Integers
from rboost.noise.matrix import symmetric

# Prior probability of each kind of noise.
PRIOR = {
    "none": 0.15, "symmetric": 0.35, "out of": 0.1, "into": 0.1, "one other": 0.1, "pairs": 0.18,
    "any": 0.02,
}  # fmt: skip
# The ratio of the prior probabilities of n + 1 and of n pairs.
PER_PAIR = 0.7
# The rate at which labels of every class are wrong under any kind of noise.
SLIPS = 0.01
# Largest rates: of a pair, and where the labels of one class are spread over all others.
LARGEST_PAIR, LARGEST_SPREAD = 0.5, 0.9

# Prior mean and standard deviation of the log slope, and prior standard deviations of deviations of
# single classes from it, of offsets, and of overlaps.
SLOPE_CENTER, SLOPE_SCALE, CLASS_SCALE = float(np.log(3.0)), 1.5, 0.5
OFFSET_SCALE, OVERLAP_SCALE = 2.0, 0.25
LARGEST_OVERLAP = 0.5
# Prior standard deviation of log(π_j / π̃_j): classes seldom lose or gain a third of their rows.
FREQUENCY_SCALE = 0.35
# The floor of π_j in that prior.
SMALLEST_FREQUENCY = 1e-4

# Fisher scoring stops when a step gains less, in nats, or after this many steps.
ENOUGH, MAX_STEPS = 1e-2, 40
# The largest change of a parameter in one step.
LARGEST_STEP = 2.0
# The floor of p(ỹ): it bounds the cost of a label that is impossible under the model, to 28 nats.
FLOOR = 1e-12

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Kind:
    """A family of noise matrices: directions (n_rates, K, K), largest rate, log prior.

    ``origin`` is the matrix where all rates are 0; the only matrix where it ``is_known``.
    """

    name: str
    directions: Floats
    origin: Floats
    largest: float
    log_prior: float
    is_known: bool = False

    @property
    def n_rates(self) -> int:
        """The number of free rates."""
        return len(self.directions)


def _kind(name: str, directions: Floats, log_prior: float, largest: float = LARGEST_PAIR) -> Kind:
    origin = symmetric(SLIPS, directions.shape[1])
    return Kind(name, directions, origin, largest, float(log_prior))


def _sum_of_pairs(n_classes: int, pairs: Sequence[Pair]) -> Floats:
    """One direction in which rows of the first class of each pair get the label of the second."""
    direction = np.zeros((1, n_classes, n_classes))
    for true, observed in pairs:
        direction[0, true, observed], direction[0, true, true] = 1.0, -1.0
    return direction


def no_noise(n_classes: int) -> Kind:
    """Slips alone."""
    return _kind("none", np.zeros((0, n_classes, n_classes)), np.log(PRIOR["none"]))


def known_noise(noise_matrix: Floats) -> Kind:
    """A given noise matrix, without free rates."""
    empty = np.zeros((0, *noise_matrix.shape))
    return Kind("known", empty, noise_matrix, LARGEST_PAIR, 0.0, is_known=True)


def symmetric_noise(n_classes: int) -> Kind:
    """Every class is flipped at the same rate, to all others alike."""
    direction = np.full((n_classes, n_classes), 1 / (n_classes - 1))
    np.fill_diagonal(direction, -1.0)
    return _kind("symmetric", direction[np.newaxis], np.log(PRIOR["symmetric"]), LARGEST_SPREAD)


def out_of(n_classes: int, true: int) -> Kind:
    """One class is flipped, to all others alike."""
    direction = np.zeros((1, n_classes, n_classes))
    direction[0, true] = 1 / (n_classes - 1)
    direction[0, true, true] = -1.0
    return _kind("out of", direction, np.log(PRIOR["out of"] / n_classes), LARGEST_SPREAD)


def into(n_classes: int, observed: int) -> Kind:
    """All other classes get one label, at the same rate."""
    pairs = [(j, observed) for j in range(n_classes) if j != observed]
    return _kind("into", _sum_of_pairs(n_classes, pairs), np.log(PRIOR["into"] / n_classes))


def one_other(n_classes: int, targets: Sequence[int]) -> Kind:
    """Class j is flipped to ``targets[j]`` alone; all classes at the same rate."""
    prior = log_prior_of_targets(n_classes)
    return _kind("one other", _sum_of_pairs(n_classes, list(enumerate(targets))), prior)


def log_prior_of_targets(n_classes: int) -> float:
    """The log prior of "one other": each class has any of the others as its target."""
    return float(np.log(PRIOR["one other"]) - n_classes * np.log(n_classes - 1))


def single_pairs(n_classes: int, chosen: Sequence[Pair], any_pair: bool = False) -> Kind:
    """Each of some pairs of classes has a rate of its own."""
    directions = np.concatenate([_sum_of_pairs(n_classes, [pair]) for pair in chosen])
    if any_pair:
        return _kind("any", directions, np.log(PRIOR["any"]))
    return _kind("pairs", directions, log_prior_of_pairs(n_classes, len(chosen)))


def log_prior_of_pairs(n_classes: int, n: int) -> float:
    """The log prior of "pairs" with n certain pairs, among all numbers and choices of pairs."""
    n_pairs = n_classes * (n_classes - 1)
    log_choices = gammaln(n_pairs + 1) - gammaln(n + 1) - gammaln(n_pairs - n + 1)
    log_number = (n - 1) * np.log(PER_PAIR) + np.log(1 - PER_PAIR)
    return float(np.log(PRIOR["pairs"]) + log_number - log_choices)


@dataclass(frozen=True, eq=False)
class Rows:
    """Standardised scores with labels and weights; labels of ``trusted`` rows are right."""

    scores: Floats
    observed: Integers
    weight: Floats
    trusted: NDArray[np.bool_]
    overlapping: Integers  # (n_overlaps, 2): pairs of classes that may overlap

    def __len__(self) -> int:
        return len(self.observed)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.scores.shape[1]

    def sample(self, n_rows: int) -> Rows:
        """A random sample, the same one each time, and all trusted rows."""
        if len(self) <= n_rows:
            return self
        drawn = np.random.RandomState(0).permutation(len(self))[:n_rows]
        rows = np.union1d(drawn, np.flatnonzero(self.trusted))
        return Rows(
            self.scores[rows], self.observed[rows], self.weight[rows], self.trusted[rows],
            self.overlapping,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Layout:
    """The position of each kind of parameter in θ, and its prior."""

    n_classes: int
    overlapping: Integers
    kind: Kind

    @property
    def deviations(self) -> slice:
        """Deviations of single classes' log slopes."""
        return slice(1, 1 + self.n_classes)

    @property
    def offsets(self) -> slice:
        """One offset for each class."""
        return slice(1 + self.n_classes, 1 + 2 * self.n_classes)

    @property
    def overlaps(self) -> slice:
        """One number for each pair that may overlap."""
        return slice(1 + 2 * self.n_classes, self.n_calibration)

    @property
    def rates(self) -> slice:
        """The rates of the kind of noise."""
        return slice(self.n_calibration, self.n_calibration + self.kind.n_rates)

    @property
    def n_calibration(self) -> int:
        """The number of parameters other than rates."""
        return 1 + 2 * self.n_classes + len(self.overlapping)

    @cached_property
    def precision(self) -> Floats:
        """Prior precision of each parameter; 0 for rates, whose prior is not Gaussian."""
        scales = np.repeat(
            [SLOPE_SCALE, CLASS_SCALE, OFFSET_SCALE, OVERLAP_SCALE],
            [1, self.n_classes, self.n_classes, len(self.overlapping)],
        )
        return np.append(scales**-2.0, np.zeros(self.kind.n_rates))

    @cached_property
    def center(self) -> Floats:
        """Prior mode of each parameter."""
        return np.append(SLOPE_CENTER, np.zeros(len(self.precision) - 1))

    @cached_property
    def differences(self) -> Floats:
        """d_u of each overlap, shape (n_overlaps, K)."""
        first, second = np.eye(self.n_classes)[self.overlapping.T]
        return first - second

    def clip(self, parameters: Floats) -> Floats:
        """Clip overlaps and rates to their ranges."""
        clipped = parameters.copy()
        clipped[self.rates] = np.clip(clipped[self.rates], 0.0, 0.99 * self.kind.largest)
        clipped[self.overlaps] = clipped[self.overlaps].clip(-LARGEST_OVERLAP, LARGEST_OVERLAP)
        return clipped

    def noise_matrix(self, parameters: Floats) -> Floats:
        """T = I' + Σ_m r_m·D_m."""
        return self.kind.origin + np.tensordot(parameters[self.rates], self.kind.directions, 1)

    def stretched(self, parameters: Floats, scores: Floats) -> Floats:
        """s ∘ z of each row."""
        return scores * np.exp(parameters[0] + parameters[self.deviations])

    def mixing(self, parameters: Floats) -> Floats:
        """M, which pulls overlapping classes together."""
        pulled = (self.differences.T * parameters[self.overlaps]) @ self.differences
        return np.eye(self.n_classes) - pulled

    def true_probability(self, parameters: Floats, scores: Floats) -> Floats:
        """p(y = j) of each row."""
        calibrated = self.stretched(parameters, scores)
        if len(self.overlapping):
            calibrated = calibrated @ self.mixing(parameters)
        return softmax(calibrated + parameters[self.offsets], axis=1)


@dataclass(frozen=True, eq=False)
class Fit:
    """The mode of one kind of noise; ``covariance`` is that of the rates."""

    layout: Layout
    parameters: Floats
    log_evidence: float
    covariance: Floats

    @property
    def noise_matrix(self) -> Floats:
        """T at the mode."""
        return self.layout.noise_matrix(self.parameters)

    @property
    def rate_variance(self) -> Floats:
        """The variance of each entry of T."""
        directions = self.layout.kind.directions
        found = np.tensordot(self.covariance, directions, 1) * directions
        return np.maximum(found.sum(axis=0), 0.0)

    def true_probability(self, scores: Floats) -> Floats:
        """p(y = j) of rows with these standardised scores."""
        return self.layout.true_probability(self.parameters, scores)


def start(layout: Layout, rate: float, like: Fit | None = None, steeper: float = 1.0) -> Floats:
    """Initial parameters: the prior mode or the calibration of another fit, and equal rates.

    With ``steeper`` only the common slope of the other fit is taken, multiplied by it.
    """
    parameters = layout.center.copy()
    if like is not None and steeper == 1.0:
        parameters[: layout.n_calibration] = like.parameters[: layout.n_calibration]
    elif like is not None:
        parameters[0] = like.parameters[0] + np.log(steeper)
    parameters[layout.rates] = rate
    return parameters


def fit_kind(rows: Rows, kind: Kind, starts: list[Floats]) -> Fit:
    """The best mode from several initial parameters."""
    posterior = _Posterior(rows, Layout(rows.n_classes, rows.overlapping, kind))
    return max((_ascend(posterior, first) for first in starts), key=lambda pair: pair[0])[1]


def _ascend(posterior: _Posterior, parameters: Floats) -> tuple[float, Fit]:
    """Damped Fisher scoring; a rate at 0 with a negative gradient is held fixed for a step."""
    layout = posterior.layout
    parameters = layout.clip(parameters)
    value, damping = posterior.value(parameters), 1e-3
    gradient, information = posterior.derivatives(parameters)
    is_rate = layout.precision == 0
    for _ in range(MAX_STEPS):
        free = np.flatnonzero(~(is_rate & (parameters <= 0) & (gradient < 0)))
        damped = information[np.ix_(free, free)]
        damped = damped + damping * np.diag(np.diag(damped) + 1e-9)
        step = np.zeros(len(parameters))
        step[free] = np.linalg.solve(damped, gradient[free])
        moved = layout.clip(parameters + np.clip(step, -LARGEST_STEP, LARGEST_STEP))
        new_value = posterior.value(moved)
        if new_value >= value:
            gain, parameters, value = new_value - value, moved, new_value
            damping = max(damping / 5, 1e-6)
            gradient, information = posterior.derivatives(parameters)
            if gain < ENOUGH:
                break
        else:
            damping *= 10
            if damping > 1e6:
                break
    covariance = np.asarray(np.linalg.inv(information)[layout.rates, layout.rates], np.float64)
    rates, largest = parameters[layout.rates], layout.kind.largest
    inside = _log_mass_inside(rates, gradient[layout.rates], np.diag(covariance), largest)
    evidence = (
        value
        - np.linalg.slogdet(information)[1] / 2
        + np.log(layout.precision[: layout.n_calibration]).sum() / 2
        + len(rates) * (np.log(2 * np.pi) / 2 + np.log(2 / largest))
        + inside.sum()
    )
    return value, Fit(layout, parameters, float(evidence), covariance)


def _log_mass_inside(rates: Floats, push: Floats, variance: Floats, largest: float) -> Floats:
    """The correction of Laplace's approximation for rates that are bounded by 0 and ``largest``.

    A density exp(g·x − x²/2v), x the distance from the mode of the rate, is integrated between the
    bounds, as a share of √(2πv). The gradient g is 0 but for a rate held at 0.
    """
    deviation = np.sqrt(variance)
    center = np.minimum(push, 0.0) * variance
    low, high = (-rates - center) / deviation, (largest - rates - center) / deviation
    # Φ(high) − Φ(low), from the tail that is the smaller one
    upper, lower = log_ndtr(-low), log_ndtr(-high)
    mass = upper + np.log1p(-np.exp(np.minimum(lower - upper, -1e-12)))
    return mass + center**2 / (2 * variance)


class _Posterior:
    """Log-likelihood of the labels plus log prior of the parameters, with derivatives."""

    def __init__(self, rows: Rows, layout: Layout) -> None:
        self.rows, self.layout = rows, layout
        self._places = np.arange(len(rows)), rows.observed
        self._share = rows.weight / rows.weight.sum()
        counts = np.bincount(rows.observed, rows.weight, rows.n_classes) + 0.5  # a pseudo-count
        self._labels = counts / counts.sum()  # π̃

    def value(self, parameters: Floats) -> float:
        """−∞ where a label would be more probable in another class, or a class under another."""
        layout = self.layout
        noise = layout.noise_matrix(parameters)
        kept = np.diag(noise)
        flipped = noise - np.diag(kept)
        if layout.kind.n_rates and np.any(np.maximum(flipped.max(0), flipped.max(1)) >= kept):
            return -np.inf
        true = layout.true_probability(parameters, self.rows.scores)
        value = self.rows.weight @ np.log(self._observed(true, noise)[self._places])
        _, deviation = self._frequencies(true)
        value += float(-deviation @ deviation / 2)
        if layout.kind.n_rates:
            value += np.log1p(-parameters[layout.rates] / layout.kind.largest).sum()
        value -= layout.precision @ (parameters - layout.center) ** 2 / 2
        return float(value)

    def derivatives(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Gradient and Fisher information."""
        layout, rows = self.layout, self.rows
        noise = layout.noise_matrix(parameters)
        true = layout.true_probability(parameters, rows.scores)
        observed = self._observed(true, noise)
        jacobian = self._slopes(parameters, true, observed, noise)
        at_label = jacobian[:, self._places[0], self._places[1]] / observed[self._places]
        gradient = at_label @ rows.weight
        gradient -= layout.precision * (parameters - layout.center)
        # Σ_i w_i Σ_k (∂p_ik)(∂p_ik)ᵀ / p_ik
        jacobian *= np.sqrt(rows.weight[:, np.newaxis] / observed)
        flat = jacobian.reshape(len(jacobian), -1)
        information = flat @ flat.T + np.diag(layout.precision)
        frequencies, deviation = self._frequencies(true)
        relative = self._frequency_slopes(parameters, true) / (frequencies * FREQUENCY_SCALE)
        gradient = gradient + -relative @ deviation
        information = information + relative @ relative.T
        if layout.kind.n_rates:
            steepness = 1 / (layout.kind.largest - parameters[layout.rates])  # of their density
            gradient[layout.rates] -= steepness
            information[layout.rates, layout.rates] += np.diag(steepness**2)
        return gradient, information

    def _observed(self, true: Floats, noise: Floats) -> Floats:
        observed = true @ noise
        observed[self.rows.trusted] = true[self.rows.trusted]
        return np.maximum(observed, FLOOR)

    def _frequencies(self, true: Floats) -> tuple[Floats, Floats]:
        """π with a floor, and log(π_j / π̃_j) in units of its prior standard deviation."""
        frequencies = np.maximum(self._share @ true, SMALLEST_FREQUENCY)
        return frequencies, np.log(frequencies / self._labels) / FREQUENCY_SCALE

    def _slopes(self, parameters: Floats, true: Floats, observed: Floats, noise: Floats) -> Floats:
        """∂p(ỹ = k) by each parameter, shape (n_parameters, n_rows, K)."""
        layout, trusted = self.layout, self.rows.trusted
        n_rows, n_classes = true.shape
        by_score = true.T[:, :, np.newaxis] * (noise[:, np.newaxis, :] - observed)
        if trusted.any():
            certain = np.eye(n_classes)[:, np.newaxis, :] - observed[trusted]
            by_score[:, trusted] = true[trusted].T[:, :, np.newaxis] * certain
        found = np.empty((len(parameters), n_rows, n_classes))
        found[layout.offsets] = by_score
        stretched = layout.stretched(parameters, self.rows.scores)
        mixed = np.tensordot(layout.mixing(parameters), by_score, 1)
        found[layout.deviations] = mixed * stretched.T[:, :, np.newaxis]
        found[0] = found[layout.deviations].sum(axis=0)
        if len(layout.overlapping):
            gaps = layout.differences @ stretched.T
            apart = np.tensordot(layout.differences, by_score, 1)
            found[layout.overlaps] = -gaps[:, :, np.newaxis] * apart
        if layout.kind.n_rates:
            by_rate = np.tensordot(layout.kind.directions, true, (1, 1))
            found[layout.rates] = by_rate.transpose(0, 2, 1)
            found[layout.rates, trusted] = 0.0
        return found

    def _frequency_slopes(self, parameters: Floats, true: Floats) -> Floats:
        """∂π_k by each parameter: the mean over rows of Σ_j ∂F_j·p_j·(δ_jk − p_k)."""
        layout, rows = self.layout, self.rows
        found = np.zeros((len(parameters), rows.n_classes))
        share = self._share[:, np.newaxis] * true
        stretched, mixing = layout.stretched(parameters, rows.scores), layout.mixing(parameters)
        found[layout.offsets] = np.diag(share.sum(axis=0)) - true.T @ share
        along = stretched * (true @ mixing)
        found[layout.deviations] = mixing * (stretched.T @ share) - along.T @ share
        found[0] = found[layout.deviations].sum(axis=0)
        if len(layout.overlapping):
            gaps = stretched @ layout.differences.T
            apart = gaps * (true @ layout.differences.T)
            found[layout.overlaps] = apart.T @ share - layout.differences * (gaps.T @ share)
        return found
