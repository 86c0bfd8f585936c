"""Engines together: what a fit of several leaves behind."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rboost.boosting import several
from rboost.boosting.engines.growing import TreeSettings
from rboost.boosting.engines.trees import grow_trees
from sklearn.naive_bayes import GaussianNB

from rboost import RBoostClassifier
from rboost.datasets import make_banana
from rboost.fitting import training_rows

ENGINES = [None, "trees", [GaussianNB(), "trees"], ["trees", "pool"]]
every_choice = pytest.mark.parametrize("estimator", ENGINES, ids=str)


def fit(estimator, X, y, **arguments):
    model = RBoostClassifier(estimator, n_estimators=20, random_state=0)
    return model.fit(X, y, **arguments)


@every_choice
def test_held_out_scores_say_what_the_labels_are_judged_by(estimator, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = fit(estimator, X, noisy)
    posterior = model._model.noise
    assert_allclose(model.noise_matrix_, posterior.noise_matrix)
    assert_allclose(
        model.label_issue_probability_,
        posterior.issue_probability(model.held_out_scores_, noisy),
    )
    scores = model.score_rows(X)
    assert_allclose(posterior.probability(scores), model.predict_proba(X), atol=1e-9)
    assert np.corrcoef(scores, model.held_out_scores_)[0, 1] > 0.8
    assert np.any(scores != model.held_out_scores_)


@every_choice
def test_trusted_rows_come_last(estimator, noisy_banana):
    X, _, noisy, _ = noisy_banana
    X_trusted, y_trusted = make_banana(40, random_state=5)
    model = fit(estimator, X, noisy, X_trusted=X_trusted, y_trusted=y_trusted)
    assert len(model.held_out_scores_) == 440
    assert model.label_issue_probability_.shape == model.true_class_.shape == (400,)


def test_trees_alone_are_what_the_engine_grows(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = fit("trees", X, noisy)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    grown = grow_trees(X, training_rows(X, noisy, None)[0], None, [], TreeSettings(None, 20, seed))
    assert_array_equal(model.held_out_scores_, grown.held_out)
    assert_array_equal(model.score_rows(X), grown.member.scores(X, 1))
    assert model.stop_reason_ == f"trees: {grown.stop_reason}"
    assert model.n_iter_ == grown.n_iter
    assert model.engine_weights_ == {"trees": 1.0}
    assert model.estimators_ == []
    assert len(model.estimator_weights_) == len(model.noise_matrix_history_) == 0


def test_of_several_engines_each_says_why_it_ended(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = fit(None, X, noisy)
    pool, trees = sorted(model.stop_reason_.split("; "))
    assert pool == "pool: all 20 rounds done"
    assert trees.startswith("trees: ")
    assert len(model.estimators_) == len(model.estimator_weights_) == 20
    assert model.n_iter_ == 20


def test_the_pool_runs_fewer_rounds_as_one_of_several(noisy_banana, monkeypatch):
    X, _, noisy, _ = noisy_banana
    monkeypatch.setattr(several, "FEWEST_ROUNDS", 3)
    monkeypatch.setattr(several, "ROUNDS_BY_ROWS", {400: 7})
    model = RBoostClassifier(random_state=0)
    assert len(model.fit(X, noisy).estimators_) == 7
    monkeypatch.setattr(several, "ROUNDS_BY_ROWS", {399: 7})
    assert len(model.fit(X, noisy).estimators_) == 3


def test_the_order_in_which_engines_are_named_does_not_matter(noisy_banana):
    X, _, noisy, _ = noisy_banana
    one, other = (fit(names, X, noisy) for names in (["pool", "trees"], ["trees", "pool"]))
    assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-12)


@every_choice
def test_known_noise_is_kept_and_no_interval_is_told(estimator, noisy_banana):
    X, _, noisy, noise = noisy_banana
    model = RBoostClassifier(estimator, n_estimators=10, noise_matrix=noise, random_state=0)
    assert_allclose(model.fit(X, noisy).noise_matrix_, noise)
    assert not hasattr(model, "noise_interval_")
