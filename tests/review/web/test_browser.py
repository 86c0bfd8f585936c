"""A review in a real browser, from the first answer to the last."""

import threading
import uuid
from contextlib import closing

import httpx
import pytest

from rboost.review import AnswerStore, fingerprint
from tests.browser import complaints
from tests.review.audits import N_ROWS, saved_after, three_classes, two_classes
from tests.review.web.pages import NARROW, WIDE

pytestmark = pytest.mark.browser

# Whether a text that turns its direction around turns what stands after it, too.
SPILLS_OVER = """
  const line = document.createElement("p"), text = document.createElement("bdi");
  text.textContent = arguments[0];
  line.append(text, " after");
  document.querySelector("main").prepend(line);
  const left = (place) => {
    const letter = document.createRange();
    letter.setStart(line.lastChild, place);
    letter.setEnd(line.lastChild, place + 1);
    return letter.getBoundingClientRect().left;
  };
  const isTurned = left(1) > left(5);
  line.remove();
  return isTurned;"""


def test_answers_by_keys_survive_undo_and_reload(visit, browser):
    page = visit()
    assert browser.current_url == f"{page.server.origin}/"
    for key in "kcuK":
        page.answer(key)
    page.expect_counts(2, 1, 1)
    page.until(lambda: len(browser.find_elements("css selector", "#answers li")) == 4)
    last = page.text("status")
    assert last.startswith("Saved.")
    page.answer("z")
    assert page.text("status").startswith("Taken back.")
    page.expect_counts(1, 1, 1)
    browser.refresh()
    page.ready()
    page.expect_counts(1, 1, 1)
    kinds = [answer.answer for answer in page.server.answers()]
    assert kinds == ["keep", "change", "unsure"]
    assert browser.switch_to.active_element == page.at("row-title")
    assert complaints(browser) == []


def test_buttons_do_what_keys_do_and_a_row_can_be_looked_at_again(visit, browser):
    page = visit()
    for name in ("unsure-button", "change"):
        before = page.text("row-title")
        page.click(f"#{name}")
        page.until(lambda before=before: page.text("row-title") != before)
        page.ready()
    page.saved()
    page.until(lambda: page.text("answers").count("Undo") == 2)
    assert page.text("unsure-title") == "Unsure: 1"
    page.click("#answers li button", 2)
    page.until(lambda: "Your answer so far" in page.text("present"))
    page.ready()
    page.answer("k")
    page.expect_counts(1, 1, 0)
    page.until(lambda: "kept" in page.text("answers"))
    page.click("#answers li button", 1)
    # What was said before holds again.
    page.expect_counts(0, 1, 1)
    assert complaints(browser) == []


def test_a_hidden_opinion_stays_hidden_until_it_is_asked_for(visit, browser):
    page = visit()
    assert page.at("opinion-text").is_displayed()
    page.click("#hide-opinion")
    page.until(lambda: not page.at("opinion-text").is_displayed())
    page.ready()
    browser.refresh()
    page.ready()
    assert page.at("hide-opinion").is_selected()
    assert not page.at("opinion-text").is_displayed()
    page.press("m")
    page.until(lambda: "wrong with probability" in page.text("opinion-text"))
    page.press("m")
    page.until(lambda: not page.at("opinion-text").is_displayed())
    page.answer("k")
    assert "The model would" in page.text("status")
    assert not page.at("opinion-text").is_displayed()
    page.click("#hide-opinion")
    page.until(lambda: page.at("opinion-text").is_displayed())
    assert complaints(browser) == []


def test_a_new_fit_says_what_changed(visit, browser):
    may_fit = threading.Event()
    page = visit(save=saved_after(may_fit))
    page.click("#refit")
    page.until(lambda: "nothing to learn" in page.text("refit-state"))
    for key in "cck":
        page.answer(key)
    page.click("#refit")
    page.until(lambda: page.text("refit-state").startswith("The model is learning"))
    page.answer("k")  # meanwhile
    may_fit.set()
    page.until(lambda: page.text("refit-state").startswith("The model has learnt"), seconds=60)
    page.click("#changes-details summary")
    changes = page.text("changes")
    for words in ("Before", "After", "Wrong labels left", "Now probably wrong", "Model right"):
        assert words in changes
    page.expect_counts(2, 2, 0)
    page.ready()
    lines = [line for line in complaints(browser) if "422" not in line]
    assert lines == []


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_hostile_cells_are_text_and_nothing_runs(visit, browser, size):
    page = visit(size=size)
    missing = {"<img src=x onerror=", "<script>document", "<svg onload", "<b>height</b>", "שלום"}
    n_rows = 0
    while missing:
        seen = page.text("values") + page.text("row-title")
        missing = {words for words in missing if words not in seen}
        assert not page.scrolls_sideways()
        page.answer("u")
        n_rows += 1
    page.until(lambda: page.text("unsure-title") == f"Unsure: {n_rows}")
    assert "<i>dog</i>" in page.text("bar-of-answers")
    assert page.all("main img, main script, main svg, main i") == []
    assert page.run("return document.body.dataset.hacked") is None
    assert not page.run(SPILLS_OVER, "\u2069\u202eab\u2066 \u05e9\u05dc")
    assert not page.scrolls_sideways()
    assert complaints(browser) == []


def test_several_classes_are_chosen_by_number(visit, browser):
    page = visit(three_classes(), NARROW)
    assert not page.scrolls_sideways()
    page.press("c")
    assert browser.switch_to.active_element.text.startswith("a")
    for key in "123":
        page.answer(key)
    page.until(lambda: page.text("counts").endswith("147 rows not looked at."))
    page.click("#settings summary")
    page.click("#hide-opinion")
    page.until(lambda: page.at("no-neighbours").is_displayed())
    assert complaints(browser) == []


def test_the_end_is_said(visit, browser, tmp_path):
    with closing(AnswerStore(tmp_path / "review.sqlite", fingerprint(two_classes()))) as store:
        store.add_all(str(uuid.uuid4()), [(row, "unsure", None) for row in range(N_ROWS - 1)])
    page = visit()
    page.answer("u")
    page.until(lambda: page.at("finished").is_displayed())
    assert page.text("row-title") == "Nothing is left to check"
    page.press("k", "c", "u", "m", "n", "s", "a", "1")
    assert page.at("undo").is_enabled()
    page.answer("z")
    assert page.at("row").is_displayed()
    assert complaints(browser) == []


def test_the_export_is_downloaded_by_the_page_alone(visit, browser, tmp_path):
    page = visit()
    page.answer("k")
    assert httpx.get(f"{page.server.origin}/api/checked.csv").status_code == 403
    folder = tmp_path / "downloads"
    allow = {"behavior": "allow", "downloadPath": str(folder)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", allow)
    page.click("#export")
    page.until((folder / "checked.csv").exists)
    text = (folder / "checked.csv").read_text()
    assert text.startswith("name,given_label,checked_label,answer,time,drawn_at_random")
    assert (page.server.folder / "checked.csv").read_text() == text
    assert complaints(browser) == []
