import re
import unicodedata
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rboost.audit.insight.checked import RANDOM_CHECKS, RandomChecks
from rboost.audit.render.text import (
    describe_cautions,
    describe_reason,
    describe_suspects,
    describe_wrong_labels,
    fitted,
    width,
    wrapped,
)
from rboost.audit.wording import (
    cut_middle,
    format_count,
    format_estimate,
    format_range,
    percent,
    quoted,
    shortened,
    visible,
)


def test_says_rows_classes_rates_and_the_ten_most_suspicious(small_audit):
    suspects = small_audit.suspects(n=15)
    text = small_audit.to_text(suspects)
    assert "150 rows and 3 classes" in text
    assert "Of true “ash”" in text
    assert "90 % interval" in text
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("row "))
    first = [line for line in lines[start + 1 :] if "→" in line]
    for row, line in zip(suspects.rows[:10], first, strict=True):
        assert line.split()[0] == str(small_audit.ids[row])
        assert line.index("→") == lines[start].index("→")
    assert lines[start + 1] == "probably wrong:"
    assert lines[-1] == "… and 5 more suspects"


def test_ten_suspects_are_shown_in_bands_however_uncertain(small_audit, monkeypatch):
    chosen, wrong = small_audit.suspects(n=10), small_audit.issue_probability.copy()
    wrong[chosen.rows] = np.linspace(0.55, 0.1, 10)  # as where classes overlap
    audit = replace(small_audit)
    vars(audit)["issue_probability"] = wrong
    monkeypatch.setattr(type(audit), "row_fit", lambda *_: [*[""] * 9, "fits no class"])
    lines = audit.to_text(replace(chosen, probability_wrong=wrong[chosen.rows])).splitlines()
    bands = [lines.index("probably wrong:"), lines.index("worth a look:")]
    shown = [k for k, line in enumerate(lines) if re.match(r"\d+ .*→ \w+ +\d+ %", line)]
    assert len(shown) == 10
    assert [sum(k < bands[1] for k in shown), sum(k > bands[1] for k in shown)] == [2, 8]
    assert "fits no class; " in lines[shown[-1]]


def test_reasons_are_whole_however_long(small_audit):
    rows = small_audit.suspects(n=10).rows
    text = " ".join(small_audit.to_text().split())
    for one in small_audit.explain_all(rows):
        for reason in one.reasons[:1]:
            assert describe_reason(one, reason) in text


def test_says_whether_an_interval_is_of_the_model_or_of_random_checks(small_audit):
    by_model = replace(
        small_audit.summary(), share_low=0.02, share_high=0.3, is_uncertain=True,
        expected_wrong=30.0, expected_share=0.2, random_checks=None,
    )  # fmt: skip
    said = describe_wrong_labels(by_model)
    assert said.startswith("Cannot tell yet how many of the 135 labels that nobody has checked are")
    assert said.endswith(" wrong: 3 to 40 (90 % interval).")
    caution = describe_cautions(by_model)[0]
    assert "Check 30 labels drawn at random (rboost review), and the share of wrong" in caution
    said = describe_wrong_labels(replace(by_model, is_uncertain=False))
    assert said.startswith("About 30 of the 135 labels that nobody has checked are wrong (20 %;")
    assert said.endswith(" 90 % interval: 3 to 40).")
    drawn = RandomChecks(40, 4, 0.03, 0.21)
    by_checks = replace(
        by_model, share_low=0.03, share_high=0.2, share_source=RANDOM_CHECKS, random_checks=drawn
    )
    said = describe_wrong_labels(by_checks)
    assert (
        "4 to 27 of the 135 labels that nobody has checked are wrong (90 % interval by random"
        in said
    )
    assert "the model: about 30)" in said
    assert "Of 40 labels drawn at random and checked, 4 were wrong" in said


