"""Connections of the page: none that keeps the server waiting stays open, and never too many."""

from __future__ import annotations

import asyncio
import math
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from rboost.review.web.guard import CONNECTION

# Seconds in which a request must have arrived, and in which some of a reply must be read.
PATIENCE = 10.0
# Connections that are open at the same time; a browser has six. Some systems give a process 256
# files, and as many as this wait to be accepted or to be closed.
MOST_OPEN = 32


class Connection(H11Protocol):
    """Ends when its request or the reader of its reply is late, or as one of too many.

    Those end first that have not shown the secret of the session, as anybody can open them; of
    these the one that has waited longest, never the newest.
    """

    since, is_ended, _unsent = 0.0, False, math.inf
    is_known = False  # whether a request had the secret
    _expiry: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request, and make room for it."""
        super().connection_made(transport)
        self.app_state = {CONNECTION: self}
        self._expect()
        known = [each for each in self.connections if isinstance(each, Connection)]
        opened = [each for each in known if not each.is_ended]
        late = [each for each in opened if each is not self and not each.is_needed]
        if len(opened) > MOST_OPEN and late:
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
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        if self.is_answering or 0 < self._unsent < before:
            self._wait()
        else:
            self._end()

    def _end(self) -> None:
        self.is_ended = True  # though the loop closes it later
        self.transport.abort()


def settings() -> dict[str, Any]:
    """What uvicorn is told of the server; its warnings are for those who write servers."""
    return {
        "http": Connection, "backlog": MOST_OPEN, "lifespan": "off", "ws": "none",
        "log_level": "error", "access_log": False, "server_header": False,
        "timeout_graceful_shutdown": 3,
    }  # fmt: skip
