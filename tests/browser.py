"""A browser for tests of pages: Debian's Chromium without a window, driven by Selenium."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
)


@contextmanager
def open_browser(
    width: int = 1280, height: int = 900, more: tuple[str, ...] = ()
) -> Iterator[webdriver.Chrome]:
    """A browser whose page is so many pixels wide; it is closed in the end."""
    chromium, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver_path) and "CI" not in os.environ:
        pytest.skip("chromium or chromedriver is not installed")
    options = Options()
    options.binary_location = chromium or "chromium"
    for argument in (*ARGUMENTS, *more):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(prefix="rboost-browser-") as profile:
        options.add_argument(f"--user-data-dir={profile}")
        driver = webdriver.Chrome(options, Service(driver_path))
        try:
            driver.get("about:blank")
            driver.get_log("performance")  # of the page that the browser opens with
            resize(driver, width, height)
            yield driver
        finally:
            driver.quit()


def resize(driver: webdriver.Chrome, width: int, height: int = 900) -> None:
    """Make the page so wide; a window would refuse to become as narrow as a telephone."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def complaints(driver: webdriver.Chrome) -> list[str]:
    """Errors on the console since the last call."""
    return [one["message"] for one in driver.get_log("browser") if one["level"] == "SEVERE"]


def requested(driver: webdriver.Chrome) -> list[str]:
    """Addresses that were asked for since the last call, but for those inside the page."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    addresses = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    return [address for address in addresses if not address.startswith("data:")]
