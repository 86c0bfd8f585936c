"""Servers of a review that end with their test, and their page in the browser."""

import pytest

from tests.review.audits import two_classes
from tests.review.web.pages import Page, PageServer


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
        if page.run("return localStorage.length > 1") or remembered:
            session = page.run("return localStorage.getItem('session')")
            page.run("localStorage.clear()")
            for name, value in dict(remembered, session=session).items():
                page.run("localStorage.setItem(...arguments)", name, value)
            browser.refresh()
            page.ready()
        page.server = server
        return page

    return visit
