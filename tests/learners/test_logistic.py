import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

from rboost import RobustLogisticRegression
from rboost.noise import flip_labels

NEXT_CLASS = np.array([[0.7, 0.3, 0.0], [0.0, 0.9, 0.1], [0.2, 0.0, 0.8]])
BETA = np.array([1.0, -2.0, 0.5, 0.0, 1.5])


def noisy_table(n_rows, noise, seed=0):
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows, len(BETA)))
    y = (random.uniform(size=n_rows) < expit(X @ BETA + 0.5)).astype(int)
    noisy, _ = flip_labels(y, noise, random_state=seed)
    return X, y, noisy


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["lbfgs", "alternating"])
def test_recovers_flip_rates_and_direction(solver):
    """The issue's own figures: rates within .03, direction within 3°, on 50 000 rows."""
    X, _, noisy = noisy_table(50_000, [[0.7, 0.3], [0.1, 0.9]])
    n_init = 5 if solver == "lbfgs" else 1
    model = RobustLogisticRegression(solver=solver, n_init=n_init, random_state=0).fit(X, noisy)
    assert_allclose(model.noise_matrix_, [[0.7, 0.3], [0.1, 0.9]], atol=0.03)
    cosine = model.coef_[0] @ BETA / np.linalg.norm(model.coef_) / np.linalg.norm(BETA)
    assert np.degrees(np.arccos(cosine)) < 3


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_noise_it_is_logistic_regression(C, fit_intercept):
    X, y, _ = noisy_table(400, np.eye(2))
    weight = np.random.RandomState(0).gamma(1.0, size=400)
    ours = RobustLogisticRegression(noise_matrix=np.eye(2), C=C, fit_intercept=fit_intercept)
    peer = LogisticRegression(C=C, fit_intercept=fit_intercept, tol=1e-10, max_iter=10_000)
    ours.fit(X, y, weight)
    peer.fit(X, y, weight)
    assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    assert_allclose(ours.intercept_, peer.intercept_, atol=1e-4)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-4)


def table_of_classes(n_rows, noise, seed=0):
    """Rows of three classes with their probabilities and the labels that are observed."""
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows, 4))
    probability = softmax(2 * X @ random.standard_normal((4, 3)) + [0.5, 0, -0.5], axis=1)
    y = np.sum(probability.cumsum(axis=1) < random.uniform(size=(n_rows, 1)), axis=1)
    noisy, _ = flip_labels(y, noise, random_state=seed)
    return X, probability, noisy


@pytest.mark.parametrize("solver", ["lbfgs", "alternating"])
def test_recovers_the_noise_of_three_classes(solver):
    X, probability, noisy = table_of_classes(20_000, NEXT_CLASS)
    model = RobustLogisticRegression(solver=solver, n_init=1, tol=1e-5, random_state=0)
    model.fit(X, np.array(["a", "b", "c"])[noisy])
    assert_allclose(model.noise_matrix_, NEXT_CLASS, atol=0.04)
    assert np.abs(model.predict_proba(X) - probability).mean() < 0.01
    assert (model.coef_.shape, model.intercept_.shape) == ((3, 4), (3,))
    assert_allclose(softmax(model.decision_function(X), axis=1), model.predict_proba(X))
    assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    best = np.array(["a", "b", "c"])[model.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), best)


def test_known_noise_of_three_classes():
    X, probability, noisy = table_of_classes(20_000, NEXT_CLASS)
    model = RobustLogisticRegression(noise_matrix=NEXT_CLASS, n_init=1).fit(X, noisy)
    assert np.abs(model.predict_proba(X) - probability).mean() < 0.01
    np.testing.assert_array_equal(model.noise_matrix_, NEXT_CLASS)
    with pytest.raises(ValueError, match="a 2×2 noise_matrix, but there are 3 classes"):
        RobustLogisticRegression(noise_matrix=np.eye(2)).fit(X, noisy)


@pytest.mark.parametrize("C", [0.1, 10.0, None])
def test_without_noise_it_is_multinomial_regression(C):
    X, _, y = table_of_classes(400, np.eye(3))
    weight = np.random.RandomState(0).gamma(1.0, size=400)
    ours = RobustLogisticRegression(noise_matrix=np.eye(3), C=C).fit(X, y, weight)
    peer = LogisticRegression(C=np.inf if C is None else C, tol=1e-8, max_iter=10_000)
    peer.fit(X, y, weight)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-4)
    assert_allclose(ours.coef_, peer.coef_, atol=1e-3)
    assert_allclose(ours.intercept_.sum(), 0, atol=1e-6)


def test_true_classes_are_named_by_their_labels():
    """Wherever a start leads, no other order of the true classes has a larger diagonal."""
    X, _, noisy = table_of_classes(300, [[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]])
    for seed in range(5):
        model = RobustLogisticRegression(solver="alternating", n_init=1, max_iter=50, tol=0.01)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(random_state=seed).fit(X, noisy)
        noise = model.noise_matrix_
        others = [noise[list(order)].trace() for order in itertools.permutations(range(3))]
        assert noise.trace() == max(others)
        observed = model.predict_proba(X) @ noise  # unchanged by the naming, as is the loss
        likelihood = np.log(observed[np.arange(300), noisy]).mean()
        penalty = np.sum(model.coef_**2) / 600
        assert_allclose(model.loss_, penalty - likelihood, rtol=1e-9)


