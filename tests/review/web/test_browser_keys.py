"""Which key says what, and that none is lost, however fast they are pressed."""

import time

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.browser import complaints, open_browser
from tests.review.web.pages import NARROW, WIDE, Page
from tests.review.web.tables import MANY, WORDS, labelled

pytestmark = pytest.mark.browser

# Notes every key and the row that is on the page when it is pressed, before the page sees it.
NOTE_KEYS = """
  window.pressed = [];
  window.addEventListener("keydown", (event) => {
    const { row } = document.getElementById("card").dataset;
    window.pressed.push([event.key, row === "" ? null : Number(row)]);
  }, true);
"""


KEYS_OF = [
    ("0123456789", "0123456789"),
    ("123", "123"),
    (("0", "1", "many"), "012"),
    (("many", "1", "2"), "312"),
    (("10", "20", "2"), "132"),
    (("2 rooms", "1 room"), "21"),
    (("-1", "0", "1"), "201"),
    (WORDS[:10], "1234567890"),
]
# Names, of which the first few are the likeliest in this order, and their digits.
KEYS_OF_ROW = [
    (WORDS, [3, 0, 11], {3: "1", 0: "2", 11: "3"}),
    (WORDS, [], {}),
    ([*map(str, range(12))], [3, 11, 0], {3: "3", 0: "0"}),
    ([*WORDS, "1"], [3, 12, 4], {3: "2", 12: "1", 4: "3"}),
]


def test_labels_that_are_digits_are_their_own_keys(visit):
    page = visit()
    script = 'return import("/choices.js").then((keys) => arguments[0].map(keys.digitsOf))'
    found = page.run(script, [list(names) for names, _ in KEYS_OF])
    assert found == [list(digits) for _, digits in KEYS_OF]
    script = script.replace("keys.digitsOf", "(one) => keys.digitsOfRow(...one)")
    found = page.run(script, [[list(names), probable] for names, probable, _ in KEYS_OF_ROW])
    for digits, (names, _, expected) in zip(found, KEYS_OF_ROW, strict=True):
        assert digits == [expected.get(k) for k in range(len(names))]


@pytest.mark.parametrize("names", [("0", "1"), ("0", "1", "many"), WORDS])
def test_a_key_says_the_label_that_it_is_shown_with(visit, names):
    page = visit(labelled(names))
    pressed = {}
    for digit in "0213":
        script = """return [...document.querySelectorAll("#bar-of-answers button")].filter(
          (b) => [...b.querySelectorAll("kbd")].some((k) => k.textContent === arguments[0]))
          .map((b) => [b.id, b.querySelector("bdi")?.textContent ?? null])"""
        shown = page.run(script, digit)
        if not shown:
            page.press(digit)
            continue
        [[name, label]] = shown
        pressed[page.row()] = page.text("given") if name == "keep" else label
        if digit in names:
            assert pressed[page.row()] == digit
        page.answer(digit)
    assert len(pressed) >= 2
    page.saved()
    classes = [str(name) for name in page.server.audit.classes]
    said = {answer.row: classes[answer.label] for answer in page.server.answers()}
    assert said == pressed
    assert complaints(page.browser) == []


def test_the_suggestion_is_accepted_by_a_key_once_it_is_shown(visit, browser):
    page = visit(labelled(WORDS), remembered={"hide-opinion": "1", "order": "suspicious"})
    assert browser.find_elements("css selector", ".suggested") == []
    assert "suggested" not in page.text("choices")
    assert page.all("#choices button") == []  # which labels are likely is part of the opinion
    page.press("a")
    page.until(lambda: "look at the model’s opinion first" in page.text("status"))
    page.press("m")
    page.until(lambda: page.all(".suggested"))
    row, suggested = (
        page.row(),
        page.run("return document.querySelector('.suggested bdi').textContent"),
    )
    assert suggested in page.text("opinion-text")
    assert (
        page.run("return document.querySelector('.suggested kbd:last-of-type').textContent") == "A"
    )
    assert len(page.all("#choices button")) == 5
    page.answer("a")
    [answer] = page.server.answers()
    assert (answer.row, page.server.audit.classes[answer.label]) == (row, suggested)
    assert page.all(".suggested") == []  # of the next row, whose opinion is hidden
    page.answer("u")
    page.click("#hide-opinion")
    for _ in range(8):
        page.until(lambda: page.all("#choices .suggested"))
        page.answer("u")
    assert complaints(browser) == []


