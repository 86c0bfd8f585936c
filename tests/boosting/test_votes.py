import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from rboost.boosting.votes import VOTES


@given(st.integers(0, 2**31 - 1), st.integers(4, 40))
def test_both_votes_are_of_one_mind_and_lie_between_minus_one_and_one(seed, n_rows):
    random = np.random.RandomState(seed)
    X, classes = random.standard_normal((n_rows, 2)), np.arange(n_rows) % 2
    learner = GaussianNB().fit(X, classes)
    hard, soft = (VOTES[name](learner, X) for name in ["class", "probability"])
    assert set(hard) <= {-1.0, 1.0}
    assert np.all(np.abs(soft) <= 1)
    clear = np.abs(soft) > 1e-9
    np.testing.assert_array_equal(np.sign(soft)[clear], hard[clear])


def test_a_vote_by_probability_says_how_sure_it_is():
    X = np.array([[0.0], [0.0], [0.0], [0.0], [1.0]])
    tree = DecisionTreeClassifier().fit(X, [1, 0, 0, 0, 1])
    assert_allclose(VOTES["probability"](tree, [[0.0], [1.0]]), [-0.5, 1.0])
    assert_allclose(VOTES["class"](tree, [[0.0], [1.0]]), [-1.0, 1.0])


@pytest.mark.parametrize("name", sorted(VOTES))
@pytest.mark.parametrize("only", [0, 1])
def test_a_learner_that_saw_one_class_votes_for_it(name, only):
    X = np.zeros((3, 1))
    for learner in [DummyClassifier(strategy="prior"), DecisionTreeClassifier()]:
        votes = VOTES[name](learner.fit(X, np.full(3, only)), X)
        np.testing.assert_array_equal(votes, np.full(3, 2.0 * only - 1))


def test_a_class_without_weight_gets_no_vote():
    learner = DummyClassifier(strategy="prior").fit(np.zeros((3, 1)), [0, 0, 1], [1.0, 1.0, 0.0])
    for vote in VOTES.values():
        np.testing.assert_array_equal(vote(learner, np.zeros((2, 1))), [-1, -1])


def test_votes_for_a_class_need_no_probabilities():
    X = np.array([[-1.0], [1.0], [-2.0], [2.0]])
    learner = LinearSVC().fit(X, [0, 1, 0, 1])
    np.testing.assert_array_equal(VOTES["class"](learner, X), [-1, 1, -1, 1])
