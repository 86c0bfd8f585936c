"""What cases share and never change: one audit of one table, on disk and in memory."""

from __future__ import annotations

import contextlib
import io
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.fuzz.tables import LABEL, base_table
from rboost.audit.disk.folder import read_audit
from rboost.cli import main

NAME = "crx"
# Lives as long as the process; its files go with it.
_HOME = tempfile.TemporaryDirectory(prefix="rboost-fuzz-")


def home() -> Path:
    """A folder of this process."""
    return Path(_HOME.name).resolve()


@lru_cache(maxsize=1)
def audit_folder() -> Path:
    """The folder of an audit, beside the table that it is of."""
    frame = base_table(NAME)
    frame.to_csv(home() / "table.csv", index=False)
    trusted = pd.DataFrame({"row": [1, 2, 3], "checked_label": frame[LABEL].iloc[[0, 1, 4]]})
    trusted.to_csv(home() / "checked.csv", index=False)
    folder = home() / "audit"
    options = ["--model", "linear", "--quiet", "--trusted", str(home() / "checked.csv")]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = main(
            ["audit", str(home() / "table.csv"), "--label", LABEL, "--out", str(folder), *options]
        )
    if code:
        raise RuntimeError("The audit that cases begin with failed; mend it first.")
    return folder


@lru_cache(maxsize=1)
def audit() -> Any:
    """The same audit in memory."""
    return read_audit(audit_folder())