@pytest.mark.parametrize("names", [("no", "yes"), ("no", "perhaps", "yes")])
def test_where_the_label_is_likelier_nothing_is_suggested_and_the_key_says_so(visit, names):
    audit = labelled(names, 60)
    page = visit(audit)
    posterior, given = audit.inference.posterior, audit.labels.given
    n_trusted = 0
    for _ in range(6):
        row = page.row()
        is_trusted = posterior[row].argmax() == given[row]
        says_a = page.run(
            "return [...document.querySelectorAll('#bar-of-answers kbd')]"
            ".some((key) => key.checkVisibility() && key.textContent === 'A')"
        )
        assert says_a == (not is_trusted)
        assert not is_trusted or not page.all("#choices .suggested")
        assert ("If so, it is" in page.text("opinion-text")) == (posterior[row, given[row]] <= 0.5)
        if is_trusted:
            n_trusted += 1
            page.press("a")
            page.until(lambda: "no suggestion to accept" in page.text("status"))
            assert page.row() == row
        page.answer("u")
    assert n_trusted
    assert {answer.answer for answer in page.server.answers()} == {"unsure"}
    assert complaints(page.browser) == []


SEARCHES = [
    ("", None, 150),
    ("loan_late", "loan_late", 1),
    ("late", "app_late", 15),
    ("LOAN", "loan_about", 10),
    ("up ne", "top_up_new", 1),
    ("cafe pri", "café_price", 1),
    ("at", "atm_about", 33),
    ("nothing", None, 0),
]


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_many_labels_are_searched_by_typing(visit, browser, size):
    page = visit(labelled(MANY, 7 * len(MANY)), size)
    names = [str(name) for name in page.server.audit.classes]
    for typed, first, n_found in SEARCHES:
        page.press("c")
        page.until(lambda: browser.switch_to.active_element == page.at("label-search"))
        page.press(typed)
        options = page.all("#label-list li:not([aria-disabled])")
        assert len(options) == n_found
        marked = page.all("#label-list [aria-selected=true]")
        assert [each.text.split()[0] for each in marked] == [first] * bool(first)
        assert not page.scrolls_sideways()
        page.press(Keys.ESCAPE)
        page.until(lambda: not page.at("label-list").is_displayed())
    said = {}
    page.press("c", Keys.ENTER, " ", Keys.ENTER, Keys.ESCAPE)  # nothing is typed
    for keys, label in [
        (("c", Keys.ARROW_DOWN, Keys.ENTER), names[0]),
        (("c", Keys.ARROW_UP, Keys.ENTER), names[-1]),
        (("c", "refund_l", Keys.ENTER), "refund_late"),
        (("c", "refund_l", Keys.ARROW_DOWN, Keys.ENTER), "refund_lost"),
        (("c", "refund_l", Keys.ARROW_UP, Keys.ENTER), "refund_lost"),
    ]:
        said[page.row()] = label
        page.press(*keys)
        page.until(lambda: page.row() not in (None, *said))
    said[page.row()] = "visa_no"
    page.click("#label-search")
    page.press("visa_n")
    page.click("#label-list li", 1)
    page.until(lambda: page.row() not in (None, *said))
    assert browser.switch_to.active_element == page.at("row-title")  # keys are answers again
    page.saved()
    assert {answer.row: names[answer.label] for answer in page.server.answers()} == said
    assert complaints(browser) == []


def test_a_digit_never_waits_for_a_row_with_other_likely_labels(visit):
    page = visit(labelled(WORDS))
    slow = page.server.review.explain
    page.server.review.explain = lambda *asked: (time.sleep(1.5), slow(*asked))[1]
    pressed = type_fast(page, "1" * 20, pause=0.05)
    answered = [row for _, row in pressed if row is not None]
    assert len(answered) < 20
    assert [answer.row for answer in page.server.answers()] == answered


def type_fast(page, keys, pause=0.1):
    """Press real keys, one every tenth of a second; return what was shown when each came."""
    page.run(NOTE_KEYS)
    actions = ActionChains(page.browser, duration=0)
    for key in keys:
        actions.send_keys(key).pause(pause)
    actions.perform()
    page.saved(60)
    pressed = page.run("return window.pressed")
    assert [key for key, _ in pressed] == list(keys)
    return pressed


KINDS = {"k": "keep", "c": "change", "u": "unsure"}


