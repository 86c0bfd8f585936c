import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from rboost.boosting.learners import (
    check_learner,
    check_sampling,
    fit_learner,
    prepare_pool,
    seeded_parameters,
)
from rboost.boosting.sampling import Randomness
from rboost.learners import HistogramTreeClassifier
from rboost.tables import Table


class Recorder(DecisionTreeClassifier):
    """A tree that remembers what it was fitted on."""

    def fit(self, X, y, sample_weight=None):
        self.seen = X, y, sample_weight
        return super().fit(X, y, sample_weight)


def learn(pool, targets, weights, sample_weight=None, sampling="none", max_samples=1.0, number=0):
    n_rows = len(targets)
    sample_weight = np.ones(n_rows) if sample_weight is None else sample_weight
    trusted = np.zeros(n_rows, dtype=bool)
    table = Table(np.arange(float(n_rows))[:, None], np.ones(n_rows), sample_weight, trusted)
    return fit_learner(
        prepare_pool(pool, table.X),
        table,
        np.asarray(targets, float),
        np.asarray(weights, float),
        number,
        sampling=sampling,
        max_samples=max_samples,
        random=Randomness(np.random.RandomState(0)),
    )


def fit(estimator, *arguments, **options):
    return learn([estimator], *arguments, **options).learner


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


def test_the_estimators_of_a_pool_take_turns():
    pool = [LogisticRegression(), DecisionTreeClassifier(), DummyClassifier()]
    for number in range(7):
        learner = learn(pool, [1, -1] * 5, np.ones(10), number=number).learner
        assert type(learner) is type(pool[number % 3])
        assert learner is not pool[number % 3]


@pytest.mark.parametrize("sampling", ["none", "uniform", "weights"])
def test_the_rows_that_a_learner_has_seen_are_those_it_was_fitted_to(sampling):
    found = learn([Recorder()], [1, -1] * 20, np.ones(40), sampling=sampling, max_samples=0.5)
    X, _, weights = found.learner.seen
    assert found.seen.dtype == bool
    np.testing.assert_array_equal(np.flatnonzero(found.seen), np.unique(X))
    assert len(X) == (40 if sampling == "none" else 20)
    if sampling == "none":
        assert found.seen.all()
    if sampling != "weights":
        np.testing.assert_allclose(weights.sum(), len(X), rtol=1e-8)


def test_a_row_without_weight_counts_as_seen_where_it_was_passed_on():
    found = learn([Recorder()], [1, -1, 1, -1], [1, 1, 0, 1])
    assert found.seen.all()
    found = learn([Recorder()], [1, -1, 1, -1], [1, 1, 0, 1], sampling="weights", max_samples=50)
    np.testing.assert_array_equal(found.seen, [True, True, False, True])


@pytest.mark.parametrize(
    "estimator", [DecisionTreeClassifier, LinearRegression(), KMeans(), "tree", 3], ids=str
)
def test_only_classifiers_can_be_boosted(estimator):
    with pytest.raises(ValueError, match="estimator must be a scikit-learn classifier"):
        check_learner(estimator, "none", "class")


def test_weighting_needs_sample_weight():
    with pytest.raises(ValueError, match=r"KNeighborsClassifier takes no sample_weight.*'weights'"):
        check_learner(KNeighborsClassifier(), "uniform", "class")
    check_learner(KNeighborsClassifier(), "weights", "class")


def test_votes_by_probability_need_predict_proba():
    with pytest.raises(ValueError, match=r"LinearSVC has no predict_proba.*use votes='class'"):
        check_learner(LinearSVC(), "uniform", "probability")
    check_learner(LinearSVC(), "uniform", "class")
    check_learner(DecisionTreeClassifier(), "uniform", "probability")


@pytest.mark.parametrize(
    ("sampling", "max_samples", "message"),
    [
        ("uniform", 1.5, "max_samples is a fraction and must be at most 1"),
        ("uniform", 1, "sampling='uniform' with max_samples=1 leaves none out"),
        ("none", 0.5, "sampling='none' with max_samples=0.5 leaves none out"),
    ],
)
def test_out_of_bag_needs_rows_that_are_left_out(sampling, max_samples, message):
    with pytest.raises(ValueError, match=message):
        check_sampling(sampling, max_samples, out_of_bag=True, noise_estimator="noise-aware")


def test_noise_is_inferred_from_out_of_bag_scores_only():
    for sampling in ["none", "uniform", "weights"]:
        with pytest.raises(ValueError, match=r"'noise-aware' needs out-of-bag scores"):
            check_sampling(sampling, 0.5, out_of_bag=False, noise_estimator="noise-aware")
        check_sampling(sampling, 1.0, out_of_bag=False, noise_estimator="paper")
        check_sampling(sampling, 1.0, out_of_bag=False, noise_estimator="none")
    check_sampling("weights", 2.0, out_of_bag=True, noise_estimator="noise-aware")


def test_seeds_are_found_in_every_part():
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    assert seeded_parameters(pipeline) == ["decisiontreeclassifier__random_state"]
    assert seeded_parameters(KNeighborsClassifier()) == []


class Halves(DecisionTreeClassifier):
    """A tree that takes values divided by two, counts how often it divides, and wants few rows."""

    calls = 0
    max_rows = 8

    def prepare(self, X):
        type(self).calls += 1
        return X / 2

    def fit(self, X, y, sample_weight=None):
        self.n_rows = len(X)
        return super().fit(X, y, sample_weight)


def test_rows_are_prepared_for_those_who_ask_for_it(rng):
    X = rng.standard_normal((20, 2))
    tree, other = HistogramTreeClassifier(), HistogramTreeClassifier(max_depth=2)
    coarse, plain = HistogramTreeClassifier(max_bins=3), DecisionTreeClassifier()
    pool = prepare_pool([tree, plain, other, coarse], X)
    assert [learner for learner, _ in pool] == [tree, plain, other, coarse]
    assert pool[0][1] is pool[2][1]
    assert pool[1][1] is X
    assert pool[3][1].bins.max() <= 2
    Halves.calls = 0
    ((_, halves),) = prepare_pool([Halves()], X)
    np.testing.assert_array_equal(halves, X / 2)
    assert Halves.calls == 1


def test_a_learner_is_fitted_to_prepared_rows_and_no_more_than_it_wants():
    found = learn([Halves()], [1, -1] * 20, np.ones(40), sampling="uniform", max_samples=0.5)
    assert found.learner.n_rows == found.seen.sum() == 8
    np.testing.assert_array_equal(found.X[:, 0], np.arange(40) / 2)
    found = learn([Halves()], [1, -1] * 20, np.ones(40), sampling="uniform", max_samples=0.1)
    assert found.learner.n_rows == 4
    found = learn([Halves()], [1, -1] * 20, np.ones(40), sampling="weights")
    assert found.learner.n_rows == 8
    assert learn([Halves()], [1, -1] * 20, np.ones(40)).learner.n_rows == 40


def test_the_constant_vote_takes_prepared_rows():
    found = learn([HistogramTreeClassifier()], [1, 1, 1, -1], [1, 1, 1, 0])
    assert isinstance(found.learner, DummyClassifier)
    np.testing.assert_array_equal(found.learner.predict(found.X), np.ones(4))
