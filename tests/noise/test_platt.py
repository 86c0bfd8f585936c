import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit, logit

from rboost.calibration import CALIBRATIONS
from rboost.noise import platt
from rboost.noise.inference import smoothed_scores
from rboost.noise.matrix import rates_of, with_rates
from rboost.noise.platt import KINDS, LARGEST_SUM, MAX_BINS, fit_noise_aware_platt
from tests.strategies import noise_matrices

GRID = np.linspace(-6, 6, 41)


def draw(n_rows, rates, seed=0, slope=3.0, offset=0.3):
    """Scores of unit variance, observed labels, true labels: drawn from the model itself."""
    random = np.random.RandomState(seed)
    scores = random.standard_normal(n_rows)
    true = random.uniform(size=n_rows) < expit(slope * scores + offset)
    observed = random.uniform(size=n_rows) < np.where(true, 1 - rates[1], rates[0])
    return scores, observed.astype(int), true.astype(int)


def estimate(*arguments, **options):
    return rates_of(fit_noise_aware_platt(*arguments, **options).noise_matrix)


def widths(fitted):
    low, high = fitted.interval()
    return rates_of(high - low)


@pytest.mark.parametrize(
    "rates",
    [(0, 0), (0.1, 0.1), (0.3, 0.3), (0.3, 0), (0, 0.3), (0.15, 0.35), (0.6, 0.1), (0, 0.7)],
    ids=str,
)
def test_rates_are_found_where_the_model_is_true(rates):
    scores, labels, _ = draw(5000, rates, slope=4.0)
    fitted = fit_noise_aware_platt(scores, labels)
    assert_allclose(rates_of(fitted.noise_matrix), rates, atol=0.05)
    assert_allclose(fitted(GRID), expit(4 * GRID + 0.3), atol=0.12)


@pytest.mark.parametrize(
    ("n_rows", "slope", "offset", "rates"),
    [
        (20_000, 3.0, 5.0, (0.3, 0.0)),
        (100_000, 2.0, -4.0, (0.1, 0.1)),
        (100_000, 5.0, -8.0, (0.05, 0.3)),
    ],
)
def test_rates_are_found_where_one_class_is_rare(n_rows, slope, offset, rates):
    scores, labels, _ = draw(n_rows, rates, seed=1, slope=slope, offset=offset)
    fitted = fit_noise_aware_platt(scores, labels)
    distance = np.abs(rates_of(fitted.noise_matrix) - rates)
    assert np.all(distance <= np.maximum(0.01, 4 * fitted.standard_error[:, 0]))


def from_the_prior(random):
    """Rates as one of the kinds has them."""
    mass = np.array([kind.mass for kind in KINDS])
    kind = KINDS[random.choice(len(KINDS), p=mass / mass.sum())]
    free = random.uniform(size=(1, len(kind.n_points)))
    return LARGEST_SUM * kind.rates(free)[0]


def any_line(random):
    """A slope of any order of magnitude that makes sense, and an offset."""
    return np.exp(random.uniform(np.log(0.7), np.log(7))), random.standard_normal()


def covered(seed, n_rows, line_of):
    random = np.random.RandomState(seed)
    rates = from_the_prior(random)
    while True:
        slope, offset = line_of(random)
        scores, labels, _ = draw(n_rows, rates, random.randint(2**31), slope, offset)
        if 0.02 < labels.mean() < 0.98:
            break
    low, high = fit_noise_aware_platt(scores, labels).interval()
    return (rates_of(low) - 1e-9 <= rates) & (rates <= rates_of(high) + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_rows", "line_of"),
    [
        (300, any_line),
        (300, lambda random: (4.0, 0.0)),
        (2000, lambda random: (1.5, 0.0)),
    ],
    ids=["any line", "steep", "much overlap, more rows"],
)
def test_intervals_cover_the_truth_as_often_as_they_say(n_rows, line_of):
    found = [covered(seed, n_rows, line_of) for seed in range(60)]
    assert np.mean(found) >= 0.85


@pytest.mark.parametrize(
    ("n_rows", "slope", "offset", "rates"),
    [
        (200, 2.0, 0.0, (0.2, 0.2)),
        (3000, 4.0, 1.0, (0.05, 0.3)),
        (100_000, 3.0, 1.0, (0.5, 0.1)),
        (100_000, 3.0, 5.0, (0.6, 0.1)),
    ],
)
def test_a_finer_grid_changes_nothing(n_rows, slope, offset, rates, monkeypatch):
    scores, labels, _ = draw(n_rows, rates, seed=1, slope=slope, offset=offset)
    coarse = fit_noise_aware_platt(scores, labels)
    finer = [s._replace(n_points=tuple(4 * n for n in s.n_points)) for s in KINDS]
    monkeypatch.setattr(platt, "KINDS", tuple(finer))
    fine = fit_noise_aware_platt(scores, labels)
    error = fine.standard_error[:, 0]
    distance = np.abs(rates_of(coarse.noise_matrix) - rates_of(fine.noise_matrix))
    assert np.all(distance <= 0.2 * error + 1e-3)
    assert_allclose(coarse.standard_error[:, 0], error, rtol=0.4, atol=1e-3)
    assert_allclose(coarse(GRID), fine(GRID), atol=0.02)


