"""That the page says what terminal and report say, in the same figures and words, and at once."""

import re

import numpy as np
import pandas as pd
import pytest

from rboost.audit import audit_labels
from rboost.audit.render.text import describe_reason
from rboost.audit.wording import format_estimate, percent
from tests.audit.reports import without_pictures
from tests.browser import complaints
from tests.review.audits import model, three_classes, two_classes
from tests.review.web.pages import NARROW
from tests.review.web.test_browser_look import CONTRASTS, emulate
from tests.review.web.test_browser_progress import wide_audit

pytestmark = pytest.mark.browser


def estimates(page):
    """The numbers beside the row: what each is of, and how it is now."""
    page.until(lambda: page.all("#estimate tbody tr"))
    lines = page.run(
        "return [...document.querySelectorAll('#estimate tbody tr')]"
        ".map((line) => [...line.cells].map((cell) => cell.textContent))"
    )
    return {name: now.replace("\N{NO-BREAK SPACE}", " ") for name, _, now in lines}


def figures(text):
    return re.findall(r"[<>]?[\d.]+", text)


@pytest.fixture(scope="module")
def sure():
    """An audit that says how many labels are wrong."""
    random = np.random.RandomState(0)
    X = random.normal(size=(600, 2)).round(3)
    true = X[:, 0] > 0
    labels = np.where(true ^ (random.random_sample(600) < 0.1), "yes", "no")
    rows = np.abs(X[:, 0]) > 0.5
    return audit_labels(X[rows], labels[rows], model="linear", check_columns=False)


@pytest.fixture(scope="module")
def dated():
    random = np.random.RandomState(0)
    days = pd.Timestamp("2021-01-09T09:00:00+02:00") + pd.to_timedelta(np.arange(120), "D")
    table = pd.DataFrame({
        "signed_up": [day.isoformat() for day in days],
        "called": [day.strftime("%Y-%m-%d %H:%M") for day in days],
        "age": random.normal(size=120).round(2),
    })  # fmt: skip
    labels = np.where(table["age"].to_numpy() > 0, "old", "young")
    return audit_labels(table, labels, model=model(), check_columns=False)


@pytest.mark.parametrize("which", ["sure", "two"])
def test_rates_are_those_of_terminal_and_report(visit, sure, which, monkeypatch):
    without_pictures(monkeypatch)
    audit = sure if which == "sure" else two_classes()
    summary = audit.summary()
    assert summary.is_uncertain == (which == "two")
    report = re.sub(r"<.*?>", "", audit.to_html()).replace("\N{NO-BREAK SPACE}", " ")
    said = estimates(visit(audit))
    lines = [line for line in audit.to_text().split("\n  ") if line.startswith("Of true")]
    flips = sorted(summary.flips, key=lambda one: -one.expected_rows)
    for line, flip in zip(lines, flips, strict=True):
        shown = said[f"Of true {flip.true}, mislabelled"]
        ends = figures(percent(flip.low)) + figures(percent(flip.high))
        rate = [] if summary.is_uncertain else figures(percent(flip.rate))
        assert figures(shown) == [*rate, *ends]
        words = " ".join(line.split())
        assert f"{percent(flip.low)} to {percent(flip.high)}" in words
        assert (percent(flip.rate) in words.partition("(")[0]) == (which == "sure")
        assert f"{percent(flip.low)} to {percent(flip.high)}" in report
    n, left = summary.n_unchecked, said["Wrong labels left"]
    ends = [round(share * n) for share in (summary.share_low, summary.share_high)]
    numbers = ends if summary.is_uncertain else [summary.expected_wrong]
    assert figures(left) == [format_estimate(number) for number in numbers]
    assert all(number in audit.to_text() for number in figures(left))


def test_probably_wrong_has_one_meaning(visit):
    audit = two_classes()
    said = estimates(visit(audit))
    assert not [name for name in said if "uspect" in name]
    shown = said["Probably wrong"]
    assert shown == str(audit.summary().probably_wrong)
    assert shown == str(audit.suspects(n=len(audit)).bands.count("probably wrong"))


def test_of_more_classes_the_page_says_how_often_another_label_is_given(visit):
    audit = three_classes()
    said = estimates(visit(audit))
    for one in audit.summary().mislabelled:
        shown = figures(said[f"Of true {one.true}, mislabelled"])
        assert shown[-2:] == figures(percent(one.low)) + figures(percent(one.high))


