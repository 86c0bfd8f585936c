import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logit
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from rboost.noise import flip_labels
from rboost.robust import RobustDiscriminantClassifier

DIRECTION = np.array([1.0, -1.0, 0.5])
both_covariances = pytest.mark.parametrize("covariance", ["shared", "separate"])


def two_gaussians(n_rows, noise, seed=0, gap=1.0, prior=0.4):
    """Two correlated normal classes, their labels, and those labels after flips."""
    random = np.random.RandomState(seed)
    y = (random.uniform(size=n_rows) < prior).astype(int)
    root = np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.0, -0.3, 1.0]])
    X = random.standard_normal((n_rows, 3)) @ root.T + gap * np.outer(y, root @ root.T @ DIRECTION)
    noisy, _ = flip_labels(y, noise, random_state=seed)
    return X, y, noisy


def fisher_direction(model):
    return np.linalg.solve(model.covariances_[0], model.means_[1] - model.means_[0])


def angle(first, second):
    return np.degrees(np.arccos(first @ second / np.linalg.norm(first) / np.linalg.norm(second)))


@pytest.mark.slow
@pytest.mark.parametrize("noise", [[[0.6, 0.4], [0.0, 1.0]], [[0.7, 0.3], [0.2, 0.8]]])
def test_recovers_flip_rates_and_fisher_direction(noise):
    """The paper's point: flips of one class shift the threshold of a plain discriminant."""
    X, y, noisy = two_gaussians(10_000, noise, gap=1.5)
    robust = RobustDiscriminantClassifier(tol=1e-9).fit(X, noisy)
    plain = RobustDiscriminantClassifier(noise_matrix=np.eye(2)).fit(X, noisy)
    clean = RobustDiscriminantClassifier(noise_matrix=np.eye(2)).fit(X, y)
    assert_allclose(robust.noise_matrix_, noise, atol=0.02)
    assert_allclose(robust.priors_, [0.6, 0.4], atol=0.02)
    assert angle(fisher_direction(robust), DIRECTION) < 2
    true = clean.decision_function(X)
    assert np.abs(robust.decision_function(X) - true).mean() < 0.2
    assert np.abs(plain.decision_function(X) - true).mean() > 0.8
    assert (robust.predict(X) == y).mean() > (plain.predict(X) == y).mean() + 0.005


def test_finds_the_flipped_rows():
    X, y, noisy = two_gaussians(4_000, [[0.7, 0.3], [0.1, 0.9]], gap=2.0)
    issue = RobustDiscriminantClassifier().fit(X, noisy).label_issue_probability_
    wrong = y != noisy
    assert_allclose(issue.sum(), wrong.sum(), rtol=0.05)
    assert wrong[issue > 0.9].mean() > 0.9
    assert wrong[issue < 0.1].mean() < 0.1


def test_without_noise_it_is_linear_discriminant_analysis():
    """lsqr divides by n, as maximum likelihood does; svd of some versions by n − 2."""
    X, y, _ = two_gaussians(300, np.eye(2))
    ours = RobustDiscriminantClassifier(noise_matrix=np.eye(2), shrinkage=0).fit(X, y)
    lsqr = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    svd = LinearDiscriminantAnalysis(solver="svd").fit(X, y)
    assert_allclose(ours.predict_proba(X), lsqr.predict_proba(X), atol=1e-8)
    assert_allclose(ours.covariances_[0], lsqr.covariance_)
    odds = logit(y.mean())
    ratio = (svd.decision_function(X) - odds) / (ours.decision_function(X) - odds)
    assert_allclose(ratio, ratio[0], rtol=1e-8)
    assert 298 / 300 - 1e-9 <= ratio[0] <= 1 + 1e-9
    assert ours.n_iter_ == 2


def test_without_noise_it_is_quadratic_discriminant_analysis():
    X, y, _ = two_gaussians(300, np.eye(2))
    X[y == 1] *= [1.0, 2.0, 0.5]
    ours = RobustDiscriminantClassifier(
        noise_matrix=np.eye(2), covariance="separate", shrinkage=0
    ).fit(X, y)
    peer = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    # Some versions of scikit-learn divide by n − 1 here, others by n.
    for class_, size in enumerate(np.bincount(y)):
        ratio = peer.covariance_[class_] / ours.covariances_[class_]
        assert_allclose(ratio, ratio[0, 0], rtol=1e-6)
        assert 1 - 1e-9 <= ratio[0, 0] <= size / (size - 1) + 1e-9
    assert (ours.predict(X) == peer.predict(X)).mean() > 0.99
    if np.isclose(ratio[0, 0], 1):
        assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-8)


