"""Fits that learn from what people said of rows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss

from rboost import AdaRBoostClassifier, RBoostClassifier


@pytest.fixture(scope="module")
def guessed():
    """Labels that are wrong where a row looks like the other class, or in one half of the table."""
    random = np.random.RandomState(0)
    X = random.normal(size=(1600, 4))
    p = 1 / (1 + np.exp(1 - 2 * X[:, 0] - X[:, 1] ** 2))
    true = (random.uniform(size=1600) < p).astype(int)
    wrong = np.where(true == 1, 0.6 * (X[:, 2] > 0), p)
    return X, true, np.where(random.uniform(size=1600) < wrong, 1 - true, true)


def answers(true, n_answers):
    found = np.full(len(true), None, dtype=object)
    rows = np.random.RandomState(1).permutation(800)[:n_answers]
    found[rows] = true[rows]
    return found


def fit(guessed, engines="auto", **options):
    X, _, label = guessed
    model = RBoostClassifier(engines=engines, max_iter=40, random_state=0)
    return model.fit(X[:800], label[:800], **options)


@pytest.mark.slow
@pytest.mark.parametrize("engines", ["auto", "pool", "linear", "trees"])
def test_answers_bring_probabilities_nearer_to_the_truth(guessed, engines):
    X, true, _ = guessed
    losses = [
        log_loss(true[800:], fit(guessed, engines, y_checked=said).predict_proba(X[800:]))
        for said in (None, answers(true[:800], 200))
    ]
    assert losses[1] < losses[0] - 0.01


def test_checked_rows_are_nearly_certain(guessed):
    _, true, label = guessed
    said = answers(true[:800], 50)
    model = fit(guessed, y_checked=said)
    rows = np.flatnonzero([value is not None for value in said])
    assert_array_equal(model.true_class_[rows], true[rows])
    issue, is_wrong = model.label_issue_probability_[rows], true[rows] != label[rows]
    assert_array_equal(issue > 0.5, is_wrong)
    assert np.mean(np.abs(issue - is_wrong)) < 0.05
    assert np.all((issue > 0) & (issue < 1))  # an answer may be a mistake


def test_missing_answers_may_be_written_in_any_way(guessed):
    _, true, _ = guessed
    said = answers(true[:800], 30)
    expected = fit(guessed, "trees", y_checked=said).held_out_scores_
    for other in (said.astype(float), pd.Series(said, dtype="Int64"), said.tolist()):
        assert_array_equal(fit(guessed, "trees", y_checked=other).held_out_scores_, expected)
    nobody = fit(guessed, "trees", y_checked=np.full(800, np.nan))
    assert_array_equal(nobody.held_out_scores_, fit(guessed, "trees").held_out_scores_)


def test_rows_of_weight_0_are_left_out_with_their_answers(guessed):
    X, true, label = guessed
    said, weight = answers(true[:800], 100), (np.arange(800) % 5 > 0).astype(float)
    weighed = fit(guessed, "trees", y_checked=said, sample_weight=weight)
    model = RBoostClassifier(engines="trees", max_iter=40, random_state=0)
    alone = model.fit(X[:800][weight > 0], label[:800][weight > 0], y_checked=said[weight > 0])
    assert_allclose(weighed.predict_proba(X), alone.predict_proba(X))


def test_words_of_three_classes(guessed):
    X, _, label = guessed
    names = np.array(["a", "b", "c"])
    three = names[np.where(X[:800, 3] > 1, 2, label[:800])]
    said = pd.Series(np.where(np.arange(800) % 10 == 0, three, None))
    model = RBoostClassifier(max_iter=20, random_state=0).fit(X[:800], three, y_checked=said)
    assert_array_equal(model.classes_, names)
    assert np.all(model.label_issue_probability_[::10] < 1e-3)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([0, 1], "y_checked must have one entry for each of 800 rows"),
        ([7] + [None] * 799, "y_checked holds 7 but y holds"),
    ],
)
def test_what_cannot_be_done_is_refused(guessed, said, message):
    X, _, label = guessed
    with pytest.raises(ValueError, match=message):
        RBoostClassifier(engines="pool").fit(X[:800], label[:800], y_checked=said)


def test_algorithm_1_takes_no_answers(guessed):
    X, _, label = guessed
    with pytest.raises(TypeError, match="y_checked"):
        AdaRBoostClassifier().fit(X[:800], label[:800], y_checked=[0] + [None] * 799)
