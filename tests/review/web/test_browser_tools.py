"""What else the page can do: find, filter, decide several rows, note, compare reviewers, invite."""

from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver.common.keys import Keys

from rboost.audit import audit_labels
from rboost.review.folder import open_store
from tests.browser import complaints
from tests.review.audits import two_classes
from tests.review.clients import key
from tests.review.web.pages import Page
from tests.review.web.tables import WORDS, labelled

pytestmark = pytest.mark.browser


def test_a_row_is_found_by_its_name_and_by_what_stands_in_it(visit, browser):
    page = visit()
    before = page.row()
    page.press("/", "r12", Keys.ENTER)
    page.until(lambda: page.row() == 12)
    assert page.text("row-title") == "name r12"
    assert not page.at("find").is_displayed()
    page.answer("k")
    assert page.row() == before  # goes on where it was
    page.press("/", "HYPERLINK")
    page.until(lambda: "of" in page.text("find-count"))
    assert 'note: =HYPERLINK("http://127.0.0.1:1/")' in page.text("found")
    page.at("find-text").send_keys(Keys.CONTROL, "a", Keys.NULL, "nothing like this")
    page.until(lambda: page.text("find-count") == "0 rows found.")
    page.press(Keys.ENTER)
    page.press(Keys.ESCAPE)
    page.until(lambda: not page.at("find").is_displayed())
    assert page.row() == before
    assert complaints(browser) == []


def test_rows_are_filtered_by_given_and_suggested_label(visit, browser):
    audit = labelled(WORDS)
    page = visit(audit)
    classes = list(audit.classes)
    page.choose("given-filter", "bee")
    page.until(lambda: page.text("given") == "bee")
    for _ in range(3):
        page.answer("u")
        assert page.text("given") == "bee"
    page.choose("suggested-filter", "cat")
    suggested = "return document.querySelector('.suggested bdi')?.textContent"
    page.until(lambda: page.run(suggested) == "cat" or page.at("finished").is_displayed())
    while page.row() is not None:
        assert (page.text("given"), page.run(suggested)) == ("bee", "cat")
        page.answer("u")
    assert page.text("row-title") == "No such row is left"
    page.click("#all-rows")
    page.until(lambda: page.row() is not None)
    given = {classes[audit.labels.given[answer.row]] for answer in page.server.answers()}
    assert given == {"bee"}
    page.click("#hide-opinion")  # a filter by what is suggested would tell it
    page.until(lambda: not page.at("suggested-filter").is_enabled())
    assert complaints(browser) == []


def test_rows_are_filtered_by_how_they_fit(visit, browser):
    audit = labelled(WORDS)
    fit = audit.row_fit()
    page = visit(audit)
    page.choose("fit-filter", "between classes")
    page.until(lambda: page.row() is None or fit[page.row()] == "between classes")
    seen = set()
    while page.row() is not None:
        seen.add(page.row())
        page.answer("u")
    assert seen == set(np.flatnonzero(fit == "between classes").tolist())
    page.click("#hide-opinion")
    page.until(lambda: page.row() is not None and not page.at("fit-filter").is_enabled())
    assert complaints(browser) == []


def test_several_rows_are_decided_at_once_and_taken_back_at_once(visit, browser):
    page = visit(labelled(("maybe", "no", "yes"), 90))
    page.answer("u")
    page.press("/", "1", Keys.ENTER)  # a row like many others
    page.until(lambda: page.row() == 0)
    first = 0
    page.press("n", "the same", Keys.ENTER, "s")
    page.until(lambda: len(page.all("#similar tbody tr")) > 2)
    rows = [int(box.get_attribute("value")) for box in page.all("#similar tbody input")]
    assert rows[0] == first
    page.click("#similar tbody input", 1)
    assert page.text("similar-count") == "2 rows chosen."
    page.click("#similar-all")
    assert page.text("similar-count") == f"{len(rows)} rows chosen."
    page.click("#similar tbody input", 2)
    page.press("2")
    page.until(lambda: page.text("status").startswith(f"Saved. {len(rows) - 1} rows"))
    answers = {answer.row: answer for answer in page.server.answers()[1:]}
    assert set(answers) == set(rows) - {rows[2]}
    assert {answer.comment for answer in answers.values()} == {"the same"}
    classes = page.server.audit.classes
    assert {classes[answer.label] for answer in answers.values()} == {"no"}
    assert page.row() not in answers
    assert page.at("note").get_property("value") == ""
    assert page.at("keep").is_displayed()
    page.press("z")
    page.until(lambda: page.text("status") == f"Taken back: {len(rows) - 1} answers.")
    assert page.row() == first
    assert len(page.server.answers()) == 1
    page.press("s", Keys.ESCAPE)
    page.answer("k")  # one again, not several
    assert [answer.row for answer in page.server.answers()[1:]] == [first]
    assert complaints(browser) == []


