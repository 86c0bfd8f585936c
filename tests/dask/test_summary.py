"""The labels of all partitions, counted in one pass over them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rboost._validation import check_class_labels
from rboost.dask.blocks import MOST_LABELS, count_labels, summarize, summed
from rboost.dask.partitions import partitions_of
from tests.dask.tables import Here, cut, make_table, write_files

TABLE = make_table(80)


def summary_of(*frames, y="y", weight=None):
    """What is found out of frames, each a partition."""
    return summed([count_labels(f, y, weight, f"part {k}") for k, f in enumerate(frames)])


@given(st.lists(st.integers(0, 80), max_size=5))
@settings(max_examples=15)
def test_labels_are_those_of_the_whole_wherever_it_is_cut(cuts):
    summary = summarize(Here(), partitions_of(cut(TABLE, cuts), "y", "weight"))
    assert summary.n_rows == 80
    assert summary.first_rows.tolist() == [0, *sorted(cuts)]
    assert summary.sizes == np.diff([0, *sorted(cuts), 80]).tolist()
    classes, _ = check_class_labels(TABLE["y"])
    np.testing.assert_array_equal(summary.classes, classes)
    assert summary.places == {label: place for place, label in enumerate(classes.tolist())}
    assert summary.label_counts == TABLE["y"].value_counts().to_dict()


def test_partitions_may_lack_classes_labels_and_rows():
    labels = [0, 0], [], [np.nan, 3.0], [0, 3]
    summary = summary_of(*(pd.DataFrame({"y": own}) for own in labels))
    assert summary.first_rows.tolist() == [0, 2, 2, 4]
    assert summary.label_counts == {0: 3, 3: 2}
    assert summary.classes.tolist() == [0, 3]


def test_one_sentence_where_labels_or_weights_are_none():
    plain = pd.DataFrame({"y": ["p", "q", "p", "q"], "w": 1.0})
    for problem, frames in [
        ("The table has no rows in any of its partitions", [plain[:0], plain[:0]]),
        ("The table has no rows in any of its partitions", []),
        ("y holds only one class, 'p'; a classifier needs", [plain[:1], plain[2:3]]),
        ("y is missing in every row", [plain.assign(y=None)]),
        ("Unknown label type: continuous", [plain.assign(y=[0.5, 1.5, 2.5, 3.25])]),
        ("y holds words and numbers; convert", [plain, plain.assign(y=[1, 2, 1, 2])]),
        ("not be negative, but part 1 holds -2; use 0", [plain, plain.assign(w=-2)]),
        ("not be missing or infinite, but part 1 holds nan", [plain, plain.assign(w=np.nan)]),
        ("not be missing or infinite, but part 0 holds inf", [plain.assign(w=np.inf)]),
        ("sample_weight holds words in part 0; pass numbers", [plain.assign(w="much")]),
        ("zero on all rows of class 'r'; give", [plain, plain[:1].assign(w=0, y="r")]),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=problem) as caught:
            summary_of(*frames, weight="w")
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="more than 1000 different labels in part 0"):
        summary_of(pd.DataFrame({"y": np.arange(MOST_LABELS + 1)}))
    with pytest.raises(ValueError, match="y has 2000 different values, such as 0, 1, 2 and 1997"):
        summary_of(*(pd.DataFrame({"y": np.arange(k, k + 1000)}) for k in (0, 1000)))


@pytest.mark.parametrize("verbose", [False, True])
def test_files_without_rows_are_no_table(tmp_path, verbose):
    partitions = partitions_of(write_files(TABLE[:0], tmp_path, [0]), "y")
    with pytest.raises(ValueError, match="no rows in any"):
        summarize(Here(), partitions, verbose=verbose)
