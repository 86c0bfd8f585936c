"""Each booster is AdaBoost, or another one, where its paper says so, and nowhere else."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from rboost.literature.boosting import TreeBooster as AdaBoost
from rboost.noise import flip_labels, symmetric
from rboost.rivals import (
    AdaCostClassifier,
    BaggedBoostClassifier,
    CostSensitiveBoostClassifier,
    EtaBoostClassifier,
    GentleBoostClassifier,
    LogitBoostClassifier,
    OutlierRemovalBoostClassifier,
)
from tests.literature import BOOSTERS, cheap
from tests.models import algorithm_1

REDUCED = {
    "AdaBoost itself": AdaBoost(),
    "equal costs inside": AdaCostClassifier(class_costs=[3, 3]),
    "equal costs outside": AdaCostClassifier(class_costs=[3, 3], cost_factor="outside"),
    "equal costs in the loss": CostSensitiveBoostClassifier(class_costs=[0.2, 0.2]),
    "no wrong labels": EtaBoostClassifier(eta=0),
    "no threshold": OutlierRemovalBoostClassifier(max_weight=np.inf),
}


def fitted_adaboost(X, observed):
    """AdaRBoostClassifier with the identity, which is tested against scikit-learn's AdaBoost."""
    tree = DecisionTreeClassifier(max_leaf_nodes=3)
    model = algorithm_1(tree, n_estimators=25, noise_matrix=np.eye(2), random_state=0)
    return model.fit(X, observed)


@pytest.mark.slow
@pytest.mark.parametrize("booster", REDUCED.values(), ids=REDUCED.keys())
def test_special_cases_are_adaboost_round_by_round(booster, noisy_banana):
    X, _, observed, _ = noisy_banana  # two features: no ties that a seed would break
    adaboost = fitted_adaboost(X, observed)
    booster.set_params(n_estimators=25).fit(X, observed)
    rounds = zip(
        booster.staged_decision_function(X), adaboost.staged_decision_function(X), strict=True
    )
    for ours, expected in rounds:
        assert_allclose(ours, expected, atol=1e-9)


@pytest.mark.slow
def test_no_two_are_the_same_and_none_is_adaboost_by_another_name():
    """Two thirds of the rows are of one class, so that balanced costs are not equal."""
    X, y = load_breast_cancer(return_X_y=True)
    observed, _ = flip_labels(y, symmetric(0.1), random_state=0)
    models = [cheap(booster, 20).fit(X[::2], observed[::2]) for booster in BOOSTERS]
    predicted = np.array([model.predict(X[1::2]) for model in models])
    assert len(np.unique(predicted, axis=0)) == len(BOOSTERS)
    adaboost = fitted_adaboost(X[::2], observed[::2]).predict(X[1::2])
    assert np.all(np.mean(predicted != adaboost, axis=1) > 0.01)


def test_the_first_newton_step_of_logitboost_is_that_of_gentle_boost(noisy_banana):
    """At F = 0, z = ±2 with equal weights: half of the fit is the mean label of a leaf."""
    X, _, y, _ = noisy_banana
    logit, gentle = (
        booster(n_estimators=2, random_state=0).fit(X, y)
        for booster in (LogitBoostClassifier, GentleBoostClassifier)
    )
    first, second = zip(
        logit.staged_decision_function(X), gentle.staged_decision_function(X), strict=True
    )
    assert_allclose(*first)
    assert np.abs(np.subtract(*second)).max() > 1e-3
    leaf = logit.estimators_[0].tree.apply(X)
    for number in np.unique(leaf):
        expected = np.mean(2.0 * y[leaf == number] - 1)
        assert_allclose(first[0][leaf == number], expected, atol=1e-12)


def test_costs_outside_are_sample_weights_and_those_inside_are_not(noisy_banana):
    X, _, y, _ = noisy_banana
    costs = np.array([1.0, 3.0])
    weighted = AdaBoost(n_estimators=30).fit(X, y, costs[y] * len(y) / costs[y].sum())
    outside, inside = (
        AdaCostClassifier(class_costs=costs, cost_factor=factor, n_estimators=30).fit(X, y)
        for factor in ("outside", "inside")
    )
    scores = weighted.decision_function(X)
    assert_allclose(outside.decision_function(X), scores, atol=1e-9)
    assert np.mean(inside.predict(X) != weighted.predict(X)) > 0.01


def test_the_papers_adacost_by_hand():
    """Two rounds of D ← D·e^(−α·ỹ·h·β), β = ½ ∓ ½c, on clean labels with costs 1 : 5."""
    X, y = load_breast_cancer(return_X_y=True)
    labels, costs = 2.0 * y - 1, np.where(y == 1, 1.0, 0.2)
    model = AdaCostClassifier(
        class_costs=[1, 5], cost_factor="paper", n_estimators=2, random_state=0
    ).fit(X, y)
    weights = costs / costs.sum()
    for addend in model.estimators_:
        agreement = labels * addend.tree.predict(X)
        adjusted = agreement * np.where(agreement > 0, 0.5 - 0.5 * costs, 0.5 + 0.5 * costs)
        edge = weights @ adjusted
        assert_allclose(addend.step, 0.5 * np.log((1 + edge) / (1 - edge)))
        weights = weights * np.exp(-addend.step * adjusted)
        weights /= weights.sum()
    assert len(model.estimators_) == 2


def test_the_papers_adacost_has_no_edge_where_costs_are_equal(noisy_banana):
    model = AdaCostClassifier(class_costs=[1, 1], cost_factor="paper")
    with pytest.warns(UserWarning, match="No base learner was kept"):
        model.fit(*noisy_banana[::2])
    assert model.estimators_ == []


def test_the_members_of_a_bag_are_adaboosts_with_a_vote_each(noisy_banana):
    X, _, y, _ = noisy_banana
    model = BaggedBoostClassifier(n_bags=3, n_estimators=20, random_state=3).fit(X, y)
    random = np.random.RandomState(3)
    votes = []
    for _ in range(3):
        counts = random.multinomial(len(y), np.full(len(y), 1 / len(y)))
        member = AdaBoost(n_estimators=20, random_state=random).fit(X, y, counts)
        votes.append(np.where(member.decision_function(X) > 0, 1.0, -1.0))
    assert_allclose(model.decision_function(X), np.mean(votes, axis=0), atol=1e-12)
    shares = next(model.staged_predict_proba(X))[:, 1]
    assert set(shares) == {0.0, 1.0}