def test_units_of_the_columns_do_not_matter():
    X, _, noisy = two_gaussians(500, [[0.8, 0.2], [0.1, 0.9]])
    model = RobustDiscriminantClassifier().fit(X, noisy)
    moved = X * [1e-6, 1.0, 1e6] + [0.0, 1e3, -5e6]
    scaled = RobustDiscriminantClassifier().fit(moved, noisy)
    assert_allclose(scaled.predict_proba(moved), model.predict_proba(X), atol=1e-6)
    assert_allclose(scaled.means_, model.means_ * [1e-6, 1.0, 1e6] + [0.0, 1e3, -5e6], rtol=1e-6)


@both_covariances
def test_swapping_the_classes_swaps_everything(covariance):
    X, _, noisy = two_gaussians(300, [[0.8, 0.2], [0.1, 0.9]])
    model = RobustDiscriminantClassifier(covariance=covariance).fit(X, noisy)
    swapped = RobustDiscriminantClassifier(covariance=covariance).fit(X, 1 - noisy)
    assert_allclose(swapped.predict_proba(X)[:, ::-1], model.predict_proba(X), atol=1e-8)
    assert_allclose(swapped.noise_matrix_[::-1, ::-1], model.noise_matrix_, atol=1e-8)


@both_covariances
def test_weights_are_repetitions_and_shares_are_scaled(covariance):
    X, _, noisy = two_gaussians(100, [[0.8, 0.2], [0.1, 0.9]])
    weight = np.random.RandomState(0).randint(1, 4, size=100)
    weighted = RobustDiscriminantClassifier(covariance=covariance).fit(X, noisy, weight)
    repeated = RobustDiscriminantClassifier(covariance=covariance).fit(
        np.repeat(X, weight, axis=0), np.repeat(noisy, weight)
    )
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-8)
    plain = RobustDiscriminantClassifier(covariance=covariance).fit(X, noisy)
    share = RobustDiscriminantClassifier(covariance=covariance).fit(X, noisy, np.full(100, 0.01))
    assert_allclose(share.predict_proba(X), plain.predict_proba(X), atol=1e-8)


def test_a_row_of_weight_zero_gets_a_probability_of_its_own():
    X, _, noisy = two_gaussians(200, [[0.8, 0.2], [0.1, 0.9]])
    weight = np.where(np.arange(200) < 50, 0.0, 1.0)
    weighted = RobustDiscriminantClassifier().fit(X, noisy, weight)
    removed = RobustDiscriminantClassifier().fit(X[50:], noisy[50:])
    assert len(weighted.label_issue_probability_) == 200
    assert_allclose(weighted.label_issue_probability_[50:], removed.label_issue_probability_)


HARD = {
    "separable": (np.linspace(-1, 1, 40)[:, None], np.arange(40) >= 20),
    "constant column": (np.column_stack([np.arange(40) % 7, np.full(40, 0.1)]), np.arange(40) > 25),
    "duplicates": (np.repeat([[0.0, 1.0], [1.0, 0.0]], 20, axis=0), np.arange(40) % 3 == 0),
    "three rows of a class": (np.random.RandomState(0).rand(40, 5), np.arange(40) < 3),
    "more columns than rows": (np.random.RandomState(0).rand(10, 40), np.arange(10) < 5),
    "no column says anything": (np.ones((40, 2)), np.arange(40) < 15),
    "far away": (np.append(np.zeros(39), 1e150)[:, None], np.arange(40) % 2 == 0),
}


@both_covariances
@pytest.mark.parametrize("name", HARD)
def test_hard_tables_stay_finite(covariance, name):
    X, y = HARD[name]
    model = RobustDiscriminantClassifier(covariance=covariance).fit(X, y)
    for values in [model.predict_proba(X), model.noise_matrix_, model.label_issue_probability_]:
        assert np.all(np.isfinite(values))
    assert np.all(np.isfinite(model.decision_function(1e300 * np.ones_like(X))))
    if name == "separable":
        assert model.score(X, y) > 0.9


def test_it_says_when_it_did_not_converge():
    X, _, noisy = two_gaussians(300, [[0.8, 0.2], [0.1, 0.9]])
    with pytest.warns(ConvergenceWarning) as caught:
        RobustDiscriminantClassifier(max_iter=3).fit(X, noisy)
    assert str(caught[0].message) == (
        "RobustDiscriminantClassifier stopped at max_iter=3 before it converged; "
        "raise max_iter or tol."
    )
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RobustDiscriminantClassifier().fit(X, noisy)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"covariance": "round"}, "covariance of .* must be one of 'shared', 'separate'"),
        ({"shrinkage": -1}, "shrinkage of .* must be a finite number of at least 0"),
        ({"max_iter": 0}, "max_iter of .* must be an integer of at least 1"),
        ({"tol": 0}, "tol of .* must be a finite number above 0"),
        ({"noise_matrix": "guess"}, "noise_matrix must be 'estimate' or a 2×2 array"),
        ({"noise_matrix": [[0.5, 0.5], [0.5, 0.5]]}, "must sum to less than 1"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y, _ = two_gaussians(20, np.eye(2))
    model = RobustDiscriminantClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
