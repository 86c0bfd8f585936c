"""Which code a result comes from."""

from __future__ import annotations

import ast
import zlib
from collections.abc import Iterable
from pathlib import Path


def fingerprint_of(sources: Iterable[Path], versions: Iterable[str] = ()) -> str:
    """A number that changes with what the sources do, the same for every version of Python.

    Docstrings, blank lines and comments on lines of their own do not change it.
    """
    text = "".join([*sorted(map(_what_it_does, sources)), *versions])
    return f"{zlib.crc32(text.encode()):08x}"


def _what_it_does(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.suffix == ".py":
        for start, end in _docstrings(ast.parse("\n".join(lines))):
            lines[start - 1 : end] = [""] * (end - start + 1)
        lines = [line for line in lines if not line.lstrip().startswith("#")]
    return "\n".join(line for line in lines if line.strip())


def _docstrings(tree: ast.Module) -> Iterable[tuple[int, int]]:
    """Their first and last lines."""
    for node in ast.walk(tree):
        body = getattr(node, "body", [])
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            yield first.lineno, first.end_lineno or first.lineno
