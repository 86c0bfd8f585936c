"""What the papers of the boosters say of their behaviour, and what all of them must stand."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_hastie_10_2
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from rboost.datasets import make_long_servedio, make_twonorm
from rboost.literature.boosting import TreeBooster as AdaBoost
from rboost.literature.robust_boost import Potential, find_move
from rboost.noise import flip_labels, symmetric
from rboost.rivals import (
    AdaCostClassifier,
    BaggedBoostClassifier,
    CostSensitiveBoostClassifier,
    EtaBoostClassifier,
    LogitBoostClassifier,
    OutlierRemovalBoostClassifier,
    RobustBoostClassifier,
)
from tests.literature import BOOSTERS, cheap

every_booster = pytest.mark.parametrize("booster", BOOSTERS)


@pytest.fixture(scope="module")
def noisy_hastie():
    X, y = make_hastie_10_2(3000, random_state=0)
    observed, flipped = flip_labels(y[:600], symmetric(0.2), random_state=0)
    return X[:600], observed, flipped, X[600:], y[600:]


@pytest.fixture(scope="module")
def long_servedio():
    """1000 rows with a tenth of the labels flipped, 4000 with true labels."""
    X, y = make_long_servedio(5000, random_state=0)
    observed, _ = flip_labels(y[:1000], symmetric(0.1), random_state=0)
    return X[:1000], observed, X[1000:], y[1000:]


def error(model, X, y):
    return 1 - model.score(X, y)


@pytest.mark.slow
def test_adaboost_and_logitboost_fail_where_robustboost_does_not(long_servedio):
    """Freund (2009), section 5; LogitBoost without a cut-off, as there."""
    X, observed, X_test, y_test = long_servedio
    stump = DecisionTreeClassifier(max_depth=1)
    adaboost = AdaBoostClassifier(stump, n_estimators=150).fit(X, observed)
    logit = LogitBoostClassifier(max_response=np.inf, n_estimators=150, max_splits=1)
    assert error(adaboost, X_test, y_test) > 0.2
    assert error(logit.fit(X, observed), X_test, y_test) > 0.2
    robust = RobustBoostClassifier(n_estimators=300, max_splits=1, random_state=0)
    assert error(robust.fit(X, observed), X_test, y_test) < 0.02
    assert robust.time_ == 1
    assert 0.1 < robust.error_goal_ < 0.3


@pytest.mark.slow
def test_a_cut_off_saves_logitboost(long_servedio):
    X, observed, X_test, y_test = long_servedio
    model = LogitBoostClassifier(n_estimators=200, max_splits=1).fit(X, observed)
    assert error(model, X_test, y_test) < 0.02


@pytest.mark.slow
def test_robustboost_ends_with_no_more_errors_than_it_was_told(noisy_hastie):
    X, observed, *_ = noisy_hastie
    errors = []
    for goal in (0.2, 0.3, 0.4):
        model = RobustBoostClassifier(error_goal=goal, margin_goal=0).fit(X, observed)
        assert model.time_ == 1
        errors.append(error(model, X, observed))
        assert errors[-1] <= goal + 0.02
    assert errors == sorted(errors)
    assert errors[0] > 0.15  # and does not fit everything


def test_predictions_of_robustboost_are_the_scores_it_boosted_by(noisy_hastie):
    """F ← F·e^(−Δt) + Δs·h, replayed; a fitted step is Δs·e^t."""
    X, observed, *_ = noisy_hastie
    labels = np.where(observed > 0, 1.0, -1.0)
    model = RobustBoostClassifier(error_goal=0.25, n_estimators=10, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, observed)
    scores, time = np.zeros(len(X)), 0.0
    for addend in model.estimators_:
        votes = addend.tree.predict(X)
        later, step = find_move(
            Potential(0.25, 1.0, 0.1), labels * scores, labels * votes, np.ones(len(X)), time
        )
        scores, time = np.exp(time - later) * scores + step * votes, later
    assert_allclose(time, model.time_)
    assert_allclose(model.decision_function(X) * np.exp(-time), scores, atol=1e-9)


def test_a_goal_that_is_out_of_reach_is_reported(long_servedio):
    X, observed, *_ = long_servedio
    with pytest.warns(UserWarning, match=r"before its error_goal of 0\.05 was met; raise error_g"):
        model = RobustBoostClassifier(error_goal=0.05, max_splits=1).fit(X, observed)
    assert model.time_ < 1


@pytest.mark.slow
def test_robustboost_gives_up_on_rows_far_on_the_wrong_side(noisy_hastie):
    """Weights fall with the distance below the centre of the potential, where AdaBoost's grow."""
    X, observed, flipped, *_ = noisy_hastie
    model = RobustBoostClassifier(error_goal=0.3, random_state=0).fit(X, observed)
    margins = np.where(observed > 0, 1, -1) * model.decision_function(X) * np.exp(-model.time_)
    weights = Potential(0.3, 1.0, 0.1).slope(margins, model.time_)
    far = margins < np.quantile(margins, 0.05)
    assert flipped[far].mean() > 3 * flipped.mean()
    assert weights[far].max() < 0.1 * weights.max()


