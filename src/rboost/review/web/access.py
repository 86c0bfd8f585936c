"""Who may ask: the person who started the server, on this machine, from this page.

The address that is printed holds a token, which opens the page once and leaves a cookie; who has
the page open may ask for further ones, for other browsers. Other sites that the same browser has
open can reach the port as well, so names, origins and headers are checked, too.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie

# Addresses that wait to be opened.
MOST_INVITED = 20


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
        """A new token, which opens the page once; of very many the latest are good."""
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
        """Whether the server was asked by its own name: another one that leads here is a trick."""
        return len(hosts) == 1 and hosts[0].lower() in self.hosts

    def is_own_origin(self, origins: list[str]) -> bool:
        """Whether a request comes from this page, if it says where it comes from."""
        return all(
            origin.lower() in {f"http://{host}" for host in self.hosts} for origin in origins
        )


def _same(one: str, other: str) -> bool:
    """Compare in a time that does not tell how much is right."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))
