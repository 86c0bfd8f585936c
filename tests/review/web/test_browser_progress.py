"""What the page says of its progress, of the rows it asks for, and of what the model has learnt."""

import threading
from contextlib import closing
from functools import cache

import numpy as np
import pandas as pd
import pytest

from rboost.audit import audit_labels
from rboost.review.folder import open_store
from rboost.review.precision import FEWEST_ANSWERS
from tests.browser import complaints, resize
from tests.review.audits import model
from tests.review.clients import key
from tests.review.web.pages import NARROW, WIDE, Page
from tests.review.web.tables import labelled

pytestmark = pytest.mark.browser


def wide_audit(n_rows=240):
    """Columns with long names, two of which are the same in every row; one says the class."""
    random = np.random.RandomState(0)
    names = ("YearsSinceLastPromotion", "environment_satisfaction_score", "Age", "JobRole")
    table = pd.DataFrame({"EmployeeCount": 1, "Over18": "Y"}, index=range(n_rows))
    for name in names[:3]:
        table[name] = random.randint(1000, 9000, n_rows)
    table[names[3]] = random.choice(["Healthcare Representative", "Research Scientist"], n_rows)
    table["MonthlyIncome"] = random.normal(size=n_rows).round(2)
    true = table["MonthlyIncome"].to_numpy() > 0
    labels = np.where(true ^ (random.random_sample(n_rows) < 0.1), "stays", "leaves")
    return audit_labels(table, labels, model=model(), check_columns=False), true


METALS = ("bronze", "gold", "platinum", "silver")
TRUE = np.arange(200) % len(METALS)


@cache
def metals():
    """Four metals, one label in eleven is that of another; row 0 is labelled rightly."""
    random = np.random.RandomState(0)
    X = 6 * random.normal(size=(len(METALS), 3))[TRUE] + random.normal(size=(len(TRUE), 3))
    labels = np.where(np.arange(len(TRUE)) % 11 == 3, (TRUE + 1) % len(METALS), TRUE)
    X[0], labels[0] = X[2], 2
    table = pd.DataFrame(X.round(2), columns=["weight", "shine", "density"])
    names = np.array(METALS, dtype=object)
    return audit_labels(table, names[labels], model="linear", check_columns=False)


@pytest.fixture(scope="module")
def wide():
    return wide_audit()


def test_answers_are_enough_when_the_interval_is_as_narrow_as_was_asked_for(visit, browser):
    page = visit(until=49.0)
    page.until(lambda: "20 more answers" in page.text("bar-text"))
    assert "enough" not in page.text("bar-text")  # nobody has answered yet
    assert f"takes at least {FEWEST_ANSWERS} answers" in page.text("bar-text")
    assert float(page.at("bar").get_attribute("value")) == 0
    for _ in range(FEWEST_ANSWERS):
        assert "are enough" not in page.text("bar-text")
        page.answer("k")
    page.until(lambda: page.text("bar-text").startswith(f"{FEWEST_ANSWERS} answers are enough: "))
    assert "You asked for ± 49 points." in page.text("bar-text").replace("\N{NO-BREAK SPACE}", " ")
    assert float(page.at("bar").get_attribute("value")) == 1
    page.press("z")
    page.until(lambda: "are enough" not in page.text("bar-text"))
    assert complaints(browser) == []


def test_a_wide_interval_is_never_enough(visit):
    page = visit(until=0.1)
    for _ in range(FEWEST_ANSWERS + 1):
        page.answer("k")
    page.until(lambda: page.text("bar-text").startswith(f"{FEWEST_ANSWERS + 1} answers: "))
    assert "enough" not in page.text("bar-text")
    assert "stop" not in page.text("bar-text")
    assert "more answers are expected" in page.text("bar-text")


def test_the_page_says_why_a_row_is_asked_for(visit):
    page = visit()
    said = []
    for _ in range(5):
        said.append(page.text("why"))
        page.answer("k")
    assert "random check" in said[0]
    assert sum("most suspicious" in words for words in said) == 2
    assert sum("noise of the labels" in words for words in said) == 2
    page.choose("order", "most uncertain")
    page.until(lambda: "least certain" in page.text("why"))
    page.click("#hide-opinion")  # of which the reason would tell a part
    page.until(lambda: not page.at("opinion-text").is_displayed())
    page.answer("k")
    assert page.text("why") == ""


