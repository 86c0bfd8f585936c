from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost import RBoostClassifier
from rboost.engines.engine import PENALTY, combine, likeliest_weights, spread
from rboost.noise import flip_labels, symmetric
from rboost.noise.likelihood import Likelihood


@dataclass
class Scores:
    """A member that gives every table the same scores."""

    of_rows: np.ndarray
    n_rounds: int = 1
    importances: tuple = ()

    def __len__(self):
        return self.n_rounds

    def scores(self, X, n_jobs):
        return self.of_rows

    def feature_importances(self):
        if not self.importances:
            raise AttributeError
        return np.array(self.importances)


def noisy_labels(n_classes, n_rows=600, seed=0):
    """Scores that tell the true class, others that tell less, and L of noisy labels."""
    random = np.random.RandomState(seed)
    true = random.randint(n_classes, size=n_rows)
    observed, _ = flip_labels(true, symmetric(0.2, n_classes), random_state=seed)
    codes = 2.0 * true - 1 if n_classes == 2 else 2.0 * np.eye(n_classes)[true]
    good, poor = (codes + s * random.standard_normal(codes.shape) for s in (1.0, 2.0))
    noise_only = random.standard_normal(codes.shape)
    likelihood = Likelihood(observed, symmetric(0.2, n_classes), np.ones(n_rows))
    return good, poor, noise_only, likelihood


def test_no_pair_of_weights_on_a_grid_is_likelier():
    good, poor, _, likelihood = noisy_labels(2)
    features = [good / spread(good), poor / spread(poor)]

    def cost(first, second, offset):
        scores = first * features[0] + second * features[1] + offset
        return 600 * likelihood.loss(scores) + PENALTY * (first**2 + second**2)

    weights = likeliest_weights([good, poor], likelihood) * [spread(good), spread(poor)]
    assert np.all(weights > 0)
    offsets = np.linspace(-1, 1, 41)
    ours = min(cost(*weights, offset) for offset in offsets)
    grid = np.linspace(0, 5, 26)
    assert all(
        cost(first, second, offset) > ours - 1e-2  # the offset of ours is on the grid alone
        for first in grid for second in grid for offset in offsets[::4]
    )  # fmt: skip
    for change in [(0.1, 0), (-0.1, 0), (0, 0.1), (0, -0.1)]:
        moved = weights + change
        assert min(cost(*moved, offset) for offset in offsets) > ours


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_engine_that_contradicts_the_labels_is_not_turned_round(n_classes):
    good, poor, _, likelihood = noisy_labels(n_classes)
    weights = likeliest_weights([good, -poor], likelihood)
    assert weights[1] == 0 < weights[0]
    assert np.all(likeliest_weights([good, poor], likelihood) > 0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_engine_that_says_nothing_is_not_kept(n_classes):
    good, _, noise_only, likelihood = noisy_labels(n_classes)
    constant = np.zeros(good.shape) + (np.pi if n_classes == 2 else np.log([0.3, 0.3, 0.4]))
    assert spread(constant) == 0
    scores = {"good": good, "constant": constant}
    stack, held_out = combine({n: Scores(s) for n, s in scores.items()}, scores, likelihood)
    assert list(stack.members) == list(stack.weights) == ["good"]
    assert stack.shares == {"good": 1.0}
    assert_allclose(held_out, stack.weights["good"] * good)
    scores = {"good": good, "noise": noise_only}
    stack, _ = combine({n: Scores(s) for n, s in scores.items()}, scores, likelihood)
    assert stack.shares.get("noise", 0) < 0.1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_of_engines_that_all_say_nothing_one_is_kept(n_classes):
    constant = np.ones(600 if n_classes == 2 else (600, 3))
    likelihood = noisy_labels(n_classes)[3]
    scores = {"one": constant, "other": 3 * constant}
    stack, held_out = combine({n: Scores(s) for n, s in scores.items()}, scores, likelihood)
    assert stack.weights == stack.shares == {"one": 1.0}
    assert np.array_equal(held_out, constant)


def test_one_engine_has_the_weight_one_whatever_its_scores():
    good, _, _, likelihood = noisy_labels(2)
    for scores in (good, np.ones(600)):
        stack, held_out = combine({"one": Scores(scores)}, {"one": scores}, likelihood)
        assert stack.weights == stack.shares == {"one": 1.0}
        np.testing.assert_array_equal(held_out, scores)


def test_the_scale_of_an_engine_does_not_matter():
    good, poor, _, likelihood = noisy_labels(3)
    plain = likeliest_weights([good, poor], likelihood)
    scaled = likeliest_weights([100 * good, poor / 100], likelihood)
    assert_allclose(scaled * [100, 0.01], plain, rtol=0.01)


def test_scores_are_weighted_sums():
    good, poor, _, likelihood = noisy_labels(2)
    members = {"good": Scores(good, 3), "poor": Scores(poor, 5)}
    stack, held_out = combine(members, {"good": good, "poor": poor}, likelihood)
    expected = stack.weights["good"] * good + stack.weights["poor"] * poor
    assert_allclose(stack.scores(None, 1), expected)
    assert_allclose(held_out, expected)


def test_importances_are_those_of_members_that_know_them():
    good, poor, _, likelihood = noisy_labels(2)
    scores = {"good": good, "poor": poor}

    def importances(*known):
        members = {n: Scores(scores[n], 1, k) for n, k in zip(scores, known, strict=True)}
        stack, _ = combine(members, scores, likelihood)
        return stack.feature_importances(), stack.shares

    found, shares = importances((0.25, 0.75), (1.0, 0.0))
    assert_allclose(found, [1 - 0.75 * shares["good"], 0.75 * shares["good"]])
    assert_allclose(importances((0.25, 0.75), ())[0], [0.25, 0.75])
    with pytest.raises(AttributeError, match="no feature_importances_"):
        importances((), ())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_classifier_names_its_engines(n_classes, rng):
    X = rng.standard_normal((240, 3))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, np.quantile(X[:, 0] + X[:, 1] ** 2, [0.4, 0.7]))
    y = np.minimum(y, n_classes - 1)
    model = RBoostClassifier(engines=["trees", "pool"], max_iter=12, random_state=0).fit(X, y)
    assert set(model.engine_weights_) <= {"pool", "trees"}
    assert all(weight > 0 for weight in model.engine_weights_.values())
    assert_allclose(model.feature_importances_.sum(), 1)
    assert model.feature_importances_.argmin() == 2
    weighed = model._model.stack.sum(
        {name: member.scores(X, 1) for name, member in model._model.stack.members.items()}
    )
    assert_allclose(model.score_rows(X), weighed)