@pytest.mark.slow
def test_dropped_rows_have_wrong_labels():
    X, y = load_breast_cancer(return_X_y=True)
    observed, flipped = flip_labels(y, symmetric(0.2), random_state=0)
    model = OutlierRemovalBoostClassifier(random_state=0).fit(X, observed)
    assert len(model.removed_) > 20
    assert flipped[model.removed_].mean() > 0.8
    assert model.score(X, y) > AdaBoost(random_state=0).fit(X, observed).score(X, y) + 0.02


@pytest.mark.slow
def test_clean_tables_keep_their_rows():
    X, y = make_twonorm(2400, random_state=0)
    limited, unlimited = (
        OutlierRemovalBoostClassifier(max_removed=limit, random_state=0).fit(X[:400], y[:400])
        for limit in ("estimate", 1.0)
    )
    assert len(limited.removed_) < 0.1 * 400 < len(unlimited.removed_)
    boosted = AdaBoost(random_state=0).fit(X[:400], y[:400])
    assert error(limited, X[400:], y[400:]) < error(boosted, X[400:], y[400:]) + 0.03
    assert error(unlimited, X[400:], y[400:]) > error(boosted, X[400:], y[400:]) + 0.1


def test_dropped_rows_are_numbered_as_they_came():
    X, y = load_breast_cancer(return_X_y=True)
    observed, _ = flip_labels(y, symmetric(0.2), random_state=0)
    weight = np.r_[np.zeros(100), np.ones(len(y) - 100)]
    options = {"max_removed": 0.1, "n_estimators": 40}
    whole = OutlierRemovalBoostClassifier(**options).fit(X, observed, weight)
    rest = OutlierRemovalBoostClassifier(**options).fit(X[100:], observed[100:])
    assert len(rest.removed_)
    assert np.array_equal(whole.removed_, rest.removed_ + 100)


def test_no_class_loses_all_its_rows():
    X = np.arange(30.0)[:, np.newaxis] % 7
    y = np.r_[np.zeros(28), np.ones(2)]
    model = OutlierRemovalBoostClassifier(max_weight=1.01, max_removed=1.0).fit(X, y)
    assert len(np.unique(np.delete(y, model.removed_))) == 2


@pytest.mark.slow
def test_bagging_averages_out_what_boosting_chases(noisy_hastie):
    X, observed, _, X_test, y_test = noisy_hastie
    boosted = AdaBoost(n_estimators=30, max_splits=5).fit(X, observed)
    bagged = BaggedBoostClassifier(n_bags=7, n_estimators=30, max_splits=5, random_state=0).fit(
        X, observed
    )
    assert error(bagged, X_test, y_test) < error(boosted, X_test, y_test) - 0.01


