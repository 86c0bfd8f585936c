"""What the page does when the server, another tab or another wish comes between."""

import threading
import time
from datetime import datetime
from types import SimpleNamespace

import pytest

from tests.browser import complaints
from tests.review.web.pages import Page, port_of_its_own

pytestmark = pytest.mark.browser


def close_others(browser):
    keep = browser.current_window_handle
    for handle in browser.window_handles:
        if handle != keep:
            browser.switch_to.window(handle)
            browser.close()
    browser.switch_to.window(keep)


def test_without_a_server_nothing_is_lost_and_nothing_is_shown_as_saved(visit, browser, serve):
    page = visit(port=port_of_its_own())
    server = page.server
    page.answer("k")
    page.answer("c")
    page.expect_counts(1, 1, 0)
    server.end()
    page.press("k", "u")
    page.until(lambda: page.text("banner-text").startswith("Not saved: the server does not answer"))
    again = f"start rboost review again with --port {server.access.port}"
    assert again in page.text("banner-text")
    assert page.text("saving") == "2 being saved"
    assert page.text("status") == ""
    assert (
        page.run("return window.dispatchEvent(new Event('beforeunload', {cancelable: true}))")
        is False
    )
    assert len(server.answers()) == 2
    again = serve(port=server.access.port)
    # The old tab has no right to the new server until the new address is opened.
    page.until(lambda: "has no access" in page.text("banner-text"))
    old = browser.current_window_handle
    browser.switch_to.new_window("tab")
    other = Page(browser, again.url)
    other.expect_counts(1, 1, 0)
    browser.switch_to.window(old)
    page.until(lambda: not page.at("banner").is_displayed() and page.text("saving") == "")
    page.expect_counts(2, 1, 1)
    assert len(again.answers()) == 4
    assert page.run("return window.dispatchEvent(new Event('beforeunload', {cancelable: true}))")
    browser.switch_to.new_window("tab")
    close_others(browser)


def test_two_tabs_answer_the_same_and_different_rows(visit, browser):
    one = visit()
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    two = Page(browser, one.server.origin)
    second = browser.current_window_handle
    rows = one.row(), two.row()
    assert rows[0] == rows[1]
    browser.switch_to.window(first)
    one.answer("k")
    one.answer("c")
    browser.switch_to.window(second)
    two.press("k")  # the same
    two.until(lambda: two.text("status").startswith("Saved."))
    assert two.row() not in (None, rows[0])
    assert [answer.answer for answer in one.server.answers()] == ["keep", "change"]
    close_others(browser)
    assert complaints(browser) == []


def test_a_row_whose_answer_is_refused_comes_back_with_the_reason(visit, browser):
    page = visit()
    row = page.row()
    page.server.review.answer("5d3c6c64-2f5e-4f6e-9a55-93d2ddc6a0b1", row, "unsure", None)
    page.press("k")
    page.until(lambda: "in the meantime" in page.text("status"))
    assert "comes back next" in page.text("status")
    assert page.row() != row  # what is under the fingers stays
    assert page.text("sentence") == ""
    page.press("k")
    page.until(lambda: page.row() == row)
    assert "in the meantime" in page.text("sentence")
    assert "unsure" in page.text("present")
    page.answer("k")  # now it is meant
    assert page.text("sentence") == ""
    assert {answer.row: answer.answer for answer in page.server.answers()}[row] == "keep"
    assert all("409" in line for line in complaints(browser))


def test_the_next_row_is_there_before_the_answer_is_saved(visit, browser):
    page = visit()
    gate, save = threading.Event(), page.server.review.answer
    page.server.review.answer = lambda *some, **more: (gate.wait(20), save(*some, **more))[1]
    rows = [page.row()]
    for n_unsaved in (1, 2, 3):
        page.press("k")
        page.until(lambda: page.row() not in (None, *rows), seconds=5)
        rows.append(page.row())
        assert page.text("saving") == f"{n_unsaved} being saved"
        assert page.text("status") == ""
    gate.set()
    page.saved()
    assert page.text("status").startswith("Saved.")
    assert [answer.row for answer in page.server.answers()] == rows[:-1]
    assert complaints(browser) == []


def test_a_file_that_cannot_be_written_is_said_as_such(visit, browser):
    page = visit()
    page.server.review.exporting.wait()
    page.server.review.checked_csv.unlink()
    page.server.review.checked_csv.mkdir()
    page.answer("k")
    page.until(lambda: "checked.csv could not be written: " in page.text("export-error"))
    page.until(lambda: page.text("updating") == "")
    assert complaints(browser) == []


def test_another_order_or_filter_counts_although_a_row_is_loading(visit, browser):
    page = visit()
    find = page.server.review.next_rows
    page.server.review.next_rows = lambda *arguments: (time.sleep(0.5), find(*arguments))[1]
    page.choose("order", "most uncertain")
    assert page.row() is None
    page.choose("order", "most suspicious")
    page.choose("given-filter", "cat")
    page.until(lambda: page.row() is not None)
    snapshot = page.server.review.snapshot
    cat = [str(name) for name in snapshot.fitted.classes].index("cat")
    given = snapshot.fitted.labels.given
    expected = next(row for row in snapshot.rankings["suspicious"].rows if given[row] == cat)
    assert page.row() == expected
    time.sleep(0.7)  # replies to earlier wishes change nothing
    assert page.row() == expected
    assert complaints(browser) == []


def test_a_clock_that_is_set_back_during_a_review_stops_nothing(visit, browser, monkeypatch):
    page = visit()
    for now in (2e9, 1e9, 1e5):
        clock = SimpleNamespace(now=lambda zone, now=now: datetime.fromtimestamp(now, zone))
        monkeypatch.setattr("rboost.review.store.datetime", clock)
        monkeypatch.setattr(time, "time", lambda now=now: now)
        page.answer("k")
    page.expect_counts(3, 0, 0)
    answers = page.server.answers()
    assert [answer.time[:4] for answer in answers] == ["2033", "2001", "1970"]
    page.until(lambda: len(page.all("#answers li")) == 3)
    shown = page.run(
        "return [...document.querySelectorAll('#answers bdi')].map(e => e.textContent)"
    )
    names = [str(page.server.audit.ids[answer.row]) for answer in answers[::-1]]
    assert [name for name in shown if name in names] == names  # the last first
    assert complaints(browser) == []
