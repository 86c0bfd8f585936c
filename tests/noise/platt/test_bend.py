import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from rboost import native
from rboost.noise.matrix import rates_of
from rboost.noise.platt import scaling
from rboost.noise.platt.bend import BENDS, FARTHEST, MANY_ROWS, STRAIGHT, Bend
from rboost.noise.platt.scaling import fit_noise_aware_platt

GRID = np.linspace(-3, 3, 61)

BENT = st.builds(
    Bend,
    st.sampled_from(BENDS) | st.floats(0.01, 3),
    st.floats(-100, 100),
    st.floats(0.01, 100),
)


def draw(n_rows, rates, seed=0, slope=2.0, offset=0.3, strength=0.0):
    """Scores, observed labels, true labels; log-odds is a line of sinh(k·s)/k."""
    random = np.random.RandomState(seed)
    scores = random.standard_normal(n_rows)
    bent = np.sinh(strength * scores) / strength if strength else scores
    true = random.uniform(size=n_rows) < expit(slope * bent + offset)
    observed = random.uniform(size=n_rows) < np.where(true, 1 - rates[1], rates[0])
    return scores, observed.astype(int), true.astype(int)


@pytest.fixture(params=["native", "reference"])
def either_core(request, monkeypatch):
    if request.param == "reference":
        monkeypatch.setattr(native, "compiled", lambda: None)
    elif native.compiled() is None:
        pytest.skip("the native core is not built")
    return request.param


@given(BENT)
def test_a_bend_is_increasing(bend):
    scores = bend.center + bend.spread * np.linspace(-FARTHEST, FARTHEST, 101)[1:-1]
    assert np.all(np.diff(bend(scores)) > 0)


@given(BENT, st.floats(-FARTHEST + 0.1, FARTHEST - 0.1))
def test_a_bend_can_be_undone(bend, z):
    score = bend.center + bend.spread * z
    found = bend.inverse(float(bend(np.array([score]))[0]))
    assert_allclose(found, score, rtol=1e-9, atol=1e-9 * bend.spread)


@given(BENT, st.floats(-FARTHEST + 0.1, FARTHEST - 0.1))
def test_a_bend_is_the_hyperbolic_sine_of_standard_scores(bend, z):
    found = bend(np.array([bend.center + bend.spread * z]))[0]
    if bend.strength == 0:
        assert_allclose(found, bend.center + bend.spread * z, rtol=1e-12)
        return
    k = bend.strength
    assert_allclose(found, (np.exp(k * z) - np.exp(-k * z)) / (2 * k), rtol=1e-8, atol=1e-8)


@given(st.floats(-10, 10), st.floats(0.1, 10), st.floats(-1e6, 1e6))
def test_without_strength_nothing_is_bent(center, spread, score):
    for bend in (Bend(0.0, center, spread), STRAIGHT):
        assert bend(np.array([score]))[0] == score
        assert bend.inverse(score) == score


def test_a_weak_bend_is_nearly_none():
    assert_allclose(Bend(1e-4)(GRID), GRID, atol=1e-6)


def test_far_scores_stay_finite():
    for strength in BENDS:
        bent = Bend(strength)(np.array([-1e300, -FARTHEST, FARTHEST, 1e300]))
        assert np.isfinite(bent).all()
        assert bent[0] == bent[1] < bent[2] == bent[3]


def with_and_without_bend(monkeypatch, rates, strength, n_seeds):
    """Fits of several tables with the bends to choose from, and with a straight line only."""
    tables = [draw(20_000, rates, seed, strength=strength)[:2] for seed in range(n_seeds)]
    free = [fit_noise_aware_platt(*table) for table in tables]
    monkeypatch.setattr(scaling, "BENDS", ())
    straight = [fit_noise_aware_platt(*table) for table in tables]
    assert all(fitted.bend.strength == 0 for fitted in straight)
    return free, straight


def mean_error(fits, rates):
    return np.mean([np.abs(rates_of(fitted.noise_matrix) - rates) for fitted in fits])


