import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from rboost import native
from rboost.noise import platt
from rboost.noise.matrix import rates_of
from rboost.noise.platt import MANY_ROWS, STRENGTHS, fit_noise_aware_platt
from rboost.noise.posterior import FARTHEST, UNCHANGED, Steepening

GRID = np.linspace(-3, 3, 61)

STEEPENINGS = st.builds(
    Steepening,
    st.sampled_from(STRENGTHS) | st.floats(0.01, 3),
    st.floats(-100, 100),
    st.floats(0.01, 100),
)


def draw(n_rows, rates, seed=0, slope=2.0, offset=0.3, strength=0.0):
    """Scores, observed labels, true labels; log-odds is a line of sinh(k·s)/k."""
    random = np.random.RandomState(seed)
    scores = random.standard_normal(n_rows)
    steeper = np.sinh(strength * scores) / strength if strength else scores
    true = random.uniform(size=n_rows) < expit(slope * steeper + offset)
    observed = random.uniform(size=n_rows) < np.where(true, 1 - rates[1], rates[0])
    return scores, observed.astype(int), true.astype(int)


@pytest.fixture(params=["native", "reference"])
def either_core(request, monkeypatch):
    if request.param == "reference":
        monkeypatch.setattr(native, "compiled", lambda: None)
    elif native.compiled() is None:
        pytest.skip("the native core is not built")
    return request.param


@given(STEEPENINGS)
def test_a_steepening_is_increasing(steepening):
    scores = steepening.center + steepening.spread * np.linspace(-FARTHEST, FARTHEST, 101)[1:-1]
    assert np.all(np.diff(steepening(scores)) > 0)


@given(STEEPENINGS, st.floats(-FARTHEST + 0.1, FARTHEST - 0.1))
def test_a_steepening_can_be_undone(steepening, z):
    score = steepening.center + steepening.spread * z
    found = steepening.inverse(float(steepening(np.array([score]))[0]))
    assert_allclose(found, score, rtol=1e-9, atol=1e-9 * steepening.spread)


@given(STEEPENINGS, st.floats(-FARTHEST + 0.1, FARTHEST - 0.1))
def test_a_steepening_is_the_hyperbolic_sine_of_standard_scores(steepening, z):
    found = steepening(np.array([steepening.center + steepening.spread * z]))[0]
    k = steepening.strength
    assert_allclose(found, (np.exp(k * z) - np.exp(-k * z)) / (2 * k), rtol=1e-8, atol=1e-8)


@given(st.floats(-10, 10), st.floats(0.1, 10), st.floats(-1e6, 1e6))
def test_without_strength_nothing_is_changed(center, spread, score):
    for steepening in (Steepening(0.0, center, spread), UNCHANGED):
        assert steepening(np.array([score]))[0] == score
        assert steepening.inverse(score) == score


def test_a_weak_steepening_is_nearly_none():
    assert_allclose(Steepening(1e-4)(GRID), GRID, atol=1e-6)


def test_far_scores_stay_finite():
    for strength in STRENGTHS:
        steeper = Steepening(strength)(np.array([-1e300, -FARTHEST, FARTHEST, 1e300]))
        assert np.isfinite(steeper).all()
        assert steeper[0] == steeper[1] < steeper[2] == steeper[3]


def with_and_without_steepening(monkeypatch, rates, strength, n_seeds):
    """Fits of several tables with the strengths to choose from, and with a straight line only."""
    tables = [draw(20_000, rates, seed, strength=strength)[:2] for seed in range(n_seeds)]
    free = [fit_noise_aware_platt(*table) for table in tables]
    monkeypatch.setattr(platt, "STRENGTHS", ())
    straight = [fit_noise_aware_platt(*table) for table in tables]
    assert all(fitted.steepening.strength == 0 for fitted in straight)
    return free, straight


def mean_error(fits, rates):
    return np.mean([np.abs(rates_of(fitted.noise_matrix) - rates) for fitted in fits])


@pytest.mark.parametrize("rates", [(0.2, 0.2), (0.3, 0.05)], ids=str)
@pytest.mark.parametrize(("strength", "share"), [(1.0, 0.7), (1.7, 0.5)])
def test_rates_of_steepened_scores_are_nearer_to_the_truth_than_those_of_a_line(
    rates, strength, share, monkeypatch
):
    free, straight = with_and_without_steepening(monkeypatch, rates, strength, 10)
    assert np.median([fitted.steepening.strength for fitted in free]) in (1.0, 1.5, 2.0)
    assert mean_error(free, rates) < share * mean_error(straight, rates)
    true = expit(2 * np.sinh(strength * GRID) / strength + 0.3)
    distances = [
        np.mean([np.abs(fitted(GRID) - true).max() for fitted in fits]) for fits in (free, straight)
    ]
    assert distances[0] < distances[1]


@pytest.mark.parametrize("rates", [(0.2, 0.1), (0.3, 0.05)], ids=str)
def test_scores_of_an_exact_sigmoid_are_hardly_steepened_and_it_costs_little(rates, monkeypatch):
    free, straight = with_and_without_steepening(monkeypatch, rates, 0.0, 10)
    strengths = [fitted.steepening.strength for fitted in free]
    assert np.median(strengths) == 0
    assert max(strengths) <= 1
    assert mean_error(free, rates) < 1.5 * mean_error(straight, rates)
    for fitted in free:
        assert_allclose(fitted(GRID), expit(2 * GRID + 0.3), atol=0.08)


