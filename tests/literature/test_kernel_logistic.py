import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import StandardScaler

from rboost import RobustLogisticRegression
from rboost.datasets import make_banana
from rboost.fitting import validated_rows
from rboost.literature.kernel_logistic import KERNELS, leave_one_out, scale_of_kernel
from rboost.noise import asymmetric, flip_labels, symmetric
from rboost.robust import RobustKernelLogisticRegression


@pytest.fixture(scope="module")
def banana():
    X, y = make_banana(300, spread=0.2, random_state=0)
    noisy, _ = flip_labels(y, symmetric(0.2), random_state=0)
    return X, y, noisy


@pytest.fixture(scope="module")
def more_banana():
    return make_banana(2000, spread=0.2, random_state=1)


@pytest.mark.parametrize("noise_matrix", ["estimate", [[0.9, 0.1], [0.2, 0.8]]])
def test_with_the_linear_kernel_it_is_robust_logistic_regression(noise_matrix, banana):
    X, _, noisy = banana
    options = {"noise_matrix": noise_matrix, "C": 2.0, "random_state": 0}
    kernel = RobustKernelLogisticRegression(
        kernel="linear", noise_estimator="likelihood", standardize=False, **options
    ).fit(X, noisy)
    linear = RobustLogisticRegression(**options).fit(X, noisy)
    assert_allclose(kernel.decision_function(X), linear.decision_function(X), atol=2e-3)
    assert_allclose(kernel.noise_matrix_, linear.noise_matrix_, atol=1e-3)
    assert_allclose(kernel.loss_, linear.loss_, atol=1e-6)
    kernel.set_params(standardize=True).fit(X, noisy)
    scaled = StandardScaler().fit_transform(X)
    linear.fit(scaled, noisy)
    assert_allclose(kernel.decision_function(X), linear.decision_function(scaled), atol=2e-3)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_without_noise_it_is_kernel_logistic_regression(kernel):
    """Minimised over the coefficients of the kernel, without features."""
    X, y = make_banana(60, random_state=0)
    weight = np.random.RandomState(0).gamma(1.0, size=60)
    C, gamma = 3.0, 0.8
    K = pairwise_kernels(X, metric=kernel, gamma=gamma)

    def objective(parameters):
        a, b = parameters[:-1], parameters[-1]
        f = K @ a + b
        by_f = weight * (expit(f) - y)
        value = weight @ (np.logaddexp(0, f) - y * f) + a @ K @ a / (2 * C)
        return value, np.append(K @ by_f + K @ a / C, by_f.sum())

    found = minimize(
        objective, np.zeros(61), jac=True, method="BFGS", options={"gtol": 1e-6, "maxiter": 5000}
    )
    model = RobustKernelLogisticRegression(
        kernel=kernel, gamma=gamma, noise_matrix=np.eye(2), C=C, standardize=False
    ).fit(X, y, weight)
    assert_allclose(model.decision_function(X), K @ found.x[:-1] + found.x[-1], atol=1e-3)
    assert_allclose(model.loss_, found.fun / weight.sum(), rtol=1e-6)


def test_leaving_rows_out_by_formula_and_by_fitting():
    X, y = make_banana(80, spread=0.4, random_state=0)
    weight = 1.0 + np.arange(80) % 3
    weight[::7] = 0.5
    options = {"noise_matrix": np.eye(2), "C": 3.0, "tol": 1e-8}
    train, _ = validated_rows(X, y, weight)
    log_odds = RobustLogisticRegression(**options).fit(X, y, weight).decision_function(X)
    scores = leave_one_out(log_odds, train, C=3.0)
    for row in range(0, 80, 5):
        less = weight.copy()
        less[row] = max(less[row] - 1, 0)
        without = RobustLogisticRegression(**options).fit(X, y, less)
        exact = without.decision_function(X[[row]])[0]
        assert_allclose(scores[row], exact, atol=0.02 + 0.1 * abs(exact - log_odds[row]))


def test_it_bends_where_a_line_cannot(banana, more_banana):
    X, _, noisy = banana
    model = RobustKernelLogisticRegression(random_state=0).fit(X, noisy)
    linear = RobustLogisticRegression(random_state=0).fit(X, noisy)
    assert model.score(*more_banana) > 0.94
    assert model.score(*more_banana) > linear.score(*more_banana) + 0.03


@pytest.mark.slow
@pytest.mark.parametrize("noise_matrix", [symmetric(0.2), asymmetric(0.3, from_class=0)])
def test_the_noise_is_found_where_the_likelihood_is_blind(noise_matrix):
    X, y = make_banana(500, spread=0.2, random_state=0)
    noisy, _ = flip_labels(y, noise_matrix, random_state=0)
    model = RobustKernelLogisticRegression(random_state=0).fit(X, noisy)
    assert_allclose(model.noise_matrix_, noise_matrix, atol=0.08)
    model.set_params(noise_estimator="likelihood").fit(X, noisy)
    assert model.noise_matrix_[0, 1] < 0.01


def test_knowing_the_noise_of_one_class_helps(more_banana):
    X, y = make_banana(400, spread=0.2, random_state=0)
    noisy, _ = flip_labels(y, asymmetric(0.4, from_class=0), random_state=0)
    robust = RobustKernelLogisticRegression(random_state=0).fit(X, noisy)
    plain = RobustKernelLogisticRegression(noise_matrix=np.eye(2)).fit(X, noisy)
    assert robust.score(*more_banana) > plain.score(*more_banana) + 0.03


