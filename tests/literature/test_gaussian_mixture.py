import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.mixture import GaussianMixture

from rboost.literature.discriminant import MixtureProblem
from rboost.literature.gaussians import STRUCTURES

# What scikit-learn calls our structures.
PEERS = {"separate": "full", "shared": "tied", "diagonal": "diag"}


def blobs(n_rows=300, seed=0):
    random = np.random.RandomState(seed)
    centres = np.array([[-2.0, 0.0], [1.0, 1.5], [1.5, -1.5]])
    return centres[random.randint(3, size=n_rows)] + 0.7 * random.standard_normal((n_rows, 2))


def problem(X, weight=None, prior_rows=0.0, structure="separate", n_init=1):
    weight = np.ones(len(X)) if weight is None else weight
    return MixtureProblem(X, weight, prior_rows, structure, n_init, max_iter=2000, tol=1e-13)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_it_is_the_mixture_of_scikit_learn(structure):
    """From the same centres both climb to the same maximum, and agree on BIC."""
    X = blobs()
    ours = problem(X, structure=structure)
    result = ours.fit(3, np.random.RandomState(0))
    peer = GaussianMixture(
        3,
        covariance_type=PEERS[structure],
        means_init=result.state.means + 0.05,
        reg_covar=0,
        tol=1e-13,
        max_iter=2000,
    ).fit(X)
    assert result.converged
    assert_allclose(result.objectives[-1], peer.score(X), rtol=1e-7)
    assert_allclose(result.state.means, peer.means_, atol=1e-4)
    assert_allclose(result.state.shares, peer.weights_, atol=1e-4)
    assert_allclose(ours.bic(result.state), peer.bic(X), rtol=1e-6)


@pytest.mark.parametrize("structure", STRUCTURES)
@settings(max_examples=20)
@given(seed=st.integers(0, 2**31 - 1), n_components=st.integers(1, 6))
def test_the_objective_never_decreases(structure, seed, n_components):
    random = np.random.RandomState(seed)
    weight = random.gamma(1.0, size=50) + 1e-3
    mixture = problem(blobs(50, seed), weight, prior_rows=2.0, structure=structure)
    gaussians, objectives = mixture.start(n_components, random), []
    for _ in range(40):
        gaussians, objective = mixture.step(gaussians)
        objectives.append(objective)
    assert np.min(np.diff(objectives)) > -1e-10


def test_a_seed_draws_the_same_from_weights_and_from_repeated_rows():
    X = blobs(60)
    X = X[np.lexsort(X.T)]
    weight = np.random.RandomState(0).randint(1, 4, size=60)
    weighted = problem(X, weight.astype(float), 2.0).fit(4, np.random.RandomState(3))
    repeated = problem(np.repeat(X, weight, axis=0), None, 2.0).fit(4, np.random.RandomState(3))
    assert_allclose(weighted.state.means, repeated.state.means, atol=1e-6)


@pytest.mark.slow
def test_more_starts_are_never_worse():
    X = blobs(80, seed=5)
    best = [
        problem(X, prior_rows=2.0, n_init=n_init).fit(6, np.random.RandomState(0)).objectives[-1]
        for n_init in (1, 4)
    ]
    assert best[-1] > best[0]
