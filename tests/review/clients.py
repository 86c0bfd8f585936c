"""What asks the page without a network."""

import uuid

import anyio
import httpx

from rboost.review.web.app import make_app
from rboost.review.web.guard import Access

PORT = 21234
ORIGIN = f"http://127.0.0.1:{PORT}"


def key():
    return str(uuid.uuid4())


class Client:
    """A browser without a network: every request is a call of the application."""

    def __init__(self, app, origin):
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url=origin)
        self.headers = self._client.headers

    def request(self, method, path, **options):
        return anyio.run(lambda: self._client.request(method, path, **options))

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def head(self, path, **options):
        return self.request("HEAD", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)


class Page:
    """What the script of the page does."""

    def __init__(self, review):
        self.review, self.access = review, Access(PORT)
        review.explaining.wait()  # so that the first rows have their reasons at once
        self.app = make_app(review, self.access)

    def client(self, origin=ORIGIN):
        return Client(self.app, origin)

    def open(self):
        client = self.client()
        assert enter(client, self.access.url(self.access.token)).status_code == 200
        return client


def enter(client, url):
    """Open the page by an address, as its script does; the client keeps the secret from then on."""
    reply = client.post("/api/enter", json={}, headers={"X-Rboost": url.partition("#")[2]})
    if reply.status_code == 200:
        client.headers["X-Rboost"] = reply.json()["session"]
    return reply


def post(client, path, content=None, **headers):
    headers = {"Origin": ORIGIN, **headers}
    return client.post(path, json={} if content is None else content, headers=headers)
