import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from rboost.noise import flip_labels, symmetric
from rboost.robust import RobustMixtureDiscriminantClassifier
from tests.literature.test_discriminant import HARD


def three_blobs(n_rows, noise, seed=0):
    """A class in the middle, the other one on both sides."""
    random = np.random.RandomState(seed)
    blob = random.randint(3, size=n_rows)
    X = np.array([[-3.0, 0.0], [0.0, 1.0], [3.0, 0.0]])[blob] + random.standard_normal((n_rows, 2))
    y = (blob == 1).astype(int)
    noisy, _ = flip_labels(y, noise, random_state=seed)
    return X, y, noisy


def test_labels_move_no_component_and_a_majority_of_right_ones_is_enough():
    """The paper's own claims: clusters come from X alone; flips below ½ leave their classes."""
    X, y, noisy = three_blobs(3_000, symmetric(0.4))
    clean = RobustMixtureDiscriminantClassifier(n_components=3, random_state=0).fit(X, y)
    model = RobustMixtureDiscriminantClassifier(n_components=3, random_state=0).fit(X, noisy)
    assert_array_equal(model.means_, clean.means_)
    assert_array_equal(model.class_shares_.argmax(axis=1), clean.class_shares_.argmax(axis=1))
    assert (model.predict(X) == clean.predict(X)).mean() > 0.97
    # Probabilities of the observed label are drawn towards ½: p → ρ + (1 − 2ρ)·p.
    shrunk = 0.4 + 0.2 * clean.predict_proba(X)
    assert_allclose(model.predict_proba(X), shrunk, atol=0.05)


def test_a_given_noise_matrix_yields_probabilities_of_the_true_class():
    noise = np.array([[0.5, 0.5], [0.0, 1.0]])
    X, y, noisy = three_blobs(3_000, noise)
    clean = RobustMixtureDiscriminantClassifier(n_components=3, random_state=0).fit(X, y)
    blind = RobustMixtureDiscriminantClassifier(n_components=3, random_state=0).fit(X, noisy)
    aware = RobustMixtureDiscriminantClassifier(
        n_components=3, noise_matrix=noise, random_state=0
    ).fit(X, noisy)
    assert_allclose(aware.predict_proba(X), clean.predict_proba(X), atol=0.08)
    assert np.abs(blind.predict_proba(X) - clean.predict_proba(X)).mean() > 0.2


@pytest.mark.parametrize("covariance", ["diagonal", "separate", "shared"])
def test_bic_finds_the_number_of_blobs(covariance):
    X, _, noisy = three_blobs(400, symmetric(0.3))
    model = RobustMixtureDiscriminantClassifier(
        n_components="bic", covariance=covariance, random_state=0
    ).fit(X, noisy)
    assert model.n_components_ == 3


def test_order_of_rows_and_units_of_columns_do_not_matter():
    X, _, noisy = three_blobs(200, symmetric(0.2))
    order = np.random.RandomState(1).permutation(200)
    model = RobustMixtureDiscriminantClassifier(random_state=0).fit(X, noisy)
    moved = RobustMixtureDiscriminantClassifier(random_state=0).fit(X[order], noisy[order])
    assert_allclose(moved.predict_proba(X), model.predict_proba(X), atol=1e-6)
    scaled = RobustMixtureDiscriminantClassifier(random_state=0).fit(X * [1e-5, 1e5], noisy)
    assert_allclose(scaled.predict_proba(X * [1e-5, 1e5]), model.predict_proba(X), atol=1e-6)


def test_no_more_components_than_the_rows_allow():
    X, _, noisy = three_blobs(50, np.eye(2))
    assert RobustMixtureDiscriminantClassifier(random_state=0).fit(X, noisy).n_components_ == 10
    weighted = RobustMixtureDiscriminantClassifier(random_state=0).fit(X, noisy, np.full(50, 2))
    assert weighted.n_components_ == 20


@pytest.mark.parametrize("n_components", [20, "bic"])
def test_no_more_components_than_distinct_rows(n_components):
    """However large their weights: copies of 12 rows are no more than 12 places for components."""
    X, _, noisy = three_blobs(12, np.eye(2))
    model = RobustMixtureDiscriminantClassifier(n_components=n_components, random_state=0)
    weighted = model.fit(X, noisy, np.full(12, 100)).predict_proba(X)
    assert model.n_components_ <= 12
    repeated = model.fit(np.repeat(X, 100, axis=0), np.repeat(noisy, 100)).predict_proba(X)
    assert model.n_components_ <= 12
    assert_allclose(weighted, repeated, atol=1e-6)


@pytest.mark.parametrize("covariance", ["diagonal", "separate", "shared"])
@pytest.mark.parametrize("name", HARD)
def test_hard_tables_stay_finite(covariance, name):
    X, y = HARD[name]
    model = RobustMixtureDiscriminantClassifier(covariance=covariance, random_state=0).fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert np.all(np.isfinite(model.predict_proba(1e300 * np.ones_like(X))))
    assert_allclose(model.class_shares_.sum(axis=1), 1)
    if name == "separable":
        assert model.score(X, y) > 0.9


def test_it_says_when_it_did_not_converge():
    X, _, noisy = three_blobs(300, symmetric(0.2))
    with pytest.warns(ConvergenceWarning) as caught:
        RobustMixtureDiscriminantClassifier(max_iter=3, random_state=0).fit(X, noisy)
    assert str(caught[0].message) == (
        "RobustMixtureDiscriminantClassifier stopped at max_iter=3 before it converged; "
        "raise max_iter or tol."
    )
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": "aic"}, "n_components of .* must be an integer of at least 1, or 'bic'"),
        ({"n_components": 0}, "n_components of .* must be an integer of at least 1"),
        ({"covariance": "round"}, "covariance of .* must be one of"),
        ({"shrinkage": -1}, "shrinkage of .* must be a finite number of at least 0"),
        ({"n_init": 0}, "n_init of .* must be an integer of at least 1"),
        ({"noise_matrix": "estimate"}, "noise_matrix must be a square array"),
        ({"noise_matrix": [[0.5, 0.5], [0.5, 0.5]]}, "must sum to less than 1"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y, _ = three_blobs(20, np.eye(2))
    model = RobustMixtureDiscriminantClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("covariance", ["diagonal", "separate", "shared"])
def test_a_constant_column_changes_nothing(noisy_banana, covariance):
    X, _, noisy, _ = noisy_banana
    model = RobustMixtureDiscriminantClassifier(
        covariance=covariance, shrinkage=0.5, random_state=0
    )
    # The prior is worth shrinkage rows for each column, so one column more needs less of it.
    wider = clone(model).set_params(shrinkage=0.5 * 2 / 3)
    constant = np.full((len(X), 1), 3.0)
    expected = model.fit(X, noisy).predict_proba(X)
    found = wider.fit(np.hstack([X, constant]), noisy).predict_proba(np.hstack([X, constant]))
    np.testing.assert_allclose(found, expected, atol=1e-6)
