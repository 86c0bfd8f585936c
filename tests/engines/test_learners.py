import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from rboost import RobustLogisticRegression
from rboost.engines.learners import (
    Ensemble,
    ValidatedRows,
    check_classes,
    check_learner,
    coded,
    in_blocks,
    scaled_weights,
    seeded_parameters,
)
from rboost.learners import RandomKernelClassifier
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
    assert tree.max_rows is None
    assert (linear.max_rows, few.max_rows) == (50, 8)
    assert tree.seeded == ["random_state"]


def test_learners_of_two_classes_are_not_given_more():
    two_classes_only = described(EtaBoostClassifier())
    check_classes(two_classes_only, 2)
    with pytest.raises(ValueError, match=r"Only binary .* EtaBoostClassifier.* 3 classes"):
        check_classes(two_classes_only, 3)
    check_classes(described(DecisionTreeClassifier()), 3)


LEARNERS = [
    DecisionTreeClassifier(max_depth=3, random_state=0),
    ExtraTreeClassifier(max_depth=3, random_state=0),
    RandomKernelClassifier(n_components=20, random_state=0),
    GaussianNB(),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, int])
@pytest.mark.parametrize("votes", ["class", "probability"])
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_validated_rows_change_no_learner(learner, votes, dtype, rng):
    """Checks are left out, results are not."""
    X = (3 * rng.standard_normal((80, 3))).astype(dtype)
    y, weight = (X[:, 0] > 0).astype(int), rng.gamma(1.0, size=80)
    some = np.arange(0, 80, 2)
    rows = ValidatedRows(X)
    ours = rows.fit(clone(learner), some, y[some], sample_weight=weight[some])
    theirs = clone(learner).fit(X[some], y[some], sample_weight=weight[some])
    ask = {"class": theirs.predict, "probability": theirs.predict_proba}[votes]
    expected = np.eye(2)[ask(X)] if votes == "class" else ask(X)
    np.testing.assert_allclose(rows.votes(ours, votes, 2), expected, atol=1e-12)
    np.testing.assert_allclose(rows.votes(ours, votes, 2, some), expected[some], atol=1e-12)


def test_rows_that_only_a_tree_knows_how_to_read_are_left_to_it(rng):
    X = rng.standard_normal((80, 3))
    X[0, 0] = np.nan
    y = (X[:, 1] > 0).astype(int)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    fitted = ValidatedRows(X).fit(tree, slice(None), y)
    np.testing.assert_array_equal(fitted.predict(X), clone(tree).fit(X, y).predict(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_ensemble_sums_votes_by_their_steps_in_blocks_or_not(n_classes, rng, monkeypatch):
    X = rng.standard_normal((90, 3))
    y, steps = np.digitize(X[:, 0], [0.0, 0.5][: n_classes - 1]), np.array([0.5, 0.2])
    learners = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, y) for d in (1, 3)]
    ensemble = Ensemble(learners, steps, "probability", n_classes)
    expected = sum(
        step * coded(learner.predict_proba(X))
        for step, learner in zip(steps, learners, strict=True)
    )
    np.testing.assert_allclose(ensemble.scores(X, 1), expected)
    np.testing.assert_allclose(sum(ensemble.contributions(X)), expected)
    assert len(ensemble) == 2
    monkeypatch.setitem(in_blocks.__globals__, "BLOCK_ROWS", 25)
    for n_jobs in (1, 2):
        np.testing.assert_allclose(ensemble.scores(X, n_jobs), expected)
    importances = steps @ [learner.feature_importances_ for learner in learners] / steps.sum()
    np.testing.assert_allclose(ensemble.feature_importances(), importances)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_empty_ensemble_says_nothing(n_classes):
    ensemble = Ensemble([], np.zeros(0), "class", n_classes)
    shape = (4,) if n_classes == 2 else (4, n_classes)
    np.testing.assert_array_equal(ensemble.scores(np.ones((4, 2)), 1), np.zeros(shape))
    with pytest.raises(AttributeError, match="no feature_importances_"):
        ensemble.feature_importances()
