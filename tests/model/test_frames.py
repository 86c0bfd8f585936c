"""Frames with words, dates and missing values, by every engine."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from rboost import RBoostClassifier

COLUMNS = ["town", "size", "nothing", "sold"]
every_engine = pytest.mark.parametrize("estimator", [None, "pool", "trees"])
every_frame = pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"]
)


def columns(n_rows=240, seed=0):
    """Columns with words, missing values and truth values, and classes that two of them tell."""
    random = np.random.RandomState(seed)
    town, size = random.choice(list("abcd"), n_rows), random.standard_normal(n_rows)
    y = np.where((np.isin(town, ["a", "c"])) ^ (size > 1), "yes", "no")
    wrong = random.uniform(size=n_rows) < 0.1
    y = np.where(wrong, np.where(y == "yes", "no", "yes"), y)
    words = [None if random.uniform() < 0.05 else str(word) for word in town]
    numbers = [None if random.uniform() < 0.05 else float(number) for number in size]
    sold = [bool(value) for value in random.uniform(size=n_rows) < 0.5]
    return dict(zip(COLUMNS, [words, numbers, [None] * n_rows, sold], strict=True)), y


def fit(estimator, X, y, **arguments):
    return RBoostClassifier(estimator, n_estimators=20, random_state=0).fit(X, y, **arguments)


@every_engine
@every_frame
def test_words_and_missing_values_are_learnt_from(frame, estimator):
    table, y = columns()
    X, (new, y_new) = frame(table), columns(seed=1)
    X_new = frame(new)
    model = fit(estimator, X, y)
    assert model.score(X_new, y_new) > 0.75
    assert_array_equal(model.feature_names_in_, COLUMNS)
    assert model.n_features_in_ == 4
    probability = model.predict_proba(X_new)
    assert np.all(np.isfinite(probability))
    *_, last = model.staged_predict_proba(X_new)
    assert_allclose(last, probability, atol=1e-9)
    importances = model.feature_importances_
    assert importances.shape == (4,)
    assert_allclose(importances.sum(), 1)
    assert set(np.argsort(importances)[2:]) == {0, 1}
    assert importances[2] == 0


@every_engine
def test_kinds_of_frames_give_the_same(estimator):
    table, y = columns()
    one, other = (fit(estimator, frame(table), y) for frame in (pd.DataFrame, pl.DataFrame))
    assert_array_equal(one.held_out_scores_, other.held_out_scores_)


@every_engine
@every_frame
def test_trusted_rows_come_in_frames_too(frame, estimator):
    (table, y), (checked, right) = columns(), columns(40, seed=2)
    X = frame(table)
    model = fit(estimator, X, y, X_trusted=frame(checked), y_trusted=right)
    assert len(model.held_out_scores_) == 280
    assert model.label_issue_probability_.shape == (240,)
    with pytest.raises(ValueError, match="X_trusted must have the columns of X"):
        fit(estimator, X, y, X_trusted=frame({"a": [1, 2]}), y_trusted=["yes", "no"])


@pytest.mark.slow
@every_engine
@every_frame
def test_clones_and_pickles(frame, estimator):
    table, y = columns()
    X = frame(table)
    model = fit(estimator, X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(clone(model).fit(X, y).predict_proba(X), model.predict_proba(X))


@every_engine
@every_frame
def test_words_that_were_not_there_are_taken(frame, estimator):
    table, y = columns()
    model = fit(estimator, frame(table), y)
    strange = frame({**table, "town": ["elsewhere"] * 240})
    other = frame({**table, "town": ["somewhere"] * 240})
    assert_array_equal(model.predict_proba(strange), model.predict_proba(other))
    assert np.all(np.isfinite(model.predict_proba(strange)))


@every_engine
def test_rows_without_weight_are_judged_too(estimator):
    table, y = columns()
    X, weight = pd.DataFrame(table), np.where(np.arange(240) % 4 == 0, 0.0, 1.0)
    model = fit(estimator, X, y, sample_weight=weight)
    issues = model.label_issue_probability_
    assert issues.shape == (240,)
    assert np.all((issues >= 0) & (issues <= 1))


@every_engine
def test_a_thousand_levels(estimator):
    table, y = columns(400)
    many = [f"number {place % 1000}" for place in np.random.RandomState(0).permutation(4000)[:400]]
    X = pd.DataFrame({**table, "name": many}).astype({"name": "category"})
    X["name"] = X["name"].cat.set_categories([f"number {place}" for place in range(1000)])
    model = fit(estimator, X, y)
    assert model.feature_importances_.shape == (5,)
    assert model.score(X, y) > 0.75


@pytest.mark.filterwarnings("ignore:Every training row is predicted as")
@every_engine
def test_a_class_of_two_rows(estimator):
    table, y = columns()
    y = np.where(np.arange(240) < 2, "rare", y)
    model = fit(estimator, pd.DataFrame(table), y)
    assert_array_equal(model.classes_, ["no", "rare", "yes"])
    probability = model.predict_proba(pd.DataFrame(table))
    assert_allclose(probability.sum(axis=1), 1)
    assert probability[:, 1].mean() < 0.2


@every_engine
@every_frame
def test_infinite_values_are_named_in_one_sentence(frame, estimator):
    table, y = columns()
    bad = frame({**table, "size": [np.inf, *table["size"][1:]]})
    model = RBoostClassifier(estimator, n_estimators=5)
    with pytest.raises(ValueError, match=r"^column 'size' holds infinite values; replace .*\.$"):
        model.fit(bad, y)
    assert vars(model) == vars(RBoostClassifier(estimator, n_estimators=5))
    fitted = fit(estimator, frame(table), y)
    with pytest.raises(ValueError, match="column 'size' holds infinite values"):
        fitted.predict(bad)
    with pytest.raises(ValueError, match=r"infinity"):
        fit(estimator, np.full((4, 2), np.inf), [0, 1, 0, 1])
