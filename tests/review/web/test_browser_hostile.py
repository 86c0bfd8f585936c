"""Everything that a table, a name or a person can say, as markup, in a real browser."""

import time

import numpy as np
import pandas as pd
import pytest

from rboost.audit.disk.folder import read_audit
from rboost.cli import main
from rboost.datasets import make_banana
from rboost.noise import flip_labels, symmetric
from tests.browser import complaints, requested
from tests.review.clients import key

pytestmark = pytest.mark.browser

HACK = "document.documentElement.dataset.hacked=1"
# What runs as an element, out of an attribute, out of a script, and as a link.
ATTACKS = [
    f"<img src=x onerror={HACK}>",
    f"\"'><svg onload={HACK}>",
    f"</script></style></title><script>{HACK}</script>",
    f"javascript:{HACK}",
    f"{{{{ {HACK} }}}} `${{{HACK}}}`",
]
# A name of a file has no slash.
FILE = f"<img src=x onerror={HACK}>'\".csv"
LABEL, NAME = f"label {ATTACKS[0]}", f"name {ATTACKS[1]}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An audit of a table where all is hostile."""
    place = tmp_path_factory.mktemp(f"<b onclick={HACK}>")
    X, y = make_banana(150, random_state=0)
    noisy, _ = flip_labels(y, symmetric(0.2), random_state=1)
    table = pd.DataFrame(X, columns=[f"x {ATTACKS[1]}", f"y {ATTACKS[2]}"])
    table[f"note {ATTACKS[0]}"] = [ATTACKS[k % 5] for k in range(150)]
    table[f"text {ATTACKS[3]}"] = [f"{ATTACKS[k % 4]} words {k} " * 5 for k in range(150)]
    table[NAME] = [f"{ATTACKS[k % 5]} {k}" for k in range(150)]
    table[LABEL] = np.array([f"no {ATTACKS[0]}", f"yes {ATTACKS[2]}"])[noisy]
    table.to_csv(place / FILE, index=False)
    options = ["--label", LABEL, "--id", NAME, "--model", "linear", "--quiet"]
    assert main(["audit", str(place / FILE), *options, "--out", str(place / "audit")]) == 0
    return place / "audit"


def check_harmless(browser, *expected):
    """Nothing of it has run, was loaded or became an element, and all of it is shown as text."""
    time.sleep(0.3)  # images that are missing fail a moment later
    root = "document.documentElement"
    assert browser.execute_script(f"return {root}.dataset.hacked ?? null") is None
    elements = "[onerror], [onload], [onclick], [src='x'], a[href^='javascript'], svg[onload]"
    assert browser.find_elements("css selector", elements) == []
    text = browser.execute_script(f"return {root}.textContent")
    assert [words for words in expected if words not in text] == []
    assert complaints(browser) == []


def test_the_report_shows_markup_as_text(folder, browser):
    browser.get("about:blank")
    complaints(browser), requested(browser)
    browser.get((folder / "report.html").as_uri())
    for details in browser.find_elements("css selector", "details"):
        browser.execute_script("arguments[0].open = true", details)
    check_harmless(browser, FILE, LABEL, NAME, *ATTACKS[:4], f"x {ATTACKS[1]}")
    assert requested(browser) == [(folder / "report.html").as_uri()]


def test_the_page_of_a_review_shows_markup_as_text(folder, visit, browser, tmp_path):
    audit = read_audit(folder)
    page = visit(audit, remembered={"reviewer": ATTACKS[1]})
    store, given = page.server.review.store, audit.labels.given
    people = ATTACKS[0], ATTACKS[2]
    for row in range(30, 34):
        for k, person in enumerate(people):
            said = ("keep", int(given[row])) if k else ("change", 1 - int(given[row]))
            store.add(key(), row, *said, reviewer=person, comment=ATTACKS[(row + k) % 5])
    page.at("note").send_keys(ATTACKS[0])
    page.run("document.activeElement.blur()")
    for pressed in "kcu":
        page.answer(pressed)
    page.until(lambda: people[0] in page.run("return document.body.textContent"))
    page.until(lambda: "They disagree on 4 rows" in page.run("return document.body.textContent"))
    page.press("/")
    page.at("find-text").send_keys("onerror")
    page.until(lambda: page.all("#found li"))
    page.click("#find form button")
    page.press("s")
    page.until(lambda: page.at("similar").is_displayed())
    page.click("#similar > form button")
    for details in page.all("details"):
        page.run("arguments[0].open = true", details)
    check_harmless(browser, *people, *ATTACKS[:4], f"x {ATTACKS[1]}", "no <img", "yes </script>")
    answers = page.server.log().held.values()
    assert ATTACKS[1] in {answer.reviewer for answer in answers}
    assert ATTACKS[0] in {answer.comment for answer in answers}
