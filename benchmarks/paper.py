"""The paper's experiments, run again: the page of ``rboost paper run`` and ``rboost paper report``.

    python -m benchmarks.paper --jobs 2

writes ``report.md`` and its figures to docs/paper. It needs the extra ``paper``. A run can be
killed and resumed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.pages import write_page
from rboost.files import write_atomically
from rboost.paper.report import write_report
from rboost.paper.run import Options, load_run, run


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is not yet done, write the page, say where it is."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper", description="Run the paper's experiments again."
    )
    parser.add_argument("--repeats", type=int, default=Options.repeats, help="of each experiment")
    parser.add_argument("--rounds", type=int, default=Options.rounds, help="of boosting")
    parser.add_argument("--datasets", nargs="+", default=Options.datasets, metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--store", type=Path, default=Path("build/paper"), help="folder of the run")
    parser.add_argument("--out", type=Path, default=Path("docs/paper"), help="folder of the page")
    given = parser.parse_args(arguments)
    options = Options(repeats=given.repeats, rounds=given.rounds, datasets=tuple(given.datasets))
    run(options, given.store, given.jobs, progress=True)
    for path in write_report(*load_run(given.store), given.store):
        if path.suffix == ".png":
            write_atomically(given.out / path.relative_to(given.store), path.read_bytes())
    text = (given.store / "report.md").read_text(encoding="utf-8")
    write_page(given.out / "report.md", text, "benchmarks.paper", arguments)
    print(given.out / "report.md")


if __name__ == "__main__":
    main()
