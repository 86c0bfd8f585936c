"""The model of an audit in its file, and predictions by it for the rows of other files.

A model is how a table becomes numbers, a scorer, and the noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rboost.audit.disk.record import AGAIN, MODEL, RECORD
from rboost.audit.disk.request import ROW
from rboost.audit.fit import TableModel
from rboost.packages import package
from rboost.saving import load_with_notes
from rboost.saving.estimators import is_inner
from rboost.saving.kinds import NOISE
from rboost.saving.schema import Classes, OrNone, Record, Sizes, declare, require
from rboost.table.features import TableEncoder
from rboost.table.reading import described, read_table

About = dict[str, Any]
# What predictions have to know of the audited table, and the type of each.
ABOUT = {"columns": list, "text": list, "classes": list, "label": str}
# What the model of an audit was called before it became data alone.
OLD_MODEL = "model.skops"


def load_model(path: Path) -> tuple[Any, About]:
    """The model of an audit, and what is said of its table; fails with one sentence."""
    model, about = load_with_notes(path)
    known = all(isinstance(about.get(name), kind) for name, kind in ABOUT.items())
    names = [*about["columns"], *about["text"]] if known else [None]
    if not all(isinstance(one, str) for one in (*names, about.get("id") or "")):
        raise ValueError(
            f"{path} is no model of an audit, which knows the columns of its table; predict with "
            "rboost.load in Python."
        )
    return model, about


def _to_data(model: TableModel) -> dict[str, Any]:
    """The encoder of a scorer that has it itself is not written twice."""
    own = getattr(model.scorer, "_encoder", None)
    encoder = None if own is model.encoder else model.encoder
    return {
        "encoder": encoder,
        "classes": model.classes,
        "scorer": model.scorer,
        "noise": model.noise,
    }


def _from_data(
    encoder: TableEncoder | None, classes: NDArray[Any], scorer: Any, noise: Any
) -> TableModel:
    known: Any = getattr(scorer, "_encoder", None) if encoder is None else encoder
    require(known is not None, "there is no encoder")
    return TableModel(known, scorer, classes, noise)


def _is_sound(made: TableModel, sizes: Sizes) -> bool:
    """Whether the scorer is given as many columns as it was fitted to."""
    is_own = getattr(made.scorer, "_encoder", None) is not None
    seen = {len(made.encoder.source(form)) for form in ("dense", "sparse")}
    fits = is_own or made.scorer.n_features_in_ in seen
    return fits and is_inner(made.scorer, sizes["classes"])


declare(
    "table model", TableModel,
    {
        "encoder": OrNone(Record(("table encoder",), apart=True)),
        "classes": Classes(),
        "scorer": Record(("rboost", "calibrated"), apart=True),
        "noise": Record(NOISE),
    },
    take=_to_data, make=_from_data, is_sound=_is_sound,
)  # fmt: skip


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
