"""A progress bar in a few lines, so that the core needs no package for it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

# What takes less time (in seconds) needs no bar, and a bar is drawn again after so long: notebooks
# keep all that was drawn.
DELAY, IN_TERMINAL, IN_NOTEBOOK = 0.5, 0.1, 0.5


def track(items: Iterable[Item], total: int, description: str, enabled: bool) -> Iterator[Item]:
    """Yield the items; when enabled, show on standard error how many are done and the time left.

    ``description`` says what is being done. The bar moves in a terminal and in a notebook; only
    its last line is written elsewhere. Nothing is shown below half a second.
    """
    if not enabled:
        yield from items
        return
    start = drawn = time.monotonic()
    pause = _pause()
    done = width = 0
    try:
        for item in items:
            yield item
            done += 1
            now = time.monotonic()
            if now - start > DELAY and now - drawn > pause:
                drawn = now
                left = (now - start) / done * (total - done)
                width = _draw(f"{_bar(description, done, total)}, {left:.0f} s left", width)
    finally:  # also when the loop ends early
        elapsed = time.monotonic() - start
        if elapsed > DELAY:
            # A loop may end early since it has found what it looked for: no bar is left half full.
            early = f"{description}: ended after {done} of at most {total}"
            line = f"{_bar(description, done, total) if done >= total else early}, {elapsed:.1f} s"
            _draw(line, width, start="" if pause == float("inf") else "\r", end="\n")


def _pause() -> float:
    """Seconds between two drawings; infinite where a line cannot be drawn over."""
    if sys.stderr.isatty():
        return IN_TERMINAL
    # In a notebook, standard error is a class of the kernel's; it knows carriage returns.
    is_notebook = type(sys.stderr).__module__.partition(".")[0] == "ipykernel"
    return IN_NOTEBOOK if is_notebook else float("inf")


def _draw(line: str, width: int, start: str = "\r", end: str = "") -> int:
    """Write a line over an earlier one, blanks over what sticks out; return the width to cover."""
    with contextlib.suppress(OSError):  # nobody looks, and the work goes on
        sys.stderr.write(f"{start}{line:<{width}}{end}")
        sys.stderr.flush()
    return len(line)


def _bar(description: str, done: int, total: int, width: int = 30) -> str:
    filled = width * done // max(total, 1)
    return f"{description} {'█' * filled}{'░' * (width - filled)} {done}/{total}"
