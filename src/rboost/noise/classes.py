"""The noise of more than two classes: kinds of noise are compared, and averaged over.

The posterior is a mixture over the kinds of ``class_model.py``, each weighted by its marginal
likelihood and its prior. Pairs of classes are ranked by the number of rows of one that seem to
carry the label of the other; the first pair, the first two and so on are tried as long as the
marginal likelihood grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost.noise import class_model as model
from rboost.noise.class_model import Fit, Kind, Layout, Pair, Rows, fit_kind, start
from rboost.noise.likelihood import true_posterior
from rboost.noise.many_classes import FEW_CLASSES, fit_slope, fit_structures
from rboost.noise.matrix import check_noise_matrix
from rboost.noise.posterior import NoisePosterior, Reading

# Pairs of classes whose overlap is fitted: at most this many per class, and in all.
OVERLAPS_PER_CLASS, MOST_OVERLAPS = 2, 24
# Kinds are compared on a sample of at most this many rows; the probable ones are then fitted to a
# larger one.
SEARCH_ROWS, FIT_ROWS = 1500, 6000
# The time of a fit is proportional to rows times classes: with many classes the sample is smaller,
# such that rows times classes is at most this, but never below this many rows.
ROWS_TIMES_CLASSES, FEWEST_ROWS = 16_500, 600
# The number of candidate pairs of classes per class, their maximum in all, and the number of
# candidate classes that all others flip from or to.
PAIRS_PER_CLASS, MOST_PAIRS, SINGLE_CLASSES = 4, 48, 2
# The search over pairs stops after this many additions in a row without a gain.
PATIENCE = 2
# From this number of classes on, up to ``FEW_CLASSES``, structures compete with the joint model:
# they find pairs of which its sample has too few rows, it knows classes that overlap in their own
# ways. The log-likelihood, in nats, that each parameter has to gain: Akaike's criterion has 1, at
# which 20 intents of texts get the joint model too; at 3 no table of 20 classes gets it.
SEVERAL_CLASSES, NATS_PER_PARAMETER = 13, 1.2
# A kind whose log weight is this many nats below the largest is dropped.
NEGLIGIBLE = 8.0
# The ratio of the prior probabilities of guessed labels and of no noise. Tables of many classes
# often overlap much, and few of them have that many wrong labels, so it is below 1.
GUESSED_TO_NONE = 0.3
# Rows for which all kinds of noise are evaluated at once; bounds the memory.
BLOCK_ROWS = 8192


@dataclass(frozen=True, eq=False)
class ClassesPosterior(NoisePosterior):
    """Noise and true classes, averaged over kinds of noise with these ``weights``.

    Scores are taken relative to the largest of their row, in units of ``spread``.
    """

    fits: tuple[Fit, ...]
    weights: Floats
    spread: float

    @property
    def noise_matrix(self) -> Floats:
        """The posterior mean of the noise matrix."""
        return np.tensordot(self.weights, np.stack([fit.noise_matrix for fit in self.fits]), 1)

    @property
    def standard_error(self) -> Floats:
        """Posterior standard deviation of each p(observed | true)."""
        means = np.stack([fit.noise_matrix for fit in self.fits])
        within = np.stack([fit.rate_variance for fit in self.fits])
        spread = within + (means - self.noise_matrix) ** 2
        return np.sqrt(np.tensordot(self.weights, spread, 1))

    def readings(self, scores: Floats, observed: Integers, weight: Floats) -> list[Reading]:
        """The kinds of noise."""
        found, relative = [], _relative(scores) / self.spread
        for chance, fit in zip(self.weights, self.fits, strict=True):
            p, directions = fit.true_probability(relative), fit.layout.kind.directions
            lost = -np.einsum("j,mjj->m", weight @ p, directions)
            found.append(
                Reading(
                    float(chance),
                    fit.noise_matrix,
                    p,
                    _deviation(fit, lost),
                    np.sqrt(fit.rate_variance),
                )
            )
        return found

    def probability(self, scores: Floats) -> Floats:
        """p(y = j | score) of each row."""
        return self._mean(scores, lambda true, fit, rows: true)

    def observed_probability(self, scores: Floats) -> Floats:
        """p(ỹ = k | score) of each row."""
        return self._mean(scores, lambda true, fit, rows: true @ fit.noise_matrix)

    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, ỹ) of each row."""
        label = np.asarray(observed)
        return self._mean(
            scores, lambda true, fit, rows: true_posterior(true, label[rows], fit.noise_matrix)
        )

    def _mean(self, scores: Floats, of_fit: Callable[[Floats, Fit, slice], Floats]) -> Floats:
        """The mean over kinds of noise of a function of p(y | score), in blocks of rows."""
        scores = _relative(scores) / self.spread
        found = np.zeros(scores.shape)
        for rows in gen_batches(len(scores), BLOCK_ROWS):
            for weight, fit in zip(self.weights, self.fits, strict=True):
                found[rows] += weight * of_fit(fit.true_probability(scores[rows]), fit, rows)
        return found


