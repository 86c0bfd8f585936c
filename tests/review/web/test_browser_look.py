"""That everything on the page can be read, by eye and by ear, and fits on the screen."""

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser import complaints, resize
from tests.review.web.pages import NARROW, WIDE
from tests.review.web.tables import WORDS, labelled, messages, with_pictures

pytestmark = pytest.mark.browser

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


# What can be operated, and is on the page or in a dialog that is open.
CONTROLS = (
    "button, select, input, textarea, a[href], summary, progress, img, [tabindex='0'], dialog"
)
SMALL = """
return [...document.querySelectorAll("button, select, input, textarea, summary")]
  .filter((e) => e.checkVisibility()).filter((e) => !(e.type === "checkbox" && e.closest("label")))
  .filter((e) => e.getBoundingClientRect().height < 24).map((e) => e.outerHTML.slice(0, 80));
"""
DIALOGS = {"similar": "s", "find": "/", "help": "?"}


def unnamed(page, inside="html"):
    """Controls that a screen reader could not name."""
    seen = [each for each in page.all(f"{inside} :is({CONTROLS})") if each.is_displayed()]
    assert seen
    return [each.get_attribute("outerHTML") for each in seen if not each.accessible_name]


def emulate(browser, **features):
    media = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})


def test_everything_can_be_read_and_is_named(visit, browser):
    page = visit(labelled(WORDS, 40 * len(WORDS)), remembered={"reviewer": "Ann"})
    page.answer("u")
    page.until(lambda: "Ann: 1 answer" in page.text("people"))
    page.until(lambda: page.text("status").startswith("Saved"))
    page.press("c")  # the list of labels is open
    page.until(lambda: page.at("label-list").is_displayed())
    assert unnamed(page) == []
    for size in (WIDE, NARROW):
        resize(browser, *size)
        page.run("document.getElementById('settings').open = true")
        for scheme in ("light", "dark"):
            emulate(browser, prefers_color_scheme=scheme)
            assert page.run(CONTRASTS) == []
        assert page.run(SMALL) == []
        assert not page.scrolls_sideways()
    emulate(browser)
    page.at("label-search").send_keys(Keys.ESCAPE)
    page.press("/", "1", Keys.ENTER)  # a row that others are like
    page.until(lambda: page.row() == 0)
    for name, key in DIALOGS.items():
        page.press(key)
        page.until(lambda name=name: page.at(name).is_displayed())
        if name == "similar":
            page.until(lambda: len(page.all("#similar tbody tr")) > 1)
        assert unnamed(page, f"#{name}") == []
        assert page.run(SMALL) == []
        assert not page.scrolls_sideways()
        page.click(f"#{name} form button")
    assert complaints(browser) == []


def test_what_happens_is_announced(visit):
    page = visit()
    roles = {"status": "status", "banner": "alert", "sentence": "alert", "refit-state": "status"}
    for name, role in {**roles, "find-count": "status", "bar-of-answers": "group"}.items():
        assert page.at(name).get_attribute("role") == role
    assert page.at("bar-of-answers").accessible_name == "Answer"
    assert page.at("keep").accessible_name == "Keep K"
    page.answer("u")
    assert page.browser.switch_to.active_element == page.at("row-title")


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_pictures_and_long_texts_are_shown_as_such(visit, tmp_path, size):
    page = visit(with_pictures(tmp_path), size)
    image = page.all("#large img")[0]
    page.until(lambda: image.get_property("naturalWidth") == 40)
    assert image.get_attribute("alt") == image.accessible_name == f"{page.row()}.png"
    assert image.get_attribute("src").startswith(f"blob:{page.server.origin}/")
    assert len(page.all("#values img")) >= 2  # of similar rows
    text = page.all("#large .text")[0]
    assert f"Story {page.row()} <b>begins</b>." in text.text
    folded = text.size["height"]
    [button] = page.all("#large button")
    assert (button.text, button.get_attribute("aria-expanded")) == ("Show all", "false")
    page.click("#large button")
    assert text.size["height"] > 1.2 * folded
    assert (button.text, button.get_attribute("aria-expanded")) == ("Show less", "true")
    assert not page.scrolls_sideways()
    # The picture of row 5 does not exist; a similar row may be it.
    assert [said for said in complaints(page.browser) if "row=5&" not in said] == []
    # A picture that does not exist leaves its name.
    page.press("/", "5.png")
    page.until(lambda: page.all("#found button"))
    found = [each for each in page.all("#found button") if "photo: 5.png" in each.text]
    found[0].click()
    page.until(lambda: page.row() == 5)
    page.until(lambda: "no picture:" in page.text("large"))
    assert "5.png" in page.text("large")


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_text_stands_first_and_its_words_are_marked_with_the_opinion_alone(visit, size):
    page = visit(messages(), size)
    assert page.all("#large h3")[0].text == "message"
    assert page.all("#values tbody th")[0].text == "message"
    text = page.all("#large .text")[0]
    assert text.text == messages().table["message"][page.row()]
    marks = page.all("#large mark")
    assert {mark.text for mark in marks} <= set(text.text.replace("?", " ").split())

    def grounds():
        return {mark.value_of_css_property("background-color") for mark in marks}

    assert marks
    assert "rgba(0, 0, 0, 0)" not in grounds()
    said = page.text("opinion-text")
    assert "speak for" in said or "speaks for" in said
    assert page.run(CONTRASTS) == []
    assert not page.scrolls_sideways()
    page.press("m")
    page.until(lambda: grounds() == {"rgba(0, 0, 0, 0)"})
    assert complaints(page.browser) == []
