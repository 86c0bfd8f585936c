import numpy as np
import pandas as pd
import pytest

from rboost import annotation_columns

LINES = {
    "row": [3, 1, 3, 1, 3],
    "annotator": ["bob", "ann", "ann", "bob", "bob"],
    "label": ["x", "y", "x", None, "y"],
}


def test_a_column_an_annotator_and_the_later_label_holds():
    found = annotation_columns(LINES)
    assert found.columns.tolist() == ["ann", "bob"]
    assert found.index.tolist() == [3, 1]
    assert found.fillna("none").to_numpy().tolist() == [["x", "y"], ["y", "none"]]


def test_rows_in_the_order_of_the_table():
    lines = pd.DataFrame(LINES).rename(columns={"row": "id", "annotator": "who", "label": "is"})
    found = annotation_columns(lines, row="id", annotator="who", label="is", rows=[1, 2, 3])
    assert found.index.tolist() == [1, 2, 3]
    assert found.loc[2].isna().all()
    assert found.loc[3].tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ({}, {"row": "id"}, "has no column 'id' but row, annotator, label; name the columns"),
        ({}, {"rows": [1, 2]}, "of the row 3, which is none of rows; write"),
        ({}, {"rows": [1, 3, 3]}, "Two rows are called 3; give"),
        ({"annotator": ["bob", None, "a", "b", "c"]}, {}, "Label 2 has no row or no annotator"),
        ({"row": [np.nan, 1, 1, 1, 1]}, {}, "Label 1 has no row or no annotator"),
    ],
)
def test_what_is_refused(changed, options, message):
    with pytest.raises(ValueError, match=message):
        annotation_columns(LINES | changed, **options)