@given(noise_matrices(largest_sum=0.6), st.integers(0, 99))
def test_a_known_noise_matrix_is_kept(matrix, seed):
    scores, labels, _ = draw(200, rates_of(matrix), seed)
    fitted = fit_noise_aware_platt(scores, labels, noise_matrix=matrix)
    assert_allclose(fitted.noise_matrix, matrix)
    assert_allclose(fitted.standard_error, 0, atol=1e-12)
    assert_allclose(fitted.interval(), [matrix, matrix], atol=1e-4)


@pytest.mark.parametrize("rates", [(0, 0), (0.2, 0.2), (0.3, 0.0), (0.6, 0.1)], ids=str)
def test_with_known_noise_it_is_platt_scaling(rates):
    scores, labels, _ = draw(4000, rates)
    matrix = with_rates(*rates)
    fitted = fit_noise_aware_platt(5 * scores + 2, labels, noise_matrix=matrix)
    plain = CALIBRATIONS["platt"](
        5 * scores + 2, labels.astype(float), np.ones(4000), matrix, np.eye(2)
    )
    assert_allclose(fitted(5 * GRID + 2), plain(5 * GRID + 2), atol=0.02)


@settings(max_examples=20)
@given(st.integers(0, 999), st.integers(5, 300), noise_matrices(largest_sum=0.9))
def test_log_odds_and_probabilities_agree_and_never_decrease(seed, n_rows, matrix):
    scores, labels, _ = draw(n_rows, rates_of(matrix), seed)
    fitted = fit_noise_aware_platt(scores, labels)
    probability = fitted(GRID)
    assert np.all(np.diff(probability) >= -1e-12)
    assert np.all(np.diff(fitted.log_odds(GRID)) >= -1e-9)
    assert_allclose(expit(fitted.log_odds(GRID)), probability, atol=1e-12)
    inside = (probability > 1e-9) & (probability < 1 - 1e-9)
    assert_allclose(fitted.log_odds(GRID)[inside], logit(probability[inside]), rtol=1e-6, atol=1e-9)


def test_log_odds_say_more_than_probabilities_that_are_one():
    scores, labels, _ = draw(300, (0.1, 0.1))
    fitted = fit_noise_aware_platt(scores, labels)
    far = np.array([-1e6, -1e5, 1e5, 1e6])
    assert np.all(np.diff(fitted.log_odds(far)) > 0)
    assert np.all(np.isfinite(fitted.log_odds(far)))


def test_issues_average_over_what_the_noise_may_be():
    scores, labels, true = draw(20_000, (0.3, 0.1), slope=4.0)
    issues = fit_noise_aware_platt(scores, labels).issue_probability(scores, labels)
    assert np.all((issues >= 0) & (issues <= 1))
    wrong = labels != true
    assert_allclose(issues.mean(), wrong.mean(), atol=0.03)
    assert_allclose(issues[issues > 0.5].mean(), wrong[issues > 0.5].mean(), atol=0.05)


def test_clean_labels_have_no_issues():
    scores, labels, _ = draw(200, (0.2, 0.2))
    fitted = fit_noise_aware_platt(scores, labels, noise_matrix=np.eye(2))
    np.testing.assert_array_equal(fitted.issue_probability(scores, labels), 0)
    extreme = np.array([-1e9, -1e9, 1e9, 1e9])  # 0/0 there
    np.testing.assert_array_equal(fitted.issue_probability(extreme, [0, 1, 0, 1]), 0)


@settings(max_examples=20)
@given(st.integers(0, 999), st.sampled_from([-40.0, -1.0, 0.0, 2.0, 40.0]))
def test_the_threshold_is_where_the_probability_crosses_one_half(seed, offset):
    scores, labels, _ = draw(200, (0.2, 0.1), seed, offset=offset)
    fitted = fit_noise_aware_platt(scores, labels)
    low, high = scores.min(), scores.max()
    threshold = fitted.threshold(low, high)
    assert low <= threshold <= high
    at_low, at_threshold, at_high = fitted(np.array([low, threshold, high]))
    if at_low >= 0.5:
        assert threshold == low
    elif at_high <= 0.5:
        assert threshold == high
    else:
        assert_allclose(at_threshold, 0.5, atol=1e-6)


def test_the_threshold_is_the_nearer_end_where_the_classes_are_never_equally_likely():
    scores, labels, _ = draw(2000, (0.1, 0.0), slope=4.0, offset=0.0)
    fitted = fit_noise_aware_platt(scores, labels)
    assert abs(fitted.threshold(-3, 3)) < 0.2
    assert fitted.threshold(1.0, 3.0) == pytest.approx(1.0)
    assert fitted.threshold(-3.0, -1.0) == pytest.approx(-1.0)


