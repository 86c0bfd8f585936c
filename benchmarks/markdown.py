"""Markdown that the pages of all benchmarks are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def number(value: float, digits: int = 1) -> str:
    """A number as it stands in a table."""
    return "–" if np.isnan(value) else f"{value:.{digits}f}"