def test_rows_repeated_with_several_labels():
    """Copies that weigh what each label is worth are a table without noise as well."""
    X, probability, _ = table_of_classes(2_000, np.eye(3))
    copies = np.repeat(X, 3, axis=0), np.tile(np.arange(3), 2_000), probability.ravel()
    model = RobustLogisticRegression(noise_matrix=np.eye(3), C=None).fit(*copies)
    assert_allclose(model.predict_proba(X), probability, atol=1e-4)


def test_a_class_without_weight_is_left_out():
    X, _, noisy = table_of_classes(300, np.eye(3))
    model = RobustLogisticRegression(random_state=0).fit(X, noisy, np.where(noisy == 1, 0.0, 1.0))
    np.testing.assert_array_equal(model.classes_, [0, 2])
    assert model.coef_.shape == (1, 4)


def test_known_noise_gives_true_class_probabilities():
    noise = np.array([[0.6, 0.4], [0.0, 1.0]])
    X, _, noisy = noisy_table(50_000, noise)
    model = RobustLogisticRegression(noise_matrix=noise, random_state=0).fit(X, noisy)
    error = np.abs(model.predict_proba(X)[:, 1] - expit(X @ BETA + 0.5))
    assert error.mean() < 0.01
    assert error.max() < 0.1
    np.testing.assert_array_equal(model.noise_matrix_, noise)


def test_more_starts_never_find_a_worse_optimum():
    X, _, noisy = noisy_table(150, [[0.6, 0.4], [0.2, 0.8]], seed=4)
    losses = [
        RobustLogisticRegression(n_init=n_init, random_state=0).fit(X, noisy).loss_
        for n_init in [1, 3, 10]
    ]
    assert losses == sorted(losses, reverse=True)


def test_units_of_the_columns_do_not_matter():
    X, _, noisy = noisy_table(2_000, [[0.8, 0.2], [0.1, 0.9]])
    model = RobustLogisticRegression(C=None, random_state=0).fit(X, noisy)
    scaled = RobustLogisticRegression(C=None, random_state=0).fit(
        X * [1e-6, 1, 1e6, 10, 1] + [0, 1e4, 0, -5, 0], noisy
    )
    assert_allclose(scaled.loss_, model.loss_, rtol=1e-8)
    assert_allclose(scaled.noise_matrix_, model.noise_matrix_, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_input(container, n_classes):
    X, _, noisy = noisy_table(500, [[0.8, 0.2], [0.1, 0.9]])
    X[np.abs(X) < 0.5] = 0
    noisy = noisy if n_classes == 2 else noisy + (X[:, 0] > 0.5)
    dense = RobustLogisticRegression(random_state=0).fit(X, noisy)
    scattered = RobustLogisticRegression(random_state=0).fit(container(X), noisy)
    assert_allclose(scattered.coef_, dense.coef_, atol=1e-4)
    assert_allclose(scattered.predict_proba(container(X)), dense.predict_proba(X), atol=1e-4)


def test_a_weight_of_zero_removes_a_row():
    X, _, noisy = noisy_table(300, [[0.8, 0.2], [0.1, 0.9]])
    weight = np.where(np.arange(300) < 100, 0.0, 1.0)
    weighted = RobustLogisticRegression(random_state=0).fit(X, noisy, sample_weight=weight)
    removed = RobustLogisticRegression(random_state=0).fit(X[100:], noisy[100:])
    assert_allclose(weighted.coef_, removed.coef_)


def test_separable_data_without_penalty_stays_finite():
    X = np.linspace(-1, 1, 40)[:, None]
    y = (X[:, 0] > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RobustLogisticRegression(C=None, random_state=0).fit(X, y)
    assert np.all(np.isfinite(model.coef_))
    assert model.score(X, y) == 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_constant_column_and_single_feature():
    X, _, noisy = noisy_table(300, np.eye(2))
    for C in [None, 1.0]:
        model = RobustLogisticRegression(C=C, solver="alternating", n_init=1, random_state=0).fit(
            np.column_stack([X, np.full(300, 7.0)]), noisy
        )
        assert np.all(np.isfinite(model.coef_))
        assert_allclose(model.coef_[0, -1], 0, atol=1e-6)
    assert np.all(np.isfinite(RobustLogisticRegression().fit(X[:, :1], noisy).coef_))


def test_values_too_large_to_square_are_named():
    X, _, noisy = noisy_table(300, np.eye(2))
    with pytest.raises(ValueError, match="Column 1 of X holds values too large to square"):
        RobustLogisticRegression().fit(X * [1, 1e200, 1, 1, 1], noisy)
    model = RobustLogisticRegression(C=None, random_state=0).fit(X * 1e140, noisy)
    assert model.score(X * 1e140, noisy) > 0.8


def test_it_says_when_it_did_not_converge():
    X, _, noisy = noisy_table(300, [[0.8, 0.2], [0.1, 0.9]])
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=2"):
        RobustLogisticRegression(max_iter=2).fit(X, noisy)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "C of RobustLogisticRegression must be a number above 0, or None, not 0"),
        ({"C": "strong"}, "C of RobustLogisticRegression must be a number"),
        ({"n_init": 0}, "n_init of .* must be an integer of at least 1"),
        ({"n_init": True}, "n_init of .* must be an integer"),
        ({"max_iter": 2.5}, "max_iter of .* must be an integer"),
        ({"solver": "magic"}, "solver of .* must be one of 'lbfgs', 'alternating'"),
        ({"noise_matrix": "guess"}, "noise_matrix must be 'estimate' or a 2×2 array"),
        ({"noise_matrix": [[0.5, 0.5], [0.5, 0.5]]}, "must sum to less than 1"),
        ({"tol": -1.0}, "tol of .* must be a finite number above 0"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y, _ = noisy_table(20, np.eye(2))
    model = RobustLogisticRegression(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
