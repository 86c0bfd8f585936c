"""How a case may end: in a result, or in one sentence. All else is a failure."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rboost
from rboost.cli import main

# What the command line turns into a sentence.
SAID = (ValueError, OSError, ImportError, MemoryError)
# What no message for a person holds.
RAW = re.compile(
    r"Traceback|\bobject at 0x|encountered in|\bdtype\b|NoneType|unhashable|"
    r"out of bounds|not supported between|truth value|codec can't"
)
PACKAGE = str(Path(rboost.__file__).parent)


class Failed(Exception):  # noqa: N818 - what a case ends in, not an error of this program
    """A case that ended badly."""


class TookTooLong(BaseException):
    """A case that did not end; nothing else catches it."""


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    code: int
    out: str
    errors: str


def command(*arguments: str) -> Ending:
    """Run a command line and check what it ends in; ``--help`` and the like are no part of this."""
    out, errors = io.StringIO(), io.StringIO()
    showing = warnings.showwarning
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                code = main(list(arguments))
            except SystemExit as end:  # the parser of arguments ends so
                code = end.code if isinstance(end.code, int) else 1
    finally:
        warnings.showwarning = showing
    ending = Ending(code, out.getvalue(), errors.getvalue())
    lines = [line for line in ending.errors.splitlines() if line.strip()]
    if ending.code not in (0, 2):
        raise Failed(f"exit code {ending.code}: {ending.errors[-300:]}")
    if raw := RAW.search(ending.errors):
        raise Failed(f"standard error says {raw[0]!r}: {ending.errors[-300:]}")
    if ending.code == 2 and not (lines and re.match("rboost( [a-z]+)*: .", lines[-1])):
        raise Failed(f"no sentence: {ending.errors[-300:]!r}")
    is_usage = ending.errors.startswith("usage: ")
    if not is_usage and not all(line.startswith("rboost: ") for line in lines):
        raise Failed(f"not one sentence a line: {ending.errors[-300:]!r}")
    return ending


def said(call: Callable[[], Any]) -> Any:
    """What a call returns; None where it ends in a sentence of this package."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except SAID as error:
        check_sentence(error)
        return None


def check_sentence(error: BaseException, others: tuple[str, ...] = ()) -> None:
    """Fail unless an error is one sentence of this package, or comes from one of the ``others``."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename:
        return  # the command line makes a sentence of it
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    if any(other in name for other in others for name in frames):
        return
    if (
        not frames[-1].startswith(PACKAGE)
        or not text.rstrip().endswith((".", "?"))
        or RAW.search(text)
    ):
        raise Failed(
            f"no sentence of this package: {type(error).__name__}: {text[:300]}"
        ) from error


def contents(folder: Path) -> dict[str, str]:
    """Every file and folder below a folder, with the digest of what a file holds."""
    return {
        str(path.relative_to(folder)): digest(path) if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


def check_untouched(before: dict[str, str], folder: Path) -> None:
    """Fail if a command that ended in a sentence left anything behind."""
    after = contents(folder)
    changed = [name for name in {*before, *after} if before.get(name) != after.get(name)]
    if changed:
        raise Failed(f"a command that failed changed {sorted(changed)[:5]}")


def check_audit(folder: Path) -> None:
    """Fail unless the files of an audit belong together and nothing half-written lies there."""
    record = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    for name, vouched in record["files"].items():
        if digest(folder / name) != vouched:
            raise Failed(f"{name} is not the file that audit.json vouches for")
    names = {path.name for path in folder.iterdir()}
    if missing := {"suspects.csv", "report.html", "model.rboost", "rows.npz"} - names:
        raise Failed(f"the audit lacks {sorted(missing)}")
    if left := [name for name in names if name.startswith(".")]:
        raise Failed(f"the audit left {left} behind")


def digest(path: Path) -> str:
    """What a file holds, in short."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
