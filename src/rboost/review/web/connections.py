"""Connections of the page: none that keeps the server waiting stays open, and never too many."""

from __future__ import annotations

import asyncio
import math
import ssl
from functools import partial
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from rboost.review.web.guard import CONNECTION

# Seconds in which a request must have arrived, and in which some of a reply must be read.
PATIENCE = 10.0
# Connections that are open at the same time; a browser has six. Some systems give a process 256
# files, and as many as this wait to be accepted or to be closed.
MOST_OPEN = 32
OF_A_BROWSER = 6


class Connection(H11Protocol):
    """Ends when its request or the reader of its reply is late, or as one of too many.

    Those end first that have not shown the secret of the session, as anybody can open them; of
    these the one that has waited longest, never the newest.
    """

    since, is_ended, _unsent = 0.0, False, math.inf
    is_known = False  # whether a request had the secret
    _expiry: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, n_more: int = 0, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._n_more = n_more  # open connections beyond the usual

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request, and make room for it."""
        super().connection_made(transport)
        self.app_state = {CONNECTION: self}
        self._expect()
        known = [each for each in self.connections if isinstance(each, Connection)]
        opened = [each for each in known if not each.is_ended]
        late = [each for each in opened if each is not self and not each.is_needed]
        if len(opened) > MOST_OPEN + self._n_more and late:
            min(late, key=lambda each: (each.is_known, each.since))._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        super().connection_lost(exc)
        self._stop_waiting()

    def on_response_complete(self) -> None:
        """Expect the next request."""
        super().on_response_complete()
        self._expect()

    @property
    def is_needed(self) -> bool:
        """Whether somebody who may ask waits for a reply."""
        return self.is_known and self.is_answering

    @property
    def is_answering(self) -> bool:
        """Whether the other side waits for this one: a request is whole, and not answered."""
        cycle: Any = self.cycle  # None before the first request
        is_whole = cycle is not None and not (cycle.more_body or cycle.response_complete)
        return is_whole and not self.flow.write_paused

    def _expect(self) -> None:
        self.since, self._unsent = self.loop.time(), math.inf
        self._wait()

    def _wait(self) -> None:
        self._stop_waiting()
        self._expiry = self.loop.call_later(PATIENCE, self._expire)

    def _stop_waiting(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()

    def _expire(self) -> None:
        """End the connection, unless it is being answered or some of the reply was read."""
        before, self._unsent = self._unsent, self._count_unsent()
        if self.is_answering or 0 < self._unsent < before:
            self._wait()
        else:
            self._end()

    def _count_unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    def _end(self) -> None:
        self.is_ended = True  # though the loop closes it later
        self.transport.abort()


class SecureConnection(Connection):
    """One that is counted, and ends when it is late, from before the handshake of TLS.

    The server of asyncio tells of a connection once the handshake is over, so that any number of
    those that never begin it would be open.
    """

    def __init__(self, *arguments: Any, tls: ssl.SSLContext, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._tls = tls
        self._early: list[bytes] | None = []  # what arrives before the transport is the secure one
        self._securing: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin the handshake."""
        super().connection_made(transport)
        transport.pause_reading()  # until the handshake reads
        self._plain, self._securing = transport, self.loop.create_task(self._secure())

    async def _secure(self) -> None:
        try:
            secure = await self.loop.start_tls(
                self._plain, self, self._tls, server_side=True, ssl_handshake_timeout=PATIENCE
            )
        except OSError:  # errors of TLS, late handshakes and lost connections
            secure = None
        if secure is None or self.is_ended:
            self._end()
            self.connection_lost(None)  # which asyncio does not say during a handshake
            return
        H11Protocol.connection_made(self, secure)
        self._expect()
        early, self._early = self._early, None
        for data in early or []:
            self.data_received(data)

    def data_received(self, data: bytes) -> None:
        """Read of a request what is known to be encrypted."""
        if self._early is None:
            super().data_received(data)
        else:
            self._early.append(data)

    def _count_unsent(self) -> int:
        # The layer of TLS passes on all that it is given.
        return super()._count_unsent() + self._plain.get_write_buffer_size()


def settings(tls: ssl.SSLContext | None = None, n_reviewers: int = 0) -> dict[str, Any]:
    """What uvicorn is told of the server; its warnings are for those who write servers."""
    n_more = OF_A_BROWSER * n_reviewers
    kind = Connection if tls is None else partial(SecureConnection, tls=tls)
    return {
        "http": partial(kind, n_more=n_more), "backlog": MOST_OPEN + n_more, "lifespan": "off",
        "ws": "none", "loop": "asyncio" if tls is not None else "auto",
        "log_level": "error", "access_log": False, "server_header": False,
        "timeout_graceful_shutdown": 3,
    }  # fmt: skip
