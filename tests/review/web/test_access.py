"""Who may ask, and what others get."""

from urllib.parse import unquote

import anyio
import pytest

from rboost.review.web.guard import MOST_INVITED, NO_ENTRY
from tests.review.clients import ORIGIN, PORT, Page, enter, key, post


@pytest.fixture
def page(unanswered):
    """A page with rights of its own."""
    return Page(unanswered.review)


def test_the_token_opens_the_page_once(page):
    client = page.client()
    reply = enter(client, page.access.url(page.access.token))
    assert reply.json() == {"session": page.access.session}
    assert page.access.token not in reply.text
    assert "set-cookie" not in reply.headers
    assert client.get("/api/about").status_code == 200
    other = page.client()
    again = enter(other, page.access.url(page.access.token))
    assert (again.status_code, again.json()) == (403, {"error": NO_ENTRY})
    assert other.get("/api/about").status_code == 403


def test_a_link_opens_the_page_in_one_other_browser(page, client):
    urls = [post(client, "/api/link").json()["url"] for _ in range(2)]
    assert len({page.access.token, *(url.partition("#")[2] for url in urls)}) == 3
    assert all(url.startswith(f"{ORIGIN}/#") for url in urls)
    other = page.client()
    assert enter(other, urls[0]).status_code == 200
    assert other.get("/api/about").status_code == 200
    third = page.client()
    assert enter(third, urls[0]).status_code == 403
    assert enter(third, urls[1]).status_code == 200
    assert post(page.client(), "/api/link").status_code == 403


def test_of_many_links_the_latest_are_good(page, client):
    urls = [post(client, "/api/link").json()["url"] for _ in range(MOST_INVITED + 1)]
    assert enter(page.client(), urls[0]).status_code == 403
    assert enter(page.client(), urls[1]).status_code == 200


@pytest.mark.parametrize("token", ["", "x", b"\xc3\xa4", b"\xff", "a" * 10_000])
def test_a_wrong_token_opens_nothing(page, token):
    for client in (page.client(), page.open()):
        reply = client.post("/api/enter", json={}, headers={"X-Rboost": token})
        assert reply.status_code == 403


def test_a_token_is_used_up_by_the_page_alone(page):
    secret = {"X-Rboost": page.access.token}
    for path in ("/", "/api/about", "/api/enter"):
        page.client().head(path, headers=secret)
        page.client().get(path, headers=secret)
        page.client().get(path, params={"token": page.access.token})
    assert post(page.client(), "/api/enter", Origin="x", **secret).status_code == 403
    assert page.open().get("/api/about").status_code == 200


FILES = ["/", "/review.js", "/review.css", "/row.js", "/talk.js", "/icon.svg"]
DATA = [f"/api/{name}" for name in ("about", "next", "rows/1", "progress", "answers")]
DATA += ["/api/find?text=r1", "/api/similar?row=1", "/api/checked.csv"]
PATHS = [*FILES, *DATA]


@pytest.mark.parametrize("path", [*DATA, "/nothing", "/api/enter"])
def test_nothing_is_told_without_the_secret(page, path):
    session = page.open().headers["X-Rboost"]
    half = {"X-Rboost": session[:-1]}
    for headers in ({}, half, {"X-Rboost": ""}, {"Cookie": f"rboost-{PORT}={session}"}):
        reply = page.client().get(path, headers=headers)
        assert reply.status_code == 403
        assert "cat" not in reply.text
    twice = [("X-Rboost", session), ("X-Rboost", session)]
    assert page.client().get(path, headers=twice).status_code == 403


@pytest.mark.parametrize("path", FILES)
def test_files_of_the_page_are_the_same_for_everybody(page, client, path):
    assert page.client().get(path).content == client.get(path).content


@pytest.mark.parametrize("path", PATHS)
def test_everything_is_told_with_it(client, path):
    assert client.get(path).status_code == 200
    assert client.head(path).status_code == 200