def test_answers_are_changed_in_place(visit, browser):
    page = visit()
    for _ in range(12):
        page.answer("k")
    page.until(lambda: len(page.all("#answers li")) == 10)
    row, title = page.row(), page.text("row-title")
    audit, last = page.server.audit, page.server.answers()[-1]
    name, other = str(audit.ids[last.row]), audit.labels.class_names[1 - last.label]
    page.until(lambda: page.run(NEWEST).startswith(f"{name}: kept"))
    for words, answer, said in (("unsure", "unsure", ": unsure"), (other, "change", f"→ {other}")):
        page.run(CHOOSE, words)
        page.until(lambda kind=answer: page.server.answers()[-1].answer == kind)
        page.until(lambda said=said: said in page.run(NEWEST))
        page.expect_counts(11, int(answer == "change"), int(answer == "unsure"))
    assert page.server.answers()[-1].row == last.row
    assert (page.row(), page.text("row-title")) == (row, title)
    assert complaints(browser) == []


def test_a_doubtful_answer_is_kept_or_changed_with_one_click(visit, browser, tmp_path):
    random = np.random.RandomState(0)
    x = np.concatenate([[9, -9], random.normal(size=298)])
    labels = (x > 0).astype(int)
    audit = audit_labels(pd.DataFrame({"x": x}), labels, model="linear", check_columns=False)
    with closing(open_store(audit, tmp_path)) as store:
        store.add(key(), 0, "change", 0)
        store.add(key(), 1, "change", 1)
        for row in range(2, 62):
            store.add(key(), row, "keep", int(labels[row]))
    page = visit(audit)
    page.until(lambda: page.text("doubtful-title") == "Please look again: 2")
    said = [("Change to 1", "keep"), ("Keep 1", "change")]
    for left, (words, answer) in zip((1, 0), said, strict=True):
        buttons = page.all("#doubtful li button")
        page.click("#doubtful li button", [button.text for button in buttons].index(words))
        page.until(lambda kind=answer: page.server.answers()[-1].answer == kind)
        page.until(lambda n=left: len(page.all("#doubtful li")) == n)
    assert not page.at("doubtful-details").is_displayed()
    current = page.server.log().current
    assert (current[0].label, current[1].label) == (1, 1)
    assert complaints(browser) == []


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_what_people_said_is_offered_and_the_model_judges_without_it(visit, size, tmp_path):
    audit = metals()
    bronze, gold, platinum, _ = range(4)
    with closing(open_store(audit, tmp_path)) as store:
        store.add(key(), 0, "change", bronze, reviewer="ann")
        store.add(key(), 0, "change", gold, reviewer="bob")
        for row in range(1, 101):
            kind = "keep" if TRUE[row] == audit.labels.given[row] else "change"
            store.add(key(), row, kind, int(TRUE[row]), reviewer="ann")
    page = visit(audit, size)
    page.until(lambda: page.text("doubtful-title") == "Please look again: 1")
    offered = {button.text for button in page.all("#doubtful li button")}
    assert offered == {"Look", "Choose bronze", "Choose gold", "Choose platinum"}
    page.click("#doubtful li button")
    page.until(lambda: page.row() == 0 and "probability" in page.text("opinion-text"))
    said = page.text("opinion-text")
    assert said.startswith("Without the answers to this row, its label is wrong with")
    assert said.endswith("probability 0.3\N{NO-BREAK SPACE}%.")
    assert not page.all("#choices .suggested")  # the model speaks against the answers
    words = [button.text for button in page.all("#doubtful li button")]
    page.click("#doubtful li button", words.index("Choose bronze"))
    page.until(lambda: page.server.answers()[-1].label == bronze)
    assert platinum == audit.labels.given[0]
    assert complaints(page.browser) == []


@pytest.mark.parametrize("n_classes", [4, 20])
@pytest.mark.parametrize("size", [(1400, 1300), NARROW])
def test_progress_comes_first_and_the_rates_of_many_classes_are_folded(visit, size, n_classes):
    names = tuple(f"class {k:02d}" for k in range(n_classes))
    page = visit(labelled(names, 12 * n_classes), size)
    page.until(lambda: page.all("#estimate tbody tr"))
    shown = [line.text for line in page.all("#estimate tbody th")]
    assert shown[:2] == ["Wrong labels left", "Probably wrong"]
    assert page.run(CUT) == []
    if n_classes == 20:
        assert len(shown) == 2
        assert page.text("noise-title") == "Each of 20 classes"
        assert not page.at("noise-rates").is_displayed()
        page.click("#noise-title")
        assert len(page.all("#noise-rates tbody tr")) == 20
        assert page.run(CUT) == []
    else:
        assert len(shown) == 2 + n_classes
        assert not page.at("noise").is_displayed()
    assert not page.scrolls_sideways()


