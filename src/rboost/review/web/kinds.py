"""How the page shows each column: as a number, as text, as long text, as an image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rboost._validation import is_missing
from rboost.review.web.images import read_image

# Text whose median length is beyond this is long.
LONG = 80
# Cells of a column that are looked at.
N_SEEN = 200
N_OPENED = 20


def kind_of(column: Any, images_root: Path | None) -> str:
    """The kind of a column of a pandas frame."""
    from pandas.api.types import is_numeric_dtype

    if is_numeric_dtype(column):
        return "number"
    values = column.iloc[:: len(column) // N_SEEN + 1].tolist()
    texts = [str(value) for value in values if not is_missing(value)]
    if not texts:
        return "text"
    some = texts[:: len(texts) // N_OPENED + 1]
    if sum(_is_image(images_root, text) for text in some) > len(some) / 2:
        return "image"
    return "long" if np.median([len(text) for text in texts]) > LONG else "text"


def _is_image(images_root: Path | None, text: str) -> bool:
    try:
        read_image(images_root, text, whole=False)
    except LookupError:
        return False
    return True