def test_an_answered_row_is_answered_again_with_others(visit, browser):
    page = visit(labelled(("no", "yes"), 60))
    row = page.row()
    page.answer("u")
    page.until(lambda: page.text("answers"))
    page.click("#answers button")
    page.until(lambda: page.row() == row)
    page.press("s")
    page.until(lambda: len(page.all("#similar tbody tr")) > 2)
    page.click("#similar tbody input", 1)
    page.press("k")
    page.until(lambda: page.text("status").startswith("Saved. 2 rows"))
    assert [answer.answer for answer in page.server.answers()] == ["keep", "keep"]
    assert complaints(browser) == []


def test_a_note_is_saved_with_the_answer_and_shown_again(visit, browser):
    page = visit()
    row = page.row()
    page.press("n", "<b>odd</b> width", Keys.ENTER, "k")
    page.until(lambda: page.text("status").endswith("– “<b>odd</b> width”."))
    assert page.at("note").get_property("value") == ""
    [answer] = page.server.answers()
    assert (answer.row, answer.comment) == (row, "<b>odd</b> width")
    page.until(lambda: "<b>odd</b> width" in page.text("answers"))
    page.click("#answers button")
    page.until(lambda: page.row() == row)
    assert page.at("note").get_property("value") == "<b>odd</b> width"
    assert complaints(browser) == []


def test_reviewers_are_named_and_compared(visit, browser):
    page = visit()
    page.at("reviewer").send_keys("Ann", Keys.ENTER)
    page.ready()
    rows = []
    for letter in "kcku":
        rows.append(page.row())
        page.answer(letter)
    browser.refresh()  # the name is remembered
    page.ready()
    assert page.at("reviewer").get_property("value") == "Ann"
    page.at("reviewer").clear()
    page.at("reviewer").send_keys("Bob", Keys.ENTER)
    page.until(lambda: "(Ann)" in page.text("answers") and "Undo" not in page.text("answers"))
    page.choose("order", "second opinion")
    page.until(lambda: page.row() in rows)
    assert "said" not in page.text("present")  # it would not be an opinion of his own
    seen = []
    while page.row() is not None:
        seen.append(page.row())
        page.answer("k")
    assert sorted(seen) == sorted(rows)
    assert "you have not" in page.text("finished-text")
    assert set(page.server.log().by_reviewer) == {"Ann", "Bob"}
    page.until(lambda: "agree on 2" in page.text("agreement"))
    assert "kappa" in page.text("agreement")
    page.click("#disagreements-title")
    assert "Ann" in page.text("disagreements")
    assert "Bob" in page.text("disagreements")
    page.click("#disagreements button")
    page.until(lambda: "Ann said: " in page.text("present"))
    assert complaints(browser) == []


def test_a_doubtful_answer_is_listed_and_asked_for_again(visit, browser, tmp_path):
    random = np.random.RandomState(0)
    x = np.concatenate([[9], random.normal(size=299)])
    labels = (x > 0).astype(int)
    audit = audit_labels(pd.DataFrame({"x": x}), labels, model="linear", check_columns=False)
    with closing(open_store(audit, tmp_path)) as store:
        store.add(key(), 0, "change", 0)
        for row in range(1, 31):
            store.add(key(), row, "keep", int(labels[row]))
    page = visit(audit)
    page.until(lambda: page.row() == 0)
    assert "look again" in page.text("sentence")
    page.until(lambda: page.text("doubtful-title") == "Please look again: 1")
    assert page.text("doubtful").startswith("1: ")
    page.answer("k")
    page.until(lambda: not page.at("doubtful-details").is_displayed())
    assert complaints(browser) == []


def test_a_link_opens_the_page_in_another_browser_once(visit, browser):
    page = visit()
    page.click("#link-button")
    page.until(lambda: page.text("link-state"))
    url = page.at("link-text").get_property("value")
    page.click("#link form button")
    row = page.row()
    page.run("localStorage.removeItem('session')")
    other = Page(browser, url)
    assert other.row() == row
    page.run("localStorage.removeItem('session')")
    browser.get("about:blank")
    browser.get(url)
    page.until(lambda: "has no access" in page.text("banner-text"))


def test_orders_are_those_of_the_report_and_of_the_queue(visit):
    page = visit()
    names = {"suspicious": "most suspicious first", "informative": "most uncertain", "mixed": "mix"}
    for order, name in names.items():
        page.choose("order", name)
        ranking = page.server.review.snapshot.rankings[order].rows.tolist()
        page.until(lambda first=ranking[0]: page.row() == first)
        if order == "suspicious":
            assert ranking[0] == two_classes().suspects(n=1).rows[0]
