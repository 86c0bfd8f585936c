"""Which kinds of noise are compared: the few that the rows can speak for.

Pairs of classes are tried in the order of how many rows of one seem to carry the label of the
other, one, two, three of them and so on, as long as the evidence grows.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from rboost._typing import Floats
from rboost.noise.classes.fit import Fit, fit_kind, start
from rboost.noise.classes.kinds import (
    Kind,
    Pair,
    into,
    no_noise,
    one_other,
    out_of,
    single_pairs,
    symmetric_noise,
)
from rboost.noise.classes.model import Layout, Rows
from rboost.noise.likelihood import true_posterior

# Kinds are compared on this many rows at most; the likely ones are then fitted to more.
SEARCH_ROWS, FIT_ROWS = 1500, 6000
# With many classes on fewer, but not on fewer than this: a fit takes as long as rows times classes.
ROWS_TIMES_CLASSES, FEWEST_ROWS = 16_500, 600
# Pairs of classes per class that are looked at, so many in all, and classes that may lose or
# attract labels.
PAIRS_PER_CLASS, MOST_PAIRS, SINGLE_CLASSES = 4, 48, 2
# So many numbers of pairs in a row without a gain end their search.
PATIENCE = 2
# A kind this many nats less likely than the best one is left out.
NEGLIGIBLE = 8.0


def compare_kinds(rows: Rows) -> list[tuple[float, Fit]]:
    """Kinds of noise with their log weights, which sum to 1 as weights."""
    n_searched = min(SEARCH_ROWS, max(FEWEST_ROWS, ROWS_TIMES_CLASSES // rows.n_classes))
    found = _likely(_search(rows.sample(n_searched)))
    if len(rows) > n_searched:
        more = rows.sample(FIT_ROWS // SEARCH_ROWS * n_searched)
        found = _likely([fit_kind(more, fit.layout.kind, [fit.parameters]) for _, fit in found])
    return found


def _likely(fits: list[Fit]) -> list[tuple[float, Fit]]:
    """Fits with their log weights, without those that are negligible."""
    scores = np.array([fit.log_evidence + fit.layout.kind.log_prior for fit in fits])
    kept = np.flatnonzero(scores > scores.max() - NEGLIGIBLE)
    total = logsumexp(scores[kept])
    return [(float(scores[number] - total), fits[number]) for number in kept]


def _search(rows: Rows) -> list[Fit]:
    """Fit every kind of noise that is worth it."""
    n_classes = rows.n_classes
    none = no_noise(n_classes)
    layout = Layout(n_classes, rows.overlapping, none)
    clean = fit_kind(rows, none, [start(layout, 0.0)])

    def fit(kind: Kind, rate: float) -> Fit:
        """From the calibration without noise, and from steeper slopes, which noise asks for."""
        layout = Layout(n_classes, rows.overlapping, kind)
        starts = [start(layout, rate, clean), start(layout, rate, clean, steeper=2.0)]
        return fit_kind(rows, kind, starts)

    fits = [clean, fit(symmetric_noise(n_classes), 0.2)]
    seeming = _ranked_pairs(_flips(rows, clean))[: min(PAIRS_PER_CLASS * n_classes, MOST_PAIRS)]
    anything = fit(single_pairs(n_classes, seeming, any_pair=True), 0.2 / (n_classes - 1))
    flips = _flips(rows, anything)
    fits.append(anything)
    for true in np.argsort(-flips.sum(axis=1))[:SINGLE_CLASSES]:
        fits.append(fit(out_of(n_classes, int(true)), 0.2))
    for observed in np.argsort(-flips.sum(axis=0))[:SINGLE_CLASSES]:
        fits.append(fit(into(n_classes, int(observed)), 0.1))
    fits.append(fit(one_other(n_classes, flips.argmax(axis=1).tolist()), 0.3))
    rate_of = dict(zip(seeming, anything.parameters[anything.layout.rates], strict=True))
    ranked = [pair for pair in _ranked_pairs(flips) if pair in rate_of]
    return fits + _growing_pairs(rows, ranked, rate_of, anything)


def _growing_pairs(
    rows: Rows, ranked: list[Pair], rate_of: dict[Pair, float], anything: Fit
) -> list[Fit]:
    """The first pair, the first two, and so on, as long as the evidence grows."""
    fits: list[Fit] = []
    best, without_gain = -np.inf, 0
    for number in range(1, len(ranked) + 1):
        kind = single_pairs(rows.n_classes, ranked[:number])
        calibration = anything.parameters[: anything.layout.n_calibration]
        rates = [rate_of[pair] for pair in ranked[:number]]
        fits.append(fit_kind(rows, kind, [np.concatenate([calibration, rates])]))
        score = fits[-1].log_evidence + kind.log_prior
        without_gain = 0 if score > best else without_gain + 1
        best = max(best, score)
        if without_gain == PATIENCE:
            break
    return fits


def _flips(rows: Rows, fit: Fit) -> Floats:
    """How many rows of class j seem to carry the label k, at [j, k]; −1 on the diagonal."""
    probability = fit.true_probability(rows.scores)
    posterior = true_posterior(probability, rows.observed, fit.noise_matrix)
    if not fit.layout.kind.n_rates:  # all labels are right to it; what do the scores alone say?
        posterior = probability
    weight = np.where(rows.trusted, 0.0, rows.weight)
    counts = np.zeros((rows.n_classes, rows.n_classes))
    np.add.at(counts.T, rows.observed, weight[:, np.newaxis] * posterior)
    np.fill_diagonal(counts, -1.0)
    return counts


def _ranked_pairs(flips: Floats) -> list[Pair]:
    """All pairs of classes, the one with the most flips first."""
    order = np.argsort(-flips, axis=None, kind="stable")[: flips.size - len(flips)]
    return [(int(j), int(k)) for j, k in zip(*np.unravel_index(order, flips.shape), strict=True)]
