"""Rows in NumPy: what a learner is given, who judges it, and what its votes add up to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rboost.engines.learners import (
    LearnerRounds,
    Randomness,
    RoundSettings,
    check_learner,
    coded,
    expanded,
)
from rboost.engines.rounds import (
    ExponentialLoss,
    LikelihoodLoss,
    RowVotes,
    mixed,
    mixing_coefficients,
)
from rboost.noise.likelihood import Likelihood
from tests.engines.test_learners import FewRows
from tests.strategies import boosting_states, noise_matrices


class Told(ClassifierMixin, BaseEstimator):
    """A classifier that says of each row, named by the only column of X, what it is told."""

    def __init__(self, probability=None):
        self.probability = probability

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.given = np.arange(self.probability.shape[1]), (X, y, sample_weight)
        return self

    def predict_proba(self, X):
        return self.probability[X[:, 0].astype(int)]

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def rounds_of(pool, observed, n_classes=2, loss=None, weight=None, trusted=None, votes=None,
              out_of_bag=False, **settings):  # fmt: skip
    """Rounds on rows that are named by their only column; trusted ones have patterns K, K + 1, …"""
    observed, n_rows = np.asarray(observed), len(observed)
    weight = np.ones(n_rows) if weight is None else weight
    code = observed if trusted is None else observed + n_classes * trusted
    columns = np.tile(np.eye(n_classes), 1 if trusted is None else 2)
    if votes is None:
        votes = RowVotes.zero(n_rows, n_classes, out_of_bag)
    settings = {"sampling": "none", "max_samples": 1.0, "votes": "probability", **settings}
    pool = [check_learner(learner, settings["sampling"], settings["votes"]) for learner in pool]
    random = Randomness(np.random.RandomState(0))
    settings = RoundSettings(loss or ExponentialLoss(), pool, random, **settings)
    X = np.arange(float(n_rows))[:, np.newaxis]
    return LearnerRounds(X, Likelihood(code, columns, weight), observed, votes, settings)


def said(votes):
    """Class probabilities of votes between −1 and +1."""
    return np.column_stack([(1 - votes) / 2, (1 + votes) / 2])


@given(boosting_states(), noise_matrices())
def test_a_round_is_algorithm_1(state, noise):
    """Each quantity recomputed from the paper's formulas, in the paper's order."""
    labels, scores, sample_weight, votes = state
    rounds = rounds_of(
        [Told(said(votes))], (labels > 0).astype(int), weight=sample_weight,
        votes=RowVotes(scores, None, 1.0),
    )  # fmt: skip
    rounds.fit_learner(mixing_coefficients(noise, "paper").T)
    sums = rounds.judge()

    w00 = sample_weight * noise[0, 0] * np.exp(-scores)  # eq. (13)
    w01 = sample_weight * noise[0, 1] * np.exp(scores)
    w11 = sample_weight * noise[1, 1] * np.exp(scores)
    w10 = sample_weight * noise[1, 0] * np.exp(-scores)
    w = np.where(labels > 0, w00 - w01, w11 - w10)  # eq. (12)
    scale = np.abs(w).max()
    if scale > 1e-9 and hasattr(rounds.learner, "given"):
        _, targets, weights = rounds.learner.given
        expected = np.abs(w) * sample_weight.sum() / np.abs(w).sum()
        assert_allclose(weights, expected, rtol=1e-6, atol=1e-8 * sample_weight.sum())
        clear = np.abs(w) > 1e-9 * scale
        np.testing.assert_array_equal(targets[clear], ((np.sign(w) * labels)[clear] > 0))
        A, B = np.where(labels > 0, w00, w11).sum(), np.where(labels > 0, w01, w10).sum()
        epsilon = w[votes != labels].sum()
        step = max(0.0, 0.5 * np.log((A - epsilon) / max(B + epsilon, 1e-300)))
        if B + epsilon > 1e-9 * A:
            assert_allclose(sums.step, step, atol=1e-6)
        rounds.move(0.3)
        assert_allclose(rounds.votes.scores, scores + 0.3 * votes)


@st.composite
def judged_learners(draw):
    """Labels of K classes, and for each of a few learners what it says and the rows it saw."""
    n_rows, n_learners = draw(st.integers(2, 20)), draw(st.integers(1, 8))
    n_classes = draw(st.integers(2, 4))
    random = np.random.RandomState(draw(st.integers(0, 2**31 - 1)))
    observed = random.randint(n_classes, size=n_rows)
    probability = random.dirichlet(np.ones(n_classes), size=(n_learners, n_rows))
    seen = random.uniform(size=(n_learners, n_rows)) < draw(st.sampled_from([0.0, 0.5, 0.9, 1.0]))
    return observed, n_classes, probability, seen


@given(judged_learners())
def test_out_of_bag_scores_are_those_of_the_learners_that_did_not_see_the_row(learners):
    observed, n_classes, probability, seen = learners
    steps = 0.1 * (1 + np.arange(len(seen)))
    votes = RowVotes.zero(len(observed), n_classes, out_of_bag=True)
    for step, p, s in zip(steps, probability, seen, strict=True):
        votes.add(step, coded(p[~s]), np.flatnonzero(~s))
    for row in range(len(observed)):  # the slow way: every learner, every row
        counted = steps @ ~seen[:, row]
        voted = sum(
            step * expanded(coded(p))[row]
            for step, p, s in zip(steps, probability, seen, strict=True)
            if not s[row]
        )
        mean = voted / counted if counted else np.zeros(n_classes)
        assert_allclose(expanded(votes.means)[row], mean, atol=1e-12)
        assert_allclose(expanded(votes.scores)[row], steps.sum() * mean, atol=1e-9)
    assert_allclose(votes.total, steps.sum())


@pytest.mark.parametrize("loss", [ExponentialLoss(), LikelihoodLoss()], ids=["exp", "likelihood"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("max_samples", [0.5, 0.1])
def test_rows_that_a_learner_has_seen_do_not_judge_it(loss, n_classes, max_samples, rng):
    observed, noise = rng.randint(n_classes, size=40), 0.9 * np.eye(n_classes) + 0.1 / n_classes
    probability = 0.5 * np.eye(n_classes)[observed] + 0.5 / n_classes

    def judged(probability):
        rounds = rounds_of(
            [Told(probability)], observed, n_classes, loss, out_of_bag=True, sampling="uniform",
            max_samples=max_samples,
        )  # fmt: skip
        rounds.fit_learner(mixed(noise) if isinstance(loss, ExponentialLoss) else noise)
        return rounds, rounds.judge()

    rounds, sums = judged(probability)
    seen = np.setdiff1d(np.arange(40), rounds._unseen)
    assert len(seen) == round(max_samples * 40)
    changed = probability.copy()
    changed[seen] = rng.dirichlet(np.ones(n_classes), size=len(seen))
    other, other_sums = judged(changed)
    assert sums.step == other_sums.step > 0
    assert sums.error == other_sums.error
    for one in (rounds, other):
        one.move(0.5)
    np.testing.assert_array_equal(rounds.votes.scores, other.votes.scores)


def test_a_row_trained_on_as_trusted_keeps_its_label_however_certain_it_is(rng):
    observed, trusted = rng.randint(2, size=40), np.arange(40) < 20
    rounds = rounds_of(
        [Told(np.eye(2)[observed])], observed, trusted=trusted,
        votes=RowVotes(10.0 * (2 * observed - 1), None, 10.0),
    )  # fmt: skip
    rounds.fit_learner(np.hstack([mixed(np.array([[0.7, 0.3], [0.2, 0.8]])), np.eye(2)]))
    _, targets, _ = rounds.learner.given
    np.testing.assert_array_equal(targets, np.where(trusted, observed, 1 - observed))


class Recorder(DecisionTreeClassifier):
    """A tree that remembers what it was fitted on."""

    def fit(self, X, y, sample_weight=None):
        self.given = X, y, sample_weight
        return super().fit(X, y, sample_weight)


def learner_of(estimator, observed, class_weights=None, n_classes=2, **options):
    """The learner that is fitted in the first round."""
    rounds = rounds_of([estimator], observed, n_classes, **options)
    if class_weights is not None:
        given = type("Terms", (), {"class_weights": np.asarray(class_weights, dtype=float)})
        rounds._loss = type("Loss", (), {"terms": staticmethod(lambda *_: given)})
    rounds.fit_learner(np.eye(n_classes))
    return rounds, rounds.learner


def test_weights_keep_the_total_of_the_sample_weights():
    weight, worth = np.array([1.0, 2.0, 3.0, 4.0]), np.diag([0.1, 0.2, 0.7, 0.1]) @ np.ones((4, 2))
    observed = np.array([1, 0, 1, 0])
    worth[np.arange(4), 1 - observed] = 0
    _, learner = learner_of(Recorder(), observed, worth, weight=weight)
    _, targets, weights = learner.given
    np.testing.assert_array_equal(targets, observed)
    assert_allclose(weights.sum(), 10, rtol=1e-8)
    assert_allclose(weights / weights.sum(), np.array([1, 2, 7, 1]) / 11, rtol=1e-8)
    worth = np.array([[0.0, 0.5, 0.3], [0.2, 0.0, 0.0], [0.0, 0.0, 0.4], [0.1, 0.1, 0.0]])
    _, learner = learner_of(Recorder(), [1, 0, 2, 0], worth, n_classes=3, weight=weight)
    X, targets, weights = learner.given  # each row once for every class it may be named
    np.testing.assert_array_equal(X[:, 0], [0, 0, 1, 2, 3, 3])
    np.testing.assert_array_equal(targets, [1, 2, 0, 2, 0, 1])
    assert_allclose(weights, 10 * np.array([0.5, 0.3, 0.2, 0.4, 0.1, 0.1]) / 1.6, rtol=1e-8)


def test_vanished_weights_count_alike():
    for n_classes in (2, 3):
        _, learner = learner_of(
            Recorder(), [1, 0, 1], np.zeros((3, n_classes)), n_classes=n_classes,
            weight=np.array([1.0, 2, 3]),
        )  # fmt: skip
        np.testing.assert_array_equal(learner.given[2], [1, 2, 3])
        np.testing.assert_array_equal(learner.given[1], [1, 0, 1])


def test_one_class_left_gives_the_constant_vote():
    worth = [[0, 1], [0, 1], [0, 1], [0, 0]]
    for estimator in (LogisticRegression(), DecisionTreeClassifier()):
        _, learner = learner_of(estimator, [1, 1, 1, 0], worth)
        assert isinstance(learner, DummyClassifier)
        np.testing.assert_array_equal(learner.predict(np.zeros((4, 1))), np.ones(4))


def test_every_random_part_gets_its_own_seed():
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    _, learner = learner_of(pipeline, [1, 0] * 5, sampling="weights")
    assert isinstance(learner[-1].random_state, int)
    assert pipeline[-1].random_state is None


def test_the_estimators_of_a_pool_take_turns():
    pool = [LogisticRegression(), DecisionTreeClassifier(), DummyClassifier()]
    rounds = rounds_of(pool, [1, 0] * 5)
    for number in range(7):
        rounds.fit_learner(np.eye(2))
        assert type(rounds.learner) is type(pool[number % 3])
        assert rounds.learner is not pool[number % 3]


@pytest.mark.parametrize("sampling", ["uniform", "weights"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_rows_that_a_learner_has_seen_are_those_it_was_fitted_to(sampling, n_classes):
    rounds, learner = learner_of(
        Recorder(), np.arange(40) % n_classes, n_classes=n_classes, sampling=sampling,
        max_samples=0.5, out_of_bag=True, loss=LikelihoodLoss(),
    )  # fmt: skip
    X, _, weights = learner.given
    np.testing.assert_array_equal(np.setdiff1d(np.arange(40), rounds._unseen), np.unique(X))
    if sampling == "uniform":
        assert len(np.unique(X)) == 20
        assert_allclose(weights.sum(), 20, rtol=1e-8)
    else:
        assert weights is None
        assert len(X) == 20


def test_a_learner_is_fitted_to_no_more_rows_than_it_wants():
    for options, n_rows in [
        ({"sampling": "uniform", "max_samples": 0.5}, 8),
        ({"sampling": "uniform", "max_samples": 0.1}, 4),
        ({"sampling": "weights", "max_samples": 1.0}, 8),
        ({}, 40),
    ]:
        _, learner = learner_of(FewRows(), [1, 0] * 20, **options)
        assert learner.n_rows == n_rows
