"""Which code is behind a module: the modules that it imports, and those that they import.

Found by reading, not by running, so imports inside functions count, and modules that are named in
strings (to be imported late, or by another process) do too.
"""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import rboost

ROOTS = {"rboost": Path(rboost.__file__).parent, "benchmarks": Path(__file__).parent}
NATIVE = ROOTS["benchmarks"].parent / "src" / "native"
OURS = re.compile(r"\b(?:rboost|benchmarks)(?:\.\w+)+")


@cache
def code_fingerprint(module: str) -> str:
    """A number that changes with what the module, or ``python -m`` of it, does."""
    return fingerprint_of([*code_of(module), *sorted(NATIVE.glob("*.[ch]pp"))])


def code_of(module: str) -> frozenset[Path]:
    """The files of all modules behind one, with the templates beside them."""
    found: set[Path] = set()
    waiting = [module, f"{module}.__main__"]
    while waiting:
        module = waiting.pop()
        path = _file_of(module)
        if path is None or path in found:
            continue
        found |= {path, *path.parent.glob("*.jinja")}
        waiting += _named_in(path)
        waiting.append(module.rpartition(".")[0])  # its package runs first
    return frozenset(found)


def _file_of(module: str) -> Path | None:
    package, *names = module.split(".")
    if package not in ROOTS:
        return None
    path = ROOTS[package].joinpath(*names)
    files = (path / "__init__.py", path.with_name(f"{path.name}.py"))
    return next((file for file in files if file.exists()), None)


@cache
def _named_in(path: Path) -> list[str]:
    """Names of ours that may be modules; of strings, those that are used for something."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and id(node) not in docstrings:
            found += OURS.findall(str(node.value))
    return [name for name in found if name.partition(".")[0] in ROOTS]


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
