"""The model of an audit in its file: how a table becomes numbers, a scorer, and the noise.

``encoder_to_data`` and ``encoder_from_data`` are the place where the encoder of tables is turned
into plain fields and back.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rboost.audit.scorers import TableModel
from rboost.saving import load_with_notes, save
from rboost.saving.estimators import is_inner
from rboost.saving.kinds import NOISE
from rboost.saving.schema import Classes, Record, Settings, declare

About = dict[str, Any]
# What predictions have to know of the audited table, and the type of each.
ABOUT = {"columns": list, "text": list, "numbers": list, "classes": list, "label": str}


def save_model(model: Any, path: Path, about: About) -> None:
    """Write the model of an audit, and what predictions have to know of its table."""
    save(model, path, about)


def load_model(path: Path) -> tuple[Any, About]:
    """The model of an audit, and what is said of its table; fails with one sentence."""
    model, about = load_with_notes(path)
    known = all(isinstance(about.get(name), kind) for name, kind in ABOUT.items())
    names = [*about["columns"], *about["text"], *about["numbers"]] if known else [None]
    if not all(isinstance(one, str) for one in (*names, about.get("id") or "")):
        raise ValueError(
            f"{path} is no model of an audit, which knows the columns of its table; predict with "
            "rboost.load in Python."
        )
    return model, about


def encoder_to_data(encoder: Any) -> dict[str, Any]:
    """The encoder of an audited table as plain fields: a placeholder until it is one of ours."""
    if encoder is not None and type(encoder).__module__.startswith("skrub."):
        raise ValueError("The encoder of skrub is not saved.")
    return {}


def encoder_from_data(data: dict[str, Any]) -> Any:
    """What :func:`encoder_to_data` has written as an encoder: a placeholder."""
    return None


def _to_data(model: TableModel) -> dict[str, Any]:
    return {
        "encoder": encoder_to_data(model.vectorizer),
        "dates": model.dates,
        "classes": model.classes,
        "scorer": model.scorer,
        "noise": model.noise,
    }


def _from_data(
    encoder: dict[str, Any], dates: dict[str, str], classes: NDArray[Any], scorer: Any, noise: Any
) -> TableModel:
    return TableModel(encoder_from_data(encoder), dates, scorer, classes, noise)


declare(
    "table model", TableModel,
    {
        "encoder": Settings(),
        "dates": Settings(flat=True),
        "classes": Classes(),
        "scorer": Record(("rboost", "calibrated"), apart=True),
        "noise": Record(NOISE),
    },
    take=_to_data, make=_from_data,
    is_sound=lambda made, sizes: is_inner(made.scorer, sizes["classes"]),
)  # fmt: skip
