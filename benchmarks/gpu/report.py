"""The page about fits on a GPU."""

from __future__ import annotations

from benchmarks.equality import differences
from benchmarks.gpu.parts import N_COLUMNS, PINNED, TURNS
from benchmarks.markdown import table
from benchmarks.store import Record

MOST_SECONDS, LEAST_FASTER = 60, 15
TIMED = tuple(name for turn in TURNS for name in turn if name != "equality")
Results = dict[str, list[Record]]


def page(results: Results) -> str:
    """Times, targets, and how equal GPU and CPU are."""
    text = (
        f"Made-up rows of {N_COLUMNS} columns (float32) in the memory of the host, labels flipped "
        "(two classes: 20 % and 10 %; ten: 20 % to the next class), the default settings with "
        '`device="cuda"`; measured until `label_issue_probability_` is an array of NumPy. CUDA '
        "was warmed up on a small table before, every time is of one fit. The fits by one core ran "
        "beside each other and beside the comparison below, each pinned to a core of its own."
    )
    head = [
        "", "rows", "classes", "seconds", "rounds", "rates off by at most", "average precision"
    ]  # fmt: skip
    rows = [_row(name, results[name][0]) for name in TIMED if results.get(name)]
    parts = ["# On a GPU", text, table(head, rows), *verdicts(results)]
    if results.get("equality"):
        parts += ["## GPU and CPU", differences(results["equality"], ("CPU", "GPU"))]
    return "\n\n".join(parts) + "\n"


def verdicts(results: Results) -> list[str]:
    """Whether the many rows take little enough, and how many times faster the GPU is."""
    seconds = {name: found[0]["seconds"] for name, found in results.items() if _is_done(found)}
    said = []
    if "many rows" in seconds:
        is_met = "yes" if seconds["many rows"] < MOST_SECONDS else "no"
        rows = results["many rows"][0]["rows"]
        said.append(
            f"{rows:,} rows in less than {MOST_SECONDS} s: {is_met}, {seconds['many rows']:.1f} s."
        )
    for name in PINNED:
        # A fit that was stopped took at least so long.
        found = results.get(name)
        if found and "GPU" in seconds:
            ratio = seconds.get(name, found[0].get("stopped after")) / seconds["GPU"]
            at_least = "" if name in seconds else "more than "
            is_met = "yes" if ratio >= LEAST_FASTER else "no"
            said.append(
                f"At least {LEAST_FASTER} times as fast as {name}: {is_met}, "
                f"{at_least}{ratio:.1f} times."
            )
    return said


def _is_done(found: list[Record]) -> bool:
    return bool(found) and "seconds" in found[0]


def _row(name: str, found: Record) -> list[str]:
    if "seconds" not in found:
        return [name, "", "", f"not finished ({found['stopped after']:.0f} s)", "", "", ""]
    return [
        name,
        f"{found['rows']:,}",
        str(found["classes"]),
        f"{found['seconds']:.1f}",
        str(found["rounds"]),
        f"{found['rates off']:.3f}",
        f"{found['average precision']:.3f}",
    ]
