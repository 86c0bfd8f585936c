"""Take the pictures of docs/ten_minutes.md and the README: the report and the page of a review.

The commands of that page run up to the review, in a folder of their own, and what they wrote is
photographed. ``--all DIR`` also takes both pages whole, 1400 and 420 pixels wide, light and dark, to
be looked at. Run from the root of the repository, with Chromium and its driver installed:
``python -m examples.screenshots``.
"""

from __future__ import annotations

import argparse
import base64
import io
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser import open_browser, resize

ROOT = Path(__file__).resolve().parents[1]
GUIDE, IMAGES = ROOT / "docs" / "ten_minutes.md", ROOT / "docs" / "images"
WIDTHS, SCHEMES = (1400, 420), ("light", "dark")
# How much of each page the guide shows, in pixels from the top.
HEIGHTS = {"audit_report": 1000, "review": 900}


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


def photograph(driver: Any, height: int | None = None) -> Image.Image:
    """The page from its top, as a picture of few colours, which takes little space."""
    size = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}
    asked = {"captureBeyondViewport": True, "clip": clip}
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", asked)
    picture = Image.open(io.BytesIO(base64.b64decode(taken["data"]))).convert("RGB")
    return picture.quantize(128, dither=Image.Dither.NONE)


def show(driver: Any, scheme: str, width: int) -> None:
    scheme_is = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme_is]})
    resize(driver, width)


def open_review(driver: Any, address: str) -> None:
    """Open the page, and the model's opinion of the most suspicious row on it."""
    driver.get(address)
    wait = WebDriverWait(driver, 60)
    wait.until(lambda d: d.find_element("id", "unsure-button").is_enabled())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", type=Path, metavar="DIR", help="where to put pictures of all")
    everything = parser.parse_args().all
    with tempfile.TemporaryDirectory() as folder, reviewed(Path(folder)) as address:
        report = (Path(folder) / "audit" / "report.html").as_uri()
        with open_browser(WIDTHS[0]) as driver:
            for name, height in HEIGHTS.items():
                show(driver, SCHEMES[0], WIDTHS[0])
                if name == "review":
                    open_review(driver, address)
                else:
                    driver.get(report)
                photograph(driver, height).save(IMAGES / f"{name}.png", optimize=True)
                for width in WIDTHS if everything else ():
                    for scheme in SCHEMES:
                        show(driver, scheme, width)
                        everything.mkdir(parents=True, exist_ok=True)
                        picture = photograph(driver)
                        picture.save(everything / f"{name}-{width}-{scheme}.png", optimize=True)


if __name__ == "__main__":
    main()
