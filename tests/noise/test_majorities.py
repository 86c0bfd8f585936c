"""Intervals of the share of wrong majorities, and of what annotators have in common."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost.labels import Labels
from rboost.noise.annotators import Statements, fit_annotators
from rboost.noise.majorities import annotator_noise, wrong_majorities
from tests.noise.test_annotators import crowd


def labels_of(said):
    position = np.full((said.n_rows, said.n_annotators), -1)
    position[said.row, said.annotator] = said.stated
    names = [f"annotator {a}" for a in range(said.n_annotators)]
    return Labels.of_annotators(np.arange(said.n_classes), position, names)


@pytest.mark.parametrize(
    "case",
    [{}, {"a_row": 1}, {"n_rows": 150, "n_annotators": 3}, {"guessers": 0.4, "a_row": 5}],
    ids=str,
)
def test_intervals_hold_the_share_of_wrong_majorities(case):
    inside = []
    for seed in range(10):
        said, scores, y, _ = crowd(seed, **case)
        labels = labels_of(said)
        low, high = wrong_majorities(scores, labels, np.arange(len(y)))
        inside.append(low <= np.mean(labels.given != y) <= high)
    assert np.mean(inside) >= 0.8  # of 10 intervals of .9 three miss it with a probability of .07


def test_intervals_of_accuracy_hold_where_columns_say_little():
    inside = []
    for seed in range(16):
        said, scores, y, matrices = crowd(seed, 150, 3)
        scores = np.random.RandomState(seed).normal(scale=0.5, size=scores.shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, low, high = annotator_noise(said, scores).accuracy
        true = np.einsum("ajj,j->a", matrices, np.bincount(y) / len(y))
        inside.append((low <= true) & (true <= high))
    assert 0.8 <= np.mean(inside) <= 0.97


def test_known_rows_narrow_the_interval():
    said, scores, y, _ = crowd(1, 400, 15, a_row=1)
    labels = labels_of(said)
    rows = np.arange(200, 400)
    alone = wrong_majorities(scores, labels, rows)
    answers = np.where(np.arange(400) < 200, y, -1)
    checked = wrong_majorities(scores, labels.with_answers(answers), rows)
    assert checked[1] - checked[0] < alone[1] - alone[0]


def test_common_doubt_widens_intervals_and_moves_nothing():
    said, scores, *_ = crowd(0, 200, 5, a_row=1)
    fit, noise = fit_annotators(said, scores), annotator_noise(said, scores)
    mean, low, high = fit.accuracy
    assert_allclose(noise.accuracy[0], mean)
    assert np.all(noise.accuracy[2] - noise.accuracy[1] >= high - low - 1e-9)


def test_all_agree_always():
    said, scores, *_ = crowd(0, 60, 3)
    same = said._replace(stated=np.arange(60)[said.row] % 2)
    low, high = wrong_majorities(scores, labels_of(same), np.arange(60))
    assert 0 <= low <= high <= 1


def test_rows_may_have_weights_and_answers():
    said, scores, y, _ = crowd(4, 200, 6)
    known = np.ones((200, 2))
    known[:20] = np.eye(2)[y[:20]]
    weight = np.random.RandomState(0).choice([0.3, 1.0, 3.0], size=200)
    own = Statements(*said[:6], known)
    assert np.isfinite(annotator_noise(own, scores, weight).accuracy).all()
