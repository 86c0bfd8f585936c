"""Audit Parquet data sets of growing size on a local cluster, in processes of their own.

    python -m benchmarks.scale                                  # 1, 5 and 20 million rows
    python -m benchmarks.scale --rows 1000000 --data /mnt/large
    python -m benchmarks.scale --make 3000000 made-up           # only make a data set

writes scale.md to docs/scale after every size. A size that was measured with the
same code is not measured again (build/scale). It needs the extras ``dask`` and ``dev``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.code import code_fingerprint
from benchmarks.machine import machine_in_words
from benchmarks.pages import write_page
from benchmarks.scale.data import FEWEST_COLUMNS, fingerprint, make, size_on_disk
from benchmarks.scale.judge import judge
from benchmarks.scale.processes import run_measured
from benchmarks.scale.report import page
from benchmarks.store import Record, ResultStore

PACKAGES = ("pandas", "pyarrow", "xgboost", "dask", "distributed")
COMMAND = "import sys; from rboost.cli import main; sys.exit(main(sys.argv[1:]))"


def measure(folder: Path, n_rows: int, options: argparse.Namespace) -> Record:
    """Make a data set, audit it by the command, and judge what that has written."""
    make(folder, n_rows, options.columns)
    audit = folder / "audit"
    shutil.rmtree(audit, ignore_errors=True)  # or the command would go on where it was killed
    data = str(folder / "data" / "*.parquet")
    command = [sys.executable, "-c", COMMAND, "audit", data, "--label", "label"]
    command += ["--cluster", "local", "--out", str(audit)]
    if options.workers:
        command += ["--workers", str(options.workers)]
    cost = run_measured(command)
    return {
        "rows": n_rows,
        "columns": options.columns,
        "on disk": size_on_disk(folder),
        "seconds": cost.seconds,
        "peak": cost.peak,
        **judge(folder, audit),
    }


def run(options: argparse.Namespace) -> None:
    """Measure what is not yet done, and write the page after every size."""
    store = ResultStore(options.store / "results.jsonl")
    sizes: list[Record] = []
    code = f"{machine_in_words(PACKAGES)} {code_fingerprint('benchmarks.scale')}"
    for n_rows in sorted(options.rows):
        size = f"{n_rows}x{options.columns}"
        key = f"{size}/{options.workers}/{code}"
        if key not in store.results:
            store.add(key, measure(options.data / f"{size}-{fingerprint()}", n_rows, options))
        sizes.append(store.results[key])
        path = options.out / "scale.md"
        write_page(path, page(sizes), "benchmarks.scale", options.arguments, PACKAGES)
        print(json.dumps(sizes[-1]), flush=True)
    print(options.out / "scale.md")


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description="Audit data sets larger than memory."
    )
    sizes = [1_000_000, 5_000_000, 20_000_000]
    parser.add_argument("--rows", nargs="+", type=int, default=sizes, metavar="N", help="sizes")
    parser.add_argument("--columns", type=int, default=20, help="columns beside the label (20)")
    parser.add_argument("--workers", type=int, help="processes of the cluster (the command's)")
    cache = Path(tempfile.gettempdir()) / "rboost-scale"
    parser.add_argument("--data", type=Path, default=cache, help=f"where data sets stay ({cache})")
    parser.add_argument("--out", type=Path, default=Path("docs/scale"), help="folder of the page")
    parser.add_argument("--store", type=Path, default=Path("build/scale"), help=argparse.SUPPRESS)
    parser.add_argument("--make", nargs=2, metavar=("N", "DIR"), help="make N rows there, no more")
    options = parser.parse_args(arguments)
    options.arguments = arguments
    if options.make and not options.make[0].isdigit():
        parser.error(f"--make takes a number of rows and a folder, not {options.make[0]!r}")
    if options.make and (Path(options.make[1]) / "data").exists():
        parser.error(f"{options.make[1]} holds a data set already; name another folder")
    if min(options.rows) < 1 or options.columns < FEWEST_COLUMNS:
        parser.error(f"--rows must be at least 1, --columns at least {FEWEST_COLUMNS}")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Make a data set, or measure."""
    options = parse(arguments)
    if options.make:
        folder = Path(options.make[1])
        make(folder, int(options.make[0]), options.columns)
        print(folder / "data")
    else:
        run(options)


if __name__ == "__main__":
    main()