@pytest.mark.parametrize("cookie", ['prefs={"a":1}', "garbage;;=", b"a=\x80", "x" * 8000])
def test_cookies_of_other_servers_of_the_machine_change_nothing(client, cookie):
    assert client.get("/api/about", headers={"Cookie": cookie}).status_code == 200
    assert post(client, "/api/answer", Cookie=cookie).status_code == 422  # as it says nothing


def test_no_reply_sets_a_cookie_that_other_servers_would_get(page):
    client = page.open()
    for path in PATHS:
        assert "set-cookie" not in client.get(path).headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:1",
        "",
        f"[::1]:{PORT}",
    ],
)
def test_other_names_for_this_machine_are_refused(page, client, host):
    assert client.get("/api/about", headers={"Host": host}).status_code == 421
    secret = {"X-Rboost": page.access.token}
    assert post(page.client(), "/api/enter", Host=host, **secret).status_code == 421


def test_localhost_is_this_machine(page):
    client = page.client(f"http://localhost:{PORT}")
    assert enter(client, page.access.url(page.access.token)).status_code == 200
    assert client.get("/api/about").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": ORIGIN + ".evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"X-Rboost": "0"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_what_another_site_could_send_changes_nothing(page, client, headers, status):
    content = {"row": 1, "answer": "keep", "key": key()}
    assert post(client, "/api/answer", content, **headers).status_code == status
    assert page.review.store.log().version == 0


def test_what_others_of_this_machine_could_send_changes_nothing(review):
    page = Page(review)
    content = {"row": 1, "answer": "keep", "key": key()}
    cookie = f"rboost-{PORT}={page.access.session}"
    stranger = page.client()
    for secret in ("1", page.access.token, page.access.session[::-1]):
        headers = {"X-Rboost": secret, "Cookie": cookie}
        assert post(stranger, "/api/answer", content, **headers).status_code == 403
    assert review.store.log().version == 0
    assert page.open().post("/api/answer", json=content).status_code == 200  # without an origin


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO"])
def test_other_methods_are_refused(client, method):
    assert client.request(method, "/api/about").status_code == 405


def test_methods_fit_their_routes(client):
    assert post(client, "/api/about").status_code == 405
    assert client.get("/api/answer").status_code == 405
    assert post(client, "/").status_code == 405


@pytest.mark.parametrize(
    "path",
    ["/..%2f", "/%2e%2e/", "/../page.html", "//", "//api/about", "/api//about", "/api/about/",
     "/api%2fabout", "/store.py", "/review.py", "/page.html", "/static/review.js", "/review.js/",
     "/review.js%00", "/api/rows/1%2f..", "/api/rows/1/../2", "/.", "/api/rows/", "/%ff",
     "/review.sqlite", "/\\..\\page.html"],
)  # fmt: skip
def test_paths_lead_nowhere_else(page, client, path):
    async def ask():
        sent = []

        async def send(message):
            sent.append(message)

        async def receive():
            return {"type": "http.request", "body": b""}

        secret = client.headers["X-Rboost"].encode()
        scope = {
            "type": "http", "method": "GET", "path": unquote(path), "raw_path": path.encode(),
            "query_string": b"", "http_version": "1.1", "scheme": "http", "root_path": "",
            "headers": [(b"host", ORIGIN[7:].encode()), (b"x-rboost", secret)],
        }  # fmt: skip
        await page.app(scope, receive, send)
        return sent[0]["status"]

    assert anyio.run(ask) == 404


def test_every_reply_carries_the_same_headers(page, client):
    replies = [client.get(path) for path in (*PATHS, "/nothing")]
    replies += [page.client().get("/"), page.client().get("/", headers={"Host": "x"})]
    replies += [post(client, "/api/answer"), post(client, "/api/answer", Origin="x")]
    replies.append(client.request("PUT", "/"))
    for reply in replies:
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["cache-control"] == "no-store"
