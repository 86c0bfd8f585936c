import datetime
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.utils import check_array

from rboost.table.columns import is_numeric, read_columns
from rboost.table.features import MOST_SHOWN, learn_encoder

MOMENT = datetime.datetime(2020, 1, 1, 12, 0, 0, 123456)
MOMENT_SECONDS = 1577880000.123456
HOUR, DAY = datetime.timedelta(hours=1.5), 18262 * 86400.0
BERLIN = "Europe/Berlin"
equal = np.testing.assert_array_equal

# Words that are neither numbers nor missing, without white space around them.
WORDS = st.none() | st.text("abcäxyz", min_size=1, max_size=2)
FLOATS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
DATES = st.none() | st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1))


@st.composite
def tables(draw, min_rows=1):
    """Columns of words, numbers, dates and truths as lists."""
    n_rows = draw(st.integers(min_rows, 60))
    kinds = {"word": WORDS, "number": FLOATS, "date": DATES, "truth": st.none() | st.booleans()}
    table = {
        name: draw(st.lists(values, min_size=n_rows, max_size=n_rows))
        for name, values in kinds.items()
    }
    table["word"][0] = table["word"][0] or "a"  # without any word it is no column of words
    return table


def pandas_frame(table):
    return pd.DataFrame(
        {
            "word": pd.Series(table["word"], dtype=object),
            "number": pd.array(table["number"], dtype="Float64"),
            "date": pd.Series(table["date"], dtype="datetime64[ns]"),
            "truth": pd.array(table["truth"], dtype="boolean"),
        }
    )


def polars_frame(table):
    types = {"word": pl.String, "number": pl.Float64, "date": pl.Datetime, "truth": pl.Boolean}
    return pl.DataFrame(table, schema=types)


def learn(X):
    return learn_encoder(read_columns(X))


def arrays_of(encoder, X):
    features = encoder.features_of(read_columns(X))
    return features.trees, features.dense


@given(tables())
def test_codes_decode_to_the_table(table):
    frame = pandas_frame(table)
    encoder = learn(frame)
    trees = encoder.features(frame).trees
    levels = list(encoder.columns[0].levels.words)
    decoded = [None if np.isnan(code) else levels[int(code)] for code in trees[:, 0]]
    assert decoded == table["word"]
    assert encoder.kinds == ["category", "number", "date", "number"]
    equal(trees[:, 1], np.array(table["number"], dtype=float))
    epoch = datetime.datetime(1970, 1, 1)
    seconds = [np.nan if d is None else (d - epoch).total_seconds() for d in table["date"]]
    equal(trees[:, 2], seconds)
    equal(trees[:, -1], np.array(table["truth"], dtype=float))


@given(tables())
def test_frequent_levels_come_first_and_ties_in_the_order_of_text(table):
    words = [word for word in table["word"] if word is not None]
    levels = list(learn(pandas_frame(table)).columns[0].levels.words)
    assert levels == sorted(set(words), key=lambda word: (-words.count(word), word))


@given(tables(), st.randoms(use_true_random=False))
def test_permuted_rows_are_encoded_as_permuted(table, random):
    frame = pandas_frame(table)
    order = list(range(len(frame)))
    random.shuffle(order)
    for rows, permuted in zip(
        arrays_of(learn(frame), frame),
        arrays_of(learn(frame.iloc[order]), frame.iloc[order]),
        strict=True,
    ):
        equal(permuted, rows[order])


@given(tables())
def test_libraries_and_arrays_of_objects_give_the_same(table):
    frame = pandas_frame(table)
    expected = arrays_of(learn(frame), frame)
    objects = np.array(list(zip(*table.values(), strict=True)), dtype=object)
    for other in (polars_frame(table), objects, objects.tolist()):
        for rows, same in zip(expected, arrays_of(learn(other), other), strict=True):
            equal(same, rows)


@given(tables(), st.text(min_size=3, max_size=4))
def test_an_unknown_level_is_missing_for_trees_and_rare_for_the_pool(table, unknown):
    encoder = learn(pandas_frame(table))
    frame = pandas_frame(table | {"word": [unknown] * len(table["word"])})
    missing = pandas_frame(table | {"word": [None] * len(table["word"])})
    equal(encoder.features(frame).trees, encoder.features(missing).trees)
    pool = encoder.features(frame).only([0]).dense
    levels = encoder.columns[0].levels
    shared = np.zeros(levels.width)
    if levels.slots[-2] >= 0:
        shared[levels.slots[-2]] = 1
    equal(pool, np.tile(shared, (len(pool), 1)))


