"""The page as a person meets it, in a real browser."""

import time
import uuid
from contextlib import closing

import httpx
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from rboost.review import AnswerStore, fingerprint
from tests.browser import complaints, open_browser, resize
from tests.review.audits import N_ROWS, two_classes
from tests.review.servers import Server

WIDE, NARROW = (1280, 900), (390, 844)


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


@pytest.fixture
def start(tmp_path):
    """Starts servers, and ends them after the test."""
    servers = []

    def start(*arguments, **options):
        servers.append(Server(tmp_path, *arguments, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


class Page:
    """A tab with the page."""

    def __init__(self, browser, url, size=WIDE):
        self.browser = browser
        # The page of an earlier test would go on asking a new server that has the same port.
        browser.get("about:blank")
        resize(browser, *size)
        complaints(browser)
        browser.get(url)
        self.ready()

    def at(self, name):
        return self.browser.find_element("id", name)

    def text(self, name):
        # The driver itself stumbles over half a character.
        script = (
            "const e = arguments[0]; return e.checkVisibility() ? e.innerText.toWellFormed() : ''"
        )
        return self.browser.execute_script(script, self.at(name))

    def until(self, condition, seconds=20):
        return WebDriverWait(self.browser, seconds, poll_frequency=0.05).until(
            lambda _: condition()
        )

    def ready(self):
        """Wait for a row that can be answered, or for the end."""
        self.until(
            lambda: self.at("unsure-button").is_enabled() or self.at("finished").is_displayed()
        )

    def click(self, selector, place=0):
        element = self.browser.find_elements("css selector", selector)[place]
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def answer(self, key):
        """Press a key and wait for the next row."""
        before = self.text("row-title")
        self.press(key)
        self.until(lambda: self.text("row-title") != before)
        self.ready()

    def counts(self):
        return self.text("counts")

    def expect_counts(self, kept, changed, unsure):
        words = f"{kept} kept, {changed} changed, {unsure} unsure"
        self.until(lambda: self.counts().startswith(words))

    def scrolls_sideways(self):
        script = (
            "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )
        return self.browser.execute_script(script)

    def spills_over(self):
        """Whether a text that turns its direction around turns what stands after it, too."""
        script = """
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
        return self.browser.execute_script(script, "\u2069\u202eab\u2066 \u05e9\u05dc")

    def is_unharmed(self):
        return self.browser.execute_script("return document.body.dataset.hacked") is None


def test_answers_by_keys_survive_undo_and_reload(browser, start):
    server = start()
    page = Page(browser, server.url)
    assert "token" not in browser.current_url
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
    kinds = [answer.answer for answer in server.answers().values()]
    assert kinds == ["keep", "change", "unsure"]
    assert browser.switch_to.active_element == page.at("row-title")
    assert complaints(browser) == []
    code, said = server.end()
    assert code == 0
    assert "token" not in said


def test_buttons_do_what_keys_do_and_a_row_can_be_looked_at_again(browser, start):
    server = start()
    page = Page(browser, server.url)
    for name in ("unsure-button", "change"):
        before = page.text("row-title")
        page.click(f"#{name}")
        page.until(lambda before=before: page.text("row-title") != before)
        page.ready()
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


def test_keys_are_left_alone_where_they_mean_something_else(browser, start):
    server = start()
    page = Page(browser, server.url)
    page.at("order").send_keys("k")
    page.at("row-title").click()
    for modifier in (Keys.CONTROL, Keys.ALT, Keys.META):
        ActionChains(browser).key_down(modifier).send_keys("u").key_up(modifier).perform()
    page.press("?")
    page.until(lambda: page.at("help").is_displayed())
    page.press("u")
    page.click("#help button")
    page.until(lambda: not page.at("help").is_displayed())
    assert server.answers() == {}
    page.answer("u")
    assert len(server.answers()) == 1
    assert complaints(browser) == []


def test_a_killed_server_loses_nothing_and_nothing_is_shown_as_saved(browser, start):
    server = start()
    page = Page(browser, server.url)
    page.answer("k")
    page.answer("c")
    page.expect_counts(1, 1, 0)
    server.kill()
    title = page.text("row-title")
    page.press("k")
    page.until(lambda: page.text("banner-text").startswith("Not saved: the server does not answer"))
    assert "start rboost review again" in page.text("banner-text")
    assert page.text("row-title") == title
    assert not page.text("status").startswith(f"Saved. {title}")
    assert not page.at("keep").is_enabled()
    assert len(server.answers()) == 2
    again = start(port=server.port)
    # The old tab has no right to the new server until the new address is opened.
    page.until(lambda: "session is over" in page.text("banner-text"))
    old = browser.current_window_handle
    browser.switch_to.new_window("tab")
    other = Page(browser, again.url)
    other.expect_counts(1, 1, 0)
    browser.switch_to.window(old)
    page.until(lambda: not page.at("banner").is_displayed() and page.text("row-title") != title)
    page.expect_counts(2, 1, 0)
    assert len(again.answers()) == 3
    browser.switch_to.new_window("tab")
    _close_others(browser)


def _close_others(browser):
    keep = browser.current_window_handle
    for handle in browser.window_handles:
        if handle != keep:
            browser.switch_to.window(handle)
            browser.close()
    browser.switch_to.window(keep)


def test_two_tabs_answer_the_same_and_different_rows(browser, start):
    server = start()
    one = Page(browser, server.url)
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    two = Page(browser, server.origin)
    second = browser.current_window_handle
    title = two.text("row-title")
    browser.switch_to.window(first)
    assert one.text("row-title") == title
    one.answer("k")
    browser.switch_to.window(second)
    two.answer("c")
    assert "in the meantime" in two.text("status")
    assert "kept" in two.text("status")
    assert [answer.answer for answer in server.answers().values()] == ["keep"]
    two.answer("u")
    browser.switch_to.window(first)
    one.press("z")  # takes back what the other tab said, and says so
    one.until(lambda: one.text("status").startswith("Taken back."))
    assert "unsure" in one.text("status")
    assert [answer.answer for answer in server.answers().values()] == ["keep"]
    one.expect_counts(1, 0, 0)
    assert all("409" in line for line in complaints(browser))
    _close_others(browser)


def test_a_hidden_opinion_stays_hidden_until_it_is_asked_for(browser, start):
    page = Page(browser, start().url)
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


def test_a_new_fit_says_what_changed(browser, start):
    page = Page(browser, start().url)
    page.click("#refit")
    page.until(lambda: "nothing to learn" in page.text("refit-state"))
    for key in "cck":
        page.answer(key)
    page.click("#refit")
    page.until(lambda: page.text("refit-state").startswith("Fitting"))
    page.answer("k")  # meanwhile
    page.until(lambda: page.text("refit-state").startswith("Fitted again"), seconds=60)
    changes = page.text("changes")
    for words in ("Before", "After", "Wrong labels left", "New suspects", "Model right"):
        assert words in changes
    page.expect_counts(2, 2, 0)
    page.ready()
    lines = [line for line in complaints(browser) if "422" not in line]
    assert lines == []


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_hostile_cells_are_text_and_nothing_runs(browser, start, size):
    page = Page(browser, start().url, size)
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
    assert browser.find_elements("css selector", "main img, main script, main svg, main i") == []
    assert page.is_unharmed()
    assert not page.spills_over()
    assert not page.scrolls_sideways()
    assert complaints(browser) == []


def test_several_classes_are_chosen_by_number(browser, start, tmp_path):
    page = Page(browser, start("three").url, NARROW)
    assert not page.scrolls_sideways()
    page.press("c")
    assert browser.switch_to.active_element.text.startswith("a")
    for key in "123":
        page.answer(key)
    page.until(lambda: page.counts().endswith("147 rows not looked at."))
    page.click("#hide-opinion")
    page.until(lambda: page.at("no-neighbours").is_displayed())
    assert complaints(browser) == []


def test_the_end_is_said(browser, start):
    server = start()
    with closing(AnswerStore(server.folder / "review.sqlite", fingerprint(two_classes()))) as store:
        for row in range(N_ROWS - 1):
            store.add(str(uuid.uuid4()), row, "unsure", None)
    page = Page(browser, server.url)
    page.answer("u")
    page.until(lambda: page.at("finished").is_displayed())
    assert page.text("row-title") == "Nothing is left to check"
    page.press("k", "c", "u", "m", "1")
    assert page.at("undo").is_enabled()
    page.answer("z")
    assert page.at("row").is_displayed()
    assert complaints(browser) == []


def test_the_export_is_downloaded_by_the_page_alone(browser, start):
    server = start()
    page = Page(browser, server.url)
    page.answer("k")
    assert httpx.get(f"{server.origin}/checked.csv").status_code == 403
    name = f"rboost-{server.port}"
    cookies = {name: browser.get_cookie(name)["value"]}
    reply = httpx.get(f"{server.origin}/checked.csv", cookies=cookies)
    assert reply.text.startswith("name,given_label,checked_label,answer,time,drawn_at_random\n")
    assert (server.folder / "checked.csv").read_text() == reply.text


CONTRASTS = """
const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
const ground = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const colour = parse(getComputedStyle(e).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll("body *")]
  .filter((e) => e.checkVisibility() && !e.closest(":disabled, dialog, noscript"))
  .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()))
  .map((e) => {
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.outerHTML.slice(0, 80)];
  }).filter(([contrast]) => contrast < 4.5);
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read(browser, start, scheme):
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    page = Page(browser, start().url)
    page.answer("u")
    page.expect_counts(0, 0, 1)
    time.sleep(0.3)
    assert browser.execute_script(CONTRASTS) == []
    unnamed = "return [...document.querySelectorAll('button, select, input, a')].filter((e) => "
    unnamed += "!e.textContent.trim() && !e.ariaLabel && !(e.labels && e.labels.length)).length"
    assert browser.execute_script(unnamed) == 0
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
