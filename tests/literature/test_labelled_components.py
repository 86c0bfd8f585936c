import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from rboost.literature.discriminant import LabelledComponents
from tests.strategies import noise_matrices


def labelled_components(seed, noise, n_rows=80, n_components=3):
    random = np.random.RandomState(seed)
    membership = random.dirichlet(np.full(n_components, 0.3), size=n_rows)
    observed = (random.uniform(size=n_rows) < membership[:, 0]).astype(np.intp)
    return LabelledComponents(membership, observed, random.gamma(1.0, size=n_rows) + 0.01, noise)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**31 - 1), noise=noise_matrices(largest_sum=0.8))
def test_class_shares_are_the_maximum_that_another_solver_finds(seed, noise):
    labelled = labelled_components(seed, noise)

    def loss(positive):
        return -labelled.step(np.column_stack([1 - positive, positive]))[1]

    peer = minimize(loss, np.full(3, 0.5), bounds=[(0, 1)] * 3, method="L-BFGS-B")
    shares = labelled.fit()
    assert_allclose(shares.sum(axis=1), 1)
    assert_allclose(loss(shares[:, 1]), peer.fun, atol=1e-5)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**31 - 1), noise=noise_matrices())
def test_the_likelihood_of_the_labels_never_decreases(seed, noise):
    labelled = labelled_components(seed, noise)
    shares, objectives = np.full((3, 2), 0.5), []
    for _ in range(50):
        shares, objective = labelled.step(shares)
        objectives.append(objective)
    assert np.min(np.diff(objectives)) > -1e-12


def test_the_objective_is_the_likelihood_of_the_labels():
    noise = np.array([[0.7, 0.3], [0.1, 0.9]])
    labelled = labelled_components(0, noise)
    shares = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
    expected = 0.0
    for membership, label, weight in zip(
        labelled.membership, labelled.observed, labelled.sample_weight, strict=True
    ):
        chance = sum(
            membership[c] * shares[c, j] * noise[j, label] for c in range(3) for j in range(2)
        )
        expected += weight * np.log(chance)
    assert_allclose(labelled.step(shares)[1], expected / labelled.sample_weight.sum())
