"""Predictions for the rows of a file, by the model of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rboost.audit.disk.model import load_model
from rboost.audit.disk.record import AGAIN, MODEL, RECORD
from rboost.audit.disk.request import ROW
from rboost.packages import package
from rboost.table.reading import described, read_table

# What the model of an audit was called before it became data alone.
OLD_MODEL = "model.skops"


def predict_file(model_path: Path, files: Path | Sequence[Path]) -> Any:
    """A frame with each row's id, predicted class, and probability of every true class."""
    if model_path.is_dir():  # of an audit
        model_path = model_path / MODEL
    folder = model_path.parent
    if not model_path.exists() and (folder / OLD_MODEL).exists():
        raise ValueError(f"{folder} was made by an older rboost; {AGAIN} to make a new one.")
    if not model_path.exists() and (folder / RECORD).exists():
        raise ValueError(
            f"{folder} has no model, as it was audited with the probabilities of "
            "another one or its own could not be kept; predict with that one, or audit again."
        )
    model, about = load_model(model_path)
    table = read_table(files, text=[*about["text"], about["id"]])
    data = described([files] if isinstance(files, Path) else files)
    absent = [column for column in about["columns"] if column not in table.columns]
    if absent:
        raise ValueError(
            f"{data} lacks the column {absent[0]!r} that {model_path} was fitted to"
            + (f", and {len(absent) - 1} more" if len(absent) > 1 else "")
            + "; pass a table with the columns of the audit."
        )
    try:
        probability = model.predict_proba(table[about["columns"]])
    except (ValueError, TypeError) as error:
        problem = " ".join(str(error).split())
        raise ValueError(f"{data} is no table like the audited one: {problem}") from error
    classes = [str(name) for name in about["classes"]]
    has_ids = about["id"] is not None and about["id"] in table.columns
    id_name = about["id"] if has_ids else ROW
    ids = table[id_name] if has_ids else range(1, len(table) + 1)
    label = about["label"]
    columns = {
        id_name: ids,
        f"predicted {label}": [classes[k] for k in probability.argmax(axis=1)],
        **{f"p({name})": probability[:, k].round(6) for k, name in enumerate(classes)},
    }
    return package("pandas").DataFrame(columns)
