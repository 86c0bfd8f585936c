import numpy as np
import pandas as pd

from rboost.audit import audit_labels
from rboost.audit.insight.explanation import Explanation, Reason
from rboost.audit.render.text import in_words


def test_the_values_of_a_row_follow_its_reasons(small_audit):
    suspects = small_audit.suspects(n=7)
    frame = small_audit.to_frame(suspects)
    assert list(frame.columns[-3:]) == ["height", "girth", "year"]
    rows = np.concatenate([suspects.rows, small_audit.missing()])
    expected = small_audit.table.iloc[rows].reset_index(drop=True)
    pd.testing.assert_frame_equal(frame[["height", "girth", "year"]], expected)


def test_columns_that_are_called_like_ours_get_another_name_and_the_context_is_there():
    random = np.random.RandomState(0)
    y = random.randint(0, 2, 100)
    names = ["row", "given_label", "table_row", "other"]
    X = pd.DataFrame(random.randn(100, 4) + y[:, np.newaxis], columns=names)
    who = random.choice(["ann", "bob"], 100)
    audit = audit_labels(X.assign(who=who), y, context="who", model="linear", check_columns=False)
    suspects = audit.suspects(n=5)
    frame = audit.to_frame(suspects)
    assert list(frame.columns[-5:]) == [
        "who", "table_table_row", "table_given_label", "table_row", "other",
    ]  # fmt: skip
    assert frame.columns.is_unique
    assert frame["who"].tolist() == who[suspects.rows].tolist()
    assert frame["table_table_row"].tolist() == X["row"].iloc[suspects.rows].tolist()


def test_a_reason_says_what_rows_of_both_labels_have():
    reasons = (Reason("age", 71, 1.0, "22 to 35", "60 to 80"),)
    one = Explanation(0, "no", "yes", 0.9, 0.9, reasons)
    assert in_words(one) == "age is 71; of those labelled “no” usually 22 to 35, “yes” 60 to 80"
    measured = Reason("hours", 36.24871, 1.0, "10 to 18", "16 to 28")
    dated = Reason("joined", "2021-10-13T10:00:00+02:00", 1.0, "missing (60 %)", "various values")
    long = "transfer_not_received_by_recipient"
    both = in_words(Explanation(0, long, "yes", 0.9, 0.9, (measured, dated)))
    assert both.startswith("hours is 36.25; of those labelled “transfer_not…y_recipient” usually")
    assert ". joined is 2021-10-13; of those labelled" in both
    none = Explanation(0, "no", "yes", 0.9, 0.9, (), agreeing=(3,))
    assert in_words(none) == "no single column stands out"
    assert in_words(Explanation(0, "no", "yes", 0.9, 0.9, ())) == ""  # not looked for
