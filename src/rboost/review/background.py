"""Work that a page does not wait for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any


class Refresher:
    """Repeats the same work in the background whenever it is asked to.

    However often it is asked while the work runs, the work is done once more after that. The work
    waits until nobody has asked for ``quiet`` seconds, so that it does not take the time of those
    who keep asking. It does not wait longer than ``longest``, unless that made it more than a fifth
    of the time.
    """

    def __init__(self, work: Callable[[], None], quiet: float = 0.0, longest: float = 0.0) -> None:
        self._work, self._quiet, self._longest = work, quiet, longest
        self._turn = threading.Condition()
        self._n_asked = self._n_done = self._n_waiting = 0
        self._is_running = False
        self._took = 0.0
        self.error: str | None = None

    def ask(self) -> None:
        """Have the work done, soon."""
        with self._turn:
            self._n_asked += 1
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._turn:
                if self._n_done == self._n_asked:
                    self._is_running = False
                    self._turn.notify_all()
                    return
                self._wait_for_quiet()
                asked = self._n_asked
            begin = time.monotonic()
            try:
                self._work()
                self.error = None
            except Exception as error:  # the page says so; the next run may do better
                self.error = in_one_line(error)
            self._n_done, self._took = asked, time.monotonic() - begin

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
    def is_settled(self) -> bool:
        """Whether all that was asked for is done."""
        with self._turn:
            return not self._is_running

    def wait(self, seconds: float | None = 60.0) -> None:
        """Return when all that was asked for is done, without pauses before it."""
        with self._turn:
            self._n_waiting += 1
            self._turn.notify_all()
        try:
            _wait(self._turn, lambda: not self._is_running, seconds)
        finally:
            with self._turn:
                self._n_waiting -= 1


class Job:
    """A long piece of work, one at a time, whose end somebody asks for later."""

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self.status = "idle"
        self.result: Any = None
        self.error: str | None = None

    def start(self, work: Callable[[], Any]) -> bool:
        """Start it, unless one runs already; return whether it was started."""
        with self._turn:
            if self.status == "running":
                return False
            self.status, self.result, self.error = "running", None, None
        threading.Thread(target=self._run, args=(work,), daemon=True).start()
        return True

    def _run(self, work: Callable[[], Any]) -> None:
        status, result, sentence = "failed", None, None
        try:
            result = work()
            status = "done"
        except Exception as error:
            sentence = in_one_line(error)
        with self._turn:
            self.status, self.result, self.error = status, result, sentence
            self._turn.notify_all()

    def wait(self, seconds: float | None = 60.0) -> None:
        """Return when no work runs."""
        _wait(self._turn, lambda: self.status != "running", seconds)


def _wait(turn: threading.Condition, is_done: Callable[[], bool], seconds: float | None) -> None:
    with turn:
        if not turn.wait_for(is_done, seconds):
            raise TimeoutError(f"The work was not done within {seconds:g} seconds.")


def in_one_line(error: Exception, longest: int = 300) -> str:
    """What an error says, without its line breaks."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= longest else f"{text[:longest]}…"
