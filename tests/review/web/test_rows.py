"""Cells of the table as the page gets them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rboost.review.web.rows import cell, describe_opinion
from tests.review.web.tables import messages


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1"), (np.float32(0.1), "0.1000000015"), (True, "True"), ("", ""), (float("inf"), "inf")],
)
def test_cells_are_text(value, text):
    assert cell(value) == {"text": text}


@pytest.mark.parametrize("value", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT])
def test_missing_cells_are_none(value):
    assert cell(value) is None


def test_texts_come_in_parts_that_speak_for_one_of_two_labels():
    audit = messages()
    for row, why in enumerate(audit.explain_all(np.arange(20))):
        opinion = describe_opinion(audit, row, why)
        assert list(opinion["texts"]) == [1]
        parts = opinion["texts"][1]
        assert "".join(text for text, _ in parts) == audit.table["message"][row]
        assert opinion["words"] == why.words != []
        assert {text for text, side in parts if side == "suggested"} >= {*why.words}


def test_words_are_not_told_of_another_suggestion_than_the_one_they_speak_for():
    audit = messages()
    other = replace(audit.explain(0), suggested="something else")
    opinion = describe_opinion(audit, 0, other)
    assert (opinion["words"], opinion["texts"]) == ([], {})
