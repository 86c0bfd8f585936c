"""A progress bar in a dozen lines, so that the core needs no package for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def track(items: Iterable[Item], total: int, description: str, enabled: bool) -> Iterator[Item]:
    """Yield the items; when enabled, show on standard error how many are done and the time left.

    Where standard error is no terminal, only the last line is written.
    """
    if not enabled:
        yield from items
        return
    start = drawn = time.monotonic()
    terminal = sys.stderr.isatty()
    done = 0
    try:
        for item in items:
            yield item
            done += 1
            now = time.monotonic()
            if terminal and now - drawn > 0.1:
                drawn = now
                left = (now - start) / done * (total - done)
                # \x1b[K clears what a longer earlier line left behind.
                sys.stderr.write(f"\r{_bar(description, done, total)}, {left:.0f} s left\x1b[K")
                sys.stderr.flush()
    finally:  # also when the loop ends early
        elapsed = f"{time.monotonic() - start:.1f} s"
        clear = ("\r", "\x1b[K") if terminal else ("", "")
        sys.stderr.write(f"{clear[0]}{_bar(description, done, total)}, {elapsed}{clear[1]}\n")


def _bar(description: str, done: int, total: int, width: int = 30) -> str:
    filled = width * done // max(total, 1)
    return f"{description} {'█' * filled}{'░' * (width - filled)} {done}/{total}"