def test_shares_and_numbers_are_written_as_in_the_report(visit):
    page = visit()
    shares = [*np.linspace(0, 1, 1237), *np.geomspace(1e-6, 0.2, 99), 0.0995, 0.985, 0.09, 0.99]
    script = "return import('/words.js').then((words) => arguments[0].map(words.percent))"
    written = page.run(script, [float(share) for share in shares])
    assert [one.replace("\N{NO-BREAK SPACE}", " ") for one in written] == [*map(percent, shares)]


def test_reasons_are_worded_as_in_terminal_and_report(visit):
    audit, _ = wide_audit()
    page = visit(audit)
    page.choose("order", "most suspicious")
    page.until(lambda: page.row() == audit.suspects(n=1).rows[0])
    page.until(lambda: page.all("#opinion-text li"))
    why = audit.explain(page.row())
    shown = [line.text.replace("\u2011", "-") for line in page.all("#opinion-text li")]
    assert shown == [describe_reason(why, reason) for reason in why.reasons]
    assert "; of those labelled “" in shown[0]
    assert "distance" not in page.text("values")


BROKEN = """
return [...document.querySelectorAll("#values td")].flatMap((cell) => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(node);
    if (range.getClientRects().length > 1) broken.push(node.textContent);
  }
  return broken;
});
"""


def test_dates_of_similar_rows_break_between_their_parts_on_a_telephone(visit, dated):
    page = visit(dated, NARROW)
    assert len(page.all("#values thead th")) == 8
    assert page.run(BROKEN) == []
    shown = page.run(
        "return [...document.querySelectorAll('#values td')].map((cell) => cell.textContent)"
    )
    assert sum(bool(re.search(r"T09:00:00\+02:00$", text)) for text in shown) == 7
    assert not page.scrolls_sideways()


def test_days_are_whole_where_there_is_room(visit, dated):
    page = visit(dated)
    lines = page.run(
        "return [...document.querySelectorAll('#values .date')]"
        ".map((e) => new Set([...e.getClientRects()].map((part) => part.top)).size)"
    )
    assert lines == [1] * 14
    cells = "return [...document.querySelectorAll('#values td')]"
    assert not any(page.run(f"{cells}.map((e) => e.scrollWidth > e.clientWidth)"))


WAITED = """
const seen = window.seen = [];
const counts = () => document.getElementById("counts").textContent;
let answered = null, before = "";
const real = window.fetch;
window.fetch = async (path, options) => {
  const reply = await real(path, options);
  if (String(path).startsWith("/api/answer") && options?.method === "POST") {
    before = counts();
    answered = performance.now();
  }
  return reply;
};
new MutationObserver(() => {
  if (answered === null || counts() === before) return;
  seen.push(performance.now() - answered);
  answered = null;
}).observe(document.getElementById("counts"), { childList: true, subtree: true });
"""


def test_counts_follow_an_answer_within_a_second(visit, browser):
    page = visit()
    page.until(lambda: page.text("counts"))
    page.run(WAITED)
    for n in range(1, 6):
        page.answer("k")
        page.expect_counts(n, 0, 0)
    waited = page.run("return window.seen")
    assert len(waited) == 5
    assert max(waited) <= 1500  # ms; half a second is for a machine that is busy
    assert complaints(browser) == []


def test_in_the_dark_the_page_is_dark_and_its_words_are_light(visit, browser):
    page = visit(size=NARROW)
    page.answer("u")
    light = {}
    for scheme in ("light", "dark"):
        emulate(browser, prefers_color_scheme=scheme)
        assert page.run(CONTRASTS) == []
        for name in ("body", "#card", "#bar-of-answers", "#note"):
            ground, words = (
                np.mean([int(part) for part in re.findall(r"\d+", colour)[:3]])
                for colour in page.run(
                    "const style = getComputedStyle(document.querySelector(arguments[0]));"
                    "return [style.backgroundColor, style.color]",
                    name,
                )
            )
            light[scheme, name] = ground, words
            assert (ground < 60 < 180 < words) if scheme == "dark" else (words < 60 < 180 < ground)
    emulate(browser)
    assert complaints(browser) == []