@pytest.mark.parametrize("rates", [(0.2, 0.2), (0.3, 0.05)], ids=str)
@pytest.mark.parametrize(("strength", "share"), [(1.0, 0.7), (1.7, 0.5)])
def test_rates_of_bent_scores_are_nearer_to_the_truth_than_those_of_a_line(
    rates, strength, share, monkeypatch
):
    free, straight = with_and_without_bend(monkeypatch, rates, strength, 10)
    assert np.median([fitted.bend.strength for fitted in free]) in (1.0, 1.5, 2.0)
    assert mean_error(free, rates) < share * mean_error(straight, rates)
    true = expit(2 * np.sinh(strength * GRID) / strength + 0.3)
    distances = [
        np.mean([np.abs(fitted(GRID) - true).max() for fitted in fits]) for fits in (free, straight)
    ]
    assert distances[0] < distances[1]


@pytest.mark.parametrize("rates", [(0.2, 0.1), (0.3, 0.05)], ids=str)
def test_scores_of_an_exact_sigmoid_are_hardly_bent_and_it_costs_little(rates, monkeypatch):
    free, straight = with_and_without_bend(monkeypatch, rates, 0.0, 10)
    strengths = [fitted.bend.strength for fitted in free]
    assert np.median(strengths) == 0
    assert max(strengths) <= 1
    assert mean_error(free, rates) < 1.5 * mean_error(straight, rates)
    for fitted in free:
        assert_allclose(fitted(GRID), expit(2 * GRID + 0.3), atol=0.08)


@pytest.mark.parametrize(("n_rows", "may_bend"), [(MANY_ROWS - 1, False), (MANY_ROWS, True)])
def test_few_rows_are_never_bent(n_rows, may_bend, monkeypatch):
    scores, labels, _ = draw(n_rows, (0.2, 0.2), slope=3.0, strength=2.0)
    tried = []
    monkeypatch.setattr(scaling, "Bend", lambda *bend: tried.append(bend) or Bend(*bend))
    fit_noise_aware_platt(scores, labels)
    assert bool(tried) is may_bend


def test_rows_are_counted_by_weight_and_trusted_rows_count(monkeypatch):
    scores, labels, true = draw(MANY_ROWS // 2, (0.2, 0.2), strength=2.0)
    monkeypatch.setattr(scaling, "BENDS", (2.0,))
    tried = []
    monkeypatch.setattr(scaling, "Bend", lambda *bend: tried.append(bend) or Bend(*bend))
    fit_noise_aware_platt(scores, labels)
    assert not tried
    fit_noise_aware_platt(scores, labels, np.full(len(scores), 2.0))
    assert len(tried) == 1
    fit_noise_aware_platt(
        np.tile(scores, 2), np.concatenate([labels, true]), trusted=np.repeat([False, True], 1000)
    )
    assert len(tried) == 2


@pytest.mark.parametrize("shape", [(1.0, 0.0), (1e-4, 5.0), (1e5, -3e6)], ids=str)
def test_scale_and_shift_of_bent_scores_do_not_matter(shape):
    scale, shift = shape
    scores, labels, _ = draw(5000, (0.2, 0.1), strength=1.5)
    one = fit_noise_aware_platt(scores, labels)
    other = fit_noise_aware_platt(scale * scores + shift, labels)
    assert one.bend.strength == other.bend.strength > 0
    assert_allclose(one.noise_matrix, other.noise_matrix, atol=1e-4)
    assert_allclose(one(GRID), other(scale * GRID + shift), atol=1e-4)


@pytest.mark.parametrize("offset", [-1.0, 0.0, 2.0])
def test_the_threshold_is_where_both_classes_are_equally_likely(either_core, offset):
    scores, labels, _ = draw(5000, (0.2, 0.1), offset=offset, strength=1.5)
    fitted = fit_noise_aware_platt(3 * scores + 7, labels)
    assert fitted.bend.strength > 0
    threshold = fitted.threshold(-2.0, 16.0)
    assert_allclose(fitted(np.array([threshold])), 0.5, atol=1e-6)
    assert_allclose((threshold - 7) / 3, -np.arcsinh(1.5 * offset / 2) / 1.5, atol=0.15)
    assert fitted.threshold(threshold + 1, threshold + 2) == threshold + 1
    assert fitted.threshold(threshold - 2, threshold - 1) == threshold - 1


def test_both_cores_agree_on_bent_scores(monkeypatch):
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
    assert other.bend.strength == one.bend.strength > 0
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
