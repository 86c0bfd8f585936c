"""LightGBM, imported when trees are first grown, also where its OpenMP library is missing.

Its wheel for Linux needs ``libgomp.so.1`` of the system, which slim machines lack. scikit-learn
brings a copy under another name. The dynamic loader takes a library for the one that is needed when
its SONAME says so: thus a copy of the copy, with the name replaced, is loaded before LightGBM.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import warnings
from collections.abc import Iterator
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import ModuleType


@cache
def lightgbm() -> ModuleType | None:
    """The module, or None and one warning where it cannot be imported."""
    try:
        return _imported()
    except ImportError:
        remedy = "install it with: pip install lightgbm"
    except OSError as error:
        remedy = (
            f"its library cannot be loaded here ({error}); install OpenMP (Debian and Ubuntu: "
            "libgomp1, Fedora and Alpine: libgomp, macOS: libomp)."
        )
    warnings.warn(
        f"rboost runs its pool of learners alone, as boosted trees need LightGBM: {remedy}",
        stacklevel=4,
    )
    return None


def _imported() -> ModuleType:
    try:
        return import_module("lightgbm")
    except OSError as error:
        needed = re.search(r"libgomp\.so[.\d]*", str(error))
        if needed is None:
            raise
        # What goes wrong here leaves the library missing, as the next line will say.
        with contextlib.suppress(OSError, metadata.PackageNotFoundError, StopIteration):
            _load_as(needed[0].encode(), _openmp_of_scikit_learn())
        return import_module("lightgbm")


def _openmp_of_scikit_learn() -> Path:
    files = metadata.files("scikit-learn") or []
    found = next(file for file in files if re.fullmatch(r"libgomp-.*\.so[.\d]*", file.name))
    return Path(str(found.locate()))


def _load_as(name: bytes, library: Path) -> None:
    """Load a copy of a library that says to be another one, whose name is not longer."""
    own = library.name.encode()  # wheels name such a file by its SONAME
    content = library.read_bytes().replace(own + b"\0", name.ljust(len(own) + 1, b"\0"))
    with _file_of(content) as path:
        ctypes.CDLL(path)


@contextlib.contextmanager
def _file_of(content: bytes) -> Iterator[str]:
    """A file in memory, or on disk where that cannot be; a library outlives its file."""
    in_memory = hasattr(os, "memfd_create")
    with os.fdopen(os.memfd_create("libgomp"), "wb") if in_memory else NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}" if in_memory else file.name
