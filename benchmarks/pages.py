"""Pages of figures: each ends with the command, the code, the machine and the day it comes from.

    python -m benchmarks.pages

says which of these pages under docs are older than the code that they measure; ``make figures``
names pages that say nothing of their origin, too.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from benchmarks.code import code_fingerprint
from benchmarks.machine import machine_in_words
from rboost.files import write_atomically

ROOT = Path(__file__).parents[1]
HEADING = "## Where these figures come from"
STAMP = re.compile(
    rf"^{HEADING}\n\n`python -m (?P<module>\S+)(?P<arguments>[^`]*)`, (?P<date>[-\d]+), "
    r"(?P<commit>[^;]+); code (?P<code>\w+)\.",
    flags=re.MULTILINE,
)


@dataclass(frozen=True)
class Origin:
    """Where a page says that its figures come from."""

    module: str
    arguments: str
    date: str
    commit: str
    code: str

    @property
    def is_current(self) -> bool:
        """Whether the code that was measured is the code as it is."""
        return self.code == code_fingerprint(self.module)


def write_page(
    path: Path,
    text: str,
    module: str,
    arguments: Sequence[str] | None,
    packages: Iterable[str] = (),
) -> None:
    """Write what ``python -m module arguments`` found; versions of ``packages`` are told too."""
    given = sys.argv[1:] if arguments is None else arguments
    command = shlex.join(["python", "-m", module, *given])
    origin = (
        f"`{command}`, {date.today().isoformat()}, {_commit()}; code {code_fingerprint(module)}."
    )
    write_atomically(
        path, f"{text.rstrip()}\n\n{HEADING}\n\n{origin} {machine_in_words(packages)}\n"
    )


def read_origin(page: str) -> Origin | None:
    """What a page says of itself; None where it says nothing."""
    found = STAMP.search(page)
    return Origin(**found.groupdict()) if found else None


def _commit() -> str:
    """The commit of this checkout, and whether code was changed since."""
    hashed = _git("rev-parse", "--short=9", "HEAD")
    if not hashed:
        return "no commit"
    is_changed = _git("status", "--porcelain", "--", "src", "benchmarks")
    return f"commit {hashed}" + (" with changes" if is_changed else "")


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()


def main() -> None:
    """List all pages of figures: of which code they are, and how they are written anew."""
    for path in sorted((ROOT / "docs").rglob("*.md")):
        origin = read_origin(path.read_text(encoding="utf-8"))
        if origin is None:
            continue
        state = "current" if origin.is_current else "older than its code"
        print(f"{path.relative_to(ROOT)}: {state} ({origin.date}, {origin.commit})")
        if not origin.is_current:
            print(f"    python -m {origin.module}{origin.arguments}")


if __name__ == "__main__":
    main()
