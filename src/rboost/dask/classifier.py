"""RBoostClassifier for tables on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rboost._validation import (
    Number,
    OneOf,
    Requirements,
    Switch,
    check_parameters,
    check_trusted_labels,
)
from rboost.dask.checks import Summary, check_facts, gather_facts
from rboost.dask.cluster import Connection
from rboost.dask.fitting import FitProgress, TableFit, fit_table
from rboost.dask.model import as_dask_array, issue_probabilities, local_model
from rboost.dask.partitions import Partitions, Piece, partitions_of
from rboost.engines.engine import EngineSettings
from rboost.native.boosters import DEVICES
from rboost.noise.matrix import check_noise_parameter
from rboost.packages import package
from rboost.table.delimited import listed

dask, arrays = package("dask", "dask"), package("dask.array", "dask")
is_dask_collection = package("dask.base", "dask").is_dask_collection


class RBoostClassifier(ClassifierMixin, BaseEstimator):
    """Boosted trees that model label flips, on a table that no machine has to hold.

    The trees of :class:`rboost.RBoostClassifier` with ``engines="xgboost"``, grown by all workers
    of a Dask cluster together. Rows stay where they are; however they are spread, the same trees
    come out. Encodings of words and bins of numbers are learnt from a sample of 100 000 rows.

    Parameters
    ----------
    max_iter : int, default=None
        The most rounds; None means 400.
    learning_rate : float, default=None
        Factor on every tree; None means 0.1.
    noise_matrix : "estimate" or array-like of shape (n_classes, n_classes), default="estimate"
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order. An array fixes it.
    device : {"cpu", "cuda"}, default="cpu"
        Where each worker grows trees.
    cluster : None, "local", address or distributed.Client, default=None
        None is the client in use; where there is none, a cluster on this machine is started, which
        ends with the model.
    random_state : int, RandomState instance or None, default=None
        Seed of folds and samples.
    verbose : int, default=0
        Whether to show a progress bar on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    noise_matrix_, noise_interval_ : ndarray
        The noise matrix, and lower and upper ends of intervals that hold its entries with
        probability .9.
    label_issue_probability_ : Dask array of shape (n_samples,)
        How likely the label of each row is to be wrong, NaN where there is none.
    model_ : rboost.RBoostClassifier
        The same model for tables in memory.
    n_iter_, stop_reason_, n_features_in_, feature_names_in_, feature_importances_
        As of :class:`rboost.RBoostClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import make_classification
    >>> from rboost.dask import RBoostClassifier
    >>> X, y = make_classification(2000, random_state=0)
    >>> with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"):
    ...     model = RBoostClassifier(max_iter=20, random_state=0)
    ...     model = model.fit(da.from_array(X, chunks=(500, 20)), da.from_array(y, chunks=500))
    ...     wrong = model.label_issue_probability_.compute()
    >>> wrong.shape
    (2000,)
    >>> model.score(X, y) > 0.9
    True
    """

    _requirements: ClassVar[Requirements] = {
        "max_iter": Number(1, integer=True, closed=True, optional=True),
        "learning_rate": Number(0, optional=True),
        "device": OneOf(DEVICES),
        "verbose": Switch(),
    }

    def __init__(
        self,
        *,
        max_iter: int | None = None,
        learning_rate: float | None = None,
        noise_matrix: Any = "estimate",
        device: str = "cpu",
        cluster: Any = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.noise_matrix = noise_matrix
        self.device = device
        self.cluster = cluster
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_trusted: Any = None,
        y_trusted: Any = None,
    ) -> Self:
        """Fit to observed, possibly wrong labels.

        Parameters
        ----------
        X : Dask array, Dask frame, or path of a Parquet data set
            Features: numbers, and in frames also words, categories and dates; any may be missing.
        y : Dask array, Dask series, or the name of a column of X
            Observed labels of two or more classes; rows without one are left out.
        sample_weight : Dask array, Dask series, or the name of a column of X, default=None
            Non-negative weights.
        X_trusted, y_trusted : array-like or pandas frame, default=None
            Rows in memory whose labels are known to be right.

        Returns
        -------
        self : RBoostClassifier
            The fitted estimator.
        """
        check_parameters(self, self._requirements)
        partitions = partitions_of(X, y, sample_weight)
        connection = Connection(self.cluster, device=self.device)
        try:
            self._fit(connection, partitions, X_trusted, y_trusted)
        except BaseException:
            connection.close()
            raise
        # Columns of the table that was fitted, also where it is predicted.
        self._no_features = [
            name for name in (y, sample_weight) if not (name is None or is_dask_collection(name))
        ]
        return self

    def _fit(
        self, connection: Connection, partitions: Partitions, X_trusted: Any, y_trusted: Any
    ) -> None:
        summary = check_facts(gather_facts(connection.client, partitions))
        noise_matrix = check_noise_parameter(self.noise_matrix, len(summary.classes))
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        settings = EngineSettings(self.max_iter, self.learning_rate, seed=seed, device=self.device)
        observed = check_trusted_labels(X_trusted, y_trusted, summary.classes)
        trusted = None
        if observed is not None:
            X_trusted = _with_columns(X_trusted, partitions.columns, len(summary.columns))
            trusted = X_trusted, observed
        fit = fit_table(
            connection.client, partitions, summary, settings, noise_matrix,
            FitProgress(bool(self.verbose)), trusted,
        )  # fmt: skip
        self._keep(fit, connection, partitions, summary)

    def _keep(
        self, fit: TableFit, connection: Connection, partitions: Partitions, summary: Summary
    ) -> None:
        self._connection = connection  # a cluster of our own lives as long as the model
        self.classes_ = summary.classes
        self.model_ = local_model(fit, summary, partitions.columns)
        self.noise_matrix_, self.noise_interval_ = fit.noise.noise_matrix, fit.noise.interval()
        self.n_iter_, self.stop_reason_ = self.model_.n_iter_, self.model_.stop_reason_
        self.n_features_in_ = self.model_.n_features_in_
        self.feature_importances_ = self.model_.feature_importances_
        issues = issue_probabilities(connection.client, fit)
        self.label_issue_probability_ = as_dask_array(issues, summary)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each true class: a Dask array of a Dask collection, else an array."""
        check_is_fitted(self)
        return self._each(X, self.model_.predict_proba, (len(self.classes_),), np.float64)

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        check_is_fitted(self)
        return self._each(X, self.model_.predict, (), self.classes_.dtype)

    def _each(self, X: Any, function: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """What a function of rows in memory says of each partition."""
        if not (is_dask_collection(X) or _are_paths(X)):
            return function(X)
        # One value of the graph, as each function holds the model.
        how = dask.delayed(
            (function, self._no_features, np.empty((0, *shape), dtype)), traverse=False
        )
        pieces = partitions_of(X, None).pieces
        sizes = X.chunks[0] if isinstance(X, arrays.Array) else [np.nan] * len(pieces)
        return arrays.concatenate(
            [
                arrays.from_delayed(dask.delayed(_of_piece)(piece, how), (size, *shape), dtype)
                for piece, size in zip(pieces, sizes, strict=True)
            ],
            allow_unknown_chunksizes=True,
        )

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features, when all were text."""
        return self.model_.feature_names_in_

    def __getstate__(self) -> dict[str, Any]:
        """What can be stored: nothing that lives on the cluster."""
        there = ("_connection", "label_issue_probability_")
        state = {name: v for name, v in super().__getstate__().items() if name not in there}
        return state if isinstance(self.cluster, str) else state | {"cluster": None}

    def __sklearn_clone__(self) -> RBoostClassifier:
        """An unfitted copy on the same cluster: a client cannot be copied."""
        own = self.get_params(deep=False) | {"cluster": None}
        others = {name: clone(value, safe=False) for name, value in own.items()}
        return type(self)(**others).set_params(cluster=self.cluster)


def _with_columns(X: Any, names: Sequence[Any] | None, n_columns: int) -> Any:
    """Trusted rows in memory with the columns of the table, in its order."""
    has_names = hasattr(X, "columns")
    X = X if has_names else np.asarray(X)
    if has_names and names is not None:
        if set(names) == set(X.columns):
            return X[list(names)]
    elif X.ndim == 2 and X.shape[1] == n_columns:
        return X
    raise ValueError(
        f"X_trusted must have the {n_columns} columns of X, but its shape is {X.shape}"
        f"{f' and its columns are {listed(list(X.columns))}' if has_names else ''}; pass those."
    )


def _are_paths(X: Any) -> bool:
    several = X if isinstance(X, (list, tuple)) else [X]
    return len(several) > 0 and all(isinstance(one, (str, Path)) for one in several)


def _of_piece(piece: Piece, how: tuple[Any, list[Any], NDArray[Any]]) -> NDArray[Any]:
    function, no_features, nothing = how
    if len(piece.X) == 0:
        return nothing
    X = piece.X
    return function(X.drop(columns=no_features, errors="ignore") if hasattr(X, "columns") else X)
