"""Audits beside the truth: how many planted errors are found, and what a large table costs.

    python -m benchmarks.audit            # breast cancer and all pairs of digits, 20 % flipped
    python -m benchmarks.audit --rows 100000 1000000   # the whole command on tables of that size
    python -m benchmarks.audit --promises   # errors of all kinds: promised and true precision

prints and writes ``planted.md``, ``size.md`` or ``promises.md`` to docs/audit. It needs the extras
``audit`` and ``paper``.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits

from benchmarks import promises
from benchmarks.markdown import table
from benchmarks.pages import write_page
from rboost.audit import audit_labels
from rboost.audit.disk.folder import read_audit
from rboost.noise import flip_labels, symmetric

RATE = 0.2
OUT = Path("docs/audit")


@dataclass(frozen=True)
class Found:
    """An audit of a table with planted errors, and as many suspects as there are errors."""

    name: str
    n_rows: int
    n_planted: int
    precision: float
    expected_precision: float
    rates: tuple[float, float]


def tables() -> Iterator[tuple[str, Any, Any]]:
    """Tables of two classes whose labels are believed to be right."""
    yield ("breast cancer", *load_breast_cancer(return_X_y=True))
    X, y = load_digits(return_X_y=True)
    for first, second in combinations(range(10), 2):
        rows = np.isin(y, [first, second])
        yield f"digits {first} and {second}", X[rows], (y[rows] == second).astype(int)


def measure(name: str, X: Any, y: Any, seed: int) -> Found:
    """Flip labels, audit them, compare."""
    observed, flipped = flip_labels(y, symmetric(RATE), random_state=seed)
    audit = audit_labels(X, observed, random_state=seed)
    suspects = audit.suspects(n=int(flipped.sum()))
    noise = audit.noise_matrix
    return Found(
        name, len(y), int(flipped.sum()), float(flipped[suspects.rows].mean()),
        suspects.expected_precision, (float(noise[0, 1]), float(noise[1, 0])),
    )  # fmt: skip


def planted_report(found: Sequence[Found]) -> str:
    """Means over seeds, the worst pair, and how many meet what is asked of an audit."""
    names = list(dict.fromkeys(one.name for one in found))
    rows = []
    for name in names:
        of_name = [one for one in found if one.name == name]
        precision = np.array([one.precision for one in of_name])
        gap = np.array([one.expected_precision for one in of_name]) - precision
        rows.append(
            [name, str(of_name[0].n_rows), f"{precision.mean():.1%}", f"{precision.min():.1%}",
             f"{gap.mean():+.1%}", f"{np.abs(gap).max():.1%}"]
        )  # fmt: skip
    recall = np.array([one.precision for one in found])
    gaps = np.array([one.expected_precision - one.precision for one in found])
    head = ["table", "rows", "found", "least", "expected − true", "largest"]
    return "\n".join(
        [
            "# Planted errors",
            "",
            f"{RATE:.0%} of the labels of each class flipped; as many suspects as there are flips, "
            "so the share of flips found is also the precision.",
            "",
            f"Of {len(found)} audits {np.mean(recall >= 0.85):.0%} find at least 85 %; "
            f"the expected precision is within 10 points of the true one in "
            f"{np.mean(np.abs(gaps) <= 0.1):.0%}, on average {np.abs(gaps).mean():.1%} off "
            f"(mean found {recall.mean():.1%}, mean expected {(recall + gaps).mean():.1%}).",
            "",
            table(head, rows),
            "",
        ]
    )


def large_table(n_rows: int, random: np.random.RandomState) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Twenty columns of all kinds with a label, and which tenth of the labels is wrong."""
    numbers = random.standard_normal((n_rows, 12)).astype(np.float32)
    data = pd.DataFrame(numbers, columns=[f"measurement {k}" for k in range(12)])
    for k, n_values in enumerate((3, 5, 8, 20)):
        data[f"category {k}"] = random.choice([f"value {i}" for i in range(n_values)], n_rows)
    data["city"] = random.choice([f"city {i}" for i in range(300)], n_rows)
    days = pd.to_timedelta(random.randint(0, 1500, n_rows), unit="D")
    data["since"] = (pd.Timestamp("2020-01-01") + days).astype(str)
    words = np.array(["called about a bill", "wants a refund", "is content", "line is slow"])
    data["note"] = words[random.randint(0, 4, n_rows)]
    data["note"] += " " + pd.Series(random.randint(0, 1000, n_rows)).astype(str)
    data["flag"] = random.uniform(size=n_rows) > 0.5
    data.loc[random.uniform(size=n_rows) < 0.1, "measurement 3"] = np.nan
    score = (
        1.5 * numbers[:, 0] + numbers[:, 1] * numbers[:, 2] + 2 * (data["category 1"] == "value 1")
    )
    true = random.uniform(size=n_rows) < 1 / (1 + np.exp(-3 * (score - 0.5)))
    wrong = random.uniform(size=n_rows) < np.where(true, 0.15, 0.05)
    data["churn"] = np.where(true ^ wrong, "yes", "no")
    return data, wrong


def measure_size(n_rows: int) -> list[str]:
    """Seconds and peak memory of the whole command in a process of its own; what it finds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "table.csv"
        data, wrong = large_table(n_rows, np.random.RandomState(0))
        data.to_csv(path, index=False)
        code = "import sys; from rboost.cli import main; sys.exit(main(sys.argv[1:]))"
        arguments = ["audit", str(path), "--label", "churn", "--out", str(folder / "audit")]
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, *arguments], check=True)
        seconds = time.perf_counter() - start
        found = wrong[read_audit(folder / "audit").suspects(n=int(wrong.sum())).rows].mean()
    # The largest of all children so far, so tables are measured from small to large.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
    return [f"{n_rows:,}", f"{seconds:.0f} s", f"{peak:.2f} GiB", f"{found:.1%}"]


def size_report(rows: Sequence[Sequence[str]]) -> str:
    """What ``rboost audit`` takes from reading the file to the finished report."""
    text = (
        "The command `rboost audit` on a CSV file with 20 columns (numbers, categories, a date, a "
        "text), from reading it to the report. Found: the share of wrong labels among as many "
        "suspects as there are wrong labels."
    )
    return f"# Size\n\n{text}\n\n{table(['rows', 'time', 'peak memory', 'found'], rows)}\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="draws of the flips (3)")
    parser.add_argument("--rows", type=int, nargs="+", help="measure time and memory instead")
    parser.add_argument("--promises", action="store_true", help="errors of all kinds instead")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    if options.rows:
        text = size_report([measure_size(n_rows) for n_rows in sorted(options.rows)])
        path = OUT / "size.md"
    elif options.promises:
        text, path = promises.run(options.jobs), OUT / "promises.md"
    else:
        found = Parallel(n_jobs=options.jobs)(
            delayed(measure)(*one, seed) for one in tables() for seed in range(options.seeds)
        )
        text, path = planted_report(found), OUT / "planted.md"
    print(text)
    write_page(path, text, "benchmarks.audit", arguments, ("pandas",))


if __name__ == "__main__":
    main()
