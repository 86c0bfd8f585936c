"""Work that a page does not wait for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any


class Task:
    """Work that is done in the background whenever it is asked for.

    Requests that arrive while it runs lead to one more run. Requests are debounced: a run starts
    when none has come for ``quiet`` seconds, or after ``longest`` seconds, or after four times the
    duration of the last run if that is longer, so that runs take at most a fifth of the time.
    ``result`` is what the last run returned, ``error`` why it failed; ``n_done`` requests are done.
    """

    def __init__(self, work: Callable[[], Any], quiet: float = 0.0, longest: float = 0.0) -> None:
        self._work, self._quiet, self._longest = work, quiet, longest
        self._turn = threading.Condition()
        self._n_asked = self.n_done = self._n_waiting = 0
        self._is_running = False
        self._took = 0.0
        self.result: Any = None
        self.error: str | None = None

    def ask(self) -> None:
        """Have the work done, soon."""
        with self._turn:
            self._n_asked += 1
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, daemon=True).start()

    def start(self) -> bool:
        """Have the work done unless it runs already; return whether it was started."""
        with self._turn:
            if self._is_running:
                return False
            self.result = self.error = None
            self.ask()
            return True

    def _run(self) -> None:
        while True:
            with self._turn:
                if self.n_done == self._n_asked:
                    self._is_running = False
                    self._turn.notify_all()
                    return
                self._wait_for_quiet()
                asked = self._n_asked
            begin = time.monotonic()
            try:
                self.result, self.error = self._work(), None
            except Exception as error:  # the page says so; the next run may do better
                self.error = in_one_line(error)
            self.n_done, self._took = asked, time.monotonic() - begin

    def _wait_for_quiet(self) -> None:
        """Return when nobody has asked for a while, or somebody waits for the work."""
        end = time.monotonic() + max(self._longest, 4 * self._took)
        asked = -1
        while asked != self._n_asked and not self._n_waiting:
            asked = self._n_asked
            pause = min(self._quiet, end - time.monotonic())
            if pause <= 0:
                return
            self._turn.wait_for(lambda: self._n_waiting > 0, pause)

    @property
    def status(self) -> str:
        """Whether the work is "idle" as nobody asked, "running", or "done" or "failed"."""
        with self._turn:
            if self._is_running:
                return "running"
            if self.error is not None:
                return "failed"
            return "done" if self.n_done else "idle"

    def wait(self, seconds: float | None = 60.0) -> None:
        """Return when all that was asked for is done, without pauses before it."""
        with self._turn:
            self._n_waiting += 1
            self._turn.notify_all()
            is_done = self._turn.wait_for(lambda: not self._is_running, seconds)
            self._n_waiting -= 1
        if not is_done:
            raise TimeoutError(f"The work was not done within {seconds:g} seconds.")


def in_one_line(error: Exception, longest: int = 300) -> str:
    """What an error says, without its line breaks."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= longest else f"{text[:longest]}…"
