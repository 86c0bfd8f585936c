import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rboost.boosting.learners import check_learner, fit_learner, seeded_parameters
from rboost.tables import Table


class Recorder(DecisionTreeClassifier):
    """A tree that remembers what it was fitted on."""

    def fit(self, X, y, sample_weight=None):
        self.seen = X, y, sample_weight
        return super().fit(X, y, sample_weight)


def fit(estimator, targets, weights, sample_weight=None, sampling="none"):
    n_rows = len(targets)
    sample_weight = np.ones(n_rows) if sample_weight is None else sample_weight
    table = Table(np.arange(float(n_rows))[:, None], np.ones(n_rows), sample_weight)
    return fit_learner(
        estimator,
        table,
        np.asarray(targets, float),
        np.asarray(weights, float),
        sampling=sampling,
        max_samples=1.0,
        seeded=seeded_parameters(estimator),
        random_state=np.random.RandomState(0),
    )


def test_weights_keep_the_total_of_the_sample_weights():
    sample_weight = np.array([1.0, 2.0, 3.0, 4.0])
    learner = fit(Recorder(), [1, -1, 1, -1], [0.1, 0.2, 0.7, 0.1], sample_weight)
    _, classes, weights = learner.seen
    np.testing.assert_array_equal(classes, [1, 0, 1, 0])
    np.testing.assert_allclose(weights.sum(), 10, rtol=1e-8)
    np.testing.assert_allclose(weights / weights.sum(), np.array([1, 2, 7, 1]) / 11, rtol=1e-8)


def test_weight_sums_are_exact_in_any_order(rng):
    weights = rng.gamma(1.0, size=1000)
    _, _, scaled = fit(Recorder(), np.resize([1, -1], 1000), weights).seen
    assert len({scaled[rng.permutation(1000)].sum() for _ in range(20)}) == 1


def test_weights_over_300_orders_of_magnitude():
    weights = 10.0 ** np.linspace(-300, 0, 50)
    _, _, scaled = fit(Recorder(), np.resize([1, -1], 50), weights).seen
    assert np.all(np.isfinite(scaled))
    np.testing.assert_allclose(scaled.sum(), 50)


def test_one_class_left_gives_the_constant_vote():
    learner = fit(LogisticRegression(), [1, 1, 1, -1], [1, 1, 1, 0])
    assert isinstance(learner, DummyClassifier)
    np.testing.assert_array_equal(learner.predict(np.zeros((2, 1))), [1, 1])


def test_vanished_weights_count_alike():
    _, _, weights = fit(Recorder(), [1, -1, 1], [0, 0, 0], sample_weight=np.array([1.0, 2, 3])).seen
    np.testing.assert_array_equal(weights, [1, 2, 3])


def test_every_random_part_gets_its_own_seed():
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    first = fit(pipeline, [1, -1] * 5, np.ones(10), sampling="weights")
    assert isinstance(first[-1].random_state, int)
    assert pipeline[-1].random_state is None


@pytest.mark.parametrize(
    "estimator", [DecisionTreeClassifier, LinearRegression(), KMeans(), "tree", 3], ids=str
)
def test_only_classifiers_can_be_boosted(estimator):
    with pytest.raises(ValueError, match="estimator must be a scikit-learn classifier"):
        check_learner(estimator, "none", 1.0)


def test_weighting_needs_sample_weight():
    with pytest.raises(ValueError, match=r"KNeighborsClassifier takes no sample_weight.*'weights'"):
        check_learner(KNeighborsClassifier(), "uniform", 1.0)
    check_learner(KNeighborsClassifier(), "weights", 2.0)
