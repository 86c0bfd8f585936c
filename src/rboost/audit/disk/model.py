"""The model of an audit in its file: how a table becomes numbers, a scorer, and the noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rboost.audit.scorers import TableModel
from rboost.saving import load_with_notes, save
from rboost.saving.kinds import NOISE, is_inner
from rboost.saving.schema import Classes, OrNone, Record, Sizes, declare, require
from rboost.table.features import TableEncoder

About = dict[str, Any]
# What predictions have to know of the audited table, and the type of each.
ABOUT = {"columns": list, "text": list, "classes": list, "label": str}


def save_model(model: Any, path: Path, about: About) -> None:
    """Write the model of an audit, and what predictions have to know of its table."""
    save(model, path, about)


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


declare("table model", TableModel, take=_to_data, make=_from_data, is_sound=_is_sound)(
    encoder=OrNone(Record(("table encoder",), apart=True)),
    classes=Classes(),
    scorer=Record(("rboost", "calibrated"), apart=True),
    noise=Record(NOISE),
)
