"""pandas and pyarrow, imported when a file is read, as the rest of the package needs neither."""

from __future__ import annotations

import importlib
from typing import Any


def package(name: str) -> Any:
    """Import a module, or say in one sentence how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"Reading tables needs {name.partition('.')[0]}; install it with: "
            'pip install "rboost[audit]".'
        ) from error
