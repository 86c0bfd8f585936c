"""The page of a review in a browser, and a server of it in this process."""

import os
import socket
import threading
from contextlib import closing

import uvicorn
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    StaleElementReferenceException,
)
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.support.wait import WebDriverWait

from rboost.review import AnswerStore, Review, fingerprint
from rboost.review.web.app import make_app
from rboost.review.web.connections import settings
from rboost.review.web.guard import Access
from tests.browser import complaints, resize

WIDE, NARROW = (1400, 900), (420, 844)


def port_of_its_own():
    """A port that can be taken twice in a row: below those that systems lend to anybody."""
    return 12_000 + os.getpid() % 8_000


class PageServer:
    """Serves the review of an audit from a thread, which starts sooner than a process."""

    def __init__(self, audit, folder, save=None, port=0, sharing=None, **options):
        self.audit, self.folder = audit, folder
        self.review = Review(audit, folder, save, images_root=folder, **options)
        self.review.explaining.wait()  # so that the first row has its reasons at once
        self.host = "127.0.0.1" if sharing is None else sharing.address
        listening = socket.create_server((self.host, port))
        if sharing is None:
            self.access, how = Access(listening.getsockname()[1]), settings()
        else:
            names, tls = self.review.team.reviewers, sharing.tls
            self.access = Access(listening.getsockname()[1], names, sharing.host, tls is not None)
            how = settings(tls, len(names))
        self.urls = {who: self.access.url(token) for who, token in self.access.tokens.items()}
        self.url = next(iter(self.urls.values()))
        self.origin = self.url.partition("/#")[0]
        config = uvicorn.Config(make_app(self.review, self.access), **how)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listening],), daemon=True)
        self._thread.start()

    def log(self):
        path = self.folder / "review.sqlite"
        with closing(AnswerStore(path, fingerprint(self.audit))) as store:
            return store.log()

    def answers(self):
        """The answers that stand, in the order in which they were given."""
        return sorted(self.log().current.values(), key=lambda answer: answer.number)

    def end(self):
        self._server.should_exit = True
        self._thread.join(20)
        self.review.finish()


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

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def at(self, name):
        return self.browser.find_element("id", name)

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def text(self, name):
        # The driver itself stumbles over half a character.
        script = (
            "const e = arguments[0]; return e.checkVisibility() ? e.innerText.toWellFormed() : ''"
        )
        return self.run(script, self.at(name))

    def row(self):
        """The position of the row that is shown, None if there is none."""
        shown = self.at("card").get_attribute("data-row")
        return int(shown) if shown else None

    def until(self, condition, seconds=20):
        return WebDriverWait(self.browser, seconds, poll_frequency=0.05).until(
            lambda _: condition()
        )

    def ready(self):
        """Wait for a row that can be answered, or for the end."""
        self.until(
            lambda: self.at("unsure-button").is_enabled() or self.at("finished").is_displayed()
        )

    def saved(self, seconds=20):
        """Wait until no key waits any more and the server has confirmed everything."""
        self.until(lambda: self.row() is not None or self.at("finished").is_displayed(), seconds)
        self.until(lambda: self.text("saving") == "", seconds)

    def click(self, selector, place=0):
        def click():
            element = self.all(selector)[place]
            self.run("arguments[0].scrollIntoView({block: 'center'})", element)
            element.click()
            return True

        # A list may be shown anew, or grow, between the two.
        between = [StaleElementReferenceException, ElementClickInterceptedException]
        waiting = WebDriverWait(self.browser, 20, 0.05, between)
        waiting.until(lambda _: click())

    def choose(self, name, words):
        """Choose what a list offers under these words."""
        self.at(name).click()
        options = self.at(name).find_elements("tag name", "option")
        [option] = [option for option in options if option.text.startswith(words)]
        option.click()

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def answer(self, key):
        """Press a key, wait for the next row and until the answer is saved."""
        before = self.text("row-title")
        self.press(key)
        self.until(lambda: self.text("row-title") != before)
        self.ready()
        self.saved()

    def expect_counts(self, kept, changed, unsure):
        words = f"{kept} kept, {changed} changed, {unsure} unsure"
        self.until(lambda: self.text("counts").startswith(words))

    def scrolls_sideways(self):
        return self.run(
            "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )
