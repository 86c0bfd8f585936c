"""What a column is, decided in one place; texts; frames for people."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rboost.table.columns import as_frame, read_column, read_columns
from rboost.table.features import FEWEST_NAMES, N_DIRECTIONS, kind_of, learn_encoder, standardized

N_ROWS = 120
MANY = FEWEST_NAMES + 1


def mixed_table():
    random = np.random.RandomState(0)
    return pd.DataFrame(
        {
            "empty": np.full(N_ROWS, np.nan),
            "number": random.standard_normal(N_ROWS),
            "key": [f"k{k}" for k in range(N_ROWS)],
            "color": random.choice(["red", "green", "blue"], N_ROWS),
            "constant": 1.0,
            "day": pd.date_range("2020-01-01", periods=N_ROWS, freq="37h"),
            "text": [
                f"the {random.randint(99)} of {random.randint(99)} and more" for _ in range(N_ROWS)
            ],
            "flag": random.uniform(size=N_ROWS) < 0.5,
            "gaps": np.where(
                random.uniform(size=N_ROWS) < 0.3, np.nan, random.uniform(size=N_ROWS)
            ),
        }
    )


KEYS = [f"k{k}" for k in range(MANY)]
KINDS = {
    "name": [
        KEYS, [*KEYS, None], [*KEYS, KEYS[0]], [f"{k:08}" for k in range(MANY)],
        [f"{k}@mail.org" for k in KEYS],
    ],
    "category": [
        KEYS[:-1], [*KEYS[:-1], KEYS[0]], [*KEYS, *KEYS[:3]], ["red", "blue"] * 50,
        ["01", "02"] * 50, pd.Series(["1", "2"] * 50, dtype="category"),
        ["big city", "small town"] * 50,
        [f"big town {k}" for k in range(MANY)] * 5,
    ],
    "text": [
        [f"the text {k} of all" for k in range(MANY)],
        [f"第{k}个客户打电话给银行" for k in range(MANY)],
        [f"sentence {k} stands in many rows" for k in range(MANY)] * 5,
    ],
    "number": [
        ["1", "2.5", "NA"], ["true", "FALSE", None], [True, False], ["$1,234.50", "$3"], [None],
        ["12 %", "13 %"], ["1e3", "?"], pd.Series([1, None], dtype="Int64"), [1, 2],
    ],
    "date": [["2020-01-01", "2020-02-01"], pd.Series(pd.to_datetime(["2020-01-01", None]))],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "values"), [(kind, values) for kind, columns in KINDS.items() for values in columns]
)
def test_kinds(kind, values):
    assert kind_of(read_column(values)).kind == kind


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame])
def test_kinds_are_the_same_in_every_library(make):
    encoder = learn_encoder(read_columns(make(mixed_table())))
    assert encoder.kinds == [
        "number", "number", "name", "category", "number", "date", "text", "number", "number",
    ]  # fmt: skip
    assert [own.is_empty for own in encoder.columns] == [True] + [False] * 8
    assert [own.name for own in encoder.columns if own.is_constant] == ["constant"]


def test_each_feature_leads_to_its_column():
    table = mixed_table()
    encoder = learn_encoder(read_columns(table))
    features = encoder.features(table)
    for form in ("trees", "dense", "sparse"):
        source = features.encoder.source(form)
        assert getattr(features, form).shape == (N_ROWS, len(source))
        names = table.columns[source]
        assert "key" not in names
    names = table.columns[features.encoder.source("dense")]
    assert np.count_nonzero(names == "text") == N_DIRECTIONS
    assert np.count_nonzero(names == "color") == 3
    for name in ("number", "gaps", "flag"):
        np.testing.assert_array_equal(features.dense[:, names == name][:, 0], table[name])


@pytest.mark.parametrize("changed", ["number", "color", "day", "text", "flag", "gaps"])
@pytest.mark.parametrize("form", ["trees", "dense", "sparse"])
def test_only_the_features_of_a_column_change_with_it(changed, form):
    table = mixed_table()
    encoder = learn_encoder(read_columns(table))
    other = table.copy()
    other[changed] = table[changed].to_numpy()[::-1]
    found = [getattr(encoder.features(frame), form) for frame in (table, other)]
    before, after = (rows.toarray() if form == "sparse" else rows for rows in found)
    differs = (~np.isclose(before, after, equal_nan=True)).any(axis=0)
    assert differs.any()
    source = encoder.source(form)
    assert set(table.columns[source[differs]]) == {changed}


def test_columns_are_exchanged_and_left_out():
    table = mixed_table()
    features = learn_encoder(read_columns(table)).features(table)
    rows, others = np.arange(5), np.arange(10, 15)
    for k, name in enumerate(table.columns):
        changed = features.exchanged(rows, others, np.full(5, k))
        borrowed = table.iloc[rows].reset_index(drop=True)
        borrowed[name] = table[name].iloc[others].to_numpy()
        expected = features.encoder.features(borrowed)
        np.testing.assert_array_equal(changed.trees, expected.trees)
    kept = features.only([1, 6])
    np.testing.assert_array_equal(
        kept.trees, features.trees[:, np.isin(features.encoder.source("trees"), [1, 6])]
    )


def test_rows_are_taken_and_joined():
    table = mixed_table()
    features = learn_encoder(read_columns(table)).features(table)
    again = features[:50].followed_by(features[50:])
    np.testing.assert_array_equal(again.trees, features.trees)
    assert (again.sparse != features.sparse).nnz == 0
    assert np.isfinite(features.sparse.data).all()


def test_columns_may_come_in_another_order_but_not_be_absent():
    table = mixed_table()
    encoder = learn_encoder(read_columns(table))
    turned = encoder.features(table[table.columns[::-1]])
    np.testing.assert_array_equal(turned.trees, encoder.features(table).trees)
    with pytest.raises(ValueError, match="The table lacks the column 'day' that the model was"):
        encoder.features(table.drop(columns="day"))


def test_amounts_in_another_unit_are_refused():
    encoder = learn_encoder(read_columns(pd.DataFrame({"price": ["$1,200.50", "$3"] * 10})))
    later = encoder.features(pd.DataFrame({"price": ["$7", "8", None]}))
    np.testing.assert_array_equal(later.values[:, 0], [7, 8, np.nan])
    with pytest.raises(ValueError, match=r"held amounts in '\$' .* but now has '€5'; convert them"):
        encoder.features(pd.DataFrame({"price": ["€5"]}))


def test_texts_without_a_common_term_are_one_direction_of_zeros():
    texts = [f"{chr(97 + k % 26) * (3 + k // 26)} {k}" for k in range(MANY)]
    table = pd.DataFrame({"text": texts, "x": range(MANY)})
    features = learn_encoder(read_columns(table)).features(table)
    assert np.isfinite(features.trees).all()


def test_a_frame_keeps_its_columns_and_counts_its_rows_anew():
    frame = pd.DataFrame({"a": [1, 2], 7: ["x", "y"]}, index=[5, 3])
    found = as_frame(frame)
    assert found.columns.tolist() == ["a", "7"]
    assert found.index.tolist() == [0, 1]
    assert found["7"].tolist() == ["x", "y"]
    assert frame.columns.tolist() == ["a", 7]


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas])
def test_other_frames_are_frames(make):
    found = as_frame(make(pd.DataFrame({"a": [1.5, None], "b": ["x", "y"]})))
    assert isinstance(found, pd.DataFrame)
    assert found["b"].tolist() == ["x", "y"]
    assert found["a"][0] == 1.5
    assert np.isnan(found["a"][1])


@pytest.mark.parametrize("hold", [np.array, list, lambda rows: [tuple(row) for row in rows]])
def test_columns_of_a_matrix_are_numbered(hold):
    found = as_frame(hold([[1, 2, 3], [4, 5, 6]]))
    assert found.columns.tolist() == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(found.to_numpy(), [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize("X", [np.zeros((5, 0)), pd.DataFrame(index=range(5))])
def test_a_frame_may_have_no_columns(X):
    assert as_frame(X).shape == (5, 0)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"one column, not ndarray of the shape \(3,\)"),
        (np.zeros((2, 2, 2)), r"not ndarray of the shape \(2, 2, 2\)"),
        (3, "not int"),
        ([[1, 2], [3]], "not list"),
        (np.zeros((0, 2)), "at least one row"),
        (pd.DataFrame({"a": []}), "at least one row"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than one column 'a'"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "more than one column '1'"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_table_is_refused_with_one_sentence(X, message):
    with pytest.raises(ValueError, match=message) as caught:
        as_frame(X)
    assert "\n" not in str(caught.value)


@given(
    st.integers(0, 999),
    st.sampled_from([1e-30, 1e-3, 1.0, 1e6, 1e30, 3e38]),
    st.sampled_from([0.0, 0.3, 0.9]),
)
def test_standardized_columns_are_finite_and_bounded(seed, scale, missing):
    random = np.random.RandomState(seed)
    features = scale * random.uniform(-1, 1, (50, 3))
    features[random.uniform(size=features.shape) < missing] = np.nan
    features[:, 2] = np.nan
    before = features.copy()
    found = standardized(features)
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= 5
    assert_allclose(found[np.isnan(features)], 0, atol=1e-9)
    np.testing.assert_array_equal(features, before)


def test_constant_columns_are_0_and_outliers_are_near():
    features = np.ones((200, 2))
    features[0, 1] = 1e9
    found = standardized(features)
    np.testing.assert_array_equal(found[:, 0], 0)
    assert found[0, 1] == 5
