"""Cells of the table as the page gets them."""

import numpy as np
import pandas as pd
import pytest

from rboost.review.web.rows import cell


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1"), (np.float32(0.1), "0.1000000015"), (True, "True"), ("", ""), (float("inf"), "inf")],
)
def test_cells_are_text(value, text):
    assert cell(value) == {"text": text}


@pytest.mark.parametrize("value", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT])
def test_missing_cells_are_none(value):
    assert cell(value) is None
