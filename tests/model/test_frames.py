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
every_engine = pytest.mark.parametrize("engines", ["auto", "pool", "trees"])
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


def fit(engines, X, y, **arguments):
    model = RBoostClassifier(engines=engines, max_iter=20, random_state=0)
    return model.fit(X, y, **arguments)


@every_engine
@every_frame
def test_words_and_missing_values_are_learnt_from(frame, engines):
    table, y = columns()
    X, (new, y_new) = frame(table), columns(seed=1)
    X_new = frame(new)
    model = fit(engines, X, y)
    assert model.score(X_new, y_new) > 0.75
    assert_array_equal(model.feature_names_in_, COLUMNS)
    assert model.n_features_in_ == 4
    probability = model.predict_proba(X_new)
    assert np.all(np.isfinite(probability))
    importances = model.feature_importances_
    assert importances.shape == (4,)
    assert_allclose(importances.sum(), 1)
    assert set(np.argsort(importances)[2:]) == {0, 1}
    assert importances[2] == 0


@every_engine
def test_kinds_of_frames_give_the_same(engines):
    table, y = columns()
    one, other = (fit(engines, frame(table), y) for frame in (pd.DataFrame, pl.DataFrame))
    assert_array_equal(one.held_out_scores_, other.held_out_scores_)


@every_engine
@every_frame
def test_trusted_rows_come_in_frames_too(frame, engines):
    (table, y), (checked, right) = columns(), columns(40, seed=2)
    X = frame(table)
    model = fit(engines, X, y, X_trusted=frame(checked), y_trusted=right)
    assert len(model.held_out_scores_) == 280
    assert model.label_issue_probability_.shape == (240,)
    with pytest.raises(ValueError, match="X_trusted must have the columns of X"):
        fit(engines, X, y, X_trusted=frame({"a": [1, 2]}), y_trusted=["yes", "no"])


@pytest.mark.slow
@every_engine
@every_frame
def test_clones_and_pickles(frame, engines):
    table, y = columns()
    X = frame(table)
    model = fit(engines, X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(clone(model).fit(X, y).predict_proba(X), model.predict_proba(X))


@every_engine
@every_frame
def test_words_that_were_not_there_are_taken(frame, engines):
    table, y = columns()
    model = fit(engines, frame(table), y)
    strange = frame({**table, "town": ["elsewhere"] * 240})
    other = frame({**table, "town": ["somewhere"] * 240})
    assert_array_equal(model.predict_proba(strange), model.predict_proba(other))
    assert np.all(np.isfinite(model.predict_proba(strange)))


@every_engine
def test_rows_without_weight_are_judged_too(engines):
    table, y = columns()
    X, weight = pd.DataFrame(table), np.where(np.arange(240) % 4 == 0, 0.0, 1.0)
    model = fit(engines, X, y, sample_weight=weight)
    issues = model.label_issue_probability_
    assert issues.shape == (240,)
    assert np.all((issues >= 0) & (issues <= 1))


@every_engine
def test_a_thousand_levels(engines):
    table, y = columns(400)
    many = [f"number {place % 1000}" for place in np.random.RandomState(0).permutation(4000)[:400]]
    X = pd.DataFrame({**table, "name": many}).astype({"name": "category"})
    X["name"] = X["name"].cat.set_categories([f"number {place}" for place in range(1000)])
    model = fit(engines, X, y)
    assert model.feature_importances_.shape == (5,)
    assert model.score(X, y) > 0.75


@pytest.mark.filterwarnings("ignore:Every training row is predicted as")
@every_engine
def test_a_class_of_two_rows(engines):
    table, y = columns()
    y = np.where(np.arange(240) < 2, "rare", y)
    model = fit(engines, pd.DataFrame(table), y)
    assert_array_equal(model.classes_, ["no", "rare", "yes"])
    probability = model.predict_proba(pd.DataFrame(table))
    assert_allclose(probability.sum(axis=1), 1)
    assert probability[:, 1].mean() < 0.2


@every_engine
@every_frame
def test_infinite_values_are_named_in_one_sentence(frame, engines):
    table, y = columns()
    bad = frame({**table, "size": [np.inf, *table["size"][1:]]})
    model = RBoostClassifier(engines=engines, max_iter=5)
    with pytest.raises(ValueError, match=r"^column 'size' holds infinite values; replace .*\.$"):
        model.fit(bad, y)
    assert vars(model) == vars(RBoostClassifier(engines=engines, max_iter=5))
    fitted = fit(engines, frame(table), y)
    with pytest.raises(ValueError, match="column 'size' holds infinite values"):
        fitted.predict(bad)
    with pytest.raises(ValueError, match=r"infinity"):
        fit(engines, np.full((4, 2), np.inf), [0, 1, 0, 1])


@every_frame
@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_learners_take_words_but_no_missing_values(frame, n_classes):
    table, y = columns()
    y = np.where(np.arange(240) % 3 == n_classes - 1, "maybe", y) if n_classes == 3 else y
    whole = {"town": [word or "a" for word in table["town"]], "sold": table["sold"]}
    model = fit("linear", frame(whole), y)
    assert np.all(np.isfinite(model.predict_proba(frame(whole))))
    size = [None, *(number or 0.0 for number in table["size"][1:])]
    bad = frame({**whole, "size": size})
    with pytest.raises(ValueError, match="size") as error:
        fit("linear", bad, y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("number", [1.0, "a"])
def test_columns_of_one_name_are_refused_in_one_sentence(number):
    X = pd.DataFrame([[number, number]] * 4, columns=["size", "size"])
    with pytest.raises(ValueError, match="X has more than one column 'size'; give each another"):
        fit("auto", X, [0, 1] * 2)


def test_a_frame_without_columns_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="at least one row and one column"):
        fit("auto", pd.DataFrame(index=range(4)), [0, 1] * 2)


def test_the_name_of_a_column_is_no_context():
    table, y = columns()
    with pytest.raises(ValueError, match="one entry a row, but is 'town'; pass the column itself"):
        fit("auto", pd.DataFrame(table), y, context="town")


@every_engine
def test_names_of_rows_alone_are_refused_in_one_sentence(engines):
    X = pd.DataFrame({"id": [f"N{row}" for row in range(200)]})
    with pytest.raises(ValueError, match="X has no column to learn from"):
        fit(engines, X, [0, 1] * 100)


def test_names_of_rows_are_left_out_with_a_warning():
    random = np.random.RandomState(0)
    X = pd.DataFrame({"x": random.standard_normal(200), "key": [f"k{k}" for k in range(200)]})
    X.loc[1, "key"] = "k0"  # nearly every row is enough
    with pytest.warns(UserWarning, match="like a name, which are left out: 'key'"):
        model = RBoostClassifier(max_iter=5).fit(X, X["x"] > 0)
    assert_array_equal(model.predict_proba(X), model.predict_proba(X.assign(key="other")))
