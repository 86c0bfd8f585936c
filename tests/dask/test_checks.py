import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from hypothesis import given, settings
from hypothesis import strategies as st

from rboost._validation import check_class_labels
from rboost.dask.checks import MOST_LABELS, check_facts, facts_of, gather_facts
from rboost.dask.partitions import Piece, partitions_of
from tests.dask.tables import Here, cut, make_table, write_files

TABLE = make_table(80)


def summary_of(*frames, y="y", weight=None):
    """What is found out of frames, each a partition."""
    pieces = [
        Piece(
            f.drop(columns=[y, weight or y]), f[y], None if weight is None else f[weight].to_numpy()
        )
        for f in frames
    ]
    return check_facts([facts_of(piece, f"part {k}") for k, piece in enumerate(pieces)])


@given(st.lists(st.integers(0, 80), max_size=5))
@settings(max_examples=15)
def test_facts_are_those_of_the_whole_wherever_it_is_cut(cuts):
    summary = check_facts(gather_facts(Here(), partitions_of(cut(TABLE, cuts), "y", "weight")))
    assert summary.n_rows == 80
    assert summary.first_rows.tolist() == [0, *sorted(cuts)]
    assert summary.sizes == np.diff([0, *sorted(cuts), 80]).tolist()
    classes, observed = check_class_labels(TABLE["y"])
    np.testing.assert_array_equal(summary.classes, classes)
    assert summary.places == {label: place for place, label in enumerate(classes.tolist())}
    assert summary.columns == ("number", "whole", "word", "day", "id")
    assert summary.kinds == ("number", "number", "word", "date", "number")
    assert summary.label_counts == TABLE["y"].value_counts().to_dict()
    by_class = np.bincount(observed, TABLE["weight"])
    np.testing.assert_allclose([summary.label_weights[label] for label in classes], by_class)


def test_partitions_may_lack_classes_values_and_rows():
    frames = [
        pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "y": [0, 0]}),
        pd.DataFrame({"a": [], "b": [], "y": []}),
        pd.DataFrame({"a": [None, None], "b": [np.nan, np.nan], "y": [np.nan, 3.0]}),
        pd.DataFrame({"a": [True, 2.5], "b": ["z", None], "y": [0, 3]}),
    ]
    summary = summary_of(*frames)
    assert (summary.n_rows, summary.n_missing) == (6, 1)
    assert summary.first_rows.tolist() == [0, 2, 2, 4]
    assert summary.kinds == ("number", "word")
    assert summary.classes.tolist() == [0, 3]


def test_one_sentence_where_partitions_make_no_table():
    plain = pd.DataFrame({"a": [1.0, 2], "b": ["x", "y"], "y": ["p", "q"], "w": [1.0, 1]})
    for problem, other, weight in [
        ("part 1 has no column 'a', which part 0 has; give", plain.drop(columns="a"), None),
        ("part 0 has no column 'c', which part 1 has; give", plain.assign(c=1), None),
        ("'a' holds numbers in part 0 but words in part 1; con", plain.assign(a="1"), None),
        ("'b' holds words in part 0 but dates in part 1", plain.assign(b=pd.NaT).assign(
            b=pd.to_datetime(["2020-01-01", "2021-01-01"])), None),
        ("y holds words in part 0 but numbers in part 1; con", plain.assign(y=[1, 2]), None),
        ("'a' holds infinite values in part 1; replace", plain.assign(a=[np.inf, 1]), None),
        ("not be negative, but part 1 holds -2; use 0", plain.assign(w=[1, -2]), "w"),
        ("not be missing or infinite, but part 1 holds nan", plain.assign(w=[1, np.nan]), "w"),
        ("not be missing or infinite, but part 1 holds inf", plain.assign(w=[1, np.inf]), "w"),
        ("zero on all rows of class 'r'; give", plain.assign(w=[0, 1], y=["r", "q"]), "w"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=problem) as caught:
            summary_of(plain, other, weight=weight)
        assert "\n" not in str(caught.value)


def test_one_sentence_where_labels_are_none():
    plain = pd.DataFrame({"a": np.arange(4.0), "y": ["p", "q", "p", "q"]})
    for problem, frames in [
        ("The table has no rows in any of its partitions", [plain[:0], plain[:0]]),
        ("y holds only one class, 'p'; a classifier needs", [plain[:1], plain[2:3]]),
        ("y is missing in every row", [plain.assign(y=None)]),
        ("Unknown label type: continuous", [plain.assign(y=[0.5, 1.5, 2.5, 3.25])]),
        ("y holds numbers in part 0 but true or false in part 1",
         [plain.assign(y=1), plain.assign(y=True)]),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=problem):
            summary_of(*frames)
    with pytest.raises(ValueError, match="more than 1000 different labels in part 0"):
        summary_of(pd.DataFrame({"a": 1.0, "y": np.arange(MOST_LABELS + 1)}))
    with pytest.raises(ValueError, match="y has 2000 different values, such as 0, 1, 2 and 1997"):
        summary_of(*(pd.DataFrame({"a": 1.0, "y": np.arange(k, k + 1000)}) for k in (0, 1000)))
    with pytest.raises(ValueError, match="no rows in any"):
        check_facts([])


def test_files_without_rows_have_no_facts(tmp_path):
    partitions = partitions_of(write_files(TABLE[:0], tmp_path, [0]), "y")
    for verbose in (False, True):
        assert gather_facts(Here(), partitions, verbose) == []


def test_files_are_named(tmp_path):
    folder = write_files(TABLE, tmp_path, [40])
    TABLE[40:].assign(number="many").to_parquet(folder / "01.parquet")
    facts = gather_facts(Here(), partitions_of(folder, "y"))
    with pytest.raises(ValueError, match=r"numbers in \S+00.parquet but words in \S+01.parquet"):
        check_facts(facts)


def test_partitions_that_are_not_what_the_frame_says():
    parts = [TABLE[:40], TABLE[40:][TABLE.columns[::-1]], TABLE[:0]]
    frame = dd.from_delayed([delayed(p) for p in parts], meta=TABLE[:0], verify_meta=False)
    facts = gather_facts(Here(), partitions_of(frame, "y"))
    assert check_facts(facts).kinds == check_facts(facts[:1]).kinds
