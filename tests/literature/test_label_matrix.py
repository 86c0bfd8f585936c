import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import DataConversionWarning

from rboost.literature.annotators import check_label_matrix, check_row_weight, votes


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, pd.NaT], ids=["None", "NaN", "NA", "NaT"])
def test_every_kind_of_gap(gap):
    classes, codes = check_label_matrix([["b", gap], [gap, "a"], ["a", "b"]])
    assert_array_equal(classes, ["a", "b"])
    assert_array_equal(codes, [[1, -1], [-1, 0], [0, 1]])


def test_classes_are_found_over_all_entries():
    classes, codes = check_label_matrix(np.array([[3, 7], [3, 7]]))
    assert_array_equal(classes, [3, 7])
    assert_array_equal(codes, [[0, 1], [0, 1]])


def test_one_dimension_is_one_annotator():
    _, codes = check_label_matrix(["yes", "no", "yes"])
    assert_array_equal(codes, [[1], [0], [1]])
    with pytest.warns(DataConversionWarning, match="column-vector"):
        _, column = check_label_matrix(np.array([[1.0], [0.0], [np.nan]]))
    assert_array_equal(column, [[1], [0], [-1]])


def test_votes():
    codes = np.array([[1, 1, 0, -1], [-1, -1, -1, -1], [0, 0, -1, -1]])
    assert_array_equal(votes(codes), [2 / 3, 0.5, 0])


def test_rows_without_labels_have_no_weight():
    codes = np.array([[1, 0], [-1, -1], [0, -1]])
    assert_array_equal(check_row_weight(None, codes), [1, 0, 1])
    assert_array_equal(check_row_weight([2, 3, 0], codes), [2, 0, 0])  # both classes in one row
    for weight in ([0, 5, 1], [0, 1, 0]):
        with pytest.raises(ValueError, match="give some rows of each class a positive weight"):
            check_row_weight(weight, codes)


def test_what_is_masked_is_missing():
    masked = np.ma.masked_array([[0, 1], [1, 1]], mask=[[False, True], [False, False]])
    classes, codes = check_label_matrix(masked)
    assert_array_equal(classes, [0, 1])
    assert_array_equal(codes, [[0, -1], [1, 1]])


def test_labels_of_two_types_end_in_one_sentence():
    with pytest.raises(ValueError, match="mixes labels of the types int and str"):
        check_label_matrix(np.array([["1", 0], [0, "1"]], dtype=object))
