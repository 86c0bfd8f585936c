"""Rows with labels and weights, as fits begin with them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost.fitting import training_rows, validated_rows, weighed_classes

X = np.arange(12.0).reshape(6, 2)
Y = np.array(["a", "b", "a", "b", "b", "a"])


def test_training_rows_leave_out_rows_without_weight():
    rows, classes = training_rows(X, Y, [1, 2, 0, 1, 1, 3])
    np.testing.assert_array_equal(classes, ["a", "b"])
    np.testing.assert_array_equal(rows.X, X[[0, 1, 3, 4, 5]])
    np.testing.assert_array_equal(rows.observed, [0, 1, 1, 1, 0])
    np.testing.assert_array_equal(rows.labels, [-1, 1, 1, 1, -1])
    np.testing.assert_array_equal(rows.sample_weight, [1, 2, 1, 1, 3])
    assert_allclose(rows.prevalence, [0.5, 0.5])
    drawn = np.array([4, 0, 0])
    np.testing.assert_array_equal(rows.take(drawn).X, rows.X[drawn])
    np.testing.assert_array_equal(rows.take(drawn).sample_weight, [3, 1, 1])


def test_a_class_without_weight_is_refused_or_left_out():
    three = np.array(["a", "b", "c", "b", "b", "a"])
    with pytest.raises(ValueError, match="zero on all rows of class 'a'"):
        training_rows(X, three, [0, 1, 1, 1, 1, 0])
    rows, classes = weighed_classes(*validated_rows(X, three, [0, 1, 1, 1, 1, 0]))
    np.testing.assert_array_equal(classes, ["b", "c"])
    np.testing.assert_array_equal(rows.observed, [0, 1, 0, 0])
    assert rows.n_classes == 2