def steepenings_tried(monkeypatch):
    """The list of steepenings that fits try from now on."""
    tried = []
    monkeypatch.setattr(platt, "Steepening", lambda *a: tried.append(a) or Steepening(*a))
    return tried


@pytest.mark.parametrize(("n_rows", "may_steepen"), [(MANY_ROWS - 1, False), (MANY_ROWS, True)])
def test_few_rows_are_never_steepened(n_rows, may_steepen, monkeypatch):
    scores, labels, _ = draw(n_rows, (0.2, 0.2), slope=3.0, strength=2.0)
    tried = []
    monkeypatch.setattr(
        platt, "Steepening", lambda *asked: tried.append(asked) or Steepening(*asked)
    )
    fit_noise_aware_platt(scores, labels)
    assert bool(tried) is may_steepen


def test_rows_are_counted_by_weight_and_trusted_rows_count(monkeypatch):
    scores, labels, true = draw(MANY_ROWS // 2, (0.2, 0.2), strength=2.0)
    monkeypatch.setattr(platt, "STRENGTHS", (2.0,))
    tried = []
    monkeypatch.setattr(
        platt, "Steepening", lambda *asked: tried.append(asked) or Steepening(*asked)
    )
    fit_noise_aware_platt(scores, labels)
    assert not tried
    fit_noise_aware_platt(scores, labels, np.full(len(scores), 2.0))
    assert len(tried) == 1
    fit_noise_aware_platt(
        np.tile(scores, 2), np.concatenate([labels, true]), trusted=np.repeat([False, True], 1000)
    )
    assert len(tried) == 2


@pytest.mark.parametrize("shape", [(1.0, 0.0), (1e-4, 5.0), (1e5, -3e6)], ids=str)
def test_scale_and_shift_of_steepened_scores_do_not_matter(shape):
    scale, shift = shape
    scores, labels, _ = draw(5000, (0.2, 0.1), strength=1.5)
    one = fit_noise_aware_platt(scores, labels)
    other = fit_noise_aware_platt(scale * scores + shift, labels)
    assert one.steepening.strength == other.steepening.strength > 0
    assert_allclose(one.noise_matrix, other.noise_matrix, atol=1e-4)
    assert_allclose(one(GRID), other(scale * GRID + shift), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("offset", [-1.0, 0.0, 2.0])
def test_the_threshold_is_where_both_classes_are_equally_likely(either_core, offset):
    scores, labels, _ = draw(5000, (0.2, 0.1), offset=offset, strength=1.5)
    fitted = fit_noise_aware_platt(3 * scores + 7, labels)
    assert fitted.steepening.strength > 0
    threshold = fitted.threshold(-2.0, 16.0)
    assert_allclose(fitted(np.array([threshold])), 0.5, atol=1e-6)
    assert_allclose((threshold - 7) / 3, -np.arcsinh(1.5 * offset / 2) / 1.5, atol=0.15)
    assert fitted.threshold(threshold + 1, threshold + 2) == threshold + 1
    assert fitted.threshold(threshold - 2, threshold - 1) == threshold - 1


def test_both_cores_agree_on_steepened_scores(monkeypatch):
    if native.compiled() is None:
        pytest.skip("the native core is not built")
    scores, labels, _ = draw(5000, (0.2, 0.1), strength=1.5)
    one = fit_noise_aware_platt(scores, labels)
    by_native = [one(GRID), one.log_odds(GRID), one.issue_probability(scores, labels)]
    monkeypatch.setattr(native, "compiled", lambda: None)
    other = fit_noise_aware_platt(scores, labels)
    by_reference = [one(GRID), one.log_odds(GRID), one.issue_probability(scores, labels)]
    for fast, slow in zip(by_native, by_reference, strict=True):
        assert_allclose(fast, slow, rtol=1e-7, atol=1e-9)
    assert other.steepening.strength == one.steepening.strength > 0
    assert_allclose(other.noise_matrix, one.noise_matrix, atol=1e-3)


@pytest.mark.parametrize("kind", ["constant", "two values", "outlier", "separable"])
def test_hard_scores_of_many_rows_give_something_finite(kind):
    random = np.random.RandomState(0)
    labels = np.arange(3000) % 2
    scores = {
        "constant": np.full(3000, 3.0),
        "two values": (labels + (random.uniform(size=3000) < 0.2)) % 2 * 1.0,
        "outlier": np.where(np.arange(3000) == 0, 1e9, random.standard_normal(3000) + labels),
        "separable": (2 * labels - 1) * (1 + random.uniform(size=3000)),
    }[kind]
    fitted = fit_noise_aware_platt(scores, labels)
    grid = np.linspace(scores.min() - 1, scores.max() + 1, 60)
    assert np.all((fitted(grid) >= 0) & (fitted(grid) <= 1))
    assert np.all(np.diff(fitted(grid)) >= -1e-12)
    assert np.isfinite(fitted.log_odds(grid)).all()
    assert grid[0] <= fitted.threshold(grid[0], grid[-1]) <= grid[-1]


def test_no_scores_have_no_probabilities(either_core):
    fitted = fit_noise_aware_platt(*draw(100, (0.2, 0.1))[:2])
    nothing = np.zeros(0)
    for found in (fitted(nothing), fitted.log_odds(nothing), fitted.issue_probability(nothing, [])):
        assert found.shape == (0,)
