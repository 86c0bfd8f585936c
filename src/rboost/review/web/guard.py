"""Who may ask, what every request must satisfy before a route sees it, and what every reply says.

Only the person who started the server may ask, on this machine, from this page. The address that is
printed holds a token, which opens the page once and leaves a cookie; who has the page open may ask
for further ones, for other browsers. Other sites that the same browser has open can reach the port
as well, so names, origins and headers are checked, too.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Tokens that were not used yet.
MOST_INVITED = 20
# The longest comment and fifty rows take less.
LARGEST_BODY = 65_536

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NO_ENTRY = (
    "This address opens the page only once, or is of an earlier start; start rboost review again "
    "and open the address that it prints."
)


class Access:
    """The token and the cookie of one server, and the names under which it is reached."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._unused: list[str] = []
        self._used: set[str] = set()
        self.token = self.invite()
        self._session = secrets.token_urlsafe(32)
        # Cookies are shared by all ports of a machine; the name keeps two reviews apart.
        self.cookie_name = f"rboost-{port}"
        self.hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})

    def invite(self) -> str:
        """A new token, which opens the page once; only the latest ``MOST_INVITED`` are kept."""
        token = secrets.token_urlsafe(32)
        self._unused = [*self._unused, token][-MOST_INVITED:]
        return token

    def url(self, token: str) -> str:
        """The address with a token."""
        return f"http://127.0.0.1:{self.port}/?token={token}"

    @property
    def cookie(self) -> str:
        """The cookie that the page gets for the token, as a header."""
        return f"{self.cookie_name}={self._session}; HttpOnly; SameSite=Strict; Path=/"

    def redeem(self, token: str, has_session: bool) -> bool:
        """Whether a token opens the page: once, or again where it has opened it before."""
        own = next((each for each in self._unused if _same(token, each)), None)
        if own is not None:
            self._unused.remove(own)
            self._used.add(own)
            return True
        return has_session and any(_same(token, each) for each in self._used)

    def knows(self, cookies: Iterable[str]) -> bool:
        """Whether one of the cookie headers is of a page that a token opened."""
        for header in cookies:
            try:
                found = SimpleCookie(header).get(self.cookie_name)
            except CookieError:
                continue
            if found is not None and _same(found.value, self._session):
                return True
        return False

    def is_own_host(self, hosts: list[str]) -> bool:
        """Whether a request names this server; a page that rebinds its own name to us does not."""
        return len(hosts) == 1 and hosts[0].lower() in self.hosts

    def is_own_origin(self, origins: list[str]) -> bool:
        """Whether a request comes from this page, if it says where it comes from."""
        return all(
            origin.lower() in {f"http://{host}" for host in self.hosts} for origin in origins
        )


def _same(one: str, other: str) -> bool:
    """Compare in a time that does not depend on how many characters are right."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))


def as_json(content: Any, status: int = 200) -> Response:
    """A reply; every character beyond ASCII is escaped, so that half of one does no harm."""
    body = json.dumps(content, allow_nan=False)
    return Response(body, status, media_type="application/json")


class Guard:
    """Lets through what comes from the page, and adds the same headers to every reply."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            reply = self._enter(scope)
            if reply is None:
                receive = await self._read(scope, receive)
        except HTTPException as refusal:
            reply = _refused(scope, refusal)
        await (reply or self.app)(scope, receive, send_with_headers)

    def _enter(self, scope: Scope) -> Response | None:
        """Check where a request comes from; a token is answered by the way to the page."""
        headers, access = Headers(scope=scope), self.access
        if not access.is_own_host(headers.getlist("host")):
            raise HTTPException(421, "This server answers to 127.0.0.1 and localhost alone.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise HTTPException(405, "Only GET, HEAD and POST are answered.")
        has_session = access.knows(headers.getlist("cookie"))
        token = QueryParams(scope["query_string"]).get("token")
        if scope["path"] == "/" and scope["method"] == "GET" and token is not None:
            if not access.redeem(token, has_session):
                raise HTTPException(403, NO_ENTRY)
            return Response(status_code=303, headers={"Location": "/", "Set-Cookie": access.cookie})
        if not has_session:
            raise HTTPException(403, NO_ENTRY)
        # The page asks for no path with escaped characters.
        if b"%" in scope.get("raw_path", b""):
            raise HTTPException(404, "There is no such page.")
        if scope["method"] == "POST":
            self._check_post(headers)
        return None

    def _check_post(self, headers: Headers) -> None:
        """What only a script of this page can send: forms and other sites cannot."""
        site = headers.get("sec-fetch-site", "same-origin")
        if not self.access.is_own_origin(headers.getlist("origin")) or site != "same-origin":
            raise HTTPException(403, "This request comes from another site.")
        if headers.get("x-rboost") != "1":
            raise HTTPException(403, "The header X-Rboost: 1 is missing.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "The content must be application/json.")

    async def _read(self, scope: Scope, receive: Receive) -> Receive:
        """Read the content of a request, unless it is too long."""
        if scope["method"] != "POST":
            return receive
        length = Headers(scope=scope).get("content-length", "0")
        body, is_whole = b"", False
        is_long = not length.isdigit() or int(length) > LARGEST_BODY
        while not (is_whole or is_long):
            message = await receive()
            body += message.get("body", b"")
            is_whole, is_long = not message.get("more_body", False), len(body) > LARGEST_BODY
        if is_long:
            raise HTTPException(413, f"The content is longer than {LARGEST_BODY} bytes.")

        async def receive_again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        return receive_again


def _refused(scope: Scope, refusal: HTTPException) -> Response:
    """The sentence, as a page where a person sees it, else for the script."""
    if scope["path"].startswith("/api/"):
        return as_json({"error": refusal.detail}, refusal.status_code)
    return Response(f"{refusal.detail}\n", refusal.status_code, media_type="text/plain")
