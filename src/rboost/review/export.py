"""checked.csv: the answers as a table that a spreadsheet may open."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from pathlib import Path
from typing import Any

from rboost.audit import LabelAudit
from rboost.review.store import Answer

# A cell that begins with one of these is a formula to spreadsheets.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def checked_frame(audit: LabelAudit, answers: list[Answer]) -> Any:
    """The answers as a frame, the oldest first; nothing is checked where the person was unsure."""
    import pandas

    classes = audit.classes.tolist()
    given = audit.labels.given[[answer.row for answer in answers]]
    return pandas.DataFrame(
        {
            audit.id_name: [audit.ids[answer.row] for answer in answers],
            "given_label": audit.labels.names(given),
            "checked_label": ["" if a.label is None else str(classes[a.label]) for a in answers],
            "answer": [answer.answer for answer in answers],
            "time": [answer.time for answer in answers],
        }
    )


def write_checked(audit: LabelAudit, answers: list[Answer], path: Path) -> None:
    """Write the answers to a file, which is replaced as a whole."""
    _write_csv(checked_frame(audit, answers), path)


def _write_csv(frame: Any, path: Path) -> None:
    """Write a frame whose cells do nothing when a spreadsheet opens them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_guarded(column) for column in frame.columns])
    writer.writerows([_guarded(value) for value in line] for line in frame.itertuples(index=False))
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            # Half a character, as damaged tables hold it, cannot be written otherwise.
            file.write(text.getvalue().encode("utf-8", errors="backslashreplace"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _guarded(value: Any) -> str:
    text = "" if value is None else str(value)
    is_number = isinstance(value, (int, float))
    return f"'{text}" if text.startswith(FORMULA_STARTS) and not is_number else text