def _deviation(fit: Fit, direction: Floats) -> float:
    """Standard deviation, given a kind of noise, of a quantity with this gradient by its rates."""
    return float(np.sqrt(np.maximum(direction @ fit.covariance @ direction, 0.0)))


def fit_known_noise(
    scores: Floats,
    observed: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    trusted: ArrayLike | None = None,
    noise_matrix: ArrayLike,
) -> ClassesPosterior:
    """Calibrate the scores of K classes, given the noise matrix."""
    rows, spread = _standardised(scores, observed, sample_weight, trusted)
    noise_matrix = check_noise_matrix(noise_matrix, n_classes=rows.n_classes)
    if rows.n_classes > FEW_CLASSES:
        return ClassesPosterior((fit_slope(rows, noise_matrix),), np.ones(1), spread)
    kind = model.known_noise(noise_matrix)
    center = Layout(rows.n_classes, rows.overlapping, kind).center
    return ClassesPosterior((fit_kind(rows, kind, [center]),), np.ones(1), spread)


def compare_kinds(
    scores: Floats,
    observed: ArrayLike,
    sample_weight: ArrayLike | None,
    trusted: ArrayLike | None,
    quickly: bool = False,
) -> tuple[ClassesPosterior, ClassesPosterior, float]:
    """Compare kinds of flips with each other, and with labels that were guessed.

    ``quickly``: by sparse structures, however few classes there are.

    Returns the posterior given flips, the curve of the observed labels given guesses, and the
    posterior probability of guesses.
    """
    rows, spread = _standardised(scores, observed, sample_weight, trusted)
    if quickly or rows.n_classes > FEW_CLASSES:
        weights, fits = _weighted(fit_structures(rows))
    else:
        weights, fits = _weighted(_search_and_fit(rows))
        if rows.n_classes >= SEVERAL_CLASSES:
            found = (weights, fits), _weighted(fit_structures(rows))
            weights, fits = max(found, key=lambda one: _penalised_likelihood(rows, *one))
    flipped = ClassesPosterior(fits, weights, spread)
    clean = [number for number, fit in enumerate(fits) if fit.layout.kind.name == "none"]
    if not clean:
        return flipped, flipped, 0.0
    # Guesses have the same likelihood as no noise.
    odds = float(weights[clean[0]]) * GUESSED_TO_NONE
    return flipped, ClassesPosterior((fits[clean[0]],), np.ones(1), spread), odds / (1 + odds)


def _penalised_likelihood(rows: Rows, weights: Floats, fits: tuple[Fit, ...]) -> float:
    """The log-likelihood of all labels, less a penalty for each parameter of the likeliest kind."""
    likeliest = fits[int(np.argmax(weights))]
    n_parameters = np.count_nonzero(likeliest.parameters)  # structures leave overlaps at 0
    observed = ClassesPosterior(fits, weights, 1.0).observed_probability(rows.scores)
    own = observed[np.arange(len(rows)), rows.observed]
    weight = np.where(rows.trusted, 0.0, rows.weight)
    return float(weight @ np.log(np.maximum(own, model.FLOOR)) - NATS_PER_PARAMETER * n_parameters)


