"""The native noisy logistic fit against the objective in Python, which specifies it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rboost.learners.logistic_objective import NoisyLogisticObjective, Solution, solve_jointly
from rboost.noise.matrix import with_rates

native = pytest.importorskip("rboost.native._native")
pytestmark = pytest.mark.usefixtures("instruction_set")

# Below 1e-4 the core computes in float64 from values rounded to float32, else all in float32.
FINE, COARSE = 1e-8, 1e-3
SLACK = {FINE: 3e-6, COARSE: 2e-3}  # of a component of the gradient
LOSS_SLACK = {FINE: 2e-6, COARSE: 5e-5}

ROWS = [1, 2, 3, 15, 16, 17, 63, 64, 65, 511, 512, 513]
RATES = [(0.0, 0.0), (0.0, 0.0), (0.2, 0.1), (0.0, 0.98), (0.98, 0.0), (0.49, 0.49), (0.3, 0.0)]


def native_fit(objective, starts, max_iter=1000, tol=FINE, rates=None, **arrays):
    """What the core finds, in the parameters of the objective."""
    mean, scale, _ = objective.columns
    noise = objective.fixed_noise
    estimate = noise is None
    into = rates or ((0.1, 0.1) if estimate else (noise[0, 1], noise[1, 0]))
    given_ = {
        "X": objective.X,
        "observed": objective.observed,
        "weight": objective.sample_weight,
        "center": mean if objective.fit_intercept else np.zeros_like(mean),
        "scale": scale,
        "starts": np.atleast_2d(starts),
        **arrays,
    }
    return Solution(
        *native.fit_logistic(
            *given_.values(),
            C=objective.C,
            fit_intercept=objective.fit_intercept,
            estimate_noise=estimate,
            into_1=into[0],
            into_0=into[1],
            max_iter=max_iter,
            tol=tol,
        )
    )


def table(n_rows, n_features, seed=0, flipped=0.2):
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows, n_features))
    score = X @ random.standard_normal(n_features) / np.sqrt(n_features)
    observed = (score > 0) != (random.uniform(size=n_rows) < flipped)
    return X, observed.astype(np.float64)


def plain(X, observed, weight=None, C=1.0, fit_intercept=True, rates=(0.0, 0.0)):
    weight = np.ones(len(X)) if weight is None else weight
    noise = None if rates is None else with_rates(*rates)
    return NoisyLogisticObjective(X, observed, weight, C, fit_intercept, noise)


def n_parameters(objective):
    return objective.n_linear + 2 * (objective.fixed_noise is None)


def assert_solved(objective, start, tol=FINE, **options):
    """The core ends where it says, no higher than it began, and where nothing descends."""
    found = native_fit(objective, start, tol=tol, **options)
    assert np.isfinite(found.parameters).all()
    point = objective.at(found.parameters)
    reach = farthest(objective)
    slack = LOSS_SLACK[tol] * reach
    assert_allclose(found.loss, point.value, rtol=slack, atol=slack)
    assert found.loss <= objective.at(start).value + slack
    if found.converged:
        # Where the penalty is steep, a gradient stands for a change of loss too small to see.
        steep = max(1.0, objective.penalty / objective.columns.scale.min() ** 2)
        assert np.abs(point.gradient).max() <= tol + SLACK[tol] * reach * np.sqrt(steep)
    return found


def farthest(objective):
    """The largest value as the core sees it, which without intercept centres no column."""
    mean, scale, _ = objective.columns
    values = (objective.X - mean * objective.fit_intercept) / scale
    return max(1.0, np.abs(values).max() / 10)


def assert_lowest(objective, found, tol=FINE):
    """No point of a convex objective that L-BFGS of SciPy finds is lower."""
    best = solve_jointly(objective, np.zeros(n_parameters(objective)), 2000, tol)
    slack = 5 * LOSS_SLACK[tol] * farthest(objective) + (1e-3 if tol == COARSE else 0)
    assert found.loss <= best.loss + slack


@given(
    n_rows=st.sampled_from(ROWS),
    n_features=st.sampled_from([1, 2, 3, 4, 5, 8, 16, 17, 33]),
    rates=st.sampled_from([*RATES, None]),
    reach=st.sampled_from([0.0, 1e-6, 1.0, 10.0, 60.0, 100.0, 500.0, 800.0, 1e5]),
    fit_intercept=st.booleans(),
    C=st.sampled_from([None, 1.0, 1e-4]),
    tol=st.sampled_from([FINE, COARSE]),
    seed=st.integers(0, 99),
)
def test_the_loss_is_the_specified_one(
    n_rows, n_features, rates, reach, fit_intercept, C, tol, seed
):
    X, observed = table(n_rows, n_features, seed)
    objective = plain(X, observed, None, C, fit_intercept, rates)
    start = np.random.RandomState(seed).standard_normal(n_parameters(objective))
    start[: objective.n_linear] *= reach
    start[np.flatnonzero(objective.columns.constant)] = 0
    found = native_fit(objective, start, max_iter=0, tol=tol)
    assert found.n_iter == 0
    assert_array_equal(found.parameters, start)
    # A margin's error is relative to its terms, that of a probability at rate 0 to the margin.
    rtol = 1e-6 if tol == FINE else 1e-4
    assert_allclose(found.loss, objective.at(start).value, rtol=rtol, atol=rtol * (1 + reach))


@given(
    n_rows=st.sampled_from(ROWS),
    n_features=st.integers(1, 33),
    rates=st.sampled_from(RATES),
    fit_intercept=st.booleans(),
    C=st.sampled_from([None, 1.0, 100.0, 1e-3, 1e-12]),
    tol=st.sampled_from([FINE, COARSE]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 999),
)
def test_minima_at_all_sizes(n_rows, n_features, rates, fit_intercept, C, tol, dtype, seed):
    X, observed = table(n_rows, n_features, seed)
    objective = plain(X.astype(dtype), observed, None, C, fit_intercept, rates)
    found = assert_solved(objective, np.zeros(n_parameters(objective)), tol)
    if rates == (0.0, 0.0):  # else there may be several minima
        assert_lowest(objective, found, tol)


def columns_of_a_kind(kind, X, random):
    """Make some of the columns difficult."""
    X, some = X.copy(), random.uniform(size=X.shape[1]) < 0.5
    some[random.randint(X.shape[1])] = True
    if kind == "constant":
        X[:, some] = 7.3
    elif kind == "zero":
        X[:, some] = 0.0
    elif kind == "duplicated":
        X[:, some] = X[:, :1]
    elif kind == "opposite":
        X[:, some] = -3 * X[:, :1]
    elif kind == "tiny":
        X[:, some] *= 1e-8
    elif kind == "large":
        X[:, some] *= 1e8
    elif kind == "far":
        X[:, some] = 1e3 + X[:, some]
    elif kind == "rare":
        X[:, some] = np.arange(len(X))[:, np.newaxis] == 0
    elif kind == "scales":
        X *= 10.0 ** random.randint(-6, 7, X.shape[1])
    return X


COLUMN_KINDS = [
    "constant", "zero", "duplicated", "opposite", "tiny", "large", "far", "rare", "scales",
]  # fmt: skip


def weights_of_a_kind(kind, n_rows, random):
    weight = random.gamma(1.0, size=n_rows) + 1e-3
    if kind == "mostly zero":
        weight[1:] *= random.uniform(size=n_rows - 1) < 0.1
    elif kind == "huge":
        weight *= 1e12
    elif kind == "small":
        weight *= 1e-12
    elif kind == "one heavy":
        weight[0] = 1e9
    elif kind == "any size":
        weight = 10.0 ** random.uniform(-9, 9, n_rows)
    return weight


WEIGHT_KINDS = ["any", "mostly zero", "huge", "small", "one heavy", "any size"]


@settings(max_examples=100)
@given(
    n_rows=st.sampled_from([1, 2, 7, 16, 40, 65, 300]),
    n_features=st.sampled_from([1, 2, 3, 5, 8, 17]),
    columns=st.sampled_from(COLUMN_KINDS),
    weights=st.sampled_from(WEIGHT_KINDS),
    labels=st.sampled_from(["both", "both", "one of each", "zeros", "ones"]),
    rates=st.sampled_from(RATES),
    fit_intercept=st.booleans(),
    C=st.sampled_from([None, 1.0, 1e-6]),
    tol=st.sampled_from([FINE, COARSE]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 999),
)
def test_difficult_tables(
    n_rows, n_features, columns, weights, labels, rates, fit_intercept, C, tol, dtype, seed
):
    random = np.random.RandomState(seed)
    X, observed = table(n_rows, n_features, seed)
    X = columns_of_a_kind(columns, X, random).astype(dtype)
    weight = weights_of_a_kind(weights, n_rows, random)
    if labels == "one of each":
        X, observed, weight = X[:2], np.array([0.0, 1.0])[: len(X)], weight[:2]
    elif labels != "both":
        observed[:] = labels == "ones"
    fit_intercept |= columns == "far"  # else it is not centred, and float32 keeps fewer digits
    objective = plain(X, observed, weight, C, fit_intercept, rates)
    found = assert_solved(objective, np.zeros(n_parameters(objective)), tol)
    if rates == (0.0, 0.0):
        assert_lowest(objective, found, tol)


@given(
    n_rows=st.sampled_from([1, 17, 64, 200, 513]),
    n_features=st.sampled_from([1, 3, 6]),
    C=st.sampled_from([100.0, 1.0, 1e-3]),
    fit_intercept=st.booleans(),
    tol=st.sampled_from([FINE, COARSE]),
    seed=st.integers(0, 999),
)
def test_flip_rates_are_estimated(n_rows, n_features, C, fit_intercept, tol, seed):
    X, observed = table(n_rows, n_features, seed, flipped=0.3)
    objective = plain(X, observed, None, C, fit_intercept, rates=None)
    start = np.random.RandomState(seed).standard_normal(n_parameters(objective))
    start[np.flatnonzero(objective.columns.constant)] = 0
    assert_solved(objective, start, tol)


@pytest.mark.slow
@pytest.mark.parametrize("tol", [FINE, COARSE])
@pytest.mark.parametrize("n_features", [511, 512, 513, 700])
def test_many_columns(n_features, tol):
    """Beyond 512 their correlation is left out."""
    objective = plain(*table(300, n_features))
    found = assert_solved(objective, np.zeros(n_features + 1), tol)
    assert found.converged
    if tol == FINE:  # so many small components of a gradient add up
        assert_lowest(objective, found)


@pytest.mark.parametrize("far", [1e6, -1e8])
def test_columns_far_from_zero_lose_no_digits(far):
    X, observed = table(200, 3)
    there = plain(X + far, observed)
    here = plain(there.X - far, observed)
    found = native_fit(there, np.zeros(4))
    expected = native_fit(here, np.zeros(4), scale=there.columns.scale)
    assert_allclose(found.parameters, expected.parameters, atol=1e-5)
    assert_allclose(found.loss, expected.loss, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_denormal_columns_do_no_harm(dtype):
    X, observed = table(100, 3)
    X[:, 1] = 40 * np.finfo(dtype).smallest_subnormal * np.arange(100)
    with_them, without = plain(X.astype(dtype), observed), plain(X[:, [0, 2]], observed)
    scale = np.where(with_them.columns.scale < 1e-30, 1.0, with_them.columns.scale)
    found = native_fit(with_them, np.zeros(4), scale=scale)
    expected = native_fit(without, np.zeros(3))
    assert_allclose(found.parameters[[0, 2, 3]], expected.parameters, atol=1e-5)
    assert_allclose(found.loss, expected.loss, rtol=1e-6)


def test_rows_without_weight_do_not_count():
    X, observed = table(200, 4)
    weight = np.repeat([1.0, 0.0], 100)
    X[100:] += 50
    whole, part = plain(X, observed, weight), plain(X[:100], observed[:100])
    found, expected = native_fit(whole, np.zeros(5)), native_fit(part, np.zeros(5))
    assert_allclose(found.parameters, expected.parameters, atol=1e-5)
    assert_allclose(found.loss, expected.loss, rtol=1e-6)


def test_the_best_of_several_starts_is_kept():
    X, observed = table(60, 2, flipped=0.4)
    objective = plain(X, observed, C=None, rates=None)
    starts = 3 * np.random.RandomState(0).standard_normal((12, 5))
    single = [native_fit(objective, start) for start in starts]
    best = min(single, key=lambda solution: solution.loss)
    found = native_fit(objective, starts)
    assert_array_equal(found.parameters, best.parameters)
    assert (found.loss, found.n_iter) == (best.loss, best.n_iter)


def test_the_number_of_steps_is_limited():
    objective = plain(*table(300, 10), C=None)
    found = native_fit(objective, np.full(11, 3.0), max_iter=2, tol=1e-12)
    assert found.n_iter == 2
    assert not found.converged
