"""Texts with the words that matter: in the terminal, the report, a notebook and the list."""

import re
import unicodedata
from functools import cache
from html import escape, unescape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rboost.audit.insight.summary import band_of
from rboost.audit.insight.words import ReadText, Word
from rboost.audit.render.report import LONGEST_NAME, show_texts
from rboost.audit.render.text import SHOWN_TEXT, describe_words, in_words, width, wrapped
from rboost.audit.wording import end_at_word, one_line, visible
from tests.audit.conftest import HOSTILE, quick
from tests.audit.insight.test_words import messages
from tests.audit.reports import without_pictures

LONG = " ".join(f"then number{k}" for k in range(100))


@cache
def make_audit(has_others=True):
    """Messages of two classes, some of them hostile or long, one missing, one without a label."""
    table, y = messages(200)
    table["message"] = table["message"].astype(object)  # else it holds no unpaired surrogate
    y[:20] = np.where(y[:20] == "card", "transfer", "card")
    for k, hostile in enumerate(HOSTILE[:-1]):
        table.loc[k, "message"] = f"{hostile} {table['message'][k]}"
    table.loc[19, "message"] += LONG
    table.loc[25, "message"], y[30] = None, None
    if has_others:
        table.insert(0, "amount", np.arange(200) % 7)
    return quick(table, y)


@pytest.fixture
def audit():
    return make_audit()


def suspects(audit):
    return audit.suspects(n=40)


def test_the_terminal_shows_texts_first_with_words_marked(audit):
    rows = audit.suspects(n=10).rows
    said = audit.to_text(suspects(audit))
    assert "Words between * speak for the suggested label." in said
    assert max(map(width, said.splitlines())) <= 100
    assert not [c for c in said if unicodedata.category(c) == "Cc" and c != "\n"]
    blocks = said.split("\n\n")[-10:]
    for row, block in zip(rows, blocks, strict=True):
        (one,) = audit.explain_all(np.array([row]))
        shown, _, below = block.partition("\n  row ")
        start = f"{audit.ids[row]}: {one.given} → {one.suggested}, {band_of(one.probability_wrong)}"
        assert below.startswith(start)
        assert {word for word in one.words if f"*{word}*" in shown} == {*one.words}
        assert " ".join(describe_words(one).split()[:1]) in below


def test_one_sentence_names_the_strongest_words(audit):
    (one,) = audit.explain_all(np.array([18]))
    first, second = one.words[:2]
    named = ", ".join(f"“{word}”" for word in one.words)
    assert describe_words(one) == f"{named} speak for “{one.suggested}”, not for “{one.given}”"
    assert {first, second} == {"card", "arrived"} or {first, second} == {"transfer", "pending"}
    assert in_words(one).startswith(describe_words(one))
    frame = audit.to_frame(suspects(audit))
    place = frame["row"].tolist().index(audit.ids[18])
    assert frame["against_given_label"][place] == in_words(one)


def test_the_report_marks_words_and_escapes_all(audit, monkeypatch):
    without_pictures(monkeypatch)
    page = audit.to_html(audit.suspects(n=200))
    assert "<script>window" not in page
    assert "<img src=x" not in page
    assert "\x1b" not in page
    cells = re.findall(r'<td class="texts">(.*?)</td>', page, flags=re.DOTALL)
    texts = {unescape(re.sub("<[^>]*>", "", cell)).strip() for cell in cells}
    for row in range(len(HOSTILE), 19):
        assert any(text.startswith(audit.table["message"][row]) for text in texts)
    for one in audit.explain_all(np.arange(19)):
        for word in one.words:
            if word.isalnum():
                assert f'<mark class="suggested">{word}</mark>' in page
    assert "such words</mark> for the given one" in page
    (long,) = [cell for cell in cells if "number99" in cell]
    beginning = long[: long.index("</summary>")]
    assert "number99" not in beginning
    assert len(re.sub("<[^>]*>", "", beginning)) < SHOWN_TEXT + 50
    assert not re.search(r"<dt><bdi>message</bdi></dt>", page)
    assert "<dt><bdi>amount</bdi></dt>" in page
    assert '<span class="quiet">missing</span>' in page


def test_a_table_of_texts_alone_has_no_other_values(monkeypatch):
    without_pictures(monkeypatch)
    page = make_audit(has_others=False).to_html()
    assert "Values</th>" not in page
    assert "no single word or column stands out" not in page or "<mark" in page


READ = st.builds(
    lambda column, words: ReadText(
        column, " ".join(words), tuple(Word(2 * k, 2 * k + 1, 1.0) for k in range(len(words)))
    ),
    st.text(max_size=90),
    st.lists(st.sampled_from("a卡<&\x1b😀"), max_size=400),
)


@given(st.lists(READ, max_size=5), st.integers(0, 20_000))
def test_texts_of_a_row_share_its_room(texts, room):
    shown = show_texts(texts, room)
    assert [one.column for one in shown] == [
        one_line(one.column, LONGEST_NAME) for one in texts[: len(shown)]
    ]
    taken = sum(
        len(escape(visible(part)).encode()) + len('<mark class="suggested"></mark>') * bool(side)
        for one in shown
        for part, side in [*one.beginning, *one.whole]
    )
    assert taken + sum(len(one.column) for one in shown) <= room
    if room >= sum(1000 + 60 * len(one.text) for one in texts):
        assert not any(one.n_characters for one in shown)
    for read, one in zip(texts, shown, strict=False):
        said = "".join(part for part, _ in one.whole or one.beginning)
        assert read.text.startswith(said)
        assert one.n_characters == (len(read.text) if said != read.text else 0)


def test_what_there_is_no_room_for_is_counted(audit, monkeypatch):
    without_pictures(monkeypatch)
    for n_bytes, said in [(400, " characters)</bdi>"), (200, "1 more text not shown.")]:
        monkeypatch.setattr("rboost.audit.render.report.MOST_BYTES", 40 * n_bytes)
        page = audit.to_html(suspects(audit))
        assert said in page
        assert page.count("<dt><bdi>amount</bdi></dt>") == 40


def test_a_notebook_shows_texts(audit):
    page = audit._repr_html_()
    assert re.search("<b>(card|transfer)</b>", page)
    assert "<script>" not in page


@given(st.text(alphabet="abc卡  \n", max_size=40), st.integers(2, 20))
def test_texts_are_cut_between_words(text, longest):
    end = end_at_word(text, longest)
    assert end == len(text) or longest / 2 < end <= longest < len(text)
    if end < len(text):
        is_between = text[end].isspace() and not text[end - 1].isspace()
        near = text[longest // 2 : longest + 1]
        assert is_between or not re.search(r"\S\s", near[1:] if longest % 2 else near)


def test_words_that_no_line_holds_are_broken():
    lines = wrapped("short " + "卡" * 150 + " end").splitlines()
    assert max(map(width, lines)) <= 100
    assert "".join(lines).replace(" ", "") == "short" + "卡" * 150 + "end"
