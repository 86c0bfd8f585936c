"""How the server starts and ends."""

import socket
import time
import uuid
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx
import pytest

from rboost.review import serve as serve_review
from rboost.review.web.server import _opened
from tests.browser import complaints
from tests.review.audits import two_classes
from tests.review.clients import enter
from tests.review.servers import Server
from tests.review.web.pages import Page, PageServer


def test_a_port_that_is_taken_is_named(review):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"Port {port} of 127.0.0.1 cannot be used"):
            serve_review(review, port=port)


@pytest.fixture
def sockets(monkeypatch):
    """Those that would be served, with their addresses."""
    seen = []
    monkeypatch.setattr(
        "rboost.review.web.server._run",
        lambda _, listening, *__: seen.append((listening, listening.getsockname())),
    )
    return seen


def test_replies_are_sent_at_once(sockets, review):
    """A reply has two parts; unless the server sends both at once it takes 40 ms longer."""
    serve_review(review)
    [(listening, address)] = sockets
    assert address[0] == "127.0.0.1"  # other machines are never served
    assert listening.proto == socket.IPPROTO_TCP


def test_every_run_has_another_port(sockets, review):
    """What servers of other users left in a browser for an address must not see the page."""
    for _ in range(4):  # a system may draw the same one twice
        serve_review(review)
    assert len({address for _, address in sockets}) > 1


@pytest.mark.slow
def test_two_servers_of_an_audit_and_ctrl_c_that_waits_for_a_fit_and_tells_no_token(tmp_path):
    server, other = Server(tmp_path), PageServer(two_classes(), tmp_path)
    with httpx.Client(base_url=other.origin) as client:
        assert enter(client, other.url).status_code == 200
    other.end()
    with httpx.Client(base_url=server.origin) as client:
        assert enter(client, server.url).status_code == 200
        assert enter(client, server.url).status_code == 403
        answer = {"row": 1, "answer": "keep", "key": str(uuid.uuid4())}
        assert client.post("/api/answer", json=answer).status_code == 200
        assert client.post("/api/refit", json={}).status_code == 200
        code, said = server.end()
    assert code == 0
    assert "wait for it, or leave it with Ctrl-C" in said
    assert server.url.partition("#")[2] not in said
    assert "Traceback" not in said
    assert list(server.answers()) == [1]


@pytest.mark.slow
def test_the_browser_is_opened_without_the_token_in_its_arguments(tmp_path):
    """Every user of a machine sees what programs are started with."""
    seen, browser, folder = tmp_path / "seen", tmp_path / "browser", tmp_path / "audit"
    browser.write_text(f'#!/bin/sh\nprintf %s "$*" > {seen}.part && mv {seen}.part {seen}\n')
    browser.chmod(0o700)
    folder.mkdir()
    server = Server(folder, surroundings={"BROWSER": f"{browser} %s"}, open_browser=True)
    try:
        end = time.monotonic() + 30
        while not seen.exists() and time.monotonic() < end:
            time.sleep(0.05)
        address = seen.read_text()
        token = server.url.partition("#")[2]
        assert token not in address
        path = Path(url2pathname(urlsplit(address).path))
        assert path.parent == folder
        assert path.stat().st_mode & 0o777 == 0o600
        assert f"url={server.url}" in path.read_text()
    finally:
        server.end()
    assert not path.exists()


@pytest.mark.browser
def test_the_file_that_opens_the_page_leaves_no_token_behind(serve, browser, monkeypatch):
    server, opened = serve(), []
    monkeypatch.setattr("webbrowser.open", opened.append)
    with _opened(server.url, server.folder):
        while not opened:
            time.sleep(0.01)
        page = Page(browser, opened[0])
        assert browser.current_url == f"{server.origin}/"
        history = browser.execute_cdp_cmd("Page.getNavigationHistory", {})["entries"]
        assert not any("#" in entry["url"] for entry in history)
        page.answer("k")
    assert list(server.folder.glob("*.html")) == []
    assert complaints(browser) == []