@pytest.mark.slow
def test_eta_boost_stands_flips_near_the_boundary_better_than_adaboost():
    """Its own kind of noise: p(flip) = η / ((1 − η)(e^F + e^−F) + 2η)."""
    errors = []
    for seed in range(10):
        random = np.random.RandomState(seed)
        X = random.normal(size=(1300, 5))
        score = 3 * X[:, :2].sum(axis=1)
        y = np.where(score > 0, 1, -1)
        flip = 0.9 / (0.1 * (np.exp(score) + np.exp(-score)) + 1.8)
        observed = np.where(random.uniform(size=len(y)) < flip, -y, y)
        errors.append(
            [
                error(booster.fit(X[:300], observed[:300]), X[300:], y[300:])
                for booster in (
                    AdaBoost(n_estimators=120),
                    EtaBoostClassifier(eta=0.8, n_estimators=120),
                )
            ]
        )
    adaboost, eta_boost = np.mean(errors, axis=0)
    assert eta_boost < adaboost


@pytest.mark.slow
@pytest.mark.parametrize(
    "build",
    [
        lambda costs: AdaCostClassifier(class_costs=costs, cost_factor="outside"),
        lambda costs: AdaCostClassifier(class_costs=costs),
        lambda costs: CostSensitiveBoostClassifier(class_costs=costs),
    ],
    ids=["outside", "inside", "in the loss"],
)
def test_dear_errors_become_rarer(build, noisy_hastie):
    X, observed, _, X_test, y_test = noisy_hastie
    missed = []
    for costs in ([3, 1], [1, 1], [1, 3]):
        predicted = build(costs).set_params(n_estimators=30).fit(X, observed).predict(X_test)
        missed.append(np.mean(predicted[y_test > 0] < 0))
    assert missed[0] > missed[1] > missed[2]


@pytest.mark.parametrize("booster", [AdaCostClassifier, CostSensitiveBoostClassifier])
@pytest.mark.parametrize("costs", ["dear", [1.0], [1.0, -1.0], [1.0, np.inf], None], ids=str)
def test_costs_that_are_none_end_in_one_sentence(booster, costs):
    with pytest.raises(ValueError, match="class_costs must be 'balanced' or two positive numbers"):
        booster(class_costs=costs).fit([[0.0], [1.0]], [0, 1])


@every_booster
def test_no_threads_are_refused(booster):
    with pytest.raises(ValueError, match=r"n_jobs of .* must be a number of threads, .* not 0\."):
        booster(n_jobs=0).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.slow
@every_booster
def test_separable_rows_stay_finite(booster):
    X = np.linspace(-1, 1, 40)[:, np.newaxis]
    model = cheap(booster, 200)
    model.fit(X, X[:, 0] > 0)
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert np.all(np.isfinite(model.decision_function(X)))
    assert model.score(X, X[:, 0] > 0) == 1


@every_booster
def test_rows_that_are_all_alike(booster):
    X = np.ones((30, 2))
    model = cheap(booster, 20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, np.arange(30) % 3 == 0)
    assert np.all(np.isfinite(model.predict_proba(X)))
    if not model.estimators_:
        assert any("No base learner was kept" in str(warning.message) for warning in caught)


def test_a_goal_that_no_search_can_meet_is_reported():
    y = np.arange(60) % 2
    model = RobustBoostClassifier(random_state=0)
    with (
        pytest.warns(UserWarning, match=r"RobustBoost ended at time 0\.00 of 1"),
        pytest.warns(UserWarning, match="No base learner was kept"),
    ):
        model.fit(np.ones((60, 1)), y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:RobustBoost ended at time")  # twenty rounds are few
@every_booster
def test_the_other_class_is_the_mirror_image(booster, noisy_hastie):
    X, observed, _, X_test, _ = noisy_hastie
    model = cheap(booster, 20)
    model, mirrored = (clone(model).fit(X, y) for y in (observed, -observed))
    differs = np.abs(mirrored.decision_function(X_test) + model.decision_function(X_test)) > 1e-8
    # A leaf with as many rows of either class votes for the first, which bags of whole counts have.
    assert differs.mean() <= (0.1 if booster is BaggedBoostClassifier else 0)