def expect_as_pressed(answers, pressed):
    """Every key has made one answer, in its turn, to the row that was shown."""
    assert [answer.answer for answer in answers] == [KINDS[key] for key, _ in pressed]
    for answer, (_, row) in zip(answers, pressed, strict=True):
        assert row is None or answer.row == row
    assert len({answer.row for answer in answers}) == len(pressed)


@pytest.mark.slow
def test_ten_rows_a_second_lose_no_answer_and_no_key(visit):
    page = visit(labelled(("no", "yes"), 60))
    pressed = type_fast(page, "kcukkcukuk" * 3)
    expect_as_pressed(page.server.answers(), pressed)
    assert sum(row is not None for _, row in pressed) > 15
    assert complaints(page.browser) == []


def test_keys_wait_for_a_server_that_is_slow(visit):
    page = visit(labelled(("no", "yes"), 60))
    slow = page.server.review.explain
    page.server.review.explain = lambda *asked: (time.sleep(0.4), slow(*asked))[1]
    pressed = type_fast(page, "kcuk" * 6, pause=0.03)
    assert any(row is None for _, row in pressed)
    expect_as_pressed(page.server.answers(), pressed)
    # Undo is in its turn, too, and what follows it is for the row that comes back.
    last = page.server.answers()[-1]
    page.press("zu")
    page.until(lambda: page.server.answers()[-1].number > last.number)
    assert (page.server.answers()[-1].row, page.server.answers()[-1].answer) == (last.row, "unsure")
    assert len(page.server.answers()) == len(pressed)


def test_what_is_typed_into_a_note_is_never_an_answer(visit):
    page = visit(labelled(("no", "yes"), 60))
    page.press("k", "n", "uck zu", Keys.ENTER, "c")
    page.until(lambda: len(page.server.answers()) == 2)
    first, second = page.server.answers()
    assert (first.answer, first.comment) == ("keep", "")
    assert (second.answer, second.comment) == ("change", "uck zu")


def test_keys_are_left_alone_where_they_mean_something_else(visit, browser):
    page = visit()
    page.at("order").send_keys("k")
    page.at("row-title").click()
    for modifier in (Keys.CONTROL, Keys.ALT, Keys.META):
        ActionChains(browser).key_down(modifier).send_keys("u").key_up(modifier).perform()
    page.press("?")
    page.until(lambda: page.at("help").is_displayed())
    for words in ("Accept the label", "Write a note", "several similar rows", "Find a row"):
        assert words in page.text("help")
    page.press("u")
    page.click("#help button")
    page.until(lambda: not page.at("help").is_displayed())
    assert page.server.answers() == []
    page.answer("u")
    assert len(page.server.answers()) == 1
    assert complaints(browser) == []


LISTED = """
  return [...document.querySelectorAll("#answers bdi:first-child")].map((e) => e.innerText);
"""
INVITE = """
  const session = localStorage.getItem("session");
  const headers = { "X-Rboost": session, "Content-Type": "application/json" };
  return fetch("/api/link", { method: "POST", body: "{}", headers })
    .then((reply) => reply.json()).then((reply) => reply.url);
"""


def test_two_browsers_at_once_end_in_one_store(visit, browser):
    page = visit(labelled(("no", "yes"), 60), remembered={"reviewer": "Ann"})
    with open_browser() as second:
        other = Page(second, page.run(INVITE))
        other.run("localStorage.setItem('reviewer', 'Bob')")
        second.refresh()
        other.ready()
        for each in (page, other):
            each.run(NOTE_KEYS)
        for keys in ("kcuk", "uukc", "ckcu", "kkuc", "cccc"):
            page.press(keys)
            other.press(keys)
        for each, name in ((page, "Ann"), (other, "Bob")):
            each.saved()
            own = page.server.log().own(name)
            answers = sorted(own.values(), key=lambda answer: answer.number)
            expect_as_pressed(answers, each.run("return window.pressed"))
        page.until(lambda: "Bob: 20 answers" in page.text("people"))
        # Two who are the same person: one of two answers stands, and both see which.
        other.at("reviewer").send_keys(Keys.CONTROL, "a", Keys.NULL, "Ann", Keys.ENTER)
        other.ready()
        for key in "kcuc":
            page.press(key)
            other.press(key)
        for each in (page, other):
            each.saved()
        newest = list(page.server.log().current.values())[::-1][:10]
        ids = [str(page.server.audit.ids[answer.row]) for answer in newest]
        for each in (page, other):
            each.until(lambda each=each: each.run(LISTED) == ids)
