import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rboost.wrappers.aware import class_probability, fit_latent, fit_soft, weight_argument
from tests.strategies import noise_matrices


def test_weights_reach_the_last_step_of_a_pipeline():
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    assert weight_argument(LogisticRegression()) == "sample_weight"
    assert weight_argument(inner) == "logisticregression__sample_weight"
    nested = make_pipeline(StandardScaler(), inner)
    assert weight_argument(nested) == "pipeline__logisticregression__sample_weight"
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        weight_argument(make_pipeline(StandardScaler(), KNeighborsClassifier()))


class Recorder:
    """Remembers what it is fitted to."""

    def fit(self, X, y, sample_weight):
        self.rows = X, y, sample_weight
        return self


def test_rows_stand_there_once_for_each_class_that_they_may_be_of():
    X = np.array([[10.0], [20.0], [30.0], [40.0]])
    target = np.array([[1.0, 0, 0], [0.75, 0.25, 0], [0.2, 0.3, 0.5], [0.5, 0.5, 0]])
    copies, y, weight = fit_soft(Recorder(), X, target, np.array([1.0, 2.0, 3.0, 0.0])).rows
    np.testing.assert_array_equal(copies[:, 0], [10, 20, 20, 30, 30, 30])
    np.testing.assert_array_equal(y, [0, 0, 1, 0, 1, 2])
    assert_allclose(weight, [1, 1.5, 0.5, 0.6, 0.9, 1.5])


def test_a_class_that_a_model_was_not_shown_has_probability_0():
    X = np.arange(20.0)[:, np.newaxis]
    model = LogisticRegression().fit(X, np.repeat([0, 2], 10))
    found = class_probability(model, X, 4)
    assert_allclose(found[:, [0, 2]], model.predict_proba(X))
    assert not found[:, [1, 3]].any()


@given(noise_matrices(largest_sum=0.8), st.integers(0, 2**31 - 1))
def test_a_table_of_groups_by_hand(noise_matrix, seed):
    """A classifier that takes the mean of μ in each of two groups: EM in closed form."""
    random = np.random.RandomState(seed)
    group, weight = np.arange(60) % 2, random.uniform(0.5, 2, size=60)
    observed = (random.uniform(size=60) < np.where(group, 0.8, 0.3)).astype(int)

    def group_means(target):
        means = [np.average(target[group == g], axis=0, weights=weight[group == g]) for g in (0, 1)]
        return np.clip(np.array(means)[group], 1e-6, 1 - 1e-6)

    found = fit_latent(
        group_means, observed, weight, noise_matrix, max_iter=5000, tol=1e-12, verbose=False
    )
    assert np.all(np.diff(found.log_likelihood) >= -1e-6)  # the clip may cost a little
    for g in (0, 1):
        share = np.average(observed[group == g], weights=weight[group == g])
        low, high = noise_matrix[0, 1], noise_matrix[1, 1]
        expected = np.clip((share - low) / (high - low), 0, 1)  # eq. (1) solved for p
        assert_allclose(found.probability[group == g, 1], expected, atol=0.02)
