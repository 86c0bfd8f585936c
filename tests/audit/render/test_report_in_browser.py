"""The report in a real browser. Without Chromium these tests fail; they are never skipped."""

import io
import re

import numpy as np
import pytest
from PIL import Image
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.audit.render.test_texts import make_audit as audit_of_texts
from tests.browser import complaints, requested, resize

pytestmark = pytest.mark.browser
N_LISTED, ON_A_PAGE = 50, 20


@pytest.fixture(scope="module")
def pages(tmp_path_factory, small_audit, hostile_audit):
    folder = tmp_path_factory.mktemp("reports")
    audits = {"small": small_audit, "hostile": hostile_audit, "texts": audit_of_texts()}
    for name, audit in audits.items():
        html = audit.to_html(audit.suspects(n=N_LISTED), f"The {name} report")
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
    return folder


@pytest.fixture
def page(browser, pages):
    """Opens a report; in the end nothing must have been complained about or asked for."""
    browser.get("about:blank")  # an earlier page may still ask for something
    complaints(browser)
    requested(browser)

    def open_page(name="small", width=1280):
        resize(browser, width)
        browser.get((pages / f"{name}.html").as_uri())
        return browser

    yield open_page
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert complaints(browser) == []
    assert all(address.startswith("file:") for address in requested(browser))


def column(driver, place):
    """What stands in a column of the suspects that are seen, on all pages."""
    found = seen(driver, place)
    next_button = driver.find_element(By.XPATH, "//button[text()='Next']")
    while next_button.is_displayed() and next_button.is_enabled():
        next_button.click()
        found += seen(driver, place)
    return found


def seen(driver, place):
    """What stands in a column of the suspects on this page."""
    script = """return [...document.querySelectorAll("#suspects-table tbody tr")]
        .filter((row) => row.offsetParent !== null)
        .map((row) => row.cells[arguments[0]].dataset.value ?? row.cells[arguments[0]].innerText)"""
    return driver.execute_script(script, place)


def headings(driver):
    return driver.find_elements(By.CSS_SELECTOR, "#suspects-table thead th")


def test_sorts_by_a_click_and_back(page):
    driver = page()
    before = [float(value) for value in column(driver, 3)]
    assert before == sorted(before, reverse=True)
    heading = headings(driver)[3]
    assert heading.get_attribute("aria-sort") == "descending"
    heading.find_element(By.TAG_NAME, "button").click()
    assert [float(value) for value in column(driver, 3)] == sorted(before)
    assert heading.get_attribute("aria-sort") == "ascending"


def test_sorts_names_as_numbers_by_keyboard(page):
    driver = page()
    button = headings(driver)[0].find_element(By.TAG_NAME, "button")
    button.send_keys(Keys.ENTER)
    names = [int(name) for name in column(driver, 0)]
    assert names == sorted(names)
    button.send_keys(Keys.SPACE)
    assert [int(name) for name in column(driver, 0)] == names[::-1]
    assert headings(driver)[3].get_attribute("aria-sort") is None


def test_searches_by_keyboard_and_says_how_many_are_left(page):
    driver = page()
    wanted = column(driver, 1)[0]
    search = driver.find_element(By.ID, "search")
    driver.execute_script("document.getElementById('suspects').scrollIntoView()")
    search.send_keys(wanted.upper())
    left = seen(driver, 0)
    assert 0 < len(left) <= ON_A_PAGE
    said = driver.find_element(By.ID, "shown").text
    found = int(re.fullmatch(rf"1 to {len(left)} of (\d+)( found)?", said)[1])
    assert len(column(driver, 0)) == found
    search.send_keys(" nowhere at all")
    assert seen(driver, 0) == []
    assert driver.find_element(By.ID, "shown").text == "none found"
    search.send_keys(Keys.CONTROL, "a")
    search.send_keys(Keys.DELETE)
    assert len(column(driver, 0)) == N_LISTED


def test_turns_pages_by_keyboard(page):
    driver = page()
    back, following = (
        driver.find_element(By.XPATH, f"//button[text()='{name}']") for name in ("Previous", "Next")
    )
    first = seen(driver, 0)
    assert len(first) == ON_A_PAGE
    assert not back.is_enabled()
    following.send_keys(Keys.ENTER)
    assert driver.find_element(By.ID, "shown").text == f"21 to 40 of {N_LISTED}"
    second = seen(driver, 0)
    assert not {*first} & {*second}
    back.send_keys(Keys.SPACE)
    assert seen(driver, 0) == first
    driver.execute_script("document.getElementById('search').value = 'probably wrong'")
    driver.find_element(By.ID, "search").send_keys(" ")
    assert all(float(value) >= 0.5 for value in column(driver, 3))


def test_skip_link_is_the_first_stop_of_the_keyboard(page):
    driver = page()
    driver.switch_to.active_element.send_keys(Keys.TAB)
    assert driver.switch_to.active_element.get_attribute("href").endswith("#main")
    assert driver.switch_to.active_element.rect["x"] >= 0
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert driver.switch_to.active_element.get_attribute("id") == "main"


@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_texts_are_shown_and_do_nothing(page, width):
    driver = page("hostile", width)
    driver.execute_script("document.querySelectorAll('details').forEach((d) => d.open = true)")
    assert driver.execute_script("return window.pwned") is None
    assert "<script>window.pwned=4</script>" in driver.find_element(By.TAG_NAME, "main").text
    assert driver.title == "The hostile report"


