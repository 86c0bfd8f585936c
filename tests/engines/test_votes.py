import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from rboost.engines.learners import VOTES, coded, expanded


@given(st.integers(0, 2**31 - 1), st.integers(8, 40), st.integers(2, 4))
def test_both_votes_are_of_one_mind_and_sum_to_zero(seed, n_rows, n_classes):
    random = np.random.RandomState(seed)
    X, classes = random.standard_normal((n_rows, 2)), np.arange(n_rows) % n_classes
    learner = GaussianNB().fit(X, classes)
    hard, soft = (expanded(coded(vote(learner, X, n_classes))) for vote in VOTES.values())
    assert set(hard.max(axis=1)) == {1.0}
    assert_allclose(hard.min(axis=1), -1 / (n_classes - 1))
    for votes in (hard, soft):
        assert_allclose(votes.sum(axis=1), 0, atol=1e-12)
        assert np.all(votes <= 1 + 1e-12)
    np.testing.assert_array_equal(soft.argmax(axis=1), hard.argmax(axis=1))


def test_a_vote_by_probability_says_how_sure_it_is():
    X = np.array([[0.0], [0.0], [0.0], [0.0], [1.0]])
    tree = DecisionTreeClassifier().fit(X, [1, 0, 0, 0, 1])
    rows = np.array([[0.0], [1.0]])
    assert_allclose(coded(VOTES["probability"](tree, rows, 2)), [-0.5, 1.0])
    assert_allclose(coded(VOTES["class"](tree, rows, 2)), [-1.0, 1.0])


@pytest.mark.parametrize("name", sorted(VOTES))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_learner_that_saw_one_class_votes_for_it(name, n_classes):
    X = np.zeros((3, 1))
    for only in range(n_classes):
        for learner in [DummyClassifier(strategy="prior"), DecisionTreeClassifier()]:
            said = VOTES[name](learner.fit(X, np.full(3, only)), X, n_classes)
            np.testing.assert_array_equal(said, np.eye(n_classes)[[only] * 3])


@pytest.mark.parametrize("name", sorted(VOTES))
def test_classes_that_a_learner_has_not_seen_get_no_vote(name):
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 2])
    np.testing.assert_array_equal(VOTES[name](tree, np.array([[1.0], [0.0]]), 4), np.eye(4)[[2, 0]])


def test_votes_for_a_class_need_no_probabilities():
    X = np.array([[-1.0], [1.0], [-2.0], [2.0]])
    learner = LinearSVC().fit(X, [0, 1, 0, 1])
    np.testing.assert_array_equal(coded(VOTES["class"](learner, X, 2)), [-1, 1, -1, 1])