@pytest.mark.parametrize("kernel", KERNELS)
def test_features_of_all_rows_have_the_products_of_the_kernel(kernel, banana):
    """Z·Zᵀ = K, which needs a kernel without negative eigenvalues."""
    X, _, noisy = banana
    model = RobustKernelLogisticRegression(kernel=kernel, standardize=False, random_state=0)
    model.fit(X[:60], noisy[:60])
    features = model._features.transform(X[:60])
    options = {"gamma": model.gamma_, "degree": model.degree, "coef0": model.coef0}
    K = pairwise_kernels(X[:60], metric=kernel, filter_params=True, **options)
    assert_allclose(features @ features.T, K, atol=1e-6 * np.abs(K).max())


def test_fewer_landmarks_approximate(banana, more_banana):
    X, _, noisy = banana
    fitted = [
        RobustKernelLogisticRegression(n_components=n_components, random_state=0).fit(X, noisy)
        for n_components in (5, 50, 300)
    ]
    assert [len(model.landmarks_) for model in fitted] == [5, 50, 300]
    few, some, every = (model.decision_function(more_banana[0]) for model in fitted)
    assert np.abs(some - every).mean() < 0.2 * np.abs(few - every).mean()


@pytest.mark.parametrize("n_components", [40, 500])
def test_whole_weights_are_repetitions(banana, n_components):
    X, _, noisy = banana
    weight = np.arange(len(X)) % 4
    again = np.repeat(np.arange(len(X)), weight)
    model = RobustKernelLogisticRegression(n_components=n_components, tol=1e-10, random_state=0)
    weighted = model.fit(X, noisy, weight).predict_proba(X)
    repeated = model.fit(X[again], noisy[again]).predict_proba(X)
    assert_allclose(weighted, repeated, atol=1e-5)


def test_the_scale_is_that_of_support_vector_machines():
    X = np.random.RandomState(0).standard_normal((50, 3)) * [1, 2, 3]
    assert_allclose(scale_of_kernel(X, np.ones(50)), 1 / (3 * X.var()))
    weight = np.arange(50) % 3
    assert_allclose(
        scale_of_kernel(X, weight.astype(float)), 1 / (3 * np.repeat(X, weight, axis=0).var())
    )
    assert scale_of_kernel(np.ones((5, 2)), np.ones(5)) == 1


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_learns(kernel, banana):
    X, y, noisy = banana
    model = RobustKernelLogisticRegression(kernel=kernel, random_state=0).fit(X, noisy)
    assert model.score(X, y) > 0.7


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_hard_tables_stay_finite():
    line = np.linspace(-1, 1, 40)[:, np.newaxis]
    sides = (line[:, 0] > 0).astype(int)
    tables = {
        "separable": (line, sides),
        "constant column": (np.column_stack([line, np.full(40, 7.0)]), sides),
        "constant": (np.ones((40, 2)), sides),
        "rare class": (line, (np.arange(40) >= 37).astype(int)),
        "copies": (np.repeat(line[::10], 10, axis=0), np.arange(40) % 2),
        "outlier": (np.append(line[1:], [[1e12]], axis=0), sides),
        "two rows": (line[[0, -1]], sides[[0, -1]]),
    }
    for name, (X, y) in tables.items():
        for C in (1e-3, 10.0, 1e6):
            model = RobustKernelLogisticRegression(C=C, random_state=0).fit(X, y)
            assert np.all(np.isfinite(model.predict_proba(np.vstack([X, X * 1e3])))), name


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_any_size_stay_finite(banana):
    X, _, noisy = banana
    for exponents in [(-300, 0), (-6, 6), (-10, 10)]:
        weight = np.random.RandomState(0).permutation(10.0 ** np.linspace(*exponents, len(X)))
        model = RobustKernelLogisticRegression(random_state=0).fit(X, noisy, weight)
        assert np.all(np.isfinite(model.predict_proba(X)))


def test_it_says_when_it_did_not_converge(banana):
    X, _, noisy = banana
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=2 .* raise max_iter"):
        RobustKernelLogisticRegression(max_iter=2, noise_matrix=symmetric(0.1)).fit(X, noisy)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "magic"}, "kernel of .* must be one of 'rbf', 'laplacian', 'polynomial'"),
        ({"kernel": "sigmoid"}, "must be one of 'rbf', 'laplacian', 'polynomial', 'linear'"),
        ({"gamma": "auto"}, "gamma of .* must be 'scale', or a finite number above 0"),
        ({"gamma": 0.0}, "gamma of .* must be 'scale', or a finite number above 0"),
        ({"degree": -1}, "degree of .* must be a finite number above 0"),
        ({"coef0": np.nan}, "coef0 of .* must be a finite number"),
        ({"n_components": 0}, "n_components of .* must be an integer of at least 1"),
        ({"noise_matrix": "guess"}, "noise_matrix must be 'estimate' or a 2×2 array"),
        ({"noise_estimator": "guess"}, "noise_estimator of .* 'noise-aware', 'likelihood'"),
        ({"C": 0.0}, "C of RobustKernelLogisticRegression must be a finite number above 0"),
        ({"standardize": 2}, "standardize of .* must be one of True, False"),
        ({"n_init": 0}, "n_init of RobustKernel.* must be an integer of at least 1"),
        ({"max_iter": 0}, "max_iter of RobustKernel.* must be an integer of at least 1"),
        ({"max_rows": 1}, "max_rows of .* must be an integer of at least 2"),
        ({"tol": 0.0}, "tol of RobustKernel.* must be a finite number above 0"),
    ],
)
def test_bad_parameters_are_named(parameters, message, banana):
    model = RobustKernelLogisticRegression(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(banana[0], banana[2])
    with pytest.raises(NotFittedError):
        model.predict(banana[0])
