"""A progress bar in a dozen lines, so that the core needs no package for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def track(items: Iterable[Item], total: int, description: str, enabled: bool) -> Iterator[Item]:
    """Yield the items; when enabled, show on standard error how many are done and the time left."""
    if not enabled:
        yield from items
        return
    start = drawn = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += 1
        now = time.monotonic()
        if now - drawn > 0.1:
            drawn = now
            _draw(description, done, total, f"{(now - start) / done * (total - done):.0f} s left")
    _draw(description, done, total, f"{time.monotonic() - start:.1f} s")
    sys.stderr.write("\n")


def _draw(description: str, done: int, total: int, note: str, width: int = 30) -> None:
    filled = width * done // max(total, 1)
    bar = "█" * filled + "░" * (width - filled)
    # \x1b[K clears what a longer earlier line left behind.
    sys.stderr.write(f"\r{description} {bar} {done}/{total}, {note}\x1b[K")
    sys.stderr.flush()
