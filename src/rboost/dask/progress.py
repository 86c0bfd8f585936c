"""How far a fit on a cluster has come: shown, and kept, so that nothing is grown twice."""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rboost._typing import Floats
from rboost.dask.checks import Summary
from rboost.engines.engine import EngineSettings
from rboost.engines.trees import MAX_ROUNDS, step_sizes
from rboost.engines.xgboost import Grown
from rboost.files import write_atomically
from rboost.learners.bins import Bins
from rboost.native.xgboost import xgboost
from rboost.progress import track


class FitProgress:
    """Trees that a fit has grown so far; ``file`` keeps them for a run after a kill.

    ``version`` is that of the table: trees of another one are not taken up.
    """

    def __init__(self, verbose: bool = False, file: Path | None = None, version: str = "") -> None:
        self.grown: Grown = []
        self._file, self.verbose, self._version, self._run = file, verbose, version, ""
        self._bar: Iterator[int] | None = None

    def begin(
        self, summary: Summary, bins: Bins, settings: EngineSettings, noise_matrix: Floats | None
    ) -> None:
        """Take up trees of the same fit, if there are any."""
        programs = version("rboost"), xgboost().__version__
        known = repr((programs, self._version, summary.n_rows, summary.label_weights, settings))
        digest = hashlib.sha256(known.encode())
        for edges in bins.edges:
            digest.update(b"category" if edges is None else edges.tobytes())
        digest.update(b"" if noise_matrix is None else np.asarray(noise_matrix).tobytes())
        self._run = digest.hexdigest()
        self.grown = self._read()
        if self.grown and self.verbose:
            print(f"Going on with the trees that are kept in {self._file}.", file=sys.stderr)
        steps = step_sizes(settings.max_iter or MAX_ROUNDS)
        self._bar = track(steps, len(steps), "Growing trees", enabled=self.verbose)
        next(self._bar)

    def listen(self, message: dict[str, Any]) -> None:
        """A step was taken, perhaps with the trees so far."""
        if self._bar is not None:
            next(self._bar, None)
        if "grown" in message:
            self.grown = message["grown"]
            self._write()

    def end(self) -> None:
        """The fit is done, or has failed."""
        if self._bar is not None:
            self._bar.close()  # type: ignore[attr-defined]

    def _read(self) -> Grown:
        """The passes in the file, if they are of this fit."""
        if self._file is None or not self._file.exists():
            return []
        try:
            content = io.BytesIO(self._file.read_bytes())
            with np.load(content, allow_pickle=False) as stored:
                if str(stored["run"]) != self._run:
                    return []
                n_passes, n_folds = stored["shape"].tolist()
                return [
                    [stored[f"pass{p}_fold{f}"].tobytes() for f in range(n_folds)]
                    for p in range(n_passes)
                ]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return []  # of another version, or cut off

    def _write(self) -> None:
        if self._file is None:
            return
        arrays: dict[str, Any] = {
            f"pass{p}_fold{f}": np.frombuffer(stored, dtype=np.uint8)
            for p, boosters in enumerate(self.grown)
            for f, stored in enumerate(boosters)
        }
        content = io.BytesIO()
        shape = np.array([len(self.grown), len(self.grown[0])])
        np.savez(content, run=np.array(self._run), shape=shape, **arrays)
        write_atomically(self._file, content.getvalue())
