"""The page about audits of data sets that are larger than memory."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.machine import GIB
from benchmarks.markdown import table
from benchmarks.scale.data import CLASSES, FLIPPED
from benchmarks.store import Record

MOST_MEMORY = 6e9
HEAD = (
    "rows", "on disk", "seconds", "seconds per million rows", "peak memory", "rates found",
    "first suspects wrong", "average precision",
)  # fmt: skip


def page(sizes: Sequence[Record]) -> str:
    """What every size took and found, and whether targets are met."""
    flips = " and ".join(
        f"{100 * rate:.0f} % of “{name}”" for name, rate in zip(CLASSES, FLIPPED, strict=True)
    )
    text = (
        "The command `rboost audit 'data/*.parquet' --label label --cluster local` on made-up rows "
        "of two classes (numbers, counts, two columns of words, missing values), from start to "
        f"written results. Labels flipped: {flips}. Memory is the most that all processes together "
        "held at a time, sampled twice a second. First suspects wrong: the share of wrong labels "
        "among the first rows of `suspects.csv`; average precision: of the ranking of all rows."
    )
    parts = ["# Larger than memory", text, table(HEAD, map(_row, sizes))]
    return "\n\n".join([*parts, *verdicts(sizes)]) + "\n"


def verdicts(sizes: Sequence[Record]) -> list[str]:
    """Whether time grows at most linearly, and whether the peak is small enough."""
    first, last = (chosen(sizes, key=lambda size: size["rows"]) for chosen in (min, max))
    ratio = per_million(last) / per_million(first)
    found = []
    if first is not last:
        found.append(
            f"Time at most linear: {'yes' if ratio <= 1 else 'no'}, a row of {last['rows']:,} "
            f"takes {ratio:.2f} times as long as one of {first['rows']:,}."
        )
    peak = max(size["peak"] for size in sizes)
    is_small = "yes" if peak < MOST_MEMORY else "no"
    found.append(f"Peak memory below {MOST_MEMORY / 1e9:.0f} GB: {is_small}, {peak / 1e9:.2f} GB.")
    return found


def per_million(size: Record) -> float:
    """Seconds for a million of the rows."""
    return float(1e6 * size["seconds"] / size["rows"])


def _row(size: Record) -> list[str]:
    return [
        f"{size['rows']:,} × {size['columns']}",
        f"{size['on disk'] / GIB:.2f} GiB",
        f"{size['seconds']:.0f}",
        f"{per_million(size):.1f}",
        f"{size['peak'] / GIB:.2f} GiB",
        ", ".join(f"{rate:.3f}" for rate in size["rates"]),
        f"{size['precision']:.1%} of {size['n suspects']:,}",
        f"{size['average precision']:.3f}",
    ]
