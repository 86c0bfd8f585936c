"""Logistic regression with soft labels: its optimum, held-out scores, and labels under noise."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

from rboost import RBoostClassifier
from rboost.engines import logistic
from rboost.engines.engine import EngineRows, EngineSettings
from rboost.engines.logistic import (
    FoldRegressions,
    LinearScores,
    Regression,
    Targets,
    fit_logistic,
    posterior,
    scaled_rows,
    scaling_of,
    steepest,
)
from rboost.noise.likelihood import Likelihood


def problem(n_classes, n_rows=150, n_columns=6, seed=0):
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, n_columns)).astype(np.float32)
    q = random.dirichlet(np.ones(n_classes), n_rows)
    return X, q, random.uniform(0.2, 2, n_rows)


def labelled(label, n_classes, weight=None):
    columns = np.eye(n_classes)
    return Likelihood(label, columns, np.ones(len(label)) if weight is None else weight)


def regression(X, q, weight):
    return Regression.of(X, np.ones(len(X), dtype=bool), Targets.of(q, weight))


@pytest.fixture
def exactly(monkeypatch):
    monkeypatch.setattr(logistic, "STEPS_OF_MANY", (400, 1e-9))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_it_is_the_regression_of_scikit_learn(n_classes, C, exactly):
    X, q, weight = problem(n_classes)
    label = q.argmax(axis=1)
    found = regression(X, np.eye(n_classes)[label], weight)
    weights = found.fitted(C, found.zero)
    # Two classes have one row of weights here and there.
    peer = LogisticRegression(C=C, max_iter=5000, tol=1e-10).fit(X, label, weight)
    expected = peer.coef_ @ X.T + peer.intercept_[:, np.newaxis]
    scores = (X @ weights[:-1] + weights[-1]).T
    assert_allclose(scores - scores.mean(axis=0) * (n_classes > 2),
                    expected - expected.mean(axis=0) * (n_classes > 2), atol=0.01)  # fmt: skip


def test_columns_that_depend_on_each_other_are_told_apart():
    random = np.random.RandomState(0)
    common = random.normal(size=(2000, 1))
    X = common + 0.03 * random.normal(size=(2000, 2))
    y = (X[:, 0] > X[:, 1]).astype(int)
    assert RBoostClassifier(engines="logistic", random_state=0).fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("n_classes", [2, 4])
def test_soft_labels_are_weighted_rows(n_classes, exactly):
    X, q, weight = problem(n_classes)
    soft = regression(X, q, weight)
    hard = regression(
        np.repeat(X, n_classes, axis=0),
        np.tile(np.eye(n_classes), (len(X), 1)),
        (weight[:, np.newaxis] * q).ravel(),
    )
    assert_allclose(soft.fitted(1.0, soft.zero), hard.fitted(1.0, hard.zero), atol=2e-3)


@given(st.integers(2, 5), st.integers(0, 100))
@settings(max_examples=20)
def test_the_gradient_is_p_less_q(n_classes, seed):
    _, q, weight = problem(n_classes, n_rows=1, seed=seed)
    targets = Targets.of(q, weight)
    shape = targets.q.shape

    def cost(scores):
        return targets.cost(scores.reshape(shape))[0]

    def gradient(scores):
        return targets.cost(scores.reshape(shape))[1].ravel()

    start = np.random.RandomState(seed).normal(size=shape[1])
    assert check_grad(cost, gradient, start) < 1e-5


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_and_dense_rows_give_the_same_weights(n_classes):
    X, q, weight = problem(n_classes)
    X[np.abs(X) < 0.7] = 0
    every, targets = np.ones(len(X), dtype=bool), Targets.of(q, weight)
    dense, other = (Regression.of(own, every, targets) for own in (X, sparse.csr_matrix(X)))
    assert_allclose(dense.fitted(1.0, dense.zero), other.fitted(1.0, other.zero), atol=1e-4)


@pytest.mark.parametrize("slope", [0.5, 1.0, 4.0])
def test_the_likeliest_slope_is_found(slope):
    random = np.random.RandomState(0)
    scores = random.normal(size=20_000)
    label = (random.uniform(size=20_000) < 1 / (1 + np.exp(-slope * scores))).astype(int)
    found, loss = steepest(labelled(label, 2), scores)
    assert_allclose(found, slope, rtol=0.05)
    assert_allclose(loss, labelled(label, 2).loss(slope * scores), rtol=1e-3)


@given(st.integers(2, 4), st.integers(0, 100))
@settings(max_examples=20)
def test_the_posterior_is_bayes_rule(n_classes, seed):
    random = np.random.RandomState(seed)
    noise = random.dirichlet(np.ones(n_classes), n_classes)
    label = random.randint(n_classes, size=5)
    scores = random.normal(size=(5, n_classes))
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    joint = p * noise[:, label].T
    found = posterior(scores, Likelihood(label, noise, np.ones(5)))
    assert_allclose(found, joint / joint.sum(axis=1, keepdims=True))


def blobs(n_classes=3, n_rows=600, seed=0):
    X, y = make_blobs(n_rows, 5, centers=n_classes, cluster_std=3.0, random_state=seed)
    return X, y


def test_a_held_out_score_does_not_depend_on_its_own_label(monkeypatch):
    # C and the slope are numbers that all labels have a part in.
    monkeypatch.setattr(logistic, "PATH", (1.0,))
    monkeypatch.setattr(logistic, "steepest", lambda likelihood, scores: (2.0, 0.0))
    X, y = blobs()
    table = scaled_rows(X, *scaling_of(X))
    likelihood = labelled(y, 3).with_columns(np.full((3, 3), 0.1) + 0.7 * np.eye(3))
    changed = replace(likelihood, code=np.where(np.arange(len(y)) == 7, (y + 1) % 3, y))
    found = []
    for own in (likelihood, changed):
        folds = FoldRegressions(table, labelled(y, 3), np.full(3, 1 / 3), 0)
        if own is changed:
            folds.targets = [Targets.of(np.eye(3)[own.code], own.weight)] * folds.n_folds
        folds.fit(own)
        folds.renew(own)
        found.append(folds.fit(own))
    of_row = folds.fold == folds.fold[7]
    assert_allclose(found[0][7], found[1][7], atol=1e-5)
    assert np.abs(found[0][~of_row] - found[1][~of_row]).max() > 1e-4


def test_targets_of_a_fold_do_not_depend_on_labels_of_the_fold_they_will_score(monkeypatch):
    # C and the slope are numbers that all labels have a part in.
    monkeypatch.setattr(logistic, "PATH", (1.0,))
    monkeypatch.setattr(logistic, "steepest", lambda likelihood, scores: (2.0, 0.0))
    X, y = blobs()
    table, said = scaled_rows(X, *scaling_of(X)), np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    made = []
    for shift in (0, 1):
        folds = FoldRegressions(table, labelled(y, 3), np.full(3, 1 / 3), 0)
        own = np.where(folds.fold == 0, (y + shift) % 3, y)
        folds.targets = [Targets.of(np.eye(3)[own], np.ones(len(y)))] * folds.n_folds
        likelihood = labelled(own, 3).with_columns(said)
        folds.fit(likelihood)
        folds.renew(likelihood)
        made.append(folds.targets[0].q[folds.fold != 0])
    assert_array_equal(*made)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_flips_to_the_next_class_are_seen_through(n_classes):
    random = np.random.RandomState(0)
    centers = random.normal(size=(n_classes, 60))
    y = random.randint(n_classes, size=1500)
    X = centers[y] + 2.5 * random.normal(size=(1500, 60))
    flipped = (random.uniform(size=1500) < 0.3) & ((y == 0) | (n_classes > 2))
    noisy = np.where(flipped, (y + 1) % n_classes, y)
    model = RBoostClassifier(engines="logistic", random_state=0).fit(X[:1000], noisy[:1000])
    peer = LogisticRegression().fit(X[:1000], noisy[:1000])
    assert model.score(X[1000:], y[1000:]) > peer.score(X[1000:], y[1000:]) + 0.02
    expected = np.eye(n_classes)
    for j in range(n_classes if n_classes > 2 else 1):
        expected[j, j], expected[j, (j + 1) % n_classes] = 0.7, 0.3
    assert_allclose(model.noise_matrix_, expected, atol=0.15)


def test_right_labels_are_fitted_once():
    X, y = make_blobs(600, 5, centers=3, cluster_std=1.0, random_state=0)
    model = RBoostClassifier(engines="logistic", random_state=0).fit(X, y)
    assert (model.n_iter_, model.stop_reason_) == (1, "logistic: labels hardly change")
    assert model.score(X, y) > 0.98


@pytest.mark.parametrize(("center", "spread"), [(1.7e9, 60.0), (0.1, 0.0), (0.0, 1e-42)])
def test_columns_far_from_zero_or_constant_lose_nothing(center, spread):
    X, y = make_blobs(600, 5, centers=3, cluster_std=1.0, random_state=0)
    changed = X.copy()
    changed[:, 4] = center + spread * X[:, 4]
    model = RBoostClassifier(engines="logistic", random_state=0).fit(changed, y)
    assert model.score(changed, y) > 0.97
    assert np.isfinite(model.feature_importances_).all()


def test_importances_do_not_depend_on_units():
    X, y = blobs()
    first, other = (
        RBoostClassifier(engines="logistic", random_state=0).fit(rows, y).feature_importances_
        for rows in (X, X * [1, 1000, 1, 1e-3, 1])
    )
    assert_allclose(first, other, atol=1e-3)


def test_units_do_not_matter_and_missing_numbers_are_means():
    X, y = blobs()
    units = np.array([1e-6, 1.0, 1e5, 3.0, 1e3])
    first = RBoostClassifier(engines="logistic", random_state=0).fit(X, y)
    other = RBoostClassifier(engines="logistic", random_state=0).fit(X * units + 5 * units, y)
    expected = first.predict_proba(X)
    assert_allclose(other.predict_proba(X * units + 5 * units), expected, atol=5e-3)
    gaps, filled = X.copy(), X.copy()
    gaps[:50, 2], filled[:50, 2] = np.nan, X[:, 2].mean()
    assert_allclose(first.predict_proba(gaps), first.predict_proba(filled), atol=1e-5)
    assert RBoostClassifier(engines="logistic", random_state=0).fit(gaps, y).score(X, y) > 0.7


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_rows", [2, 3, 4, 7, 20])
def test_few_rows_are_enough(n_rows):
    X, y = np.arange(n_rows, dtype=float)[:, np.newaxis], np.arange(n_rows) % 2
    model = RBoostClassifier(engines="logistic", random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_targets_are_fitted_as_they_are():
    X, y = blobs()
    q = 0.9 * np.eye(3)[y] + 0.1 / 3
    likelihood = Likelihood.dense(q, np.ones(len(y)), are_targets=True)
    rows = EngineRows(X, likelihood, np.full(3, 1 / 3), np.zeros(len(y), np.uint8), np.zeros(3))
    found = fit_logistic(rows, None, EngineSettings())
    assert found.n_iter == 1
    assert (found.held_out.argmax(axis=1) == y).mean() > 0.7


def test_a_member_predicts_what_its_weights_say():
    weights = np.array([[1.0], [2.0], [0.5]], dtype=np.float32)
    member = LinearScores(weights, np.array([2.0, 1.0]), 2, center=np.array([3.0, 0.0]))
    X = np.array([[1.0, 1.0], [np.nan, 0.0]])
    for rows in (X, sparse.csr_matrix(X)):
        assert_allclose(member.scores(rows, None), [1.5, 0.5])
    assert_allclose(member.feature_importances(), [0.2, 0.8])


WORDS = {"good": ["lovely", "great", "superb", "fine"], "bad": ["awful", "dull", "poor", "weak"]}


def reviews(n_rows=400, seed=0):
    random = np.random.RandomState(seed)
    y = random.choice(["good", "bad"], n_rows)
    filler = ["the", "film", "was", "and", "plot", "it", "so", "story"]
    texts = [" ".join([*random.choice(filler, 6), *random.choice(WORDS[own], 2)]) for own in y]
    return pd.DataFrame({"text": [f"{t} {k}" for k, t in enumerate(texts)]}), y


def test_texts_are_read_by_their_words():
    X, y = reviews()
    model = RBoostClassifier(random_state=0).fit(X[:300], y[:300])
    assert set(model.engine_weights_) == {"logistic"}
    assert model.score(X[300:], y[300:]) > 0.95


def test_texts_beside_numbers_are_read_by_several_engines():
    X, y = reviews()
    X["number"] = np.random.RandomState(0).normal(size=len(X)) + (y == "good")
    model = RBoostClassifier(random_state=0, max_iter=20).fit(X[:300], y[:300])
    assert "logistic" in model.engine_weights_
    assert model.score(X[300:], y[300:]) > 0.95
