import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import expit, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from rboost.calibration import (
    CALIBRATIONS,
    SCALES,
    SLOPE_PENALTY,
    SoftmaxCalibration,
    agree_with_decision,
    fit_isotonic,
    fit_logistic,
    fit_platt,
    fit_scale,
)
from rboost.engines.rounds import mixing_coefficients
from rboost.noise import flip_labels, observed_probability, symmetric
from rboost.noise.likelihood import NoisySoftmaxLoss
from tests.population import population_minimiser
from tests.strategies import noise_matrices

calibrations = st.sampled_from(sorted(CALIBRATIONS))


def scores_and_labels(n_rows, slope=2.0, offset=0.5, seed=0):
    random = np.random.RandomState(seed)
    scores = random.standard_normal(n_rows)
    labels = (random.uniform(size=n_rows) < expit(slope * scores + offset)).astype(float)
    return scores, labels


def test_platt_agrees_with_scikit_learn():
    scores, labels = scores_and_labels(500)
    peer = LogisticRegression().fit(scores[:, None], labels)
    peer.coef_, peer.intercept_ = np.ones((1, 1)), np.zeros(1)  # its decision is now the score
    peer = CalibratedClassifierCV(FrozenEstimator(peer), method="sigmoid", ensemble=False)
    expected = peer.fit(scores[:, None], labels).predict_proba(scores[:, None])[:, 1]
    ours = fit_platt(scores, labels, np.ones(500), np.eye(2), np.eye(2))(scores)
    assert_allclose(ours, expected, atol=2e-3)


def test_platt_undoes_known_noise():
    scores, labels = scores_and_labels(60_000)
    noise = np.array([[0.7, 0.3], [0.1, 0.9]])
    noisy, _ = flip_labels(labels, noise, random_state=0)
    fitted = fit_platt(scores, noisy, np.ones(len(scores)), noise, np.eye(2))
    assert_allclose([fitted.slope, fitted.offset], [2.0, 0.5], atol=0.1)


def test_isotonic_undoes_known_noise():
    scores, labels = scores_and_labels(60_000)
    noise = np.array([[0.7, 0.3], [0.1, 0.9]])
    noisy, _ = flip_labels(labels, noise, random_state=0)
    fitted = fit_isotonic(scores, noisy, np.ones(len(scores)), noise, np.eye(2))
    error = np.abs(fitted(scores) - expit(2.0 * scores + 0.5))
    assert error.mean() < 0.02


@given(
    calibrations,
    noise_matrices(),
    st.sampled_from(["normal", "constant", "separable", "tied", "reversed", "huge", "tiny"]),
    st.integers(2, 60),
)
def test_any_scores_give_monotone_probabilities(name, noise, kind, n_rows):
    random = np.random.RandomState(n_rows)
    labels = np.arange(n_rows) % 2.0
    normal = random.standard_normal(n_rows)
    scores = {
        "normal": normal,
        "constant": np.full(n_rows, 3.0),
        "separable": (2 * labels - 1) * (1 + np.abs(normal)),
        "tied": np.round(normal),
        "reversed": 1 - 2 * labels + 0.1 * normal,
        "huge": 1e6 * normal,
        "tiny": 1e-9 * normal,
    }[kind]
    calibration = CALIBRATIONS[name](
        scores, labels, random.gamma(1.0, size=n_rows), noise, noise @ mixing_coefficients(noise)
    )
    grid = np.linspace(scores.min() - 1, scores.max() + 1, 50)
    probability = calibration(grid)
    assert np.all((probability >= 0) & (probability <= 1))
    assert np.all(np.diff(probability) >= -1e-12)
    agreeing = agree_with_decision(probability, grid)
    np.testing.assert_array_equal(agreeing > 1 - agreeing, grid > 0)


@pytest.mark.parametrize("name", sorted(CALIBRATIONS))
def test_weights_count_like_repetitions(name):
    scores, labels = scores_and_labels(40)
    weight = np.random.RandomState(1).randint(1, 4, size=40)
    noise = np.array([[0.9, 0.1], [0.2, 0.8]])
    weighted = CALIBRATIONS[name](scores, labels, weight.astype(float), noise, np.eye(2))
    repeated = CALIBRATIONS[name](
        np.repeat(scores, weight),
        np.repeat(labels, weight),
        np.ones(weight.sum()),
        noise,
        np.eye(2),
    )
    assert_allclose(weighted(scores), repeated(scores), atol=1e-6)


@given(noise_matrices(), st.floats(0.01, 0.99), st.sampled_from(["posterior", "paper"]))
def test_logistic_inverts_the_minimiser_of_the_loss(noise, true, mixing):
    """The score that minimises the expected loss leads back to the true probability."""
    assume(mixing == "posterior" or noise[[0, 1], [1, 0]].max() < 0.45)
    observed = observed_probability([[1 - true, true]], noise)[0, 1]
    score = population_minimiser(np.array([observed]), noise, mixing)
    link = noise @ mixing_coefficients(noise, mixing)
    empty = np.zeros(0)
    assert_allclose(fit_logistic(empty, empty, empty, noise, link)(score), true, atol=1e-6)


