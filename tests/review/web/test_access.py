"""Who may ask, and what others get."""

from urllib.parse import unquote

import anyio
import pytest

from rboost.review.web.guard import MOST_INVITED, NO_ENTRY
from tests.review.clients import ORIGIN, PORT, Page, key, post


@pytest.fixture
def page(unanswered):
    """A page with rights of its own."""
    return Page(unanswered.review)


def test_the_token_opens_the_page_once(page):
    client = page.client()
    reply = client.get("/", params={"token": page.access.token})
    assert (reply.status_code, reply.headers["location"]) == (303, "/")
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert page.access.token not in cookie
    assert client.get("/").status_code == 200
    other = page.client()
    again = other.get("/", params={"token": page.access.token})
    assert (again.status_code, again.text.strip()) == (403, NO_ENTRY)
    assert "set-cookie" not in again.headers
    # The browser that has the cookie may follow the printed address twice.
    assert client.get("/", params={"token": page.access.token}).status_code == 303


def test_a_link_opens_the_page_in_one_other_browser(page, client):
    urls = [post(client, "/api/link").json()["url"] for _ in range(2)]
    assert len({page.access.token, *(url.partition("token=")[2] for url in urls)}) == 3
    assert all(url.startswith(f"{ORIGIN}/?token=") for url in urls)
    other = page.client()
    assert other.get(urls[0]).status_code == 303
    assert other.get("/api/about").status_code == 200
    third = page.client()
    assert third.get(urls[0]).status_code == 403
    assert third.get(urls[1]).status_code == 303
    assert other.get(urls[0]).status_code == 303  # where it has been opened before
    assert page.client().post("/api/link", json={}, headers={"X-Rboost": "1"}).status_code == 403


def test_of_many_links_the_latest_are_good(page, client):
    urls = [post(client, "/api/link").json()["url"] for _ in range(MOST_INVITED + 1)]
    assert page.client().get(urls[0]).status_code == 403
    assert page.client().get(urls[1]).status_code == 303


@pytest.mark.parametrize("token", ["", "x", "%C3%A4", "%ED%A0%80", "%00", "a" * 10_000])
def test_a_wrong_token_opens_nothing(page, token):
    assert page.client().get(f"/?token={token}").status_code == 403
    assert page.open().get(f"/?token={token}").status_code == 403
    assert page.client().get(f"/api/about?token={token}").status_code == 403


def test_a_head_request_does_not_use_the_token_up(page):
    assert page.client().head("/", params={"token": page.access.token}).status_code == 403
    assert page.open().get("/").status_code == 200


PATHS = ["/", "/review.js", "/review.css", "/row.js", "/talk.js", "/icon.svg", "/checked.csv"]
PATHS += [f"/api/{name}" for name in ("about", "next", "rows/1", "progress", "answers")]
PATHS += ["/api/find?text=r1", "/api/similar?row=1"]


@pytest.mark.parametrize("path", [*PATHS, "/nothing"])
def test_nothing_is_told_without_the_cookie(page, path):
    page.open()
    for cookie in (None, f"rboost-{PORT}=x", f"rboost-{PORT}=", "garbage;;=", "rboost-1=y"):
        headers = {"Cookie": cookie} if cookie else {}
        reply = page.client().get(path, headers=headers)
        assert reply.status_code == 403
        assert "cat" not in reply.text


@pytest.mark.parametrize("path", PATHS)
def test_everything_is_told_with_it(client, path):
    assert client.get(path).status_code == 200
    assert client.head(path).status_code == 200


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
    reply = page.client().get("/", params={"token": page.access.token}, headers={"Host": host})
    assert reply.status_code == 421


def test_localhost_is_this_machine(page):
    client = page.client(f"http://localhost:{PORT}")
    assert client.get("/", params={"token": page.access.token}).status_code == 303
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


def test_without_the_header_or_with_no_origin(review):
    client = Page(review).open()
    content = {"row": 1, "answer": "keep", "key": key()}
    assert client.post("/api/answer", json=content).status_code == 403
    assert client.post("/api/answer", json=content, headers={"X-Rboost": "1"}).status_code == 200


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

        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        scope = {
            "type": "http", "method": "GET", "path": unquote(path), "raw_path": path.encode(),
            "query_string": b"", "http_version": "1.1", "scheme": "http", "root_path": "",
            "headers": [(b"host", ORIGIN[7:].encode()), (b"cookie", cookie.encode())],
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
