import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_iris, make_hastie_10_2
from sklearn.utils import get_tags

from rboost import RBoostClassifier
from rboost.boosting.learners import check_learner, seeded_parameters
from rboost.learners.pool import default_pool
from rboost.noise import flip_labels, symmetric


def test_every_learner_of_the_pool_can_be_boosted_in_every_way():
    for learner in default_pool():
        for sampling in ["none", "uniform", "weights"]:
            for votes in ["class", "probability"]:
                check_learner(learner, sampling, votes)
        assert seeded_parameters(learner) == ["random_state"]
        assert get_tags(learner).input_tags.allow_nan
        assert get_tags(learner).input_tags.sparse


def test_the_learners_differ_in_kind():
    assert len({type(learner) for learner in default_pool()}) == 3


def test_a_pool_is_nobody_elses():
    for one, other in zip(default_pool(), default_pool(), strict=True):
        assert one is not other
        one.set_params(random_state=3)
        assert other.random_state is None


def test_the_name_and_a_list_of_the_learners_mean_the_same(noisy_banana):
    X, _, noisy, _ = noisy_banana
    named = RBoostClassifier(default_pool(), n_estimators=6, random_state=0).fit(X, noisy)
    default = RBoostClassifier("pool", n_estimators=6, random_state=0).fit(X, noisy)
    np.testing.assert_array_equal(named.predict_proba(X), default.predict_proba(X))
    kinds = [type(learner) for learner in default.estimators_]
    assert kinds == [type(learner) for learner in default_pool()] * 2
    again = clone(named).fit(X, noisy)
    np.testing.assert_array_equal(again.predict_proba(X), named.predict_proba(X))
    assert all(not hasattr(learner, "classes_") for learner in named.estimator)


def test_each_learner_of_the_pool_finds_the_bananas(noisy_banana, clean_banana):
    X, y, _, _ = noisy_banana
    for learner in default_pool():
        assert learner.set_params(random_state=0).fit(X, y).score(*clean_banana) > 0.8


def test_each_learner_of_the_pool_learns_several_classes():
    X, y = load_iris(return_X_y=True)
    for learner in default_pool():
        learner.set_params(random_state=0).fit(X, y)
        assert learner.score(X, y) > 0.9
        assert learner.predict_proba(X).shape == (150, 3)


def test_the_pool_learns_from_noisy_rows_with_missing_values(rng):
    X, y = make_hastie_10_2(8000, random_state=0)
    X = X.astype(np.float32)
    X[rng.uniform(size=X.shape) < 0.01] = np.nan
    noisy, _ = flip_labels(y[:4000], symmetric(0.2), random_state=0)
    model = RBoostClassifier(default_pool(), n_estimators=45, random_state=0)
    assert model.fit(X[:4000], noisy).score(X[4000:], y[4000:]) > 0.9
    assert np.abs(model.noise_matrix_ - symmetric(0.2)).max() < 0.05
