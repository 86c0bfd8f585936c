"""Where a report comes from, and the commands to go on with."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """What was audited, when and how; ``left_aside`` has further columns and why, in words.

    ``review``, ``again``, ``clean`` and ``predict`` are commands, each as its words; without a
    model there is nothing to predict with.
    """

    data: str
    made: str
    version: str
    seed: int
    model: str
    review: tuple[str, ...]
    again: tuple[str, ...]
    clean: tuple[str, ...]
    predict: tuple[str, ...]
    left_aside: tuple[tuple[str, str], ...] = ()

    @property
    def commands(self) -> dict[str, str]:
        """The commands as one types them."""
        names = ("review", "again", "clean", "predict")
        return {name: shlex.join(getattr(self, name)) for name in names}


# For a report of which nobody knows the file.
COMMANDS = {
    "review": "rboost review FOLDER",
    "again": "rboost audit FILE --label COLUMN --trusted FOLDER/checked.csv",
    "clean": "rboost clean FOLDER --out clean.csv",
    "predict": "rboost predict FOLDER/model.rboost NEW.csv --out predictions.csv",
}