@given(tables(min_rows=2))
def test_the_pool_has_a_column_for_each_level_of_several_rows(table):
    frame = pandas_frame(table)
    encoder = learn(frame)
    pool = encoder.features(frame).dense
    source = encoder.source("dense")
    assert pool.shape[1] == len(source)
    equal(np.unique(source), np.arange(4))
    words = table["word"]
    counts = {word: words.count(word) for word in words}
    shown = [word for word in encoder.columns[0].levels.words if counts[word] > 1]
    shown += [None] if counts.get(None, 0) > 1 else []
    one_hot = pool[:, source == 0]
    for place, word in enumerate(shown):
        equal(one_hot[:, place], [float(other == word) for other in words])
    n_alone = sum(count == 1 for count in counts.values())
    assert one_hot.shape[1] == len(shown) + (n_alone > 0)
    equal(one_hot.sum(axis=1), 1)


def test_many_levels_share_a_column_and_add_their_frequency():
    rows = [f"level_{number}" for number in range(1000) for _ in range(1 + 2 * (number < 40))]
    frame = pd.DataFrame({"word": [*rows, None, None], "one": 1.0})
    encoder = learn(frame)
    pool = encoder.features(frame).dense
    equal(encoder.source("dense"), [0] * 33 + [1])  # 30 levels, missing, the others, frequency
    equal(pool[:, :32].sum(axis=1), 1)
    equal(pool[:, 31].sum(), 10 * 3 + 960)
    n_rows = len(frame)
    equal(pool[:, 32], [rows.count(word) / n_rows for word in rows] + [2 / n_rows] * 2)
    unknown = encoder.features(pd.DataFrame({"word": ["other"], "one": [1.0]})).dense
    equal(unknown[0], [0] * 31 + [1, 0, 1])


def arrow(values, kind):
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values, type=kind)))


NUMBERS = {
    "int": ([1, 2], pd.Series([1, 2])),
    "bool": ([1, 0], pd.Series([True, False])),
    "float": ([1.5, None], pd.Series([1.5, None])),
    "Int64": ([1, None], pd.array([1, None], dtype="Int64")),
    "boolean": ([1, None], pd.array([True, None], dtype="boolean")),
    "arrow int": ([1, None], arrow([1, None], pa.int8())),
    "arrow bool": ([1, None], arrow([True, None], pa.bool_())),
    "arrow decimal": ([1.5, None], arrow([Decimal("1.5"), None], pa.decimal128(9, 2))),
    "objects": ([1.5, None], pd.Series([1.5, None], dtype=object)),
    "decimals": ([1.5, None], pd.Series([Decimal("1.5"), None], dtype=object)),
    "no objects": ([None, None], pd.Series([None, None], dtype=object)),
    "polars int": ([1, None], pl.Series([1, None])),
    "polars bool": ([1, None], pl.Series([True, None])),
    "polars decimal": ([1.5, None], pl.Series([Decimal("1.5"), None])),
    "polars nulls": ([None, None], pl.Series([None, None])),
}
OTHERS = {
    "NA": ([1, None], pd.Series([1, pd.NA], dtype=object)),
    "arrow nulls": ([None, None], arrow([None, None], pa.null())),
    "string": ([0, None], pd.array(["a", None], dtype="string")),
    "arrow string": ([0, None], arrow(["a", None], pa.large_string())),
    "dictionary": ([0, None], arrow(["a", None], pa.dictionary(pa.int8(), pa.string()))),
    "category": ([1, 0], pd.Categorical(["b", "a"], categories=["c", "b", "a"])),
    "numbers as category": ([0, None], pd.Categorical([1.0, None])),
    "intervals": ([0, 1], pd.cut(pd.Series([1.0, 2.0]), 2)),
    "mixed": ([0, 1], pd.Series([1, "b"], dtype=object)),
    "truth": ([1, 0, 2], pd.Series([True, 1, "a"], dtype=object)),
    "polars category": ([0, None], pl.Series(["a", None], dtype=pl.Categorical)),
    "polars enum": ([1, 0], pl.Series(["b", "a"], dtype=pl.Enum(["c", "b", "a"]))),
    "polars nothing": ([None, None], pl.Series([None, None], dtype=pl.String)),
    "zone": (
        [MOMENT_SECONDS - 3600, None],
        pd.Series([MOMENT, None], dtype="M8[ns]").dt.tz_localize(BERLIN),
    ),
    "duration": ([5400, None], pd.Series([HOUR, None])),
    "period": ([0, 31 * 86400], pd.Series(pd.period_range("1970-01", periods=2, freq="M"))),
    "periods": (
        [0, 31 * 86400],
        pd.Series(pd.period_range("1970-01", periods=2, freq="M"), dtype=object),
    ),
    "date objects": ([DAY, None], pd.Series([MOMENT.date(), np.float64("nan")], dtype=object)),
    "time objects": ([5400, None], pd.Series([datetime.time(1, 30), None], dtype=object)),
    "zone objects": (
        [MOMENT_SECONDS, None],
        pd.Series([MOMENT.replace(tzinfo=datetime.UTC), pd.NaT], dtype=object),
    ),
    "arrow moment": ([MOMENT_SECONDS, None], arrow([MOMENT, None], pa.timestamp("us"))),
    "arrow zone": ([MOMENT_SECONDS, None], arrow([MOMENT, None], pa.timestamp("ns", BERLIN))),
    "arrow date": ([DAY, None], arrow([MOMENT.date(), None], pa.date32())),
    "arrow time": ([5400, None], arrow([datetime.time(1, 30), None], pa.time64("us"))),
    "arrow duration": ([5400, None], arrow([HOUR, None], pa.duration("ms"))),
    "polars date": ([DAY, None], pl.Series([MOMENT.date(), None])),
    "polars zone": (
        [MOMENT_SECONDS - 3600, None],
        pl.Series([MOMENT, None]).dt.replace_time_zone(BERLIN),
    ),
    "polars time": ([5400, None], pl.Series([datetime.time(1, 30), None])),
    "polars duration": ([5400, None], pl.Series([HOUR, None])),
    "polars objects": ([MOMENT_SECONDS, None], pl.Series([MOMENT, None], dtype=pl.Object)),
}


