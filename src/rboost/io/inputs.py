"""Which files are meant: patterns such as ``data/*.csv``, and ``-`` for standard input."""

from __future__ import annotations

import contextlib
import glob
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

STANDARD_INPUT = Path("-")


def expanded(names: Sequence[str | Path]) -> tuple[Path, ...]:
    """The files that names and patterns stand for, each once, those of a pattern by name."""
    paths: dict[Path, Path] = {}
    for name in names:
        path = Path(name)
        found = [path]
        if path != STANDARD_INPUT and glob.has_magic(str(path)) and not path.exists():
            found = [
                one for one in map(Path, sorted(glob.glob(str(path), recursive=True)))
                if one.is_file()
            ]  # fmt: skip
            if not found:
                raise FileNotFoundError(f"No file matches {path}; check the pattern.")
        for one in found:
            key = one if one == STANDARD_INPUT else one.resolve()
            if key in paths:
                raise ValueError(f"{one} is named twice; name each file once.")
            paths[key] = one
    return tuple(paths.values())


@contextlib.contextmanager
def with_standard_input(paths: Sequence[Path]) -> Iterator[tuple[Path, ...]]:
    """Yield the paths with a file of what standard input holds in its place, while it is needed."""
    if STANDARD_INPUT not in paths:
        yield tuple(paths)
        return
    if sys.stdin.isatty():
        raise ValueError(
            "Standard input is the keyboard; send a table there, as in: cat table.csv | rboost …"
        )
    with tempfile.TemporaryDirectory(prefix="rboost-") as folder:
        kept = Path(folder) / "standard input"
        with kept.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield tuple(kept if path == STANDARD_INPUT else path for path in paths)
