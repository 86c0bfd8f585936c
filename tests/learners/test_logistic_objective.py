import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import check_grad
from scipy.special import expit

from rboost.learners.logistic_objective import SOLVERS, FlipRates, FreeRows, NoisyLogisticObjective
from rboost.noise import symmetric

FIXED = np.array([[0.8, 0.2], [0.3, 0.7]])
NEXT_CLASS = np.array([[0.7, 0.3, 0.0], [0.0, 0.9, 0.1], [0.2, 0.0, 0.8]])
# The number of scores and the noise matrix, None where it is estimated.
KINDS = {
    "free": (1, None),
    "fixed": (1, FIXED),
    "none": (1, np.eye(2)),
    "three free": (3, None),
    "three fixed": (3, NEXT_CLASS),
}


def n_logits(parameters):
    """How many numbers a noise matrix is packed into."""
    n_classes = getattr(parameters, "n_classes", 2)
    return n_classes * (n_classes - 1)


def objective(seed=0, *, to_sparse=False, C=0.7, fit_intercept=True, fixed_noise=None, n_scores=1):
    random = np.random.RandomState(seed)
    # Columns of very different location and scale: the parameters must cope, not the user.
    X = random.standard_normal((30, 4)) * [1, 100, 0.01, 5] + [0, 2000, 0, -3]
    observed = random.randint(max(2, n_scores), size=30).astype(float)
    X = sparse.csr_array(X) if to_sparse else X
    weight = random.gamma(1.0, size=30)
    return NoisyLogisticObjective(X, observed, weight, C, fit_intercept, fixed_noise, n_scores)


def n_parameters(problem):
    free = problem.fixed_noise is None
    return problem.n_linear + (n_logits(problem.noise_parameters) if free else 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [None, 0.7])
def test_gradient_matches_numerical_derivative(kind, fit_intercept, C):
    n_scores, fixed_noise = KINDS[kind]
    problem = objective(
        C=C, fit_intercept=fit_intercept, fixed_noise=fixed_noise, n_scores=n_scores
    )
    for seed in range(20):
        # Without an intercept a column far from 0 makes huge margins; stay where they are moderate.
        at = (1.0 if fit_intercept else 0.05) * np.random.RandomState(seed).standard_normal(
            n_parameters(problem)
        )

        def value(parameters):
            return problem.at(parameters).value

        def gradient(parameters):
            return problem.at(parameters).gradient

        assert check_grad(value, gradient, at) < 1e-5 * max(1, np.abs(gradient(at)).max())


@pytest.mark.parametrize("n_scores", [1, 3])
def test_sparse_and_dense_agree(n_scores):
    dense, scattered = objective(n_scores=n_scores), objective(n_scores=n_scores, to_sparse=True)
    at = np.random.RandomState(3).standard_normal(n_parameters(dense))
    assert_allclose(dense.at(at).value, scattered.at(at).value, rtol=1e-6)
    assert_allclose(dense.at(at).gradient, scattered.at(at).gradient, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("parameters", [FlipRates(), FreeRows(2), FreeRows(4)])
def test_noise_matrices_are_those_of_their_logits(parameters):
    random = np.random.RandomState(0)
    logits = random.standard_normal(n_logits(parameters))
    matrix = parameters.matrix(logits)
    assert_allclose(matrix.sum(axis=1), 1)
    assert_allclose(parameters.logits(matrix), logits, rtol=1e-10, atol=1e-10)
    clean = parameters.matrix(parameters.logits(np.eye(len(matrix))))
    assert_allclose(clean, np.eye(len(matrix)), atol=1e-200)


@pytest.mark.parametrize("solver", SOLVERS)
def test_two_scores_are_one_margin(solver):
    """The code for several classes finds what that for two finds, at the same penalty.

    Half the margin is the score of each class, so their squares sum to half that of the margin.
    """
    random = np.random.RandomState(1)
    X = random.standard_normal((300, 3))
    labels = (random.uniform(size=300) < expit(2 * X[:, 0])).astype(float)
    flipped = (random.uniform(size=300) < 0.2) & (labels == 0)
    observed, weight = np.where(flipped, 1.0, labels), random.gamma(1.0, size=300)
    solve = SOLVERS[solver]
    for noise in (np.array([[0.8, 0.2], [0.0, 1.0]]), None):
        margin = NoisyLogisticObjective(X, observed, weight, 2.0, True, noise)
        scores = NoisyLogisticObjective(X, observed, weight, 1.0, True, noise, 2)
        rates = [] if noise is not None else [0.1, 0.1]
        starts = [
            np.append(np.zeros(4), margin.noise_parameters.logits(symmetric(0.1))[: len(rates)]),
            np.append(np.zeros(8), scores.noise_parameters.logits(symmetric(0.1))[: len(rates)]),
        ]
        one, other = (
            problem.at(solve(problem, start, 5_000, 1e-7).parameters)
            for problem, start in zip((margin, scores), starts, strict=True)
        )
        assert_allclose(other.value, one.value, atol=1e-6)
        assert_allclose(other.rows.true_probability, one.rows.true_probability, atol=2e-3)
        assert_allclose(other.noise_matrix, one.noise_matrix, atol=2e-3)


def test_rates_always_satisfy_the_constraint():
    problem = objective()
    for extreme in [(-700.0, 5.0), (30.0, 30.0), (-40.0, -40.0)]:
        noise = problem.noise_matrix(np.concatenate([np.zeros(5), extreme]))
        assert_allclose(noise.sum(axis=1), 1)
        assert noise[0, 1] + noise[1, 0] <= 1
        assert np.all(noise >= 0)


def test_penalty_acts_on_the_coefficients_in_the_units_of_x():
    free, penalised = objective(C=None), objective(C=0.5)
    at = np.random.RandomState(4).standard_normal(7)
    coef, _ = penalised.linear_model(at[:5])
    expected = coef @ coef / (2 * 0.5 * penalised.weight_sum)
    difference = penalised.at(at).value - free.at(at).value
    assert_allclose(difference, expected, rtol=1e-9)


def test_margins_are_those_of_the_linear_model():
    problem = objective()
    at = np.random.RandomState(5).standard_normal(7)
    coef, intercept = problem.linear_model(at[:5])
    margins = problem.class_scores(at[:5]) @ [-1, 1]
    assert_allclose(margins, problem.X @ coef + intercept)


@pytest.mark.parametrize("kind", ["fixed", "three fixed"])
def test_curvature_is_the_second_derivative_at_expected_labels(kind):
    """Fisher's curvature is exact where the labels weigh what the model expects of them."""
    random = np.random.RandomState(6)
    n_scores, noise = KINDS[kind]
    problem = objective(fixed_noise=noise, n_scores=n_scores)
    at, direction = random.standard_normal((2, n_parameters(problem)))
    expected = problem.at(at).rows.true_probability @ noise
    n_rows, n_classes = expected.shape
    every_label = NoisyLogisticObjective(
        np.repeat(problem.X, n_classes, axis=0),
        np.tile(np.arange(n_classes), n_rows).astype(float),
        np.repeat(problem.sample_weight, n_classes) * expected.ravel(),
        problem.C,
        problem.fit_intercept,
        noise,
        n_scores,
    )
    h = 1e-4
    slopes = [every_label.at(at + step * direction).gradient @ direction for step in [-h, h]]
    numerical = (slopes[1] - slopes[0]) / (2 * h)
    for rows in (problem, every_label):
        assert_allclose(rows.at(at).curvature(direction), numerical, rtol=1e-5)
