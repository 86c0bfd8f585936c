"""Values that columns may hold later, and what is refused by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rboost.table.columns import is_numeric
from tests.table.test_features import TRAINED, equal, frame_of, learn


@pytest.mark.parametrize(
    ("column", "remedy"),
    [
        (pd.Series([[1], [2]]), "holds values of the kind list.*leave it out"),
        (pd.Series([{}, "a"]), "holds values of the kind dict.*leave it out"),
        (pd.Series([1j, 2]), "real and imaginary part"),
        (pd.arrays.SparseArray([0.0, 1.0]), r"\.sparse\.to_dense\(\)"),
        (pl.Series([[1], [2]]), "holds values of the kind list.*leave it out"),
        (pl.Series([{"a": 1}, None]), "holds values of the kind dict.*leave it out"),
    ],
)
def test_what_is_no_word_number_or_date_is_refused_by_name(column, remedy):
    with pytest.raises(TypeError, match="^column 'x' .*" + remedy):
        learn(frame_of(column))


def test_scikit_learn_recognises_the_refusal_of_a_dict():
    X = np.array([[1.0, {"foo": "bar"}]], dtype=object)
    assert not is_numeric(X)
    with pytest.raises(TypeError, match=r"column 'x1' .*argument must be .* string.* number"):
        learn(X)


def test_infinite_values_are_refused_by_name():
    frame = pd.DataFrame({"x": [1.0, np.inf], "word": ["a", "b"]})
    with pytest.raises(ValueError, match="column 'x' holds infinite values; replace them by"):
        learn(frame)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"number": ["one"]},
            "column 'number' held numbers .* now holds words such as 'one'; pass numbers",
        ),
        ({"number": pd.to_datetime(["2020-01-01"])}, "column 'number' held numbers .* holds dates"),
        ({"time": ["5"]}, "column 'time' held dates .* now holds words such as '5'; pass dates"),
        ({"time": [5.0]}, "column 'time' held dates .* now holds numbers; pass dates"),
    ],
)
def test_another_kind_of_values_than_at_first_is_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        learn(TRAINED).features(TRAINED[:1].assign(**change))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"number": ["1.5"]}, {"number": 1.5}),
        ({"number": [None]}, {"number": np.nan}),
        ({"number": pd.to_datetime([None])}, {"number": np.nan}),
        ({"time": [None]}, {"time": np.nan}),
        ({"word": [2.0]}, {"word": 1}),
        ({"word": ["2"]}, {"word": 1}),
        ({"word": [7]}, {"word": np.nan}),
        ({"word": pd.array([2], dtype="Int64")}, {"word": 1}),
        ({"empty": ["a"]}, {}),
        ({"empty": [1.0]}, {}),
    ],
)
def test_values_that_look_the_same_are_the_same(change, expected):
    encoder = learn(TRAINED)
    rows = encoder.features(TRAINED[:1].assign(**change)).trees[0]
    before = dict(zip(TRAINED, encoder.features(TRAINED).trees[0], strict=True))
    equal(rows, list((before | expected).values()))


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="at least one row and one column, not DataFrame"):
        learn(TRAINED).features(TRAINED[:0])
