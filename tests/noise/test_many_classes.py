"""The noise of more classes than the joint model is for: found, summed, and fast."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax, softmax

from rboost.audit import audit_labels
from rboost.noise import flip_labels, infer_noise, symmetric
from rboost.noise.class_model import Rows
from rboost.noise.many_classes import (
    Rates,
    SortedRows,
    Structure,
    _Posterior,
    fit_slope,
    fit_structures,
)

PAIRS = np.array([[2, 0], [5, 7], [7, 5], [9, 3]])


def few_pairs(n_classes):
    matrix = np.eye(n_classes)
    for (true, observed), rate in zip(PAIRS, (0.3, 0.2, 0.2, 0.4), strict=True):
        matrix[true, observed], matrix[true, true] = rate, 1 - rate
    return matrix


def next_class(n_classes):
    return 0.7 * np.eye(n_classes) + 0.3 * np.roll(np.eye(n_classes), 1, axis=1)


NOISES = {
    "clean": np.eye,
    "symmetric": lambda n_classes: symmetric(0.3, n_classes),
    "next class": next_class,
    "few pairs": few_pairs,
}


def scored_rows(noise, rows_per_class=130, seed=0, temperature=0.6):
    """Logarithms of probabilities that are too flat, classes of which some overlap, and labels."""
    random, n_classes = np.random.RandomState(seed), len(noise)
    centers = 0.8 * random.normal(size=(n_classes, 24))
    alike = np.arange(0, n_classes - 3, 4)
    centers[alike + 1] = centers[alike] + 0.28 * random.normal(size=(len(alike), 24))
    true = random.choice(n_classes, rows_per_class * n_classes)
    columns = centers[true] + random.normal(size=(len(true), 24))
    exact = log_softmax(columns @ centers.T - (centers**2).sum(axis=1) / 2, axis=1)
    scores = np.log(softmax(temperature * exact, axis=1) + 1e-5)
    observed, _ = flip_labels(true, noise, random_state=seed, classes=np.arange(n_classes))
    return scores, true, observed


@pytest.mark.parametrize("n_classes", [30, 77])
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES.keys())
def test_the_noise_is_found(noise, n_classes):
    matrix = noise(n_classes)
    scores, true, observed = scored_rows(matrix)
    found = infer_noise(scores, observed)
    assert_allclose(found.noise_matrix.sum(axis=1), 1)
    assert_allclose(np.diag(found.noise_matrix).mean(), np.diag(matrix).mean(), atol=0.02)
    # A class or two may have another one for its most frequent other, where classes overlap.
    errors = np.abs(found.noise_matrix - matrix).max(axis=1)
    assert np.mean(errors < 0.06) > 0.97
    mean, least, most = found.wrong_share_interval(scores, observed)
    assert least - 1e-3 <= np.mean(true != observed) <= most
    assert least <= mean <= most
    assert_allclose(found.posterior(scores, observed).sum(axis=1), 1)
    assert_allclose(found.mean_rates.sum(axis=1), 1)
    low, high = found.interval()
    assert np.mean((low <= matrix + 1e-3) & (matrix <= high + 1e-3)) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "n_rows"), [(150, 19_500), (1000, 10_000)])
def test_many_more_classes_take_seconds(n_classes, n_rows):
    matrix = next_class(n_classes) if n_classes < 500 else symmetric(0.3, n_classes)
    scores, _, observed = scored_rows(matrix, n_rows // n_classes)
    start = time.process_time()
    found = infer_noise(scores, observed)
    assert time.process_time() - start < 20
    assert_allclose(np.diag(found.noise_matrix).mean(), 0.7, atol=0.03)
    start = time.process_time()
    assert found.interval().shape == (2, n_classes, n_classes)
    assert time.process_time() - start < 30


def small_rows(seed=0, n_classes=5, n_rows=200):
    random = np.random.RandomState(seed)
    scores = 2.0 * random.normal(size=(n_rows, n_classes))
    scores -= scores.max(axis=1, keepdims=True)
    trusted = random.uniform(size=n_rows) < 0.2
    true = (1.5 * scores + random.gumbel(size=scores.shape)).argmax(axis=1)
    noise = 0.8 * np.eye(n_classes) + 0.2 * np.roll(np.eye(n_classes), 1, axis=1)
    flipped, _ = flip_labels(true, noise, random_state=seed, classes=np.arange(n_classes))
    label = np.where(trusted, true, flipped)
    weight = random.uniform(0.5, 2, size=n_rows)
    return Rows(scores, label, weight, trusted, np.zeros((0, 2), dtype=int))


def brute_force(rows, log_slope, matrix):
    """The likelihood by the whole noise matrix."""
    p = softmax(np.exp(log_slope) * rows.scores, axis=1)
    each = np.arange(len(rows))
    found = np.where(rows.trusted, p[each, rows.observed], (p @ matrix)[each, rows.observed])
    return rows.weight @ np.log(found)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_likelihood_is_that_of_the_whole_matrix_and_em_climbs_to_its_maximum(seed, tied):
    rows, pairs = small_rows(seed), np.array([[0, 1], [1, 3], [2, 1], [3, 4], [4, 0]])
    ordered = SortedRows(rows)
    posterior = _Posterior(ordered, Structure(pairs, tied=tied))
    own, paired = posterior.at(0.4)
    rates = Rates(0.02, np.array([0.1, 0.2, 0.05, 0.3, 0.1]))
    matrix = rates.matrix(pairs, 5)
    assert_allclose(matrix.sum(axis=1), 1)
    assert matrix[1, 3] == pytest.approx(0.22)
    logs = np.log(posterior.likelihood(own, paired, rates))
    found = ordered.weight @ logs + ordered.trusted_weight @ np.log(own)
    assert found == pytest.approx(brute_force(rows, 0.4, matrix))

    value, best = posterior.climb(0.4)
    at_best = brute_force(rows, 0.4, best.matrix(pairs, 5))
    assert value == pytest.approx(at_best - ((0.4 - np.log(3)) / 1.5) ** 2 / 2, abs=1e-6)
    if best.extra.max() < 0.3:  # no bound is reached
        for factor in (0.9, 1.1):
            for other in (
                Rates(best.common * factor, best.extra),
                Rates(best.common, best.extra * factor),
            ):
                assert brute_force(rows, 0.4, other.matrix(pairs, 5)) <= at_best + 0.01


def test_the_slope_of_known_noise_has_the_largest_likelihood():
    rows, matrix = small_rows(), symmetric(0.2, 5)
    fit = fit_slope(rows, matrix)
    values = [
        brute_force(rows, a, matrix) - ((a - np.log(3)) / 1.5) ** 2 / 2
        for a in fit.parameters[0] + np.array([-0.1, 0, 0.1])
    ]
    assert np.argmax(values) == 1
    assert_allclose(fit.noise_matrix, matrix)


def test_known_noise_is_kept():
    scores, true, observed = scored_rows(next_class(30))
    found = infer_noise(scores, observed, noise_matrix=next_class(30))
    assert_allclose(found.noise_matrix, next_class(30))
    assert np.mean(found.posterior(scores, observed).argmax(axis=1) == true) > 0.85


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES.keys())
def test_the_order_of_classes_and_rows_and_constants_in_rows_do_not_matter(noise):
    scores, _, observed = scored_rows(noise(30))
    found = infer_noise(scores, observed).noise_matrix
    random = np.random.RandomState(1)
    classes, rows = random.permutation(30), random.permutation(len(scores))
    place = np.argsort(classes)
    moved = scores[rows][:, classes] + random.normal(size=(len(rows), 1))
    again = infer_noise(moved, place[observed[rows]]).noise_matrix
    assert_allclose(again[np.ix_(place, place)], found, atol=1e-6)


def test_trusted_rows_say_nothing_of_flips_and_weights_count_rows():
    scores, true, observed = scored_rows(symmetric(0.3, 30), rows_per_class=60)
    trusted = np.arange(len(true)) % 3 == 0
    label = np.where(trusted, true, observed)
    found = infer_noise(scores, label, trusted=trusted).noise_matrix
    assert_allclose(np.diag(found).mean(), 0.7, atol=0.03)
    twice = infer_noise(np.vstack([scores] * 2), np.tile(observed, 2)).noise_matrix
    weighted = infer_noise(scores, observed, sample_weight=np.full(len(scores), 2.0)).noise_matrix
    assert_allclose(twice, weighted, atol=1e-6)


def test_rates_have_standard_errors_and_structures_are_kinds_of_noise():
    scores, _, observed = scored_rows(few_pairs(30))
    flips = infer_noise(scores, observed).flips
    names = {fit.layout.kind.name for fit in flips.fits}
    assert names == {"pairs"}
    error = flips.standard_error[tuple(PAIRS.T)]
    assert np.all((error > 0.01) & (error < 0.15))
    rows = Rows(
        scores - scores.max(axis=1, keepdims=True), observed, np.ones(len(scores)),
        np.zeros(len(scores), bool), np.zeros((0, 2), dtype=int),
    )  # fmt: skip
    assert {"none", "symmetric", "one other"} <= {
        fit.layout.kind.name for fit in fit_structures(rows)
    }


def test_a_class_without_rows_is_no_problem():
    scores, _, observed = scored_rows(symmetric(0.3, 30), rows_per_class=30)
    kept = observed > 3
    found = infer_noise(scores[kept], observed[kept])
    assert np.isfinite(found.noise_matrix).all()
    assert_allclose(found.posterior(scores[kept], observed[kept]).sum(axis=1), 1)


@pytest.mark.slow
def test_77_classes_with_given_probabilities_are_audited():
    scores, true, observed = scored_rows(next_class(77))
    audit = audit_labels(None, observed, probabilities=softmax(scores, axis=1))
    assert audit.noise_matrix.shape == (77, 77)
    assert abs(np.diag(audit.noise_matrix).mean() - 0.7) < 0.05
    assert np.mean(true != observed) == pytest.approx(0.3, abs=0.02)