def test_the_model_learns_by_itself_and_the_row_stays(visit, browser):
    may_fit = threading.Event()
    page = visit(learns=True, save=lambda audit: may_fit.wait(60))
    for _ in range(10):
        page.answer("k")
    row = page.row()
    page.until(lambda: "is learning" in page.text("refit-state"))
    may_fit.set()
    page.until(lambda: "has learnt from 10 checked labels: " in page.text("refit-state"), 60)
    assert "wrong labels →" in page.text("refit-state")
    assert page.row() == row
    assert page.server.review.snapshot.fitted.labels.is_checked.sum() == 10
    page.click("#changes-details summary")
    assert "No longer probably wrong" in page.text("changes")
    page.answer("k")
    page.expect_counts(11, 0, 0)
    assert complaints(browser) == []


def test_reasons_come_first_and_constant_columns_are_folded(visit, wide, browser):
    page = visit(wide[0])
    page.choose("order", "most suspicious")
    page.until(lambda: page.all("#opinion-text li"))
    names = [one.text.replace("\n", "") for one in page.all("#values tbody th")]
    assert names[0] == "MonthlyIncome"
    assert page.all("#values tbody tr")[0].get_attribute("class") == "speaks"
    assert not {"EmployeeCount", "Over18"} & set(names)
    page.click("#constant-title")
    assert page.text("constant-values") == "EmployeeCount = 1, Over18 = Y"
    assert complaints(browser) == []


NEWEST = 'return document.querySelector("#answers li > span").textContent'
# In one step, as the list may be made anew meanwhile.
CHOOSE = """
const list = document.querySelector("#answers li:first-child select");
list.selectedIndex = [...list.options].findIndex((option) => option.text === arguments[0]);
list.dispatchEvent(new Event("change"));
"""
BROKEN = """
return [...document.querySelectorAll("#values tbody th")].flatMap((cell) => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(node);
    if (range.getClientRects().length > 1) broken.push(node.textContent);
  }
  return broken;
});
"""
CUT = """
return [...document.querySelectorAll("aside .scroll")].filter((box) => box.checkVisibility())
  .filter((box) => box.scrollHeight > box.clientHeight + 1).map((box) => box.textContent);
"""
OWN_VALUE = """
const cell = document.querySelector("#values tbody tr td");
const own = (element) => element.getBoundingClientRect().toJSON();
return [own(cell), own(cell.parentElement), getComputedStyle(cell, "::before").content];
"""
OUTSIDE = """
const box = document.querySelector("#values").parentElement.getBoundingClientRect();
return [...document.querySelectorAll("#values td, #values th")].filter((e) => e.checkVisibility())
  .filter((e) => e.getBoundingClientRect().right > box.right + 1 || e.scrollWidth > e.clientWidth)
  .map((e) => e.textContent);
"""
HIDDEN = """
const bar = document.querySelector("#bar-of-answers").getBoundingClientRect();
window.scrollTo(0, document.documentElement.scrollHeight);
const last = document.querySelector("aside section:last-child").getBoundingClientRect();
return last.bottom > document.querySelector("#bar-of-answers").getBoundingClientRect().top;
"""


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_six_neighbours_fit_no_name_breaks_and_the_bar_hides_nothing(visit, wide, size):
    page = visit(wide[0], size)
    assert len(page.all("#values thead th")) == 8
    assert page.run(BROKEN) == []
    assert page.run(OUTSIDE) == []
    assert not page.run(HIDDEN)
    assert not page.scrolls_sideways()
    if size == NARROW:  # where nothing stands above it, the value says whose it is
        box, line, said = page.run(OWN_VALUE)
        assert (box["left"], box["width"]) == pytest.approx((line["left"], line["width"]), abs=1)
        assert said == '"This row: "'
    page.run("window.scrollTo(0, 0)")
    page.at("similar-button").send_keys("")  # has the focus
    bar, focused = (
        page.run("return arguments[0].getBoundingClientRect().toJSON()", page.at(name))
        for name in ("bar-of-answers", "similar-button")
    )
    assert focused["bottom"] <= bar["top"]


def test_the_page_is_there_before_the_reasons(visit, serve, browser, wide):
    page = visit(wide[0])
    server, gate = page.server, threading.Event()
    explain = server.review._explain_first
    server.review._explain_first = lambda snapshot: gate.wait(60) and explain(snapshot)
    server.review.explaining.ask()
    other = Page(browser, server.access.url(server.access.invite()))
    assert "being computed" in other.text("opinion-text")
    other.answer("k")
    assert "being computed" in other.text("opinion-text")
    gate.set()
    other.until(lambda: "wrong with probability" in other.text("opinion-text"))
    assert len(other.all("#values thead th")) == 8
    assert complaints(browser) == []
    resize(browser, *WIDE)