def test_says_how_many_suspects_are_wrong_only_where_it_is_known(small_audit):
    known = replace(
        small_audit.summary(), n_suspects=40, expected_found=31.0, list_low=0.7, list_high=0.9
    )
    said = describe_suspects(known)
    assert said.endswith("worth checking: about 31 of them are wrong (90 % interval: 28 to 36).")
    unknown = replace(known, list_low=0.2)
    said = describe_suspects(unknown)
    assert (
        "cannot be told yet: 8 to 36 (90 % interval). Checking some of them narrows this." in said
    )
    assert "31" not in said
    assert "by random checks alone" in describe_suspects(replace(known, list_source=RANDOM_CHECKS))


def test_no_more_suspects_are_wrong_than_are_listed(small_audit):
    known = replace(
        small_audit.summary(), n_suspects=116, expected_found=115.8, list_low=0.9, list_high=1.0
    )
    assert "about 116 of them are wrong (90 % interval: 100 to all)" in describe_suspects(known)
    by_checks = replace(known, list_low=0.8, list_high=0.9, expected_found=115.8)
    assert "about 100 of them are wrong (90 % interval: 93 to 100)" in describe_suspects(by_checks)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.276, 0.284, "27 to 29"),
        (0.28, 0.28, "about 28"),
        (0.0, 0.002, "0 to 1"),
        (0.997, 1.0, "99 to 100"),
    ],
)
def test_an_interval_whose_ends_round_to_one_number_is_one(small_audit, low, high, said):
    summary = replace(
        small_audit.summary(), n_unchecked=100, share_low=low, share_high=high,
        is_uncertain=False, random_checks=None,
    )  # fmt: skip
    assert describe_wrong_labels(summary).endswith(f"90 % interval: {said}).")


def test_says_that_suspects_need_not_be_wrong_where_nobody_can_tell(small_audit):
    caution = "They are the most suspicious ones, not known to be wrong."
    for high in (0.0, 0.9):
        known = replace(small_audit.summary(), list_low=0.0, list_high=high, is_uncertain=False)
        assert caution not in describe_suspects(known)
        assert caution in describe_suspects(replace(known, is_uncertain=True))


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
    assert fitted("日本語", 5) == "日…語"
    assert fitted("ab", 4) == "ab  "


@given(st.text("ab日\u0301 ", min_size=1), st.integers(3, 30))
def test_what_does_not_fit_is_cut_in_the_middle(text, columns):
    shown = fitted(text, columns)
    assert width(shown) == columns
    if width(text) > columns:
        head, _, tail = shown.rstrip().partition("…")
        assert text.startswith(head)
        assert text.rstrip().endswith(tail)


@given(st.text("ab_", min_size=1), st.integers(3, 30))
def test_names_keep_beginning_and_end(name, longest):
    shown = cut_middle(name, longest)
    assert len(shown) == min(len(name), longest)
    head, cut, tail = shown.partition("…")
    assert name.startswith(head)
    assert name.endswith(tail)
    assert bool(cut) == (len(name) > longest)


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_ends_of_a_range_are_rounded_by_little(low, more):
    high = low + more
    first, last = map(float, format_range(low, high))
    assert first <= last
    assert max(abs(first - low), abs(last - high)) <= 0.1 * (high - low) + 1e-3 * abs(high)


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
        "0 %", "<0.1 %", "5 %", "50 %", "99.5 %", ">99.9 %", "100 %", "unknown",
    ]  # fmt: skip
    assert [percent(x) for x in (1 + 1e-12, 0.9995, 0.99, -1e-17, 0.985, 0.98)] == [
        "100 %", ">99.9 %", "99 %", "0 %", "98.5 %", "98 %",
    ]  # fmt: skip
    assert [format_count(x) for x in (0, 0.3, 3.24, 12.7)] == ["0", "<1", "3", "13"]
    assert format_count(1000) == "1\u202f000"
    assert [format_estimate(x) for x in (0.2, 9.7, 99.6, 521.6, 5574)] == [
        "<1", "10", "100", "520", "5\u202f600",
    ]  # fmt: skip
    assert quoted("שלום") == "“\u2068שלום\u2069”"
