import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rboost.audit.features import (
    MANY_NAMES,
    TEXT_COMPONENTS,
    as_features,
    as_frame,
    column_of_feature,
    make_vectorizer,
    names_of_rows,
    standardized,
)

N_ROWS = 120


def mixed_table():
    random = np.random.RandomState(0)
    texts = [f"the {random.randint(99)} of {random.randint(99)} and more" for _ in range(N_ROWS)]
    return pd.DataFrame(
        {
            "empty": np.full(N_ROWS, np.nan),
            "number": random.standard_normal(N_ROWS),
            "key": [f"k{k}" for k in range(N_ROWS)],
            "color": random.choice(["red", "green", "blue"], N_ROWS),
            "constant": 1.0,
            "day": pd.date_range("2020-01-01", periods=N_ROWS, freq="37h"),
            "text": texts,
            "flag": random.uniform(size=N_ROWS) < 0.5,
            "gaps": np.where(
                random.uniform(size=N_ROWS) < 0.3, np.nan, random.uniform(size=N_ROWS)
            ),
        }
    )


def vectorized(table):
    vectorizer = make_vectorizer(table)
    return as_features(vectorizer.fit_transform, table), vectorizer


def test_a_frame_keeps_its_columns_and_counts_its_rows_anew():
    frame = pd.DataFrame({"a": [1, 2], 7: ["x", "y"]}, index=[5, 3])
    found = as_frame(frame)
    assert found.columns.tolist() == ["a", "7"]
    assert found.index.tolist() == [0, 1]
    assert found["7"].tolist() == ["x", "y"]
    assert frame.columns.tolist() == ["a", 7]


def test_a_frame_of_polars_is_a_frame():
    found = as_frame(pl.DataFrame({"a": [1.5, None], "b": ["x", "y"]}))
    assert isinstance(found, pd.DataFrame)
    assert found["b"].tolist() == ["x", "y"]
    assert found["a"][0] == 1.5
    assert np.isnan(found["a"][1])


@pytest.mark.parametrize("hold", [np.array, list, lambda rows: [tuple(row) for row in rows]])
def test_columns_of_a_matrix_are_numbered(hold):
    found = as_frame(hold([[1, 2, 3], [4, 5, 6]]))
    assert found.columns.tolist() == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(found.to_numpy(), [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), "a matrix of rows and columns, not ndarray of 1"),
        (np.zeros((2, 2, 2)), "not ndarray of 3"),
        (3, "not int of 0"),
        (np.zeros((0, 2)), "no rows"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than one column 'a'"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "more than one column '1'"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_table_is_refused_with_one_sentence(X, message):
    with pytest.raises(ValueError, match=message) as caught:
        as_frame(X)
    assert "\n" not in str(caught.value)


def test_single_words_that_differ_in_every_row_are_names():
    n = MANY_NAMES + 1
    words = [f"k{k}" for k in range(n)]
    table = pd.DataFrame(
        {
            "key": words,
            "category": pd.Series(words, dtype="category"),
            "number": range(n),
            "twice": [*words[:-1], words[0]],
            "text": [f"k {k}" for k in range(n)],
            "color": ["red"] * n,
        }
    )
    assert names_of_rows(table) == ["key", "category"]
    assert names_of_rows(table[:-1]) == []


def test_names_may_be_missing_in_some_rows():
    words = [f"k{k}" for k in range(MANY_NAMES + 1)] + [None, None]
    assert names_of_rows(pd.DataFrame({"key": words})) == ["key"]


def test_each_feature_leads_to_its_column():
    table = mixed_table()
    features, vectorizer = vectorized(table)
    column = column_of_feature(vectorizer, table)
    assert column.shape == (features.shape[1],)
    used = {table.columns[k] for k in column}
    assert used == {"number", "color", "day", "text", "flag", "gaps"}
    names = table.columns[column]
    assert np.count_nonzero(names == "text") == TEXT_COMPONENTS
    assert np.count_nonzero(names == "color") == 3
    number, gaps = (features[:, names == name][:, 0] for name in ("number", "gaps"))
    assert_allclose(number, table["number"], rtol=1e-6)
    assert_allclose(gaps, table["gaps"], rtol=1e-6)  # missing stays missing
    np.testing.assert_array_equal(features[:, names == "flag"][:, 0], table["flag"])


@pytest.mark.parametrize("changed", ["number", "color", "day", "text", "flag", "gaps"])
def test_only_the_features_of_a_column_change_with_it(changed):
    table = mixed_table()
    before, vectorizer = vectorized(table)
    other = table.copy()
    other[changed] = table[changed].to_numpy()[::-1]
    after = as_features(vectorizer.transform, other)
    differs = (~np.isclose(before, after, equal_nan=True)).any(axis=0)
    column = column_of_feature(vectorizer, table)
    assert differs.any()
    assert set(table.columns[column[differs]]) == {changed}


def test_names_that_look_like_outputs_of_other_columns_are_told_apart():
    random = np.random.RandomState(0)
    table = pd.DataFrame(
        {
            "a": random.choice(["b", "c", "d"], N_ROWS),
            "a_b": random.standard_normal(N_ROWS),
        }
    )
    features, vectorizer = vectorized(table)
    column = column_of_feature(vectorizer, table)
    place = np.flatnonzero(column == 1)
    assert len(place) == 1
    assert_allclose(features[:, place[0]], table["a_b"], rtol=1e-6)


def test_infinite_and_huge_numbers_count_as_missing():
    table = pd.DataFrame({"a": [1.0, np.inf, -np.inf, 1e300, np.nan] * 10})
    features, _ = vectorized(table)
    assert features.dtype == np.float32
    np.testing.assert_array_equal(np.isnan(features[:5, 0]), [False, True, True, True, True])


def test_a_table_that_says_nothing_has_no_features():
    table = mixed_table()[["empty", "key", "constant"]]
    features, _ = vectorized(table)
    assert features.shape == (N_ROWS, 0)


@given(
    st.integers(0, 999),
    st.sampled_from([1e-30, 1e-3, 1.0, 1e6, 1e30, 3e38]),
    st.sampled_from([0.0, 0.3, 0.9]),
)
def test_standardized_features_are_finite_and_bounded(seed, scale, missing):
    random = np.random.RandomState(seed)
    features = (scale * random.uniform(-1, 1, (50, 3))).astype(np.float32)
    features[random.uniform(size=features.shape) < missing] = np.nan
    features[:, 2] = np.nan
    before = features.copy()
    found = standardized(features)
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= 5
    assert_allclose(found[np.isnan(features)], 0, atol=1e-9)
    np.testing.assert_array_equal(features, before)


@given(st.integers(0, 999), st.sampled_from([1.0, 1e5]), st.sampled_from([0.0, 100.0]))
def test_standardized_columns_have_mean_0_and_variance_1(seed, scale, shift):
    random = np.random.RandomState(seed)
    features = (scale * (random.uniform(size=(60, 2)) + shift)).astype(np.float32)
    found = standardized(features)  # nothing uniform lies beyond five deviations
    assert_allclose(found.mean(axis=0), 0, atol=1e-6)
    assert_allclose(found.std(axis=0), 1, atol=1e-6)
    assert_allclose(
        np.argsort(found[:, 0], kind="stable"), np.argsort(features[:, 0], kind="stable")
    )


def test_constant_columns_are_0_and_outliers_are_near():
    features = np.ones((200, 2), dtype=np.float32)
    features[0, 1] = 1e9
    found = standardized(features)
    np.testing.assert_array_equal(found[:, 0], 0)
    assert found[0, 1] == 5
