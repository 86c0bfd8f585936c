"""Which pages of figures are older than the code that they measure: ``make figures``.

    python -m benchmarks.figures

lists all pages, and those that docs/benchmarks.md links to and that say nothing of their origin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchmarks import pages


def without_origin() -> Iterator[str]:
    """Pages of figures that do not say which code they are of."""
    docs = pages.ROOT / "docs"
    text = (docs / "benchmarks.md").read_text(encoding="utf-8")
    for name in re.findall(r"\]\((\w+/\w+\.md)\)", text):
        if pages.read_origin((docs / name).read_text(encoding="utf-8")) is None:
            yield f"docs/{name}"


def main() -> None:
    """Print a line for each page."""
    pages.main()
    for name in without_origin():
        print(f"{name}: older than its code (it does not say which code it is of)")


if __name__ == "__main__":
    main()
