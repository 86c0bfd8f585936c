"""One browser for all tests of the page, and servers that end with their test."""

import pytest

from tests.browser import open_browser
from tests.review.audits import two_classes
from tests.review.web.pages import Page, PageServer


@pytest.fixture(scope="session")
def browser():
    with open_browser() as browser:
        yield browser


@pytest.fixture
def serve(tmp_path):
    """Starts servers of audits, and ends them after the test."""
    servers = []

    def serve(audit=None, **options):
        servers.append(PageServer(audit or two_classes(), tmp_path, **options))
        return servers[-1]

    yield serve
    for server in servers:
        server.end()


@pytest.fixture
def visit(browser, serve):
    """Opens the page of an audit as somebody new; what a browser remembers is forgotten."""

    def visit(audit=None, size=(1400, 900), remembered=(), **options):
        server = serve(audit, **options)
        page = Page(browser, server.url, size)
        if page.run("return localStorage.length") or remembered:
            page.run("localStorage.clear()")
            for name, value in dict(remembered).items():
                page.run("localStorage.setItem(...arguments)", name, value)
            browser.refresh()
            page.ready()
        page.server = server
        return page

    return visit
