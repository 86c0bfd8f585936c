from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit, log_expit, logsumexp, softmax
from sklearn.linear_model import LogisticRegression

from rboost import NoiseCalibratedClassifier, RBoostClassifier, native
from rboost.noise.matrix import rates_of
from rboost.noise.platt.binning import bin_rows
from rboost.noise.platt.kinds import KINDS, explore_slowly
from rboost.noise.platt.scaling import fit_noise_aware_platt
from rboost.noise.platt.sigmoid import fit_lines_slowly


def draw(n_rows, rates, seed=0, slope=3.0, offset=0.3):
    random = np.random.RandomState(seed)
    scores = random.standard_normal(n_rows)
    true = (random.uniform(size=n_rows) < expit(slope * scores + offset)).astype(int)
    observed = np.where(random.uniform(size=n_rows) < np.asarray(rates)[true], 1 - true, true)
    return scores, observed, true


def counted(true, observed):
    flips = np.zeros((2, 2))
    np.add.at(flips, (true, observed), 1)
    return flips


def rates_with(scores, labels, trusted=None, flip_counts=None):
    fitted = fit_noise_aware_platt(scores, labels, trusted=trusted, flip_counts=flip_counts)
    return rates_of(fitted.noise_matrix)


@pytest.mark.parametrize("frequencies", [(0.1, 0.3), (0.4, 0.05), (0.25, 0.25)], ids=str)
def test_many_counted_flips_decide(frequencies):
    scores, labels, _ = draw(100, (0.2, 0.2))
    into_1, into_0 = frequencies
    flips = 5000 * np.array([[1 - into_1, into_1], [into_0, 1 - into_0]])
    assert_allclose(rates_with(scores, labels, flip_counts=flips), frequencies, atol=0.02)


@pytest.mark.parametrize("frequencies", [(0.05, 0.4), (0.4, 0.05), (0.0, 0.0)], ids=str)
def test_more_flips_move_the_rates_nearer_to_their_frequencies(frequencies):
    scores, labels, _ = draw(300, (0.2, 0.2), slope=2.0)
    into_1, into_0 = frequencies
    per_row = np.array([[1 - into_1, into_1], [into_0, 1 - into_0]])
    distances = [
        np.abs(rates_with(scores, labels, flip_counts=n * per_row) - frequencies).sum()
        for n in (0, 10, 100, 1000)
    ]
    assert np.all(np.diff(distances) < 0)


def reviewed(seed, rates, n_rows=1500, share=0.15, slope=2.5):
    """Rates estimated after the most suspicious rows were checked, without and with flips."""
    scores, observed, true = draw(n_rows, rates, seed, slope=slope)
    first = fit_noise_aware_platt(scores, observed)
    order = np.argsort(-first.issue_probability(scores, observed))
    checked = np.zeros(n_rows, dtype=bool)
    checked[order[: int(share * n_rows)]] = True
    labels = np.where(checked, true, observed)
    flips = counted(true[checked], observed[checked])
    return rates_with(scores, labels, checked), rates_with(scores, labels, checked, flips)


@pytest.mark.parametrize("rates", [(0.2, 0.2), (0.3, 0.1)], ids=str)
@pytest.mark.parametrize("share", [0.05, 0.15, 0.4])
def test_a_review_of_suspects_does_not_bias_the_rates_where_flips_are_counted(rates, share):
    without, with_flips = np.array([reviewed(s, rates, share=share) for s in range(10)]).swapaxes(
        0, 1
    )
    bias = np.abs(without.mean(axis=0) - rates).max(), np.abs(with_flips.mean(axis=0) - rates).max()
    assert bias[1] < 0.02
    assert bias[1] < 0.5 * bias[0]
    error = [np.abs(found - rates).mean() for found in (without, with_flips)]
    assert error[1] < error[0]


def test_rows_checked_by_chance_need_no_flips_but_may_have_them():
    errors = []
    for seed in range(6):
        scores, observed, true = draw(1500, (0.25, 0.1), seed, slope=1.5)
        checked = np.arange(1500) < 400
        labels, flips = np.where(checked, true, observed), counted(true[checked], observed[checked])
        without, with_flips = rates_with(scores, labels, checked), rates_with(
            scores, labels, checked, flips
        )  # fmt: skip
        errors.append(
            [np.abs(without - [0.25, 0.1]).mean(), np.abs(with_flips - [0.25, 0.1]).mean()]
        )
    assert np.all(np.mean(errors, axis=0) < 0.06)
    assert np.mean(errors, axis=0)[1] < np.mean(errors, axis=0)[0]


def integrated(scores, labels, trusted, flips):
    """The posterior mean of the rates: sums over rates, slopes and offsets, all on plain grids."""
    z, place = np.unique((scores - scores.mean()) / scores.std(), return_inverse=True)
    n_rows = np.zeros((2, 2, len(z)))  # trusted, label, score
    np.add.at(n_rows, (trusted.astype(int), labels, place), 1)
    slopes, offsets = np.exp(np.linspace(np.log(1e-2), np.log(40), 60)), np.linspace(-8, 8, 65)
    slope, offset = (grid.reshape(-1, 1) for grid in np.meshgrid(slopes, offsets))
    margin = slope * z + offset
    prior = -0.5 * (slope / 10) ** 2 - 0.5 * (offset / 3) ** 2  # uniform in the log of the slope
    prior = prior[:, 0] + log_expit(margin) @ n_rows[1, 1] + log_expit(-margin) @ n_rows[1, 0]
    log_weights, means = [], []
    for kind in KINDS:
        n_free = len(kind.n_points)
        axis = (np.arange(60 if n_free == 1 else 16) + 0.5) / (60 if n_free == 1 else 16)
        free = np.stack(np.meshgrid(*[axis] * n_free), -1).reshape(-1, n_free)
        for into_1, into_0 in 0.98 * kind.rates(free):
            chance = np.array([[1 - into_1, into_1], [into_0, 1 - into_0]])
            seen_1 = into_1 + (1 - into_1 - into_0) * expit(margin)
            value = prior + np.log(seen_1) @ n_rows[0, 1] + np.log1p(-seen_1) @ n_rows[0, 0]
            value = logsumexp(value) + (flips * np.log(chance)).sum()
            log_weights.append(value + np.log(kind.mass / len(free)))
            means.append([into_1, into_0])
    return softmax(log_weights) @ np.array(means)


@pytest.mark.parametrize("seed", [0, 1])
def test_rates_are_what_numerical_integration_gives(seed):
    scores, observed, true = draw(150, (0.3, 0.1), seed)
    scores, trusted = np.round(scores), np.arange(150) < 40
    labels = np.where(trusted, true, observed)
    flips = counted(true[trusted], observed[trusted])
    for counts in (np.zeros((2, 2)), flips, 4 * flips):
        expected = integrated(scores, labels, trusted, counts)
        # Up to Laplace's approximation of the integral over lines; flips move them by 0.1.
        assert_allclose(rates_with(scores, labels, trusted, counts), expected, atol=0.02)


@settings(max_examples=15)
@given(st.integers(0, 999), st.lists(st.integers(0, 30), min_size=4, max_size=4))
def test_each_noise_matrix_counts_by_its_chance_of_the_flips(seed, flips):
    """On one and the same grid: the weight without flips times Π γ^n."""
    scores, labels, _ = draw(200, (0.2, 0.1), seed)
    plain, _, _ = bin_rows(scores, labels, None, None)
    flips = np.array(flips, dtype=float).reshape(2, 2)
    for kind in KINDS[1:2] + KINDS[4:]:
        with_flips = explore_slowly(kind, replace(plain, flips=flips))
        _, without = fit_lines_slowly(plain, with_flips.rates)
        chance = np.array(
            [[(1 - g) ** flips[0, 0] * g ** flips[0, 1] * h ** flips[1, 0] * (1 - h) ** flips[1, 1]]
             for g, h in with_flips.rates]
        ).ravel()  # fmt: skip
        likely = with_flips.log_weights > with_flips.log_weights.max() - 20
        difference = (with_flips.log_weights - without)[likely] - np.log(chance[likely])
        assert_allclose(difference, difference[0], atol=1e-6)


def test_both_cores_agree_where_flips_are_counted(monkeypatch):
    scores, observed, true = draw(500, (0.3, 0.1))
    trusted = np.arange(500) < 100
    arguments = scores, np.where(trusted, true, observed), trusted
    flips = counted(true[trusted], observed[trusted])
    fast = rates_with(*arguments, flips)
    monkeypatch.setattr(native, "compiled", lambda: None)
    assert_allclose(rates_with(*arguments, flips), fast, atol=1e-3)


def test_no_flips_are_none():
    scores, labels, _ = draw(300, (0.3, 0.1))
    expected = rates_with(scores, labels)
    for nothing in (None, np.zeros((2, 2)), [[0, 0], [0, 0]]):
        np.testing.assert_array_equal(rates_with(scores, labels, flip_counts=nothing), expected)


def test_flips_do_not_change_a_known_noise_matrix():
    scores, labels, _ = draw(300, (0.3, 0.1))
    known = np.array([[0.7, 0.3], [0.1, 0.9]])
    fitted = fit_noise_aware_platt(scores, labels, noise_matrix=known, flip_counts=np.eye(2) * 99)
    assert_allclose(fitted.noise_matrix, known)


WRONG = [
    [1, 2],
    np.ones((3, 3)),
    [[1, -1], [0, 0]],
    [[np.nan, 0], [0, 0]],
    [[np.inf, 0], [0, 0]],
    5,
]


@pytest.mark.parametrize("flip_counts", WRONG, ids=str)
def test_what_counts_no_flips_is_refused_with_one_sentence(flip_counts):
    with pytest.raises(ValueError, match="flip_counts must hold 2 × 2") as caught:
        fit_noise_aware_platt([0.0, 1.0], [0, 1], flip_counts=flip_counts)
    assert str(caught.value).count(". ") == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: RBoostClassifier(n_estimators=50, random_state=0),
        lambda: NoiseCalibratedClassifier(LogisticRegression(), random_state=0),
    ],
    ids=["RBoostClassifier", "NoiseCalibratedClassifier"],
)
def test_classifiers_take_flips_and_learn_from_them(make):
    random = np.random.RandomState(0)
    X = random.standard_normal((300, 2))
    true = (random.uniform(size=300) < expit(3 * X[:, 0])).astype(int)
    observed = np.where(random.uniform(size=300) < 0.2, 1 - true, true)
    known = {"X_trusted": X[:60], "y_trusted": true[:60]}
    plain = make().fit(X[60:], observed[60:], **known)
    zeros = make().fit(X[60:], observed[60:], flip_counts=np.zeros((2, 2)), **known)
    np.testing.assert_array_equal(zeros.noise_matrix_, plain.noise_matrix_)
    frequent = np.array([[60.0, 40.0], [5.0, 95.0]])
    moved = make().fit(X[60:], observed[60:], flip_counts=frequent, **known)
    assert moved.noise_matrix_[0, 1] > plain.noise_matrix_[0, 1] + 0.05
    assert moved.noise_matrix_[1, 0] < plain.noise_matrix_[1, 0] - 0.03
    assert np.abs(moved.predict_proba(X) - plain.predict_proba(X)).max() > 0.01
    with pytest.raises(ValueError, match="flip_counts must hold"):
        make().fit(X[60:], observed[60:], flip_counts=[1, 2], **known)
