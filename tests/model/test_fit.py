"""Engines together: what a fit of several leaves behind."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from rboost import RBoostClassifier
from rboost.datasets import make_banana
from rboost.engines import ENGINES
from rboost.engines.engine import EngineFit, EngineSettings
from rboost.engines.trees import fit_trees
from rboost.labels import Labels
from rboost.model.fit import fit_rows
from rboost.noise.inference import ScoredRows
from tests.engines.tables import Labelled, fit_engine

CHOICES = ["auto", "trees", "linear", ["linear", "trees"], ["trees", "pool"]]
every_choice = pytest.mark.parametrize("engines", CHOICES, ids=str)


def fit(engines, X, y, **arguments):
    model = RBoostClassifier(engines=engines, max_iter=20, random_state=0)
    return model.fit(X, y, **arguments)


@every_choice
def test_held_out_scores_say_what_the_labels_are_judged_by(engines, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = fit(engines, X, noisy)
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
def test_trusted_rows_come_last(engines, noisy_banana):
    X, _, noisy, _ = noisy_banana
    X_trusted, y_trusted = make_banana(40, random_state=5)
    model = fit(engines, X, noisy, X_trusted=X_trusted, y_trusted=y_trusted)
    assert len(model.held_out_scores_) == 440
    assert model.label_issue_probability_.shape == model.true_class_.shape == (400,)


def test_trees_alone_are_what_the_engine_grows(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = fit("trees", X, noisy)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    grown = fit_engine(fit_trees, Labelled(X, noisy), seed=seed)
    assert_array_equal(model.held_out_scores_, grown.held_out)
    assert_array_equal(model.score_rows(X), grown.member.scores(X, 1))
    assert model.stop_reason_ == f"trees: {grown.stop_reason}"
    assert model.n_iter_ == grown.n_iter
    assert model.engine_weights_ == {"trees": 1.0}


def test_of_several_engines_each_says_why_it_ended(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = fit("auto", X, noisy)
    pool, trees = sorted(model.stop_reason_.split("; "))
    assert pool == "pool: all 20 rounds done"
    assert trees.startswith("trees: ")
    assert model.n_iter_ == 20


def test_trees_start_with_the_noise_that_the_pool_has_found(noisy_banana, monkeypatch):
    """And linear learners tell nobody of what they have found."""
    X, _, noisy, _ = noisy_banana
    given, grow = [], ENGINES["trees"]

    def noted(rows, infer, settings):
        given.append((rows.likelihood.columns, infer))
        return grow(rows, infer, settings)

    monkeypatch.setitem(ENGINES, "trees", noted)
    fit(["pool", "trees"], X, noisy)
    fit(["linear", "trees"], X, noisy)
    fit("trees", X, noisy)
    (after_pool, settled), (after_linear, inferring), (alone, _) = given
    assert settled is None
    assert inferring is not None
    assert after_pool[0, 1] > 0.1
    assert_array_equal(after_linear, alone)
    assert_array_equal(alone[:, :2], np.eye(2))


def test_the_order_in_which_engines_are_named_does_not_matter(noisy_banana):
    X, _, noisy, _ = noisy_banana
    one, other = (fit(names, X, noisy) for names in (["pool", "trees"], ["trees", "pool"]))
    assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-12)


@every_choice
def test_known_noise_is_kept_and_no_interval_is_told(engines, noisy_banana):
    X, _, noisy, noise = noisy_banana
    model = RBoostClassifier(engines=engines, max_iter=10, noise_matrix=noise, random_state=0)
    assert_allclose(model.fit(X, noisy).noise_matrix_, noise)
    assert not hasattr(model, "noise_interval_")


class ToyMember:
    """A fitted logistic regression, as a member of the stack."""

    def __init__(self, model):
        self.model = model

    def __len__(self):
        return 1

    def scores(self, X, n_jobs):
        return self.model.decision_function(X)

    def feature_importances(self):
        raise AttributeError("A toy has no importances.")


def fit_toy(rows, infer, settings):
    """An engine as a newcomer would write one: each fold is scored by a fit to the others."""
    likelihood = rows.likelihood
    label = likelihood.columns.argmax(axis=0)[likelihood.code]
    model, held_out = LogisticRegression(), np.empty(len(label))
    for number in np.unique(rows.fold):
        out = rows.fold == number
        model.fit(rows.X[~out], label[~out], likelihood.weight[~out])
        held_out[out] = model.decision_function(rows.X[out])
    member = ToyMember(LogisticRegression().fit(rows.X, label, likelihood.weight))
    scored = ScoredRows(held_out, likelihood.code, likelihood.weight)
    return EngineFit(member, held_out, scored, None, 1, "fitted once")


@pytest.mark.parametrize("engines", ["toy", ["toy", "trees"], ["trees", "toy"]], ids=str)
def test_an_engine_of_a_few_lines_can_be_added(engines, noisy_banana, monkeypatch):
    X, y, noisy, noise = noisy_banana
    monkeypatch.setitem(ENGINES, "toy", fit_toy)
    model = fit(engines, X, noisy)
    assert "toy: fitted once" in model.stop_reason_
    assert set(model.engine_weights_) <= {"toy", "trees"}
    assert model.score(X, y) > 0.7
    assert model.held_out_scores_.shape == model.label_issue_probability_.shape == (400,)
    known = RBoostClassifier(engines=engines, max_iter=5, noise_matrix=noise, random_state=0)
    assert_allclose(known.fit(X, noisy).noise_matrix_, noise)
    said = np.where(np.arange(400) < 40, y, np.nan)
    assert_array_equal(fit(engines, X, noisy, y_checked=said).true_class_[:40], y[:40])


def test_rows_are_fitted_without_an_estimator(noisy_banana):
    """What RBoostClassifier adds are checks and attributes."""
    X, _, noisy, _ = noisy_banana
    settings = EngineSettings(20, None, 0, np.random.RandomState(0).randint(2**31 - 1))
    labels = Labels.of(np.arange(2), noisy)
    found = fit_rows(X, labels, np.ones(400), ["pool", "trees"], None, settings)
    model = fit(["pool", "trees"], X, noisy)
    assert_array_equal(found.held_out, model.held_out_scores_)
    assert_array_equal(found.model.decisions(X, 1), model.decision_function(X))
    assert found.stop_reason == model.stop_reason_


def test_reading_may_be_interrupted(noisy_banana, monkeypatch):
    """What is judged when it is first read is still there after Ctrl-C."""
    X, _, noisy, _ = noisy_banana
    model, expected = (fit("pool", X, noisy) for _ in range(2))

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("rboost.model.classifier.judge", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.label_issue_probability_  # noqa: B018
    assert_array_equal(model.label_issue_probability_, expected.label_issue_probability_)
