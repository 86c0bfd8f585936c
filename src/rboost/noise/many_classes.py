"""The noise of many classes: a few structures of noise, each fitted by EM, compared by BIC.

The joint model of ``class_model.py`` has slopes, offsets and overlaps for each class; its time
grows faster than the number of classes, and tables of many classes have few rows of each. Here the
calibration is a single slope s, the reciprocal of a temperature, and noise is sparse:

    p = softmax(s·z),   p(ỹ = k) = Σ_j p_j·T_jk,   T_jk = c + e_jk (j ≠ k),   rows of T sum to 1.

c is the rate at which any class is labelled as any other; e_jk > 0 for some pairs of classes (j, k)
alone. The structures, with the names of ``class_model.py``:

    none        c = SLIPS / (K − 1), no pairs
    symmetric   c is free, no pairs
    one other   one pair (j, k) for each class j, the same e for all; c is free
    pairs       some pairs, each with an e of its own; c is free

**Likelihood.** As Σ_j p_j = 1, a row with the label k has the likelihood

    L = c + p_k·(T_kk − c) + Σ_{pairs (j, k)} p_j·e_jk,

which takes time in proportion to the pairs that end in k, not to K: of the softmax only the
probabilities of labels and pairs and the normaliser are needed. A trusted row has p_k.

**EM.** A label is kept, or flipped by a pair, or flipped to any other class. With weights w,

    kept    R_k = T_kk·Σ w·p_k / L          over rows with the label k,
    by pair N_jk = e_jk·Σ w·p_j / L         over rows with the label k,

and the remaining weight of the rows is that of flips to any class. The M-step is

    (K − 1)·c = remaining / total,   e_jk = (1 − (K − 1)·c)·N_jk / (R_j + Σ_k N_jk).

**Slope.** EM is nested in a search for s: the posterior density that T reaches is maximised by
log s, on a grid and then by Brent's method.

**Pairs.** A noise matrix whose K² rates are all free is fitted by EM at the slope of the best
structure so far. N_jk and A_j are its expected flips and rows of class j. Class j's one other is
the class k of the largest N_jk. A rate of its own for the pair (j, k) gains about

    N_jk·log(N_jk / m_jk) − N_jk + m_jk,   m_jk = c·A_j,

nats; pairs are tried that gain a multiple of what they cost.

**BIC.** The log marginal likelihood of a structure is its log posterior density less ½·log n for
each rate; ``log_prior`` of its kind holds the number of ways to choose pairs.

Time is linear in rows × classes, of which at most ``MOST_CELLS`` are used; memory is linear in
rows × classes and in K².
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from rboost._typing import Floats, Integers
from rboost.noise import class_model as model
from rboost.noise.class_model import Fit, Layout, Pair, Rows
from rboost.noise.matrix import symmetric

# With more classes than this, noise is inferred here alone. The joint model takes 2 s for 20
# classes and 20 s for 77, where its sample of 600 rows has too few of each for rates of pairs.
FEW_CLASSES = 20
# The most rows × classes that structures are fitted to: some seconds of one core.
MOST_CELLS = 10_000_000
# The range of the log slope of standardised scores; with noise, the part of it from ``BELOW`` under
# the slope that fits without noise to ``ABOVE`` over it; the step of the grid, and the precision of
# Brent's method.
LOWEST, HIGHEST, BELOW, ABOVE, GRID, PRECISION = -3.0, 6.0, 0.5, 2.5, 0.5, 0.01
# EM stops when a step gains less, in nats, or after this many steps.
ENOUGH, MAX_STEPS = 1e-3, 200
# The least rate at which labels of every class are wrong, and that of "none".
SLIPS = 0.002
# Initial rates of EM: of all flips to any class, and of a pair.
FIRST_SPREAD, FIRST_PAIR = 0.1, 0.1
# Steps of EM with all rates free, which only serves to choose pairs.
ANY_STEPS = 15
# Smallest gains, in units of their cost, of the pairs that are tried; the most pairs a class.
GAINS, PAIRS_PER_CLASS = (4.0, 1.0), 3
# A pair with a smaller rate is rather two classes whose overlap the single slope does not describe.
SMALLEST_PAIR = 0.03
# How often pairs are chosen, each time at the slope of the best structure so far.
ROUNDS = 2
# Rates of pairs have variances as long as their directions, (rates, K, K), hold no more numbers.
MOST_NUMBERS = 2**20
# Numbers that are exponentiated at once: they fit into the cache of a processor.
BLOCK = 2**16


@dataclass(frozen=True, eq=False)
class Structure:
    """Pairs of classes with rates, ``tied`` to one rate or not; c is free unless ``is_none``."""

    pairs: Integers  # (n_pairs, 2)
    tied: bool = False
    is_none: bool = False

    def is_like(self, other: Structure) -> bool:
        """Whether it is the same structure."""
        return self.tied == other.tied and np.array_equal(self.pairs, other.pairs)

    @property
    def n_rates(self) -> int:
        """The number of free rates."""
        return (not self.is_none) + (1 if self.tied else len(self.pairs))


@dataclass(frozen=True, eq=False)
class Rates:
    """c, and e of each pair."""

    common: float
    extra: Floats

    def kept(self, pairs: Integers, n_classes: int) -> Floats:
        """T_jj of each class."""
        lost = np.bincount(pairs[:, 0], self.extra, n_classes).astype(np.float64, copy=False)
        return 1 - (n_classes - 1) * self.common - lost

    def matrix(self, pairs: Integers, n_classes: int) -> Floats:
        """T."""
        found = np.full((n_classes, n_classes), self.common)
        np.fill_diagonal(found, self.kept(pairs, n_classes))
        found[tuple(pairs.T)] += self.extra
        return found


class SortedRows:
    """Rows in the order of their labels, so that those of a label are a slice."""

    def __init__(self, rows: Rows) -> None:
        order = np.argsort(rows.observed, kind="stable")
        self.scores, self.label = rows.scores[order], rows.observed[order]
        weight, trusted = rows.weight[order], rows.trusted[order]
        self.weight, self.trusted_weight = weight * ~trusted, weight * trusted
        self.own = self.scores[np.arange(len(order)), self.label]
        self.bounds = np.searchsorted(self.label, np.arange(self.n_classes + 1))
        self._normalisers: dict[float, Floats] = {}

    def __len__(self) -> int:
        return len(self.label)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.scores.shape[1]

    @cached_property
    def total(self) -> float:
        """The weight of all rows whose labels may be wrong."""
        return float(self.weight.sum())

    def normaliser(self, log_slope: float) -> Floats:
        """log Σ_j exp(s·z_j) of each row."""
        if log_slope not in self._normalisers:
            found, slope = np.empty(len(self)), np.exp(log_slope)
            size = max(1, BLOCK // self.n_classes)
            for first in range(0, len(self), size):
                raised = slope * self.scores[first : first + size]
                found[first : first + size] = np.exp(raised, out=raised).sum(axis=1)
            self._normalisers[log_slope] = np.log(found)
        return self._normalisers[log_slope]


class _Posterior:
    """The log posterior density of a structure, maximised over rates for each slope."""

    def __init__(self, rows: SortedRows, structure: Structure) -> None:
        self.rows, self.structure = rows, structure
        true, observed = structure.pairs.T
        first, last = rows.bounds[observed], rows.bounds[observed + 1]
        # Each pair with every row that has its second class as label.
        self._pair = np.repeat(np.arange(len(true)), last - first)
        starts = first - np.append(0, np.cumsum(last - first)[:-1])
        self._row = np.arange(len(self._pair)) + np.repeat(starts, last - first)
        self._scores = rows.scores[self._row, true[self._pair]]

    def at(self, log_slope: float) -> tuple[Floats, Floats]:
        """p_k of each row's label, and p_j of each row and pair."""
        slope, normaliser = np.exp(log_slope), self.rows.normaliser(log_slope)
        own = np.exp(slope * self.rows.own - normaliser)
        return own, np.exp(slope * self._scores - normaliser[self._row])

    def likelihood(self, own: Floats, paired: Floats, rates: Rates) -> Floats:
        """p(ỹ) of each row if it may be wrong."""
        kept = rates.kept(self.structure.pairs, self.rows.n_classes)
        found = rates.common + own * (kept - rates.common)[self.rows.label]
        if len(paired):
            found += np.bincount(self._row, paired * rates.extra[self._pair], len(own))
        return found

    def climb(self, log_slope: float) -> tuple[float, Rates]:
        """EM at this slope: the log posterior density, and rates."""
        rows, structure = self.rows, self.structure
        own, paired = self.at(log_slope)
        fixed = rows.trusted_weight @ np.log(np.maximum(own, model.FLOOR))
        fixed -= ((log_slope - model.SLOPE_CENTER) / model.SLOPE_SCALE) ** 2 / 2
        spread = SLIPS if structure.is_none else FIRST_SPREAD
        rates = Rates(spread / (rows.n_classes - 1), np.full(len(structure.pairs), FIRST_PAIR))
        value = -np.inf
        for _ in range(MAX_STEPS):
            likelihood = self.likelihood(own, paired, rates)
            before, value = value, float(rows.weight @ np.log(likelihood))
            if structure.is_none or value - before < ENOUGH:
                break
            rates = self._maximised(own, paired, rates, rows.weight / likelihood)
        return value + float(fixed), rates

    def _maximised(self, own: Floats, paired: Floats, rates: Rates, share: Floats) -> Rates:
        """The M-step; ``share`` is w / L."""
        rows, pairs, n_classes = self.rows, self.structure.pairs, self.rows.n_classes
        right = rates.kept(pairs, n_classes) * np.bincount(rows.label, share * own, n_classes)
        by_pair = rates.extra * np.bincount(self._pair, share[self._row] * paired, len(pairs))
        spread = 1 - (right.sum() + by_pair.sum()) / rows.total
        spread = float(np.clip(spread, SLIPS, model.LARGEST_SPREAD))
        seen = right + np.bincount(pairs[:, 0], by_pair, n_classes)
        if self.structure.tied:
            extra = np.full(len(pairs), by_pair.sum() / max(seen.sum(), model.FLOOR))
        else:
            extra = by_pair / np.maximum(seen[pairs[:, 0]], model.FLOOR)
        # Most labels of a class are its own.
        lost = np.bincount(pairs[:, 0], extra, n_classes)[pairs[:, 0]]
        extra = extra * np.minimum(1, model.LARGEST_PAIR / np.maximum(lost, model.FLOOR))
        return Rates(spread / (n_classes - 1), (1 - spread) * extra)

    def variance(self, log_slope: float, rates: Rates) -> tuple[float, Floats]:
        """Variances of (K − 1)·c and of each e: inverse sums of squared scores, each alone."""
        rows, pairs, n_classes = self.rows, self.structure.pairs, self.rows.n_classes
        own, paired = self.at(log_slope)
        likelihood = self.likelihood(own, paired, rates)
        by_spread = ((1 - own) / (n_classes - 1) - own) / likelihood
        of_label = np.bincount(rows.label, rows.weight * (own / likelihood) ** 2, n_classes)
        squares = rows.weight[self._row] * (paired / likelihood[self._row]) ** 2
        information = np.bincount(self._pair, squares, len(pairs)) + of_label[pairs[:, 0]]
        if self.structure.tied:
            information = np.full(len(pairs), information.sum())
        return 1 / max(float(rows.weight @ by_spread**2), 1.0), 1 / np.maximum(information, 1.0)