def frame_of(column):
    return (
        pl.DataFrame({"x": column})
        if isinstance(column, pl.Series)
        else pd.DataFrame({"x": column})
    )


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_those_that_scikit_learn_reads(name):
    expected, column = NUMBERS[name]
    frame = frame_of(column)
    as_today = check_array(frame, dtype=np.float64, ensure_all_finite="allow-nan")
    for rows in (as_today, *arrays_of(learn(frame), frame)):
        equal(rows[:, 0], np.array(expected, dtype=float))


@pytest.mark.parametrize("name", OTHERS)
def test_columns_of_every_kind(name):
    expected, column = OTHERS[name]
    frame = frame_of(column)
    assert not is_numeric(frame)
    equal(learn(frame).features(frame).trees[:, 0], np.array(expected, dtype=float))


@given(arrays(np.float64, (3, 2)))
def test_arrays_and_frames_of_numbers_need_no_encoding(X):
    for table in (X, X.tolist(), X.astype(object), pd.DataFrame(X), pl.DataFrame(X)):
        assert is_numeric(table)


@pytest.mark.parametrize("X", [None, 1, np.ones(3), np.ones((2, 2)) * 1j])
def test_what_is_no_table_is_left_to_scikit_learn(X):
    assert is_numeric(X)


def test_numbers_next_to_words_in_an_array_of_text_stay_numbers():
    X = np.array([[1.5, "a"], [np.nan, "b"]])
    equal(learn(X).features(X).trees, [[1.5, 0], [np.nan, 1]])


@given(tables())
def test_a_frame_with_words_at_first_may_come_as_an_array_later(table):
    frame = pandas_frame(table)
    encoder = learn(frame)
    objects = np.array(list(zip(*table.values(), strict=True)), dtype=object)
    for rows, same in zip(arrays_of(encoder, frame), arrays_of(encoder, objects), strict=True):
        equal(same, rows)


TRAINED = pd.DataFrame(
    {
        "number": [1.0, 2.0],
        "time": pd.to_datetime(["2020-01-01", None]),
        "word": pd.Categorical([1, 2]),
        "empty": pd.Series([None, None], dtype=object),
    }
)


def test_texts_with_the_same_terms_all_are_alike():
    # Terms are those of two texts and more: words of one text alone are none.
    texts = [f"a story goes on and on {chr(0x4E00 + k) * 9}" for k in range(50)]
    columns = read_columns(pd.DataFrame({"story": texts}))
    found = learn_encoder(columns).features_of(columns).dense
    np.testing.assert_allclose(found, np.broadcast_to(found[0], found.shape), atol=1e-6)


WITHOUT_PANDAS = """
import sys
sys.modules["pandas"] = sys.modules["pyarrow"] = None
from rboost.table.columns import read_columns
from rboost.table.features import learn_encoder
assert "polars" not in sys.modules
import polars
frame = polars.DataFrame({"word": ["a", None, "b", "b"], "number": [1, 2, 3, None]})
columns = read_columns(frame)
print(learn_encoder(columns).features_of(columns).trees[:3].tolist())
"""


@pytest.mark.slow
def test_polars_is_enough():
    printed = subprocess.check_output([sys.executable, "-c", WITHOUT_PANDAS], text=True)
    assert printed.strip() == "[[1.0, 1.0], [nan, 2.0], [0.0, 3.0]]"


def test_a_category_of_thousands_of_levels_takes_little_room():
    random = np.random.RandomState(0)
    words = [f"u{k}" for k in random.randint(5000, size=20_000)]
    rows = learn(pd.DataFrame({"shop": words})).features(pd.DataFrame({"shop": words}))
    assert rows.trees.shape == (20_000, 1)
    assert rows.dense.shape[1] <= MOST_SHOWN + 3  # missing, others, and the share of the level
    assert rows.sparse.nnz <= 20_000
    assert rows.encoder.used == [0]
