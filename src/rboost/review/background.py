"""Work that a page does not wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Refresher:
    """Repeats the same work in the background whenever it is asked to.

    However often it is asked while the work runs, the work is done once more after that.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._turn = threading.Condition()
        self._is_wanted = self._is_running = False
        self.error: str | None = None

    def ask(self) -> None:
        """Have the work done, soon."""
        with self._turn:
            self._is_wanted = True
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._turn:
                if not self._is_wanted:
                    self._is_running = False
                    self._turn.notify_all()
                    return
                self._is_wanted = False
            try:
                self._work()
                self.error = None
            except Exception as error:  # the page says so; the next run may do better
                self.error = in_one_line(error)

    @property
    def is_settled(self) -> bool:
        """Whether all that was asked for is done."""
        with self._turn:
            return not self._is_running

    def wait(self, seconds: float | None = 60.0) -> None:
        """Return when all that was asked for is done."""
        _wait(self._turn, lambda: not self._is_running, seconds)


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
