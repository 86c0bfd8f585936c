"""The audited file with its labels mended, as another file; the input stays as it is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rboost.audit.cleaning import clean_labels, cleaned_frame
from rboost.audit.disk.record import CHECKED
from rboost.audit.disk.request import Request
from rboost.audit.result import LabelAudit
from rboost.table.reading import read_table, with_plain_numbers
from rboost.table.writing import check_ending, write_table


def check_output(out: Path, request: Request, folder: Path) -> None:
    """Fail before anything is read if the file cannot be written, or is one of the audit.

    Only the answers may lie in the folder of the audit.
    """
    check_ending(out)
    ours = [*request.files, request.trusted, request.probabilities]
    inputs = {path.resolve() for path in ours if path is not None}
    is_inside = out.resolve().parent == folder.resolve() and out.name != CHECKED
    if out.resolve() in inputs or is_inside:
        raise ValueError(f"{out} belongs to the audit; choose another file.")


def write_cleaned(
    audit: LabelAudit, request: Request, out: Path, how: str, threshold: float
) -> Counter[str]:
    """Write all columns of the audited file with mended labels; count where labels come from."""
    mended = clean_labels(audit.labels, audit.inference.posterior, how, threshold)
    table = read_table(request.files, label=request.label, as_written=True)
    if out.suffix.lower() in (".parquet", ".xlsx"):  # which know numbers as such
        table = table.apply(with_plain_numbers)
    write_table(cleaned_frame(table, audit.labels, audit.inference.posterior, mended), out)
    return Counter(mended.source[: len(table)][mended.is_kept[: len(table)]].tolist())
