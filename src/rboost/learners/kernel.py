"""Logistic regression on random kernel features: a smooth and cheap base learner.

z(x)ᵢ = √(2/D)·cos(wᵢ·x + uᵢ) with Gaussian wᵢ and uniform uᵢ has the inner product of a Gaussian
kernel, on average (Rahimi & Recht 2007). A linear model of D such features is a kernel machine that
costs the same for every row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats, Integers
from rboost._validation import Number, Requirements
from rboost.fitting import RowsClassifier, ScoreClassifier
from rboost.learners.feature_regression import fit_logistic, fit_softmax
from rboost.tables import Rows

# Standardised values beyond this are outliers, to a kernel nearly orthogonal to everything else.
FARTHEST = 4.0
# Rows predicted at a time. All blocks are of this size, the last one filled up, so that rounding
# does not depend on which other rows there are.
BLOCK_ROWS = 256


@dataclass(eq=False, repr=False, kw_only=True)
class RandomKernelClassifier(ScoreClassifier, RowsClassifier):
    """Logistic regression on random Fourier features of the standardised columns.

    The width of the kernel is drawn too, so that an ensemble of these needs no search for it. A
    missing value counts as the median of its column.

    Parameters
    ----------
    n_components : int, default=100
        Number of random features.
    C : float, default=10.0
        Inverse of the penalty on the squared coefficients, as in scikit-learn.
    narrowest : float, default=2.0
        The kernel is exp(−g·‖x − x'‖² / n_features), with log g uniform between the logarithms of
        ``widest`` and ``narrowest``.
    widest : float, default=0.25
        See ``narrowest``; the same value for both fixes the kernel.
    max_rows : int, default=2048
        A larger table is represented by this many rows, drawn at random.
    random_state : int, RandomState instance or None, default=None
        Seed of the features and of the rows drawn.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from rboost.learners import RandomKernelClassifier
    >>> X, y = make_circles(200, noise=0.1, factor=0.5, random_state=0)
    >>> float(RandomKernelClassifier(random_state=0).fit(X, y).score(X, y))
    1.0
    """

    n_components: int = 100
    C: float = 10.0
    narrowest: float = 2.0
    widest: float = 0.25
    max_rows: int = 2048
    random_state: int | np.random.RandomState | None = None

    _accepted: ClassVar[dict[str, Any]] = {
        "accept_sparse": "csr", "ensure_all_finite": "allow-nan"
    }  # fmt: skip
    _requirements: ClassVar[Requirements] = {
        "n_components": Number(1, integer=True, closed=True),
        "C": Number(0),
        "narrowest": Number(0),
        "widest": Number(0),
        "max_rows": Number(2, integer=True, closed=True),
    }

    def _fit(self, rows: Rows) -> None:
        rows = rows.used()
        random = check_random_state(self.random_state)
        width = np.exp(random.uniform(np.log(self.widest), np.log(self.narrowest)))
        if len(rows.observed) > self.max_rows:
            rows = _some_rows(rows, self.max_rows, random)
        self._medians = _medians(rows.X)
        X = self._filled(rows.X)
        self._center, self._scale = _center_and_scale(X, rows.sample_weight)
        own = np.random.RandomState(random.randint(np.iinfo(np.int32).max))
        directions = own.normal(size=(self.n_features_in_, self.n_components))
        self._directions = np.sqrt(2 * width / self.n_features_in_) * directions
        self._phases = own.uniform(0, 2 * np.pi, size=self.n_components)
        self._set_model(self._transform(X), rows.observed, rows.sample_weight)

    def _set_model(self, features: Floats, observed: Integers, weight: Floats) -> None:
        """Fit one score to two classes, or one to each of several."""
        if len(self.classes_) > 2:
            self._coef, self._intercept = fit_softmax(features, observed, weight, self.C)
        else:
            self._coef, self._intercept = fit_logistic(features, observed, weight, self.C)

    def _filled(self, X: Any) -> Any:
        """Put the median of the column where a value is missing."""
        if not sparse.issparse(X):
            missing = np.isnan(X)
            return np.where(missing, self._medians.astype(X.dtype), X) if missing.any() else X
        missing = np.isnan(X.data)
        if missing.any():
            X = X.copy()
            X.data[missing] = self._medians[X.indices[missing]]
        return X

    def _transform(self, X: Any) -> Floats:
        if sparse.issparse(X):
            scaled = sparse.csr_matrix(X.multiply(1 / self._scale))
            np.clip(scaled.data, -FARTHEST, FARTHEST, out=scaled.data)
        else:
            scaled = np.clip((X - self._center) / self._scale, -FARTHEST, FARTHEST)
        return np.sqrt(2 / self.n_components) * np.cos(scaled @ self._directions + self._phases)

    def decision_function(self, X: Any) -> Floats:
        """Log-odds of ``classes_[1]``; of more than two classes one score for each."""
        check_is_fitted(self)
        X = self._check_X(X)
        if sparse.issparse(X):
            return self._transform(self._filled(X)) @ self._coef + self._intercept
        return self._dense_decisions(X)

    def predict_proba(self, X: Any, check_input: bool = True) -> Floats:
        """Probability of each class; rows of floats that were checked before need no check."""
        if check_input:
            return super().predict_proba(X)
        return self._probability_of(self._dense_decisions(X))

    def _dense_decisions(self, X: Floats) -> Floats:
        """The same for rows that are not sparse, in blocks of float32: far faster on many rows."""
        X = X if X.dtype.kind == "f" else X.astype(np.float64)
        # In the precision of X, which may need all of it to tell its values apart.
        center, scale = self._center.astype(X.dtype), self._scale.astype(X.dtype)
        # The last column of the rows is 1, so that one product adds the phases as well.
        directions = np.vstack([self._directions, self._phases])
        directions = directions.astype(np.float32)
        coefficients = (self._coef * np.sqrt(2 / self.n_components)).astype(np.float32)
        decisions = np.empty((len(X), *self._coef.shape[1:]))
        scaled = np.ones((BLOCK_ROWS, X.shape[1] + 1), dtype=np.float32)
        features = np.empty((BLOCK_ROWS, self.n_components), dtype=np.float32)
        for block in gen_batches(len(X), BLOCK_ROWS):
            rows = self._filled(X[block])
            with np.errstate(over="ignore"):  # what is too large for float32 is an outlier
                rows = (rows - center) / scale
            np.clip(rows, -FARTHEST, FARTHEST, out=scaled[: len(rows), :-1])
            np.dot(scaled, directions, out=features)
            np.cos(features, out=features)
            decisions[block] = (features @ coefficients)[: len(rows)]
        return decisions + self._intercept

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_coef")


def _some_rows(rows: Rows, n_drawn: int, random: np.random.RandomState) -> Rows:
    """Draw rows, one of each class at least, however rare it is."""
    order = random.permutation(len(rows.observed))
    _, first = np.unique(rows.observed[order], return_index=True)
    return rows.take(np.unique(np.append(order[:n_drawn], order[first])))


def _center_and_scale(X: Any, weight: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column; of sparse ones 0, of constant ones 1."""
    share = weight / weight.sum()
    mean = X.T @ share
    if sparse.issparse(X):
        variance = np.maximum(X.multiply(X).T @ share - mean**2, 0)
    else:
        variance = ((X - mean) ** 2).T @ share
    # What rounding alone leaves of a constant column.
    rounding = len(share) * np.finfo(np.float64).eps
    is_constant = variance <= rounding * variance + (rounding * mean) ** 2
    scale = np.where(is_constant, 1.0, np.sqrt(variance))
    return (np.zeros_like(mean) if sparse.issparse(X) else mean), scale


def _medians(X: Any) -> Floats:
    """The median of each column without its missing values; 0 where nothing else is there."""
    if not sparse.issparse(X) and not np.isnan(X).any():
        return np.median(X, axis=0)
    imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(X)
    return imputer.transform(np.full((1, X.shape[1]), np.nan))[0]
