"""Who may ask, what every request must satisfy before a route sees it, and what every reply says.

Only the person who started the server may ask, on this machine, from this page. The address that is
printed ends with a token, which the page exchanges once for the secret of the session; who has the
page open may ask for further tokens, for other browsers. The secret is a header of every request
for data: the browser keeps it for this address and port, while it would send a cookie to every
server of this machine. Other sites that the same browser has open can reach the port as well, so
names, origins and types of content are checked, too.

In a review that is shared every reviewer has a token and a secret of their own, and the secret says
who asks: a name that the page sends is replaced by it.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Tokens that were not used yet.
MOST_INVITED = 20
# The longest comment and fifty rows take less.
LARGEST_BODY = 65_536
# Exchanges a token for the secret; both come in this header.
ENTER, SECRET = "/api/enter", "x-rboost"
# What the state of a request calls its connection, and who asks.
CONNECTION, REVIEWER = "connection", "reviewer"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
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
    "This page has no access to the review; open the address that rboost review printed last. It "
    "opens the page once; “Another browser” on the page gives further ones."
)
NO_ENTRY_SHARED = (
    "This page has no access to the review; open your own link, which opens the page once. "
    "“Another browser” on the page gives further ones; else ask who started the review."
)
# Ports that addresses leave out.
DEFAULT_PORTS = {"http": 80, "https": 443}


class Access:
    """The tokens and the secrets of one server, and the names under which it is reached.

    Without ``reviewers`` there is one secret, and the page says who answers: whoever asks is None.
    Else there is one for each of them. The server answers to ``host``, as it stands in addresses,
    and without it to the names that this machine has for itself.
    """

    def __init__(
        self,
        port: int,
        reviewers: Sequence[str] = (),
        host: str | None = None,
        is_secure: bool = False,
    ) -> None:
        self.port, self.is_shared = port, bool(reviewers)
        people: tuple[str | None, ...] = tuple(reviewers) or (None,)
        self._unused: dict[str | None, list[str]] = {who: [] for who in people}
        self._lock = threading.Lock()  # links are made in other threads than pages are opened in
        self.secrets = {who: secrets.token_urlsafe(32) for who in people}
        self.tokens = {who: self.invite(who) for who in people}
        self.scheme = "https" if is_secure else "http"
        names = ["127.0.0.1", "localhost"] if host is None else [host.lower()]
        hosts = [f"{name}:{port}" for name in names]
        self._host, self.names = hosts[0], " and ".join(names)
        if port == DEFAULT_PORTS[self.scheme]:
            hosts += names
        self.hosts = frozenset(hosts)
        self.origins = frozenset(f"{self.scheme}://{each}" for each in hosts)

    @property
    def token(self) -> str:
        """The first token of a review that is not shared."""
        return self.tokens[None]

    @property
    def session(self) -> str:
        """The secret of a review that is not shared."""
        return self.secrets[None]

    def invite(self, who: str | None = None) -> str:
        """A new token, which opens the page once; of each person ``MOST_INVITED`` are kept."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._unused[who] = [*self._unused[who], token][-MOST_INVITED:]
        return token

    def url(self, token: str) -> str:
        """The address with a token, where browsers send it neither to servers nor as a referrer."""
        return f"{self.scheme}://{self._host}/#{token}"

    def redeem(self, tokens: list[str]) -> dict[str, str | None] | None:
        """The secret for a token that was not used yet, and whose it is; the token is used up."""
        with self._lock:
            for who, unused in self._unused.items():
                own = next((each for each in unused if _is_one(each, tokens)), None)
                if own is not None:
                    unused.remove(own)
                    found = {"session": self.secrets[who]}
                    return {**found, "reviewer": who} if self.is_shared else {**found}
        return None

    def knows(self, given: list[str]) -> bool:
        """Whether a request has the secret of a page that a token opened."""
        return any([_is_one(secret, given) for secret in self.secrets.values()])

    def who(self, given: list[str]) -> str | None:
        """Whose secret a request has; None where the page says so."""
        return next(who for who, secret in self.secrets.items() if _is_one(secret, given))

    def is_own_host(self, hosts: list[str]) -> bool:
        """Whether a request names this server; a page that rebinds its own name to us does not."""
        return len(hosts) == 1 and hosts[0].lower() in self.hosts

    def is_own_origin(self, origins: list[str]) -> bool:
        """Whether a request comes from this page, if it says where it comes from."""
        return all(origin.lower() in self.origins for origin in origins)


def _is_one(secret: str, given: list[str]) -> bool:
    """Whether a header is given once and right; the time tells not how many characters are."""
    return len(given) == 1 and hmac.compare_digest(
        secret.encode(), given[0].encode(errors="replace")
    )


def as_json(content: Any, status: int = 200) -> Response:
    """A reply; every character beyond ASCII is escaped, so that half of one does no harm."""
    body = json.dumps(content, allow_nan=False)
    return Response(body, status, media_type="application/json")


class Guard:
    """Lets through what comes from the page, and adds the same headers to every reply.

    ``public`` are the paths of the page's own files, which hold nothing of the review.
    """

    def __init__(self, app: ASGIApp, access: Access, public: Iterable[str]) -> None:
        self.app, self.access, self.public = app, access, frozenset(public)

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
        """Check where a request comes from; a token is answered by the secret."""
        headers, access = Headers(scope=scope), self.access
        if not access.is_own_host(headers.getlist("host")):
            raise HTTPException(421, f"This server answers to {access.names} alone.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise HTTPException(405, "Only GET, HEAD and POST are answered.")
        # The page asks for no path with escaped characters.
        if b"%" in scope.get("raw_path", b""):
            raise HTTPException(404, "There is no such page.")
        if scope["method"] == "POST":
            self._check_post(headers)
        given = headers.getlist(SECRET)
        if scope["path"] == ENTER and scope["method"] == "POST":
            entered = access.redeem(given)
            if entered is not None:
                return as_json(entered)
        if access.knows(given):
            state = scope.setdefault("state", {})
            state[REVIEWER] = access.who(given)
            if CONNECTION in state:
                state[CONNECTION].is_known = True
        elif scope["path"] not in self.public:
            raise HTTPException(403, NO_ENTRY_SHARED if access.is_shared else NO_ENTRY)
        return None

    def _check_post(self, headers: Headers) -> None:
        """What only a script of this page can send: forms and other sites cannot."""
        site = headers.get("sec-fetch-site", "same-origin")
        if not self.access.is_own_origin(headers.getlist("origin")) or site != "same-origin":
            raise HTTPException(403, "This request comes from another site.")
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
            if message["type"] == "http.disconnect":
                raise HTTPException(400, "The content is cut short.")
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
