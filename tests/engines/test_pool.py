"""Engines "pool" and "linear": rounds, when the noise is inferred, and what votes say."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_hastie_10_2
from sklearn.utils import get_tags

from rboost import RBoostClassifier, RobustLogisticRegression
from rboost.engines import pool
from rboost.engines.learners import check_learner, coded, seeded_parameters
from rboost.engines.pool import (
    FIRST_INFERENCE,
    ROUNDS_ALONE,
    fit_linear,
    fit_pool,
    is_due,
    rounds_for,
    vote_scores,
)
from rboost.noise import flip_labels, symmetric
from rboost.noise.inference import NoiseInference
from tests.engines.tables import fit_engine, table


@pytest.fixture
def learners():
    return pool.pool_learners()


@pytest.fixture
def kept(monkeypatch):
    """The learners that rounds have kept, before they become arrays."""
    found, stack = [], pool.StackedLearners.of

    def noted(ensemble, n_columns):
        found[:] = ensemble.learners
        return stack(ensemble, n_columns)

    monkeypatch.setattr(pool.StackedLearners, "of", noted)
    return found


def unfitted(learners):
    return [clone(learner).set_params(random_state=0) for learner in learners]


def test_every_learner_of_the_pool_can_be_boosted_in_every_way(learners):
    for learner in unfitted(learners):
        for sampling in ["none", "uniform", "weights"]:
            for votes in ["class", "probability"]:
                check_learner(learner, sampling, votes)
        assert seeded_parameters(learner) == ["random_state"]
        assert get_tags(learner).input_tags.allow_nan
        assert get_tags(learner).input_tags.sparse


def test_learners_differ_in_kind_and_take_turns(learners, kept):
    assert len({type(learner) for learner in learners}) == 3
    fit_engine(fit_pool, table()[0], noise=symmetric(0.2, 2), max_iter=9)
    assert [type(learner) for learner in kept] == [type(learner) for learner in learners] * 3


def test_each_learner_of_the_pool_finds_the_bananas(learners, noisy_banana, clean_banana):
    X, y, _, _ = noisy_banana
    for learner in unfitted(learners):
        assert learner.fit(X, y).score(*clean_banana) > 0.8


def test_each_learner_of_the_pool_learns_several_classes(learners):
    X, y = load_iris(return_X_y=True)
    for learner in unfitted(learners):
        assert learner.fit(X, y).score(X, y) > 0.9
        assert learner.predict_proba(X).shape == (150, 3)


def test_the_pool_learns_from_noisy_rows_with_missing_values(rng):
    X, y = make_hastie_10_2(8000, random_state=0)
    X = X.astype(np.float32)
    X[rng.uniform(size=X.shape) < 0.01] = np.nan
    noisy, _ = flip_labels(y[:4000], symmetric(0.2), random_state=0)
    model = RBoostClassifier(engines="pool", max_iter=45, random_state=0).fit(X[:4000], noisy)
    assert model.score(X[4000:], y[4000:]) > 0.9
    assert np.abs(model.noise_matrix_ - symmetric(0.2)).max() < 0.05


def test_no_learner_sees_more_rows_than_are_of_use(monkeypatch):
    seen, fit = [], pool.LearnerRounds.fit_learner

    def noted(self, columns):
        fit(self, columns)
        seen.append(300 - len(self._unseen))

    monkeypatch.setattr(pool.LearnerRounds, "fit_learner", noted)
    monkeypatch.setattr(pool, "MAX_ROWS", 40)
    fit_engine(fit_pool, table()[0], noise=symmetric(0.2, 2), max_iter=6)
    assert seen == [40] * 6
    seen.clear()
    monkeypatch.setattr(pool, "MAX_ROWS", 4000)
    fit_engine(fit_pool, table()[0], noise=symmetric(0.2, 2), max_iter=6)
    assert seen == [150] * 6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_learners_are_weak_ones(n_classes, kept, monkeypatch):
    """Of two classes in the native core, where there is one, which hands over their arrays."""
    monkeypatch.setattr(pool, "NativeRounds", type("Other", (), {}))
    rows, _ = table(n_classes)
    fit_engine(fit_linear, rows, noise=symmetric(0.2, n_classes), max_iter=4)
    wanted = {"n_init": 1, "max_rows": 1024, "tol": 1e-2}
    assert len(kept) == 4
    for learner in kept:
        assert type(learner) is RobustLogisticRegression
        assert {name: learner.get_params()[name] for name in wanted} == wanted


@pytest.mark.parametrize("engine", [fit_pool, fit_linear])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_trusted_rows_and_a_dense_likelihood_are_taken(engine, n_classes):
    rows, true = table(n_classes, rate=0.3)
    trusted = replace(rows, trusted=np.arange(300) < 60)
    dense = replace(rows, known=0.9 * np.eye(n_classes)[true] + 0.1 / n_classes)
    for own in (trusted, dense):
        found = fit_engine(engine, own, max_iter=6)
        assert np.all(np.isfinite(found.held_out))
        assert found.held_out.shape == ((300,) if n_classes == 2 else (300, 3))
        assert_allclose(found.member.scores(own.X, 1).shape, found.held_out.shape)
        assert found.columns is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_is_certain_is_learnt_whatever_the_labels_say(n_classes):
    """L alone counts: the same L from labels and from rows gives the same votes."""
    rows, true = table(n_classes, rate=0.3)
    coded_rows = replace(rows, observed=true)
    dense = replace(rows, known=np.eye(n_classes)[true])
    one, other = (
        fit_engine(fit_pool, own, noise=np.eye(n_classes), max_iter=6, random_state=0)
        for own in (coded_rows, dense)
    )
    assert_allclose(one.held_out, other.held_out, atol=1e-9)


def test_noise_is_inferred_each_time_the_rounds_have_doubled():
    due = [number for number in range(1, 500) if is_due(number)]
    assert due == [FIRST_INFERENCE * factor for factor in (1, 2, 4, 8, 16)]


@pytest.mark.parametrize("seed", range(3))
def test_the_noise_is_inferred_when_it_is_due_and_used_from_then_on(seed):
    """Also where learners are useless, of which there are many on few rows."""
    rows, _ = table(n_rows=60, seed=seed)
    asked, infer = [], NoiseInference(rows.patterns)

    def noted(scored):
        asked.append(scored)
        return infer(scored)

    def fit(rows, _, settings):
        return fit_pool(rows, noted, settings)

    fitted = fit_engine(fit, rows, max_iter=60, random_state=seed)
    assert len(asked) == 2  # after 25 and 50
    assert_array_equal(asked[0].code, rows.patterns.code)
    alone = fit_engine(fit_pool, rows, noise=np.eye(2), max_iter=60, random_state=seed)
    assert np.any(fitted.held_out != alone.held_out)


def test_rounds_are_fewer_beside_other_engines_the_more_rows_there_are(monkeypatch):
    assert rounds_for(10, is_alone=True) == rounds_for(10**6, is_alone=True) == ROUNDS_ALONE
    counts = [rounds_for(n_rows, is_alone=False) for n_rows in (10, 2000, 2001, 8000, 8001, 10**6)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == counts[1] > counts[2] == counts[3] > counts[4] == counts[5]
    rows = table(n_rows=60)[0]
    monkeypatch.setattr(pool, "ROUNDS_ALONE", 7)
    monkeypatch.setattr(pool, "FEWEST_ROUNDS", 3)
    monkeypatch.setattr(pool, "ROUNDS_BY_ROWS", {59: 5})
    options = {"max_iter": None, "noise": np.eye(2)}
    assert fit_engine(fit_pool, rows, **options).n_iter == 7
    assert fit_engine(fit_pool, rows, **options, is_alone=False).n_iter == 3


def test_rows_that_every_learner_has_seen_have_no_say():
    """Few rounds leave none of two halves unseen, but those that a learner was not given."""
    found = fit_engine(fit_pool, table()[0], max_iter=1)
    seen = found.scored.weight == 0
    assert seen.sum() == 150
    assert len(np.unique(found.held_out[seen])) == 1  # as if nobody had voted


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_any_learner_the_noise_is_still_finite(n_classes):
    rows = replace(table(n_classes, n_rows=60)[0], X=np.ones((60, 2)))
    rows = replace(rows, observed=np.arange(60) % n_classes)
    found = fit_engine(fit_pool, rows, max_iter=5)
    assert len(found.member) == 0
    noise = NoiseInference(rows.patterns).noise(found.scored)
    assert np.all(np.isfinite(noise.noise_matrix))
    assert_allclose(noise.probability(found.held_out), 1 / n_classes, atol=0.05)


@pytest.mark.parametrize("engine", [fit_pool, fit_linear])
def test_new_rows_are_scored_on_the_scale_of_held_out_ones(engine):
    rows, _ = table()
    found = fit_engine(engine, rows, noise=symmetric(0.2, 2), max_iter=30, random_state=0)
    scores = found.member.scores(rows.X, 1)
    assert np.corrcoef(scores, found.held_out)[0, 1] > 0.8
    assert 0.5 < np.std(scores) / np.std(found.held_out) < 2


def test_scores_of_votes_are_odd_for_two_classes_and_finite_for_all(monkeypatch):
    votes = np.linspace(-1, 1, 21)
    log_odds = vote_scores(votes, np.array([0.5, 0.5]))
    assert np.all(np.isfinite(log_odds))
    assert np.all(np.diff(log_odds) > 0)
    assert_allclose(log_odds, -log_odds[::-1], atol=1e-12)
    unanimous = vote_scores(coded(np.eye(3)), np.array([0.2, 0.3, 0.5]))
    assert np.all(np.isfinite(unanimous))
    assert_array_equal(unanimous.argmax(axis=1), [0, 1, 2])
    monkeypatch.setattr(pool, "BLOCK_ROWS", 4)
    assert_array_equal(vote_scores(votes, np.array([0.5, 0.5])), log_odds)
