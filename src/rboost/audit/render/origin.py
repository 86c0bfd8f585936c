"""Where a report comes from, and the commands to go on with."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """What was audited, when and how; ``left_aside`` has further columns and why, in words.

    ``review``, ``again``, ``predict`` are commands, each as its words.
    """

    data: str
    made: str
    version: str
    seed: int
    model: str
    review: tuple[str, ...]
    again: tuple[str, ...]
    predict: tuple[str, ...]
    left_aside: tuple[tuple[str, str], ...] = ()

    @property
    def commands(self) -> dict[str, str]:
        """The commands as one types them."""
        return {name: shlex.join(getattr(self, name)) for name in ("review", "again", "predict")}


# For a report of which nobody knows the file.
COMMANDS = {
    "review": "rboost review FOLDER",
    "again": "rboost audit FILE --label COLUMN --trusted FOLDER/checked.csv",
    "predict": "rboost predict FOLDER/model.skops NEW.csv --out predictions.csv",
}
