"""The documentation site, built as ``make docs`` does but without running the gallery."""

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from tests.pages import ROOT

pytest.importorskip("sphinx_gallery")
pytestmark = pytest.mark.slow

NARROW = 400
# Whether the article as a whole scrolls sideways; wide tables and code do so by themselves.
IS_TOO_WIDE = """
const around = document.querySelector(".bd-article-container");
return around.scrollWidth > around.clientWidth;
"""
# Shows the article of another page in place of the one that is open, and waits for its pictures.
SHOW = """
const [text, address] = arguments;
const article = new DOMParser().parseFromString(text, "text/html").querySelector(".bd-article");
const pictures = [...article.querySelectorAll("img")];
for (const one of pictures) one.src = new URL(one.getAttribute("src"), address);
document.querySelector(".bd-article").replaceWith(document.adoptNode(article));
return Promise.all(pictures.map((one) => one.decode()));
"""
# Pages of each kind, which are opened as a whole.
OPENED = ("index", "benchmarks", "how_to/audit", "api/audit", "gallery/audit/index")


class Page(HTMLParser):
    """What a page links to, what it loads, and what can be linked to in it."""

    def __init__(self, path):
        super().__init__()
        self.targets, self.loaded, self.ids = set(), set(), set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found.get("id"), found.get("name")}
        if tag == "a" and found.get("href"):
            self.targets.add(found["href"])
        elif tag != "a":
            self.loaded |= {found.get("src"), found.get("href")} - {None}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; a copy of the sources keeps what the build makes out of the way."""
    sources = tmp_path_factory.mktemp("sources")
    made = shutil.ignore_patterns("generated", "gallery")
    shutil.copytree(ROOT / "docs", sources / "docs", ignore=made)
    shutil.copytree(ROOT / "examples", sources / "examples")
    for page in ROOT.glob("*.md"):
        shutil.copy(page, sources)
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-b", "html"]
    command = [*build, "-D", "plot_gallery=0", "docs", "site"]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return sources / "site"


@pytest.fixture(scope="module")
def pages(site):
    """All pages, but for a template that the theme brings along."""
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_links_lead_somewhere(site, pages):
    assert len(pages) > 100
    for path, page in pages.items():
        for target in page.targets | page.loaded:
            address = urlsplit(target)
            if address.scheme or target == "#":
                continue
            linked = (path.parent / unquote(address.path)).resolve() if address.path else path
            assert linked.exists(), (path.name, target)
            if address.fragment and linked in pages:
                assert unquote(address.fragment) in pages[linked].ids, (path.name, target)


def test_nothing_is_loaded_from_a_network(site, pages):
    for path, page in pages.items():
        assert not [one for one in page.loaded if re.match(r"(\w+:)?//", one)], path.name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import\s+['\"]?http", sheet.read_text())


@pytest.mark.browser
def test_it_works_from_a_disk_on_a_narrow_screen(site, pages):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    from tests.browser import open_browser, requested

    search = site / "search.html"  # which has no article
    opened = [site / f"{name}.html" for name in OPENED]
    with open_browser(NARROW) as driver:
        for path in opened:
            driver.get(path.as_uri())
            assert not driver.execute_script(IS_TOO_WIDE), path.name
        # All pages have the same style, so an article is as wide on the page that is open.
        for path in sorted(pages.keys() - {*opened, search}):
            driver.execute_script(SHOW, path.read_text(), path.as_uri())
            assert not driver.execute_script(IS_TOO_WIDE), path.name
        driver.get(f"{search.as_uri()}?q=trusted")
        # Results come one after the other.
        found = (By.CSS_SELECTOR, "#search-results li a[href*='how_to/trusted_rows.html']")
        WebDriverWait(driver, 30).until(lambda driver: driver.find_elements(*found))
        assert all(address.startswith("file:") for address in requested(driver))
