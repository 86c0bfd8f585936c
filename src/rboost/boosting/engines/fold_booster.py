"""The booster of one fold: it grows on the rows of all other folds, and says what its own score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Derivatives are multiples of this. Their sums are then exact in whatever order rows are added, and
# trees the same on every device and for every number of processes.
GRAIN = 2.0**-24


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows of a process: their places, their codes on the device, XGBoost's matrix."""

    places: Any
    codes: list[NDArray[np.uint8]]
    matrix: Any


class FoldBooster:
    """A booster that grows on the rows ``seen`` and scores the rows ``left_out``.

    ``shape`` is that of the scores of one row: () for two classes, (K,) for more.

    What it says of rows is in float32, added up tree by tree in all cases, so that it does not
    depend on how it came about. On a CPU, XGBoost keeps it for both matrices; of a GPU it would
    hand out copies, so there each tree is asked for what it says, on the device.
    """

    def __init__(self, seen: Part, left_out: Part, shape: tuple[int, ...], xp: Any) -> None:
        self.seen, self.left_out, self._shape, self._xp = seen, left_out, shape, xp
        self.trees: Any = None
        self._n_ready = 0
        self._of_seen: Any = None
        self._of_left_out: Any = None

    def begin(self, trees: Any, n_ready: int = 0) -> None:
        """Go on with these trees, of which so many have been grown ahead."""
        self.trees, self._n_ready = trees, n_ready
        self._of_seen = self._of_left_out = None

    def add_trees(
        self, first: int, end: int, derivatives: Callable[[int, Any], tuple[Any, Any]]
    ) -> None:
        """Grow the trees from the first one on, but for those that are there already."""
        for place in range(max(first, self._n_ready), end):
            if self._of_seen is None:
                self._of_seen = self._kept() if self._xp is np else self._said(self.seen, 0, place)
            gradient, curvature = map(self._in_grains, derivatives(place, self._of_seen))
            self.trees.boost(self.seen.matrix, place, grad=gradient, hess=curvature)
            if self._xp is np:
                self._of_seen = self._kept()
            else:
                self._of_seen = self._of_seen + self._said(self.seen, place, place + 1)

    def margins(self, first: int, end: int) -> Any:
        """What the trees up to the end say of the rows left out, where the first are known."""
        if self._xp is np and end >= self._n_ready:
            return self._predicted(self.left_out)
        if self._of_left_out is None:
            self._of_left_out = self._said(self.left_out, 0, first)
        for place in range(first, end):
            self._of_left_out = self._of_left_out + self._said(self.left_out, place, place + 1)
        return self._of_left_out

    def _kept(self) -> Any:
        """What the booster says of the rows that it grows on, as XGBoost keeps it."""
        return self._predicted(self.seen, training=True)

    def _said(self, part: Part, first: int, end: int) -> Any:
        """What some trees say of rows."""
        if first == end or not len(part.places):
            return self._xp.zeros((len(part.places), *self._shape), dtype=np.float32)
        if self._xp is np:
            return self._predicted(part, iteration_range=(first, end))
        said = [
            self.trees.inplace_predict(own, iteration_range=(first, end), predict_type="margin")
            for own in part.codes
            if len(own)
        ]
        return said[0] if len(said) == 1 else self._xp.concatenate(said)

    def _predicted(self, part: Part, **options: Any) -> Any:
        """What XGBoost says of a matrix; of no rows it forgets how many classes there are."""
        said = self.trees.predict(part.matrix, output_margin=True, **options)
        return said.reshape(len(part.places), *self._shape)

    def _in_grains(self, derivative: Any) -> Any:
        derivative /= GRAIN
        self._xp.rint(derivative, out=derivative)
        derivative *= GRAIN
        return derivative
