import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rboost.audit.labels import FEWEST_OF_CLASS, NO_LABEL, encode_labels, is_missing, table_labels

ROWS = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=60
)  # (given, checked)


def labels_of(rows, n_classes=4):
    table = np.array(rows, dtype=np.intp)
    return table_labels(np.arange(n_classes), table[:, 0], table[:, 1])


def decoded(labels):
    return [None if k == NO_LABEL else labels.classes[k] for k in labels.given]


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["no", "yes"], ["no", "yes"]),
        ([1, 0], [0, 1]),
        ([True, False], [False, True]),
        ([0.5, -1.5], [-1.5, 0.5]),
        ([3, "a"], [3, "a"]),
        ([None, "b", "a"], ["a", "b"]),
        ([np.nan, 2.0, 1.0], [1.0, 2.0]),
        ([pd.NA, 2, 1], [1, 2]),
        ([pd.NaT, np.nan, None, "x", "y"], ["x", "y"]),
        ([10, 9, 2], [2, 9, 10]),
    ],
    ids=str,
)
def test_classes_are_sorted_and_every_label_keeps_its_value(values, classes):
    y = values * 10
    labels = encode_labels(y)
    assert labels.classes.tolist() == classes
    expected = [None if pd.isna(value) else value for value in y]
    assert decoded(labels) == expected
    assert all(type(a) is type(b) for a, b in zip(decoded_plain(labels), expected, strict=True))
    assert not labels.is_checked.any()
    assert len(labels) == len(y)


def test_a_number_and_the_same_number_as_text_are_two_classes():
    assert set(encode_labels([1, "1"] * 10).classes) == {1, "1"}


def decoded_plain(labels):
    classes = labels.classes.tolist()
    return [None if k == NO_LABEL else classes[k] for k in labels.given]


@pytest.mark.parametrize(
    "hold",
    [
        list, tuple, np.array, pd.Series, pd.array, lambda y: np.array(y, dtype=object),
        lambda y: list(np.array(y)), lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
        lambda y: pd.Series(y).astype("category"),
    ],
    ids=["list", "tuple", "array", "Series", "extension", "objects", "scalars", "index", "words"],
)  # fmt: skip
@pytest.mark.parametrize("values", [[0, 1, 1], ["a", "b", "b"], [True, False, False], [0.5, 1, 1]])
def test_it_does_not_matter_what_holds_the_labels(hold, values):
    y = values * 6
    labels = encode_labels(hold(y), hold(y))
    expected = encode_labels(y)
    assert labels.classes.tolist() == expected.classes.tolist()
    np.testing.assert_array_equal(labels.given, expected.given)
    np.testing.assert_array_equal(labels.checked, expected.given)


def test_labels_checked_by_numpy_and_given_by_python_are_the_same_classes():
    labels = encode_labels([0, 1] * 10, list(np.array([1, 1] * 10)))
    assert labels.classes.tolist() == [0, 1]
    nullable = pd.Series([1, None] * 10, dtype="Int64")
    assert encode_labels([0, 1] * 10, nullable).classes.tolist() == [0, 1]
    with_nan = encode_labels(np.array([0, 1] * 10), np.array([1.0, np.nan] * 10))
    np.testing.assert_array_equal(with_nan.checked, [1, NO_LABEL] * 10)


