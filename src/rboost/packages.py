"""Packages that only a part of this one needs, imported when that part is used."""

from __future__ import annotations

import importlib
from typing import Any


def package(name: str, extra: str = "audit") -> Any:
    """Import a module, or say in one sentence which extra of rboost installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"This needs {name.partition('.')[0]}, which is not installed; run: "
            f"pip install 'rboost[{extra}]'"
        ) from error