@settings(max_examples=20)
@given(
    st.floats(-6, 6).map(lambda power: 10**power),
    st.floats(-1e3, 1e3),
    st.integers(0, 99),
    st.sampled_from([60, 400]),
)
def test_scale_and_shift_of_scores_do_not_matter(scale, shift, seed, n_rows):
    scores, labels, _ = draw(n_rows, (0.3, 0.1), seed)
    moved = scale * (scores + shift)  # the shift must not drown the scores in rounding
    one, other = fit_noise_aware_platt(scores, labels), fit_noise_aware_platt(moved, labels)
    assert_allclose(one.noise_matrix, other.noise_matrix, atol=1e-4)
    assert_allclose(one.interval(), other.interval(), atol=1e-3)
    assert_allclose(one(GRID), other(scale * (GRID + shift)), atol=1e-4)


@settings(max_examples=20)
@given(st.integers(0, 99), st.sampled_from([60, 400]), noise_matrices(largest_sum=0.7))
def test_exchanging_the_classes_exchanges_the_rates(seed, n_rows, matrix):
    scores, labels, _ = draw(n_rows, rates_of(matrix), seed)
    one = fit_noise_aware_platt(scores, labels)
    other = fit_noise_aware_platt(-scores, 1 - labels)
    assert_allclose(rates_of(one.noise_matrix), rates_of(other.noise_matrix)[::-1], atol=2e-3)
    assert_allclose(one.interval(), other.interval()[:, ::-1, ::-1], atol=0.02)
    assert_allclose(one(GRID), 1 - other(-GRID), atol=5e-3)
    assert_allclose(
        one.issue_probability(scores, labels),
        other.issue_probability(-scores, 1 - labels),
        atol=5e-3,
    )


@pytest.mark.parametrize(("n_rows", "tolerance"), [(MAX_BINS, 1e-8), (1000, 0.01)])
def test_weights_count_like_repetitions(n_rows, tolerance):
    """Exactly so where scores are not binned."""
    scores, labels, _ = draw(n_rows, (0.3, 0.1))
    weight = np.random.RandomState(1).randint(0, 4, size=n_rows)
    trusted = np.arange(n_rows) % 7 == 0
    weighted = fit_noise_aware_platt(scores, labels, weight, trusted=trusted)
    repeated = fit_noise_aware_platt(
        np.repeat(scores, weight), np.repeat(labels, weight), trusted=np.repeat(trusted, weight)
    )
    assert_allclose(weighted.noise_matrix, repeated.noise_matrix, atol=tolerance)
    assert_allclose(weighted(GRID), repeated(GRID), atol=tolerance)


def test_the_order_of_rows_does_not_matter():
    scores, labels, _ = draw(500, (0.3, 0.1))
    order = np.random.RandomState(0).permutation(500)
    assert_allclose(estimate(scores, labels), estimate(scores[order], labels[order]), atol=1e-9)


def test_intervals_shrink_with_rows():
    few, many = (widths(fit_noise_aware_platt(*draw(n, (0.2, 0.1))[:2])) for n in (300, 10_000))
    assert np.all(many < 0.5 * few)


def test_trusted_rows_narrow_the_interval():
    """They tell noise from overlap of the classes."""
    alone, both = [], []
    for seed in range(5):
        scores, labels, true = draw(2000, (0.2, 0.2), seed, slope=1.5)
        observed = np.arange(2000) < 1000
        mixed = np.where(observed, labels, true)
        alone.append(widths(fit_noise_aware_platt(scores[observed], labels[observed])))
        both.append(widths(fit_noise_aware_platt(scores, mixed, trusted=~observed)))
    assert np.mean(both) < 0.8 * np.mean(alone)


def test_trusted_labels_are_right_and_their_rows_say_so():
    scores, labels, true = draw(3000, (0.3, 0.3), slope=1.0)
    trusted = np.arange(3000) < 1500
    fitted = fit_noise_aware_platt(scores, np.where(trusted, true, labels), trusted=trusted)
    assert_allclose(rates_of(fitted.noise_matrix), 0.3, atol=0.08)
    ignored = fit_noise_aware_platt(scores, labels, trusted=np.zeros(3000, dtype=bool))
    assert_allclose(ignored.noise_matrix, fit_noise_aware_platt(scores, labels).noise_matrix)


@given(st.floats(0, 1), st.floats(0.001, 0.999))
def test_smoothed_scores_are_finite_and_mirrored(probability, prevalence):
    both, shares = (
        np.array([[1 - probability, probability]]),
        np.array([1 - prevalence, prevalence]),
    )
    log_odds = smoothed_scores(both, shares)
    assert np.all(np.isfinite(log_odds))
    assert_allclose(log_odds, -smoothed_scores(both[:, ::-1], shares[::-1]), atol=1e-9)