def test_other_objects_are_labels_by_their_text():
    labels = encode_labels([pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")] * 5)
    assert [name[:10] for name in labels.classes] == ["2020-01-01", "2021-01-01"]


def test_rare_classes_are_warned_of_and_become_missing():
    y = ["a"] * 20 + ["b"] * FEWEST_OF_CLASS + ["c"] * (FEWEST_OF_CLASS - 1)
    with pytest.warns(UserWarning, match="'c' of 'kind': fewer than 5 rows") as caught:
        labels = encode_labels(y, name="kind")
    assert len(caught) == 1
    assert labels.classes.tolist() == ["a", "b"]
    np.testing.assert_array_equal(labels.given == NO_LABEL, np.array(y) == "c")


def test_checked_labels_count_for_how_frequent_a_class_is():
    y = ["a"] * 20 + ["b"] * 20
    checked = [None] * 35 + ["c"] * 5
    assert encode_labels(y, checked).classes.tolist() == ["a", "b", "c"]
    with pytest.warns(UserWarning, match="'c'"):
        labels = encode_labels(y, [*checked[:-1], None])
    assert not labels.is_checked.any()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([None, np.nan] * 10, "is empty in every row"),
        ([], "is empty in every row"),
        (["a"] * 20, "'a' in every row"),
        (["a", None] * 20, "'a' in every row"),
        (["a"] * 20 + ["b"] * 2, "only 'a' has at least 5 rows"),
        (["a", "b"], "only none has at least 5 rows"),
        (range(100), "has 100 different values in 100 rows, and most of them occur once"),
        ([min(k, 60) for k in range(200)], "has 61 different values in 200 rows, and most of them"),
        ([k // 2 for k in range(200)], "only none has at least 5 rows"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_label_is_refused_with_one_sentence(y, message):
    with pytest.raises(ValueError, match=message) as caught:
        encode_labels(y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("n_classes", "n_rows"), [(2, 10), (50, 2000), (77, 10_010), (500, 5000)])
def test_labels_that_repeat_are_classes_however_many(n_classes, n_rows):
    words = [f"c{k % n_classes}" for k in range(n_rows)]
    assert len(encode_labels(words).classes) == n_classes


@pytest.mark.parametrize("kind", [int, float, str])
def test_numbers_that_are_rather_a_measurement_are_warned_of(kind):
    ages = [kind(18 + k % 34) for k in range(34 * 19)]
    with pytest.warns(UserWarning, match="'age' has 34 different numbers, each of which is taken"):
        assert len(encode_labels(ages, name="age").classes) == 34
    assert len(encode_labels([*ages, *ages[:34]], name="age").classes) == 34  # 20 rows each
    assert len(encode_labels([kind(k % 20) for k in range(200)]).classes) == 20


def test_checked_labels_have_one_entry_a_row():
    with pytest.raises(ValueError, match="y_checked has 3 entries but y has 20"):
        encode_labels([0, 1] * 10, [None] * 3)


@pytest.mark.parametrize(
    "value", [None, np.nan, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s")]
)
def test_some_values_mean_that_there_is_none(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", ["", 0, False, "nan", "None", 0.0, np.inf])
def test_other_values_are_labels(value):
    assert not is_missing(value)


@given(ROWS)
def test_a_checked_label_goes_before_a_given_one(rows):
    labels = labels_of(rows)
    current = [after if after != NO_LABEL else before for before, after in rows]
    np.testing.assert_array_equal(labels.current, current)
    np.testing.assert_array_equal(labels.is_checked, [after != NO_LABEL for _, after in rows])
    np.testing.assert_array_equal(
        labels.is_observed, [before != NO_LABEL and after == NO_LABEL for before, after in rows]
    )


@given(ROWS)
def test_other_checks_change_nothing_but_the_checks(rows):
    before = labels_of(rows)
    kept = before.checked.copy()
    after = before.with_checked(before.given)
    np.testing.assert_array_equal(after.checked, before.given)
    np.testing.assert_array_equal(after.given, before.given)
    np.testing.assert_array_equal(before.checked, kept)


@given(st.lists(st.sampled_from(["x", "y", "z", None]), min_size=30, max_size=60))
def test_names_undo_the_encoding(y):
    y = ["x", "y", "z"] * 5 + y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = encode_labels(y)
    assert labels.names(labels.given) == ["" if value is None else value for value in y]


def test_spellings_that_differ_by_case_or_blanks_are_one_class():
    written = ["yes", "Yes", "yes", " yes  ", "no"] * 5
    with pytest.warns(UserWarning, match="' yes  ', 'Yes', 'yes' of 'label' differ only by case"):
        labels = encode_labels(written, [None] * 24 + ["NO"])
    assert labels.classes.tolist() == ["no", "yes"]
    assert labels.given.tolist() == [1, 1, 1, 1, 0] * 5
    assert labels.checked[-1] == 0
    assert labels.written.tolist() == written


def test_a_label_too_rare_to_be_a_class_is_still_known():
    with pytest.warns(UserWarning, match="fewer than 5 rows"):
        labels = encode_labels(["a", "b"] * 10 + ["tpyo", None])
    assert labels.given[-2:].tolist() == [-1, -1]
    assert labels.written[-2:].tolist() == ["tpyo", ""]
