"""Probabilities of any model take the place of a fit: noise, ranking, report and answers follow."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rboost.audit import audit_labels
from rboost.noise import flip_labels, symmetric


@pytest.fixture(scope="module", params=[2, 10])
def case(request):
    load = load_breast_cancer if request.param == 2 else load_digits
    X, y = load(return_X_y=True)
    X, y = X[:600], y[:600]
    noisy, is_wrong = flip_labels(y, symmetric(0.2, request.param), random_state=0)
    names = np.array([f"class {k}" for k in range(request.param)])
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    P = cross_val_predict(model, X, noisy, method="predict_proba")
    return X, names[noisy], P, is_wrong, names[y]


@pytest.mark.slow
def test_wrong_labels_are_found_without_a_table(case):
    _, y, P, is_wrong, _ = case
    audit = audit_labels(None, y, probabilities=P)
    assert audit.model is None
    assert abs(audit.expected_wrong_labels - is_wrong.sum()) < 0.35 * is_wrong.sum()
    suspects = audit.suspects()
    assert is_wrong[suspects.rows[: suspects.n_probable]].mean() > 0.85
    assert abs(is_wrong[suspects.rows].mean() - suspects.expected_precision) < 0.1
    assert "<html" in audit.to_html()
    assert "labels are wrong (" in audit.to_text()
    assert len(audit.to_frame()) == len(suspects)


@pytest.mark.slow
def test_columns_are_found_by_their_names_in_any_order(case):
    _, y, P, _, true = case
    names = np.unique(true)
    order = np.random.RandomState(0).permutation(len(names))
    frame = pd.DataFrame(P[:, order], columns=[f"p({name})" for name in names[order]])
    named = audit_labels(None, y, probabilities=frame.assign(other="x"))
    plain = audit_labels(None, y, probabilities=P)
    np.testing.assert_allclose(named.issue_probability, plain.issue_probability, atol=1e-12)


@pytest.mark.slow
def test_a_table_is_shown_and_rows_are_alike_by_it(case):
    X, y, P, _, _ = case
    audit = audit_labels(X, y, probabilities=P)
    plain = audit_labels(None, y, probabilities=P)
    np.testing.assert_array_equal(audit.issue_probability, plain.issue_probability)
    assert audit.features.shape[0] == len(X)
    assert audit.features.shape[1] > P.shape[1]
    found = audit.explain(int(audit.suspects().rows[0]))
    assert found.agreeing


@pytest.mark.slow
def test_answers_are_learnt_from(case):
    _, y, P, is_wrong, true = case
    checked = np.full(len(y), None)
    checked[:100] = true[:100]
    audit = audit_labels(None, y, probabilities=P, y_checked=checked)
    assert not np.isin(np.arange(100), audit.suspects().rows).any()
    assert audit.summary().n_corrected == is_wrong[:100].sum()


TWO = np.array(["a", "b"] * 30)


@pytest.mark.parametrize(
    ("P", "message"),
    [
        (np.ones((59, 2)) / 2, "probabilities has 59 rows but y has 60"),
        (np.ones((60, 3)) / 3, r"the shape \(60, 3\), but there are 60 rows and 2 classes"),
        (np.full((60, 2), 3.0), "between 0 and 1, but row 1 has 3.0, 3.0; pass probabilities"),
        (np.full((60, 2), np.nan), "between 0 and 1"),
        (np.full((60, 2), 0.2), "add up to 1, but those of row 1 to 0.4"),
        ([["x", "y"]] * 60, "must be a table of numbers"),
        (pd.DataFrame({"a": [0.5] * 60}), "no column for the class 'b'"),
    ],
)
def test_what_are_no_probabilities_is_refused(P, message):
    with pytest.raises(ValueError, match=message):
        audit_labels(None, TWO, probabilities=P)


def test_probabilities_of_rows_that_were_fitted_to_are_named():
    P = np.where((TWO == "b")[:, None], [0.02, 0.98], [0.98, 0.02])
    with pytest.warns(UserWarning, match="agree with every label"):
        audit_labels(None, TWO, probabilities=P)
    with pytest.raises(ValueError, match="X_trusted has no probabilities"):
        audit_labels(None, TWO, probabilities=P, X_trusted=[[1]], y_trusted=["a"])
    with pytest.raises(ValueError, match="With probabilities no model is fitted"):
        audit_labels(None, TWO, probabilities=P, model="linear")


@pytest.mark.slow
def test_rows_that_look_alike_count_each(case):
    """The table is only shown: what it looks like changes nothing."""
    _, y, P, _, _ = case
    plain = audit_labels(None, y, probabilities=P)
    shown = audit_labels(pd.DataFrame({"folder": y, "path": "a"}), y, probabilities=P)
    assert shown.copy_of is None
    np.testing.assert_array_equal(shown.issue_probability, plain.issue_probability)


@pytest.mark.slow
def test_a_label_too_rare_to_be_a_class_may_have_its_column(case):
    _, y, P, _, true = case
    written = y.astype(object)
    written[:3] = "rare"
    frame = pd.DataFrame(np.column_stack([P * 0.9, np.full(len(P), 0.1)]))
    frame.columns = [*np.unique(true), "rare"]
    with pytest.warns(UserWarning, match="fewer than 5 rows"):
        audit = audit_labels(None, written, probabilities=frame)
    assert audit.to_frame()["given_label"].tolist()[-3:] == ["rare"] * 3
    with (
        pytest.warns(UserWarning, match="fewer than 5 rows"),
        pytest.raises(ValueError, match="'rare' has too few rows"),
    ):
        audit_labels(None, written, probabilities=frame.to_numpy())
