"""One classification tree grown on binned columns, for tables too large to be sorted every round.

Signs: t is −1 or +1, w the weight of a row. A regression tree on t with the gradient −w·t and the
hessian w has leaves of the value Σwt/Σw = 2p − 1, where p is the weighted share of class +1, and
what a split gains is the decrease of the Gini impurity. Of more than two classes each has a tree of
its own, which tells it from the others; their shares p are divided by their sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rboost._typing import Floats
from rboost._validation import Either, Number, OneOf, Requirements, check_parameters
from rboost.fitting import RowsClassifier
from rboost.learners._grower import TreeGrower, value_of_bins, value_of_raw
from rboost.learners.binning import BinnedRows, Binning
from rboost.tables import Rows

# A leaf of a smaller share of the weight, or a split that gains less, may be but rounding.
NEGLIGIBLE = 1e-10
# Weights become whole numbers up to 2 to this power: float32 holds them, float64 sums them exactly.
WEIGHT_BITS = 24


@dataclass(eq=False, repr=False, kw_only=True)
class HistogramTreeClassifier(RowsClassifier):
    """A decision tree whose thresholds lie between bins of the columns.

    It minimises the Gini impurity, as scikit-learn's trees do, and grows the leaf first that gains
    most. The time for a tree hardly depends on the number of rows; boosting bins them only once.
    More than two classes have one tree each.

    Parameters
    ----------
    max_depth : int, default=None
        The largest number of splits between the root and a leaf; None sets no limit.
    max_leaf_nodes : int, default=None
        The largest number of leaves; None sets no limit.
    min_samples_leaf : int, default=1
        The smallest number of rows in a leaf.
    max_features : float, "sqrt" or None, default=None
        How many columns, drawn at random, a split may choose from: a fraction of them, the square
        root of their number, or all.
    max_bins : int, default=255
        The largest number of bins of a column, at most 255.
    max_cuts : int, default=None
        How many thresholds of each column, drawn at random for the tree, its splits may choose
        from; None means those between all bins. Trees that have few differ more from each other,
        as scikit-learn's ``ExtraTreeClassifier`` do, and grow faster.
    max_rows : int, default=None
        A larger table is represented by this many rows, drawn at random; None sets no limit.
    random_state : int, RandomState instance or None, default=None
        Seed of the columns, thresholds and rows drawn.
    n_jobs : int, default=None
        Number of threads, -1 for one per core. Results do not depend on it.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features_in_,)
        The share of each column in what the splits gained.

    Notes
    -----
    ``prepare(X)`` returns binned rows, which ``fit`` and the predictions take in the place of X.
    Rows to predict must come from the same preparation as those of ``fit``.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from rboost.learners import HistogramTreeClassifier
    >>> X, y = make_moons(500, noise=0.1, random_state=0)
    >>> tree = HistogramTreeClassifier(max_depth=4).fit(X, y)
    >>> tree.score(X, y) > 0.9
    True
    >>> rows = tree.prepare(X)
    >>> bool((tree.fit(rows, y).predict(rows) == tree.predict(X)).all())
    True
    """

    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 1
    max_features: float | str | None = None
    max_bins: int = 255
    max_cuts: int | None = None
    max_rows: int | None = None
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    _accepted: ClassVar[dict[str, Any]] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
    _requirements: ClassVar[Requirements] = {
        "max_depth": Number(1, integer=True, closed=True, optional=True),
        "max_leaf_nodes": Number(2, integer=True, closed=True, optional=True),
        "min_samples_leaf": Number(1, integer=True, closed=True),
        "max_features": Either((OneOf(("sqrt",)), Number(0, high=1, optional=True))),
        "max_bins": Number(2, integer=True, closed=True, high=255),
        "max_cuts": Number(1, integer=True, closed=True, optional=True),
        "max_rows": Number(2, integer=True, closed=True, optional=True),
    }

    @property
    def prepare(self) -> Callable[[Any], BinnedRows]:
        """What turns X into rows that ``fit`` takes as well; equal for trees with equal bins."""
        check_parameters(self, self._requirements)
        return Binning(self.max_bins, effective_n_jobs(self.n_jobs))

    def _fit(self, rows: Rows) -> None:
        rows = rows.used()
        if not isinstance(rows.X, BinnedRows):
            rows = replace(rows, X=self.prepare(rows.X))
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        random = np.random.default_rng(seed)
        n_rows = len(rows.observed)
        if self.max_rows is not None and n_rows > self.max_rows:
            rows = rows.take(random.choice(n_rows, self.max_rows, replace=False, shuffle=False))
        last_bins = None
        if self.max_cuts is not None:
            coarse, last_bins = rows.X.coarsened(self.max_cuts, random)
            rows = replace(rows, X=coarse)
        # What one tree draws must not change the next.
        n_classes = len(self.classes_)
        draws = enumerate(random.spawn(n_classes)) if n_classes > 2 else [(1, random)]
        grown = [self._grow(rows, k, last_bins, own) for k, own in draws]
        self._trees = [tree for tree, _ in grown]
        gains = np.sum([gains for _, gains in grown], axis=0)
        self.feature_importances_ = gains / (gains.sum() or 1.0)

    def _grow(
        self, rows: Rows, k: int, last_bins: NDArray[np.uint8] | None, random: np.random.Generator
    ) -> tuple[Any, Floats]:
        """The tree that tells class k from the others, and what each column gained in it."""
        binned, signs = rows.X, np.where(rows.observed == k, 1.0, -1.0)
        _, exponent = np.frexp(rows.sample_weight.max())
        weight = np.rint(np.ldexp(rows.sample_weight, WEIGHT_BITS - exponent))
        grower = TreeGrower(
            binned.bins,
            (-weight * signs).astype(np.float32),
            weight.astype(np.float32),
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            min_gain_to_split=NEGLIGIBLE * weight.sum(),
            min_hessian_to_split=NEGLIGIBLE * weight.sum(),
            n_bins=binned.missing + 1,
            n_bins_non_missing=binned.n_bins,
            has_missing_values=(binned.bins == binned.missing).any(axis=0),
            feature_fraction_per_split=self._column_fraction(),
            rng=random,
            n_threads=effective_n_jobs(self.n_jobs),
        )
        grower.grow()
        _set_leaf_values(grower.finalized_leaves, signs, rows.sample_weight)
        tree = grower.make_predictor(binned.thresholds)
        if last_bins is not None:  # rows to predict come in the bins that there were before
            tree.nodes["bin_threshold"] = last_bins[
                tree.nodes["feature_idx"], tree.nodes["bin_threshold"]
            ]
        return tree, self._gains(tree, grower.root)

    def _column_fraction(self) -> float:
        """The fraction that the grower, which rounds up, takes for the number of columns meant."""
        if self.max_features is None:
            return 1.0
        n_columns = self.n_features_in_
        is_root = self.max_features == "sqrt"
        n_drawn = int(np.sqrt(n_columns) if is_root else self.max_features * n_columns)
        return (max(1, n_drawn) - 0.5) / n_columns

    def _gains(self, tree: Any, root: Any) -> Floats:
        splits = tree.nodes[~tree.nodes["is_leaf"].astype(bool)]
        gain = splits["gain"].astype(np.float64)
        # The grower takes a root to say 0, not Σwt/Σw, so that it seems to gain more than it does.
        gain[:1] = np.maximum(gain[:1] - root.sum_gradients**2 / root.sum_hessians, 0)
        total = np.bincount(splits["feature_idx"], gain, minlength=self.n_features_in_)
        return total.astype(np.float64)

    def _check_X(self, X: Any, reset: bool = False) -> Any:
        if isinstance(X, BinnedRows):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return super()._check_X(X, reset)

    def predict_proba(self, X: Any) -> Floats:
        """The weighted share of each class in the leaf of a row, shape (n_samples, n_classes)."""
        check_is_fitted(self)
        X = self._check_X(X)
        n_threads = effective_n_jobs(self.n_jobs)
        if isinstance(X, BinnedRows):
            values = [value_of_bins(tree, X.bins, X.missing, n_threads) for tree in self._trees]
        else:
            values = [value_of_raw(tree, X, n_threads) for tree in self._trees]
        if len(values) == 1:  # 2p − 1 of the second of two classes
            return np.column_stack([(1 - values[0]) / 2, (1 + values[0]) / 2])
        # No tree may claim a row.
        share = np.maximum(np.column_stack(values) + 1, np.finfo(float).tiny)
        return share / share.sum(axis=1, keepdims=True)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_trees")


def _set_leaf_values(leaves: list[Any], signs: Floats, sample_weight: Floats) -> None:
    """Give each leaf Σwt/Σw of its rows; the grower's own is rounded, and 0 for a lone root."""
    order = np.concatenate([leaf.sample_indices for leaf in leaves])
    starts = np.cumsum([0] + [len(leaf.sample_indices) for leaf in leaves[:-1]])
    weight = sample_weight[order]
    values = np.add.reduceat(weight * signs[order], starts) / np.add.reduceat(weight, starts)
    for leaf, value in zip(leaves, values, strict=True):
        leaf.value = value