@dataclass(frozen=True, eq=False)
class Found:
    """The mode of a structure; ``score`` is its log marginal likelihood."""

    structure: Structure
    log_slope: float
    rates: Rates
    score: float
    posterior: _Posterior


def fit_structures(rows: Rows) -> list[Fit]:
    """Fit the structures; ``log_evidence`` of each is by BIC."""
    rows = rows.sample(max(1, MOST_CELLS // rows.n_classes))
    ordered, no_pairs = SortedRows(rows), np.zeros((0, 2), dtype=np.intp)
    none = _fit(ordered, Structure(no_pairs, is_none=True), LOWEST, HIGHEST)
    low, high = none.log_slope - BELOW, none.log_slope + ABOVE
    found = [none, _fit(ordered, Structure(no_pairs), low, high)]
    for _ in range(ROUNDS):
        best = max(found, key=_score)
        flips = _any_flips(ordered, best)
        proposed = [Structure(_targets(flips), tied=True)]
        proposed += [Structure(pairs) for pairs in _candidates(flips, best, ordered.total)]
        for structure in proposed:
            if not any(structure.is_like(one.structure) for one in found):
                found.append(_fit(ordered, structure, low, high))
        if max(found, key=_score) is best:
            break
    return [_as_fit(one) for one in found]


def _fit(rows: SortedRows, structure: Structure, low: float, high: float) -> Found:
    """The mode of a structure, with the log slope in a range."""
    posterior = _Posterior(rows, structure)
    log_slope = _maximum(lambda slope: posterior.climb(slope)[0], low, high)
    value, rates = posterior.climb(log_slope)
    score = value - structure.n_rates * np.log(max(rows.total, 1.0)) / 2
    return Found(structure, log_slope, rates, score, posterior)


def _score(one: Found) -> float:
    """The log weight of a structure in the posterior."""
    return one.score + _log_prior(one.structure, one.posterior.rows.n_classes)


def _log_prior(structure: Structure, n_classes: int) -> float:
    if structure.tied:
        return model.log_prior_of_targets(n_classes)
    if len(structure.pairs):
        return model.log_prior_of_pairs(n_classes, len(structure.pairs))
    return float(np.log(model.PRIOR["none" if structure.is_none else "symmetric"]))


def _any_flips(rows: SortedRows, start: Found) -> Floats:
    """Expected number of rows of class j with the label k, at [j, k], if all rates are free."""
    slope, normaliser = np.exp(start.log_slope), rows.normaliser(start.log_slope)
    probability = np.exp(slope * rows.scores - normaliser[:, np.newaxis])
    noise = start.rates.matrix(start.structure.pairs, rows.n_classes)
    for _ in range(ANY_STEPS):
        flips = np.zeros_like(noise)
        for k, (first, last) in enumerate(zip(rows.bounds, rows.bounds[1:], strict=False)):
            if last > first:
                own = probability[first:last]
                share = rows.weight[first:last] / np.maximum(own @ noise[:, k], model.FLOOR)
                flips[:, k] = noise[:, k] * (share @ own)
        noise = flips / np.maximum(flips.sum(axis=1, keepdims=True), model.FLOOR)
    return flips


def _targets(flips: Floats) -> Integers:
    """Each class with the other that its rows are most often labelled as."""
    others = flips.copy()
    np.fill_diagonal(others, -1.0)
    return np.column_stack([np.arange(len(flips)), others.argmax(axis=1)])


def _candidates(flips: Floats, best: Found, n_rows: float) -> list[Integers]:
    """Sets of pairs that may be worth rates of their own, the smallest first."""
    n_classes = len(flips)
    of_class = flips.sum(axis=1, keepdims=True)
    chance = np.maximum(best.rates.common * of_class, model.FLOOR)
    ratio = np.maximum(flips / chance, 1.0)
    gain = np.where(ratio > 1, flips * np.log(ratio) - flips + chance, 0.0)
    gain[flips < SMALLEST_PAIR * of_class] = 0.0
    np.fill_diagonal(gain, 0.0)
    order = np.argsort(-gain, axis=None, kind="stable")[: PAIRS_PER_CLASS * n_classes]
    cost = np.log(max(n_rows, 1.0)) / 2 + 2 * np.log(n_classes)
    sizes = [np.count_nonzero(gain.flat[order] > times * cost) for times in GAINS]
    pairs = np.column_stack(np.unravel_index(order, gain.shape))
    return [np.unique(pairs[:size], axis=0) for size in sorted(set(sizes)) if size]


def _as_fit(one: Found) -> Fit:
    """The same as a fit of a kind of noise without overlaps, of slopes and offsets of classes."""
    structure, n_classes = one.structure, one.posterior.rows.n_classes
    pairs: list[Pair] = [(int(j), int(k)) for j, k in structure.pairs]
    spread = one.rates.common * (n_classes - 1)
    origin = symmetric(spread, n_classes)
    of_spread, of_pairs = one.posterior.variance(one.log_slope, one.rates)
    rates, variance = one.rates.extra, of_pairs
    if structure.is_none:
        kind = model.no_noise(n_classes)
    elif not pairs:
        kind, origin = model.symmetric_noise(n_classes), symmetric(SLIPS, n_classes)
        rates, variance = np.array([spread - SLIPS]), np.array([of_spread])
    elif structure.tied:
        kind = model.one_other(n_classes, structure.pairs[:, 1].tolist())
        rates, variance = rates[:1], variance[:1]
    elif len(pairs) * n_classes**2 <= MOST_NUMBERS:
        kind = model.single_pairs(n_classes, pairs)
    else:
        origin = one.rates.matrix(structure.pairs, n_classes)
        prior = _log_prior(structure, n_classes)
        kind = replace(model.known_noise(origin), name="pairs", log_prior=prior)
        rates = variance = np.zeros(0)
    kind = replace(kind, origin=origin)
    layout = Layout(n_classes, np.zeros((0, 2), dtype=np.intp), kind)
    parameters = np.concatenate([[one.log_slope], np.zeros(2 * n_classes), rates])
    return Fit(layout, parameters, one.score, np.diag(variance))


def fit_slope(rows: Rows, noise_matrix: Floats) -> Fit:
    """The calibration, given the noise matrix."""
    rows = rows.sample(max(1, MOST_CELLS // rows.n_classes))
    ordered, layout = (
        SortedRows(rows),
        Layout(rows.n_classes, np.zeros((0, 2), dtype=np.intp), model.known_noise(noise_matrix)),
    )

    def value(log_slope: float) -> float:
        """The log posterior density."""
        slope, normaliser = np.exp(log_slope), ordered.normaliser(log_slope)
        found = -(((log_slope - model.SLOPE_CENTER) / model.SLOPE_SCALE) ** 2) / 2
        own = np.exp(slope * ordered.own - normaliser)
        found += ordered.trusted_weight @ np.log(np.maximum(own, model.FLOOR))
        for k, (first, last) in enumerate(zip(ordered.bounds, ordered.bounds[1:], strict=False)):
            raised = np.exp(slope * ordered.scores[first:last])
            observed = (raised @ noise_matrix[:, k]) * np.exp(-normaliser[first:last])
            logs = np.log(np.maximum(observed, model.FLOOR))
            found += ordered.weight[first:last] @ logs
        return float(found)

    log_slope = _maximum(value, LOWEST, HIGHEST)
    parameters = np.append(log_slope, np.zeros(2 * rows.n_classes))
    return Fit(layout, parameters, value(log_slope), np.zeros((0, 0)))


def _maximum(value: Callable[[float], float], low: float, high: float) -> float:
    """Where a function of the log slope is largest: on a grid, then by Brent's method."""
    best = max(np.arange(low, high + GRID / 2, GRID).tolist(), key=value)
    found = minimize_scalar(
        lambda slope: -value(float(slope)),
        bounds=(best - GRID, best + GRID), method="bounded", options={"xatol": PRECISION},
    )  # fmt: skip
    return float(found.x)
