"""Results on disk that survive a kill: one line of JSON for each finished piece of work."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class ResultStore:
    """A file of finished results, each under its key; lines are only ever added.

    A line is on disk before the next piece of work is counted as done. A kill can leave half a
    line at the end, which the next run removes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results = self._recover()

    def _recover(self) -> dict[str, Record]:
        """Read every whole line and cut off what a kill left behind it."""
        if not self.path.exists():
            return {}
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        lines = (json.loads(line) for line in whole.splitlines())
        return {line["key"]: line["result"] for line in lines}

    def add(self, key: str, result: Record) -> None:
        """Write one result down, for good."""
        line = json.dumps({"key": key, "result": result}) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        self.results[key] = result


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file by its new content, or leave it as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
