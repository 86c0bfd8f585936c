import unicodedata
from dataclasses import replace

import pytest

from rboost.audit.insight.checked import RANDOM_CHECKS, RandomChecks
from rboost.audit.render.text import (
    describe_cautions,
    describe_wrong_labels,
    fitted,
    width,
    wrapped,
)
from rboost.audit.wording import format_count, percent, quoted, shortened, visible


def test_says_rows_classes_rates_and_the_ten_most_suspicious(small_audit):
    suspects = small_audit.suspects(n=15)
    text = small_audit.to_text(suspects)
    assert "150 rows and 3 classes" in text
    assert "Of true “ash”" in text
    assert "90 % interval" in text
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("row "))
    for row, line in zip(suspects.rows[:10], lines[start + 1 :], strict=False):
        assert line.split()[0] == str(small_audit.ids[row])
        assert line.index("→") == lines[start].index("→")
    assert lines[start + 11] == "… and 5 more suspects"


def test_says_whether_an_interval_is_of_the_model_or_of_random_checks(small_audit):
    by_model = replace(
        small_audit.summary(), share_low=0.02, share_high=0.3, is_uncertain=True,
        expected_wrong=30.0, expected_share=0.2, random_checks=None,
    )  # fmt: skip
    assert "about 30 (20 %, 90 % interval 2.0 % to 30 %) are expected" in describe_wrong_labels(
        by_model
    )
    assert "Cannot tell yet how many labels are wrong" in describe_cautions(by_model)[0]
    drawn = RandomChecks(40, 4, 0.03, 0.21)
    by_checks = replace(
        by_model, share_low=0.03, share_high=0.2, share_source=RANDOM_CHECKS, random_checks=drawn
    )
    said = describe_wrong_labels(by_checks)
    assert "3.0 % to 20 % are wrong (90 % interval, by random checks alone" in said
    assert "the model expects about 30 (20 %)" in said
    assert "Of 40 labels drawn at random and checked, 4 were wrong" in said


@pytest.mark.parametrize("audit_name", ["small_audit", "hostile_audit"])
def test_fits_a_hundred_columns(audit_name, request):
    audit = request.getfixturevalue(audit_name)
    assert max(map(width, audit.to_text(audit.suspects()).splitlines())) <= 100


def test_no_cell_can_write_control_characters(hostile_audit):
    text = hostile_audit.to_text(hostile_audit.suspects(n=10))
    controls = [c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl") and c != "\n"]
    assert not controls
    assert not set("\u202e\u2066\u2067\u2068\u2069") & set(text)
    text.encode()  # no half of a pair


def test_without_suspects_there_is_no_table(small_audit):
    text = small_audit.to_text(small_audit.suspects(n=0))
    assert "No label is listed." in text
    assert "strongest reason" not in text


def test_wide_characters_take_two_columns_and_marks_none():
    assert width("日本") == 4
    assert width("e\u0301") == 1
    assert fitted("日本語", 5) == "日本…"
    assert fitted("ab", 4) == "ab  "


def test_lines_are_broken_between_words():
    text = wrapped("word " * 30, first="  ", indent="    ")
    assert [line[:6] for line in text.splitlines()] == ["  word", "    wo"]
    text = wrapped("x" * 95 + " (90 % interval)")
    assert text.splitlines() == ["x" * 95, "(90 % interval)"]
    text = wrapped("x" * 96 + f" {format_count(1405)} rows")
    assert text.splitlines()[1] == "1\u202f405 rows"


def test_wording():
    assert visible("a\x1b\x9b\u202eb\n") == "a\\x1b\\x9b\\u202eb\n"
    assert shortened("x" * 100, 3) == "xxx… (100 characters)"
    assert [shortened(value) for value in (None, float("nan"), 2.5)] == [
        "missing",
        "missing",
        "2.5",
    ]
    assert [percent(x) for x in (0, 1e-5, 0.05, 0.5, 0.995, 0.9999, 1, float("nan"))] == [
        "0 %", "<0.1 %", "5.0 %", "50 %", "99.5 %", ">99.9 %", "100 %", "unknown",
    ]  # fmt: skip
    assert [percent(x) for x in (1 + 1e-12, 0.9995, 0.99, -1e-17, 0.985, 0.98)] == [
        "100 %", ">99.9 %", "99.0 %", "0 %", "98.5 %", "98 %",
    ]  # fmt: skip
    assert [format_count(x) for x in (0, 3.24, 12.7, 1000)] == ["0", "3.2", "13", "1\u202f000"]
    assert quoted("שלום") == "“\u2068שלום\u2069”"