def _search_and_fit(rows: Rows) -> list[Fit]:
    """Candidate kinds of noise, of which the probable ones are fitted to more rows."""
    n_searched = min(SEARCH_ROWS, max(FEWEST_ROWS, ROWS_TIMES_CLASSES // rows.n_classes))
    fits = _search(rows.sample(n_searched))
    if len(rows) <= n_searched:
        return fits
    more = rows.sample(FIT_ROWS // SEARCH_ROWS * n_searched)
    return [fit_kind(more, f.layout.kind, [f.parameters]) for f in _weighted(fits)[1]]


def _weighted(fits: list[Fit]) -> tuple[Floats, tuple[Fit, ...]]:
    """Posterior probabilities of kinds of noise, without the negligible ones."""
    scores = np.array([fit.log_evidence + fit.layout.kind.log_prior for fit in fits])
    kept = np.flatnonzero(scores > scores.max() - NEGLIGIBLE)
    weights = np.exp(scores[kept] - logsumexp(scores[kept]))
    return weights, tuple(fits[number] for number in kept)


def _search(rows: Rows) -> list[Fit]:
    """Fit the candidate kinds of noise."""
    n_classes = rows.n_classes
    none = model.no_noise(n_classes)
    clean = fit_kind(rows, none, [Layout(n_classes, rows.overlapping, none).center])

    def fit(kind: Kind, rate: float) -> Fit:
        """From the calibration without noise, and from steeper slopes, as with noise."""
        layout = Layout(n_classes, rows.overlapping, kind)
        starts = [start(layout, rate, clean), start(layout, rate, clean, steeper=2.0)]
        return fit_kind(rows, kind, starts)

    fits = [clean, fit(model.symmetric_noise(n_classes), 0.2)]
    seeming = _ranked_pairs(_flips(rows, clean))[: min(PAIRS_PER_CLASS * n_classes, MOST_PAIRS)]
    anything = fit(model.single_pairs(n_classes, seeming, any_pair=True), 0.2 / (n_classes - 1))
    flips = _flips(rows, anything)
    fits.append(anything)
    for true in np.argsort(-flips.sum(axis=1))[:SINGLE_CLASSES].tolist():
        fits.append(fit(model.out_of(n_classes, true), 0.2))
    for observed in np.argsort(-flips.sum(axis=0))[:SINGLE_CLASSES].tolist():
        fits.append(fit(model.into(n_classes, observed), 0.1))
    fits.append(fit(model.one_other(n_classes, flips.argmax(axis=1).tolist()), 0.3))

    calibration = anything.parameters[: anything.layout.n_calibration]
    rate_of = dict(zip(seeming, anything.parameters[anything.layout.rates], strict=True))
    ranked = [pair for pair in _ranked_pairs(flips) if pair in rate_of]
    best, without_gain = -np.inf, 0
    for number in range(1, len(ranked) + 1):
        kind = model.single_pairs(n_classes, ranked[:number])
        rates = [rate_of[pair] for pair in ranked[:number]]
        fits.append(fit_kind(rows, kind, [np.concatenate([calibration, rates])]))
        score = fits[-1].log_evidence + kind.log_prior
        without_gain = 0 if score > best else without_gain + 1
        best = max(best, score)
        if without_gain == PATIENCE:
            break
    return fits


def _flips(rows: Rows, fit: Fit) -> Floats:
    """Expected number of rows of class j with the label k, at [j, k]; −1 on the diagonal."""
    posterior = fit.true_probability(rows.scores)
    if fit.layout.kind.n_rates:  # else all labels are right under it, and scores alone decide
        posterior = true_posterior(posterior, rows.observed, fit.noise_matrix)
    counts = _confusion(posterior, rows.observed, np.where(rows.trusted, 0.0, rows.weight))
    np.fill_diagonal(counts, -1.0)
    return counts


def _confusion(probability: Floats, observed: Integers, weight: Floats) -> Floats:
    """The sum of p(y = j) over rows with the label k, at [j, k]."""
    found = np.zeros((probability.shape[1],) * 2)
    np.add.at(found.T, observed, weight[:, np.newaxis] * probability)
    return found


def _ranked_pairs(flips: Floats) -> list[Pair]:
    """All pairs of classes, the one with the most flips first."""
    order = np.argsort(-flips, axis=None, kind="stable")[: flips.size - len(flips)]
    return [(int(j), int(k)) for j, k in zip(*np.unravel_index(order, flips.shape), strict=True)]


def _relative(scores: Floats) -> Floats:
    """Scores less the largest of their row: the softmax ignores a constant in a row."""
    scores = np.asarray(scores, dtype=np.float64)
    return scores - scores.max(axis=1, keepdims=True)


def _standardised(
    scores: Floats, observed: ArrayLike, sample_weight: ArrayLike | None, trusted: ArrayLike | None
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
    relative = _relative(scores[used])
    spread = float(np.sqrt(np.average((relative**2).mean(axis=1), weights=weight))) or 1.0
    # The pairs of classes that scores and labels confuse most, in either direction, may overlap.
    confused = _confusion(softmax(relative, axis=1), label, weight)
    pairs = np.column_stack(np.triu_indices(n_classes, 1))
    order = np.argsort(-(confused + confused.T)[tuple(pairs.T)], kind="stable")
    overlapping = pairs[order[: min(OVERLAPS_PER_CLASS * n_classes, MOST_OVERLAPS)]]
    return Rows(relative / spread, label, weight, trust, overlapping), spread
