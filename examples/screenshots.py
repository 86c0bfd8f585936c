"""Take the pictures of docs/ten_minutes.md and the README: the report and the page of a review.

The commands of that page run up to the review, in a folder of their own, and what they wrote is
photographed. ``--all DIR`` also takes both pages whole, 1400 and 420 pixels wide, light and dark,
to be looked at. Run from the root of the repository, with Chromium and its driver installed:
``python -m examples.screenshots``.
"""

from __future__ import annotations

import argparse
import io
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from PIL import Image
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser import open_browser, resize

ROOT = Path(__file__).resolve().parents[1]
GUIDE, IMAGES = ROOT / "docs" / "ten_minutes.md", ROOT / "docs" / "images"
WIDTHS, SCHEMES = (1400, 420), ("light", "dark")
# Parts of the report that the guide shows, with the first four suspects.
EXCERPTS = {"audit_report": ("title", "summary", "suspects"), "groups": ("groups",)}
LEAVE = """
const name = (part) => part.matches("header, nav") ? "title" : part.getAttribute("aria-labelledby");
for (const part of document.querySelectorAll("main > *, header, footer, nav"))
  part.style.display = arguments[0].includes(name(part)) ? "" : "none";
if (!arguments[0].includes("title")) document.body.style.display = "block";
for (const row of document.querySelectorAll(".suspects tbody tr:nth-child(n + 5), .pages"))
  row.hidden = true;
"""


def command(line: str) -> list[str]:
    """A command of the guide, for the Python that runs this."""
    program, *arguments = shlex.split(line)
    if program == "python":
        return [sys.executable, str(ROOT / arguments[0]), *arguments[1:]]
    return [str(Path(sys.executable).with_name(program)), *arguments]


@contextmanager
def reviewed(folder: Path) -> Iterator[str]:
    """Run the guide up to the review, and serve that; gives its address."""
    for line in re.findall(r"^\$ (.*)", GUIDE.read_text(), flags=re.MULTILINE):
        if line.startswith("rboost review"):
            break
        subprocess.run(command(line), cwd=folder, check=True)
    server = subprocess.Popen(command(line), cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate()


def show(driver: Any, width: int, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    resize(driver, width, 300)  # a page is as high as the window at least


def photograph(driver: Any, path: Path) -> None:
    """Write the whole page as a picture of few colours, which takes little space."""
    size = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    resize(driver, size["width"], size["height"])  # what sticks to the window is at its end
    picture = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


def open_page(driver: Any, name: str, address: str) -> None:
    """Open the report, or the review at the most suspicious row."""
    driver.get(address)
    if name == "review":
        wait = WebDriverWait(driver, 60)
        wait.until(lambda d: d.find_element("id", "unsure-button").is_enabled())
        first = driver.find_element("id", "row-title").text
        Select(driver.find_element("id", "order")).select_by_value("suspicious")
        wait.until(lambda d: d.find_element("id", "row-title").text != first)
        wait.until(lambda d: d.find_elements("css selector", "#opinion-text li"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", type=Path, metavar="DIR", help="where to put pictures of all")
    everything = parser.parse_args().all
    with tempfile.TemporaryDirectory() as folder, reviewed(Path(folder)) as address:
        report = (Path(folder) / "audit" / "report.html").as_uri()
        with open_browser() as driver:
            for name, page in (("report", report), ("review", address)):
                show(driver, WIDTHS[0], SCHEMES[0])
                open_page(driver, name, page)
                for width, scheme in product(WIDTHS, SCHEMES) if everything else ():
                    show(driver, width, scheme)
                    photograph(driver, everything / f"{name}-{width}-{scheme}.png")
                show(driver, WIDTHS[0], SCHEMES[0])
                if name == "review":
                    photograph(driver, IMAGES / "review.png")
                for excerpt, parts in EXCERPTS.items() if name == "report" else ():
                    driver.execute_script(LEAVE, parts)
                    show(driver, WIDTHS[0], SCHEMES[0])
                    photograph(driver, IMAGES / f"{excerpt}.png")


if __name__ == "__main__":
    main()
