"""Results on disk that survive a kill: one line of JSON for each finished piece of work."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class ResultStore:
    """A file of finished results, each under its key; lines are only ever added.

    A line is on disk before the next piece of work is counted as done. A kill can leave half a
    line at the end; it is never read, and removed before the next line is added.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        content = path.read_bytes() if path.exists() else b""
        self._length = content.rfind(b"\n") + 1
        self.results = dict(self._parse(content[: self._length]))

    def _parse(self, lines: bytes) -> Iterator[tuple[str, Record]]:
        for number, line in enumerate(lines.splitlines(), start=1):
            try:
                entry = json.loads(line)
                yield entry["key"], entry["result"]
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"Line {number} of {self.path} is damaged; delete that line to measure it anew."
                ) from error

    def add(self, key: str, result: Record) -> None:
        """Write one result down, for good."""
        line = (json.dumps({"key": key, "result": result}) + "\n").encode()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("r+b" if self.path.exists() else "wb") as file:
            file.truncate(self._length)
            file.seek(self._length)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._length += len(line)
        self.results[key] = result
