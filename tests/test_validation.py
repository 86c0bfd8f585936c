import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier

from rboost import RBoostClassifier, RobustLogisticRegression
from rboost._validation import (
    Number,
    all_or_nothing,
    as_counts,
    check_class_labels,
    check_lengths,
    check_order,
    check_trusted_labels,
)
from rboost.audit import audit_labels
from tests.models import algorithm_1

X = np.random.RandomState(0).standard_normal((20, 3))
Y = np.arange(20) % 2
NAN = np.where(np.arange(60).reshape(20, 3) == 0, np.nan, X)


def test_missing_features_pass_only_where_the_base_learner_takes_them():
    trees = algorithm_1(DecisionTreeClassifier(max_depth=2), n_rounds=3).fit(NAN, Y)
    assert np.all(np.isfinite(trees.decision_function(NAN)))
    linear = RobustLogisticRegression(n_init=1)
    for estimator in [linear, [DecisionTreeClassifier(max_depth=2), linear]]:
        with pytest.raises(ValueError, match="NaN"):
            algorithm_1(estimator, n_rounds=3).fit(NAN, Y)
    with pytest.raises(ValueError, match="NaN"):
        RBoostClassifier(engines="linear", max_iter=3).fit(NAN, Y)
    with pytest.raises(ValueError, match="NaN"):
        RobustLogisticRegression().fit(NAN, Y)


def test_all_or_nothing_undoes_additions_too():
    estimator = BaseEstimator()

    def fit_until_interrupted():
        with all_or_nothing(estimator):
            estimator.half_done_ = 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_until_interrupted()
    assert not hasattr(estimator, "half_done_")


def test_a_number_is_a_weight_for_every_row():
    one = RobustLogisticRegression(random_state=0, C=None).fit(X, Y, sample_weight=2.0)
    other = RobustLogisticRegression(random_state=0, C=None).fit(X, Y)
    np.testing.assert_allclose(one.coef_, other.coef_)


def test_labels_of_several_classes_are_numbered_in_their_order():
    classes, numbers = check_class_labels(["c", "a", "b", "a"])
    assert classes.tolist() == ["a", "b", "c"]
    assert numbers.tolist() == [2, 0, 1, 0]
    with pytest.raises(ValueError, match="y holds only one class, 'a'"):
        check_class_labels(["a", "a"])


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.array([0, 1] * 10, dtype=object), [0, 1]),
        (np.array([False, True] * 10, dtype=object), [False, True]),
        (pd.Series([0, 1] * 10, dtype="Int64"), [0, 1]),
        (pd.Series([False, True] * 10, dtype="boolean"), [False, True]),
        (pd.Series(["n", "y"] * 10, dtype="category", index=range(40, 20, -1)), ["n", "y"]),
    ],
    ids=lambda value: str(getattr(value, "dtype", value)),
)
def test_labels_in_any_wrapping_keep_their_type(y, classes):
    found = algorithm_1(n_estimators=2).fit(X, y).classes_
    np.testing.assert_array_equal(found, classes)
    assert type(found.tolist()[0]) is type(classes[0])


@pytest.mark.parametrize("mean", [1e-300, 0.5, 1e7, 1e300])
def test_weights_that_cannot_be_counts_get_a_mean_of_one(mean):
    weight = np.array([1, 2, 3, 1, 2, 3]) * mean / 2
    np.testing.assert_allclose(as_counts(weight), [0.5, 1, 1.5, 0.5, 1, 1.5])


def test_weights_that_may_be_counts_are_left_alone():
    for weight in [np.ones(6), np.arange(1.0, 7.0)]:
        np.testing.assert_array_equal(as_counts(weight), weight)


def test_trusted_labels_are_numbered_as_the_classes_are():
    classes = np.array(["a", "b", "c"])
    assert check_trusted_labels(None, None, classes) is None
    found = check_trusted_labels(X[:3], ["c", "a", "c"], classes)
    np.testing.assert_array_equal(found, [2, 0, 2])
    with pytest.raises(ValueError, match="belong together"):
        check_trusted_labels(X[:3], None, classes)


@pytest.mark.parametrize("number", [3.5, np.float64(3.5), np.array(3.5)])
def test_a_number_is_no_table(number):
    with pytest.raises(ValueError, match="X has 1 rows but y has 20; pass one label a row"):
        check_lengths(number, Y)


def in_order(values, order):
    return pd.Series(values, index=order).sort_index()


@pytest.mark.parametrize("name", ["y_checked", "context"])
def test_rows_of_pandas_in_another_order_are_refused(name):
    index = np.random.RandomState(1).permutation(20)
    frame, y = pd.DataFrame(X, index=index), pd.Series(Y, index=index)
    sorted_rows = in_order(Y, index)
    for own in ((frame, Y), (X, y)):
        with pytest.raises(ValueError, match=rf"{name} has the rows of X or y in another order"):
            RBoostClassifier(max_iter=2).fit(*own, **{name: sorted_rows})
    check_order(sorted_rows, name, X, Y)  # arrays have no names of rows
    check_order(sorted_rows.loc[index], name, frame, y)
    check_order(sorted_rows.set_axis(range(20, 40)), name, frame, y)
    check_order(sorted_rows.set_axis([*range(19), 0]), name, frame, y)


def test_an_audit_refuses_rows_in_another_order():
    index = np.random.RandomState(1).permutation(20)
    frame = pd.DataFrame(X, index=index, columns=list("abc"))
    with pytest.raises(ValueError, match=r"^y has the rows .* pass y\.loc\[X\.index\]"):
        audit_labels(frame, in_order(Y, index))
    with pytest.raises(ValueError, match=r"^ids has the rows of X or y in another order"):
        audit_labels(frame, Y, ids=in_order(np.arange(20), index))


@pytest.mark.parametrize("y", [["b", "a", "b"], [True, False, True], [1, 0, 1]])
def test_labels_of_arrow_are_taken(y):
    pyarrow = pytest.importorskip("pyarrow")
    for own in (pyarrow.array(y), pyarrow.chunked_array([y[:1], y[1:]])):
        classes, position = check_class_labels(own)
        assert classes.tolist() == sorted(set(y))
        assert position.tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="y contains NaN or None in row 1"):
        check_class_labels(pyarrow.array(["a", None]))


def test_a_number_of_hundreds_of_digits_is_out_of_range():
    for number in (Number(0), Number(0, integer=True), Number(0, integer=True, finite=False)):
        assert not number.accepts(10**400)
        assert not number.accepts(-(10**400))
