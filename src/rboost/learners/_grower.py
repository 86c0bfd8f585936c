"""The parts of scikit-learn that grow a tree from histograms; nothing else imports them.

They are private there, and scikit-learn may change them without notice: ``tests/trees`` checks
everything that is relied on here. We use them all the same, since scikit-learn has no public
histogram tree without a boosting loop around it, and a booster of LightGBM takes longer to create
than a tree takes to grow here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper as BinMapper
from sklearn.ensemble._hist_gradient_boosting.grower import TreeGrower

from rboost._typing import Floats

__all__ = ["BinMapper", "TreeGrower", "value_of_bins", "value_of_raw"]


def value_of_bins(tree: Any, bins: NDArray[np.uint8], missing: int, n_threads: int) -> Floats:
    """The value of the leaf that each binned row falls into."""
    return tree.predict_binned(bins, missing, n_threads)


def value_of_raw(tree: Any, X: Floats, n_threads: int) -> Floats:
    """The value of the leaf that each row falls into, NaN where a value is missing."""
    no_categories = np.zeros((0, 8), dtype=np.uint32)
    return tree.predict(X, no_categories, np.zeros(X.shape[1], dtype=np.uint32), n_threads)