def test_one_row_that_carries_all_the_weight():
    scores, labels = scores_and_labels(40)
    weight = 10.0 ** np.linspace(-150, 150, 40)
    for name in CALIBRATIONS:
        fitted = CALIBRATIONS[name](scores, labels, weight / weight.mean(), np.eye(2), np.eye(2))
        assert np.all(np.isfinite(fitted(scores)))


def test_platt_of_constant_scores_is_the_class_frequency():
    labels = np.array([1.0] * 30 + [0.0] * 10)
    probability = fit_platt(np.full(40, 7.0), labels, np.ones(40), np.eye(2), np.eye(2))(
        np.array([7.0])
    )
    assert_allclose(probability, 0.75, atol=0.02)  # Platt's smoothing moves it a little


def class_scores(n_rows, scale=2.0, n_classes=3, seed=0):
    """Scores of which so many times are the logarithms of probabilities, and labels."""
    random = np.random.RandomState(seed)
    scores = random.standard_normal((n_rows, n_classes))
    scores -= scores.mean(axis=1, keepdims=True)
    drawn = scale * scores + random.gumbel(size=scores.shape)
    return scores, drawn.argmax(axis=1)


@pytest.mark.parametrize("noise", [np.eye(3), symmetric(0.3, 3)], ids=["clean", "noisy"])
def test_the_scale_of_several_classes_undoes_known_noise(noise):
    scores, labels = class_scores(30_000)
    noisy, _ = flip_labels(labels, noise, random_state=0)
    assert_allclose(fit_scale(scores, noisy, np.ones(len(scores)), noise), 2.0, atol=0.1)


@pytest.mark.parametrize("noise", [np.eye(3), symmetric(0.2, 3)], ids=["clean", "noisy"])
def test_the_scale_is_that_of_maximum_likelihood(noise):
    scores, labels = class_scores(300)
    weight = np.random.RandomState(1).gamma(1.0, size=300)
    spread = np.sqrt(np.average((scores**2).mean(axis=1), weights=weight))

    def cost(scale):
        loss = NoisySoftmaxLoss(scale * scores, labels, noise).loss()
        return weight @ loss + SLOPE_PENALTY * (scale * spread) ** 2 / 2

    best = minimize_scalar(cost, bounds=(0.1, 20), method="bounded", options={"xatol": 1e-9})
    assert_allclose(fit_scale(scores, labels, weight, noise), best.x, rtol=1e-4)


def test_the_scale_follows_that_of_the_scores_and_weights_count_like_repetitions():
    scores, labels = class_scores(200)
    weight = np.random.RandomState(1).randint(1, 4, size=200)
    plain = fit_scale(scores, labels, np.ones(200), np.eye(3))
    for factor in (1e-6, 1e6):
        scaled = fit_scale(factor * scores, labels, np.ones(200), np.eye(3))
        assert_allclose(scaled * factor, plain, rtol=1e-6)
    weighted = fit_scale(scores, labels, weight.astype(float), np.eye(3))
    repeated = fit_scale(
        np.repeat(scores, weight, axis=0), np.repeat(labels, weight), np.ones(weight.sum()),
        np.eye(3),
    )  # fmt: skip
    assert_allclose(weighted, repeated, rtol=1e-6)


def test_scores_that_contradict_or_say_nothing_get_a_small_scale_and_separable_ones_a_large():
    scores, _ = class_scores(60)
    worst, best = scores.argmin(axis=1), scores.argmax(axis=1)
    spread = np.sqrt((scores**2).mean())
    assert_allclose(fit_scale(scores, worst, np.ones(60), np.eye(3)), SCALES[0] / spread)
    assert 5 < fit_scale(scores, best, np.ones(60), np.eye(3)) * spread <= SCALES[1]
    nothing = fit_scale(np.zeros((60, 3)), worst, np.ones(60), np.eye(3))
    assert np.isfinite(nothing)


@given(st.integers(0, 1000), st.integers(3, 5), st.floats(0, 0.4))
def test_the_softmax_without_the_noise_of_its_link(seed, n_classes, rate):
    """Noise in the scores is taken out: what is left leads back to them."""
    scores, _ = class_scores(20, n_classes=n_classes, seed=seed)
    link = symmetric(rate, n_classes)
    true = softmax(1.5 * scores, axis=1)
    noisy = np.log(observed_probability(true, link))
    assert_allclose(SoftmaxCalibration(1.5, np.eye(n_classes))(scores), true)
    assert_allclose(SoftmaxCalibration(1.0, link)(noisy), true, atol=1e-8)
