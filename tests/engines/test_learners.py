import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from rboost import RBoostClassifier, RobustLogisticRegression
from rboost.boosting.learners import (
    check_classes,
    check_learner,
    check_sampling,
    scaled_weights,
    seeded_parameters,
)
from rboost.rivals import EtaBoostClassifier


def test_weight_sums_are_exact_in_any_order(rng):
    scaled = scaled_weights(rng.gamma(1.0, size=1000), np.ones(1000))
    assert len({scaled[rng.permutation(1000)].sum() for _ in range(20)}) == 1


def test_weights_over_300_orders_of_magnitude():
    scaled = scaled_weights(10.0 ** np.linspace(-300, 0, 50), np.ones(50))
    assert np.all(np.isfinite(scaled))
    np.testing.assert_allclose(scaled.sum(), 50)


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


class FewRows(DecisionTreeClassifier):
    """A tree that wants few rows, and counts them."""

    max_rows = 8

    def fit(self, X, y, sample_weight=None):
        self.n_rows = len(X)
        return super().fit(X, y, sample_weight)


def described(*estimators):
    return [check_learner(estimator, "uniform", "probability") for estimator in estimators]


def test_what_a_learner_can_do_is_found_out_once():
    tree, linear, few = described(
        DecisionTreeClassifier(), RobustLogisticRegression(max_rows=50), FewRows()
    )
    assert (tree.max_rows, tree.native) == (None, None)
    assert linear.native is linear.estimator
    assert (linear.max_rows, few.max_rows) == (50, 8)
    assert tree.seeded == ["random_state"]


def test_parameters_left_at_their_defaults_are_set_for_boosting():
    given = RobustLogisticRegression(C=0.5, n_init=3)
    tuned = check_learner(given, "uniform", "probability", out_of_bag=True)
    settings = {**given.boosting_settings, "n_init": 3}
    assert tuned.estimator.get_params() == {**given.get_params(), **settings}
    assert tuned.native is tuned.estimator
    assert tuned.max_rows == settings["max_rows"]
    assert repr(given) == repr(RobustLogisticRegression(C=0.5, n_init=3))
    assert check_learner(given, "none", "class").estimator.get_params() == (
        given.get_params()
    )  # the paper's version


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_learners_as_written_are_the_tuned_ones(rng, n_classes):
    X, noise = rng.standard_normal((90, 3)), rng.standard_normal(90)
    y = np.digitize(X[:, 0] + noise, [0, 1][: n_classes - 1])
    tuned = RobustLogisticRegression(**RobustLogisticRegression.boosting_settings)
    written, meant = (
        RBoostClassifier(learner, n_estimators=20, random_state=0).fit(X, y).decision_function(X)
        for learner in (RobustLogisticRegression(), tuned)
    )
    np.testing.assert_array_equal(written, meant)


def test_learners_of_two_classes_are_not_given_more():
    two_classes_only = described(EtaBoostClassifier())
    check_classes(two_classes_only, 2)
    with pytest.raises(ValueError, match=r"Only binary .* EtaBoostClassifier.* 3 classes"):
        check_classes(two_classes_only, 3)
    check_classes(described(DecisionTreeClassifier()), 3)