@pytest.mark.parametrize("name", ["small", "hostile", "texts"])
@pytest.mark.parametrize("width", [1400, 1280, 1100, 768, 390, 320])
def test_page_is_never_wider_than_the_screen(page, name, width):
    driver = page(name, width)
    driver.execute_script("document.querySelectorAll('details').forEach((d) => d.open = true)")
    wide = driver.execute_script("return document.documentElement.scrollWidth")
    assert wide <= driver.execute_script("return document.documentElement.clientWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_table_that_is_cut_has_a_shadow_where_it_goes_on(page, scheme):
    driver = page("texts", 360)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    boxes = driver.find_elements(By.CSS_SELECTOR, "[aria-labelledby=matrix] .scroll")
    [box] = [each for each in boxes if each.is_displayed()]
    assert driver.execute_script("return arguments[0].scrollWidth > arguments[0].clientWidth", box)
    assert (is_shadowed(box, 0), is_shadowed(box, -1)) == (False, True)
    driver.execute_script("arguments[0].scrollLeft = arguments[0].scrollWidth", box)
    assert (is_shadowed(box, 0), is_shadowed(box, -1)) == (True, False)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def is_shadowed(box, edge):
    """Whether the column of pixels at an edge of a box is mostly of another colour than inside."""
    seen_ = np.asarray(Image.open(io.BytesIO(box.screenshot_as_png)).convert("L"), dtype=int)
    paper = np.median(seen_)
    return bool(abs(np.median(seen_[:, edge]) - paper) > 40)


def test_a_long_text_is_unfolded(page):
    driver = page("texts")
    [fold] = driver.find_elements(By.CSS_SELECTOR, ".suspects .text details")
    beginning = fold.find_element(By.CLASS_NAME, "beginning")
    assert beginning.is_displayed()
    assert "number99" not in fold.text
    fold.find_element(By.CSS_SELECTOR, ".fold").click()
    assert "number99" in fold.text
    assert not beginning.is_displayed()


def test_pictures_are_drawn(page):
    driver = page("hostile")
    script = (
        "return [...document.images].map((image) => image.decode().then(() => image.naturalWidth))"
    )
    widths = driver.execute_script(f"{script.replace('return ', 'return Promise.all(')})")
    assert all(width > 100 for width in widths)


def test_print_shows_every_row_and_no_tools(page):
    driver = page()
    driver.find_element(By.ID, "search").send_keys("nowhere at all")
    assert seen(driver, 0) == []
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert len(seen(driver, 0)) == N_LISTED
    assert not driver.find_element(By.ID, "tools").is_displayed()
    assert not driver.find_element(By.TAG_NAME, "nav").is_displayed()


def test_without_script_it_is_a_plain_table(page):
    driver = page()
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    driver.refresh()
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert len(driver.find_elements(By.CSS_SELECTOR, "#suspects-table tbody tr")) == N_LISTED
    assert len(seen(driver, 0)) == N_LISTED
    assert not driver.find_elements(By.CSS_SELECTOR, "#suspects-table button")
    assert not driver.find_element(By.ID, "tools").is_displayed()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_background(page, scheme):
    driver = page()
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    for selector in ("p", "caption", "nav a", "td", "#suspects-table button", "summary", ".quiet"):
        color, paper = driver.execute_script(
            """const of = (element) => getComputedStyle(element);
            let element = document.querySelector(arguments[0]); const color = of(element).color;
            while (element && /, 0\\)$/.test(of(element).backgroundColor))
                element = element.parentElement;
            return [color, of(element).backgroundColor]""",
            selector,
        )
        assert contrast(color, paper) >= 4.5, selector


def picture_of(driver, scheme):
    """The first picture of the page as it is seen, as an array of RGB."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    png = driver.find_element(By.CSS_SELECTOR, ".picture").screenshot_as_png
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=int)


def test_pictures_follow_dark_mode_and_orange_stays_orange(page):
    driver = page()
    light, dark = (picture_of(driver, scheme) for scheme in ("light", "dark"))
    assert np.median(light) > 200
    assert np.median(dark) < 60
    for seen_ in (light, dark):
        red, green, blue = seen_.reshape(-1, 3).T
        is_orange = (red > green + 20) & (green > blue + 15)
        assert is_orange.mean() > 0.05
    assert np.ptp(dark.mean(axis=2)) > 150  # words are light on it


def test_suspects_stand_beside_the_contents_on_a_wide_screen(page):
    driver = page(width=1400)
    contents, table = (
        driver.find_element(By.CSS_SELECTOR, selector).rect for selector in ("nav", ".suspects")
    )
    assert contents["x"] + contents["width"] <= table["x"]
    assert table["x"] + table["width"] > 1300
    figure = driver.find_element(By.CSS_SELECTOR, "[aria-labelledby=matrix] figure").rect
    beside = driver.find_element(By.CSS_SELECTOR, "[aria-labelledby=matrix] table").rect
    assert figure["x"] + figure["width"] <= beside["x"]
    tops = [
        driver.find_element(By.ID, name).rect["y"] for name in ("summary", "suspects", "matrix")
    ]
    assert tops == sorted(tops)


def contrast(one, other):
    """How many times lighter one colour is than the other, as WCAG defines it."""
    light, dark = sorted(map(luminance, (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color):
    parts = [int(part) / 255 for part in color[color.index("(") + 1 : -1].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
