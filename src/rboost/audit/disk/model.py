"""The model of an audit in its file: how a table becomes numbers, a scorer, and the noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rboost.audit.fit import TableModel
from rboost.saving import load_with_notes
from rboost.saving.kinds import NOISE, is_inner
from rboost.saving.schema import Classes, OrNone, Record, Sizes, declare, require
from rboost.table.features import TableEncoder


def load_model(path: Path) -> tuple[TableModel, str, str | None]:
    """The model of an audit, and the columns of labels and of ids; fails with one sentence."""
    model, about = load_with_notes(path)
    label, id_name = about.get("label"), about.get("id")
    if not (isinstance(model, TableModel) and isinstance(label, str)) or not isinstance(
        id_name, (str, type(None))
    ):
        raise ValueError(
            f"{path} is not the model of an audit and does not know the columns of a table; use "
            "rboost.load in Python."
        )
    return model, label, id_name


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
