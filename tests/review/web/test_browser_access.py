"""How a browser comes to the page and stays there: links, tabs, reloads, cookies of others."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.browser import complaints
from tests.review.web.pages import Page, port_of_its_own

pytestmark = pytest.mark.browser


@contextmanager
def another_server():
    """Some other server of this machine, which sets a cookie and keeps what it is sent."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(str(self.headers))
            self.send_response(200)
            self.send_header("Set-Cookie", 'prefs={"a":1}; Path=/')
            self.send_header("Set-Cookie", "bad\x01name=x; Path=/")
            self.end_headers()
            self.wfile.write(b"<title>another</title>")

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def reopen(page, browser, url):
    """Come back to the page from elsewhere."""
    browser.get(url)
    page.ready()


def test_other_servers_of_the_machine_get_nothing_and_their_cookies_do_no_harm(visit, browser):
    with another_server() as (origin, seen):
        browser.get(origin)
        page = visit()
        page.answer("k")
        browser.get(origin)
        reopen(page, browser, page.server.origin)
        page.answer("u")
    session = page.run("return localStorage.getItem('session')")
    assert session == page.server.access.session
    assert len(seen) >= 2
    assert not any(secret in "".join(seen) for secret in (session, page.server.access.token))
    assert not any(cookie["name"].startswith("rboost") for cookie in browser.get_cookies())
    assert len(page.server.answers()) == 2
    assert [line for line in complaints(browser) if "favicon" not in line] == []
    browser.delete_all_cookies()


def test_reload_back_and_the_same_address_again_need_no_new_one(visit, browser):
    page = visit()
    page.answer("k")
    browser.refresh()
    page.ready()
    browser.get("about:blank")
    browser.back()
    page.ready()
    browser.get(page.server.url)  # the printed address a second time
    page.ready()
    page.until(lambda: browser.current_url == f"{page.server.origin}/")
    page.answer("u")
    assert len(page.server.answers()) == 2
    assert all("403" in line for line in complaints(browser))  # of the token that was used


def test_an_address_pasted_into_the_old_tab_after_a_new_start(visit, browser, serve):
    page = visit(port=port_of_its_own())
    page.server.end()
    page.press("k")
    page.until(lambda: page.text("banner-text").startswith("Not saved: "))
    again = serve(port=page.server.access.port)
    page.until(lambda: "has no access" in page.text("banner-text"))
    page.run("location.href = arguments[0]", again.url)  # the page stays, with what it holds
    page.saved()
    page.until(lambda: not page.at("banner").is_displayed())
    assert [answer.answer for answer in again.answers()] == ["keep"]
    assert browser.current_url == f"{again.origin}/"


def test_a_stranger_with_the_address_alone_sees_no_row(visit, browser):
    page = visit()
    page.run("localStorage.removeItem('session')")
    browser.get("about:blank")
    browser.get(page.server.origin)
    page.until(lambda: "open the address that rboost review printed" in page.text("banner-text"))
    assert page.row() is None
    assert page.text("large") == page.text("given") == ""


def test_the_token_is_in_no_request_but_the_one_that_uses_it(serve, browser):
    server = serve()
    browser.get_log("performance")
    page = Page(browser, server.url)
    page.answer("k")
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    told = [json.dumps(each["request"]["headers"]) + each["request"]["url"] for each in sent]
    assert sum(server.access.token in words for words in told) == 1
    assert {each["request"]["headers"].get("Referer", "") for each in sent} == {""}
