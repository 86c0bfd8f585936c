"""RBoostClassifier for tables on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats
from rboost._validation import (
    SWITCH,
    Number,
    OneOf,
    Requirements,
    check_parameters,
    check_trusted_labels,
)
from rboost.dask.blocks import Block, summarize
from rboost.dask.cluster import Connection
from rboost.dask.fitting import FitProgress, fit_table
from rboost.dask.partitions import Partitions, as_dask_array, partitions_of, rows_of
from rboost.engines.engine import EngineSettings
from rboost.native.boosters import DEVICES
from rboost.noise.inference import wrong_probability
from rboost.noise.matrix import check_noise_parameter
from rboost.packages import package

dask, arrays = package("dask", "dask"), package("dask.array", "dask")
is_dask_collection = package("dask.base", "dask").is_dask_collection


@dataclass(eq=False, repr=False, kw_only=True)
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

    max_iter: int | None = None
    learning_rate: float | None = None
    noise_matrix: Any = "estimate"
    device: str = "cpu"
    cluster: Any = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    _requirements: ClassVar[Requirements] = {
        "max_iter": Number(1, integer=True, closed=True, optional=True),
        "learning_rate": Number(0, optional=True),
        "device": OneOf(DEVICES),
        "verbose": SWITCH,
    }

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
            Rows in memory whose labels are known to be right: a frame with the columns of X, an
            array if X is one.

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
        return self

    def _fit(
        self, connection: Connection, partitions: Partitions, X_trusted: Any, y_trusted: Any
    ) -> None:
        summary = summarize(connection.client, partitions)
        noise_matrix = check_noise_parameter(self.noise_matrix, len(summary.classes))
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        settings = EngineSettings(self.max_iter, self.learning_rate, seed=seed, device=self.device)
        observed = check_trusted_labels(X_trusted, y_trusted, summary.classes)
        trusted = None if observed is None else (X_trusted, observed)
        fit = fit_table(
            connection.client, partitions, summary, settings, noise_matrix,
            FitProgress(bool(self.verbose)), trusted,
        )  # fmt: skip
        self._connection = connection  # a cluster of our own lives as long as the model
        self.classes_ = summary.classes
        self.model_ = fit.model(self.classes_, partitions.features if partitions.has_names else ())
        self.noise_matrix_, self.noise_interval_ = fit.noise.noise_matrix, fit.noise.interval()
        self.n_iter_, self.stop_reason_ = self.model_.n_iter_, self.model_.stop_reason_
        self.n_features_in_ = self.model_.n_features_in_
        self.feature_importances_ = self.model_.feature_importances_
        # Columns of the table that was fitted, also where it is predicted.
        self._no_features = [partitions.label, partitions.weight]
        tasks = [
            dask.delayed(_issues_of)(block, posterior)
            for block, posterior in zip(fit.blocks, fit.posteriors(), strict=True)
        ]
        issues = connection.client.compute(tasks)
        self.label_issue_probability_ = as_dask_array(issues, summary.sizes)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each true class: a Dask array of a Dask collection, else an array."""
        check_is_fitted(self)
        return self._each(X, self.model_.predict_proba, (len(self.classes_),), np.float64)

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        check_is_fitted(self)
        return self._each(X, self.model_.predict, (), self.classes_.dtype)

    def _each(self, X: Any, function: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """A function of rows in memory, applied to each partition."""
        if not (is_dask_collection(X) or _are_paths(X)):
            return function(X)
        if isinstance(X, arrays.Array):
            X = rows_of(X)
            parts, sizes = X.to_delayed()[:, 0], X.chunks[0]
        else:
            table = partitions_of(X, None)
            parts = table.tables([own for own in table.columns if own not in self._no_features])
            sizes = [np.nan] * len(parts)
        # One value of the graph, as each function holds the model.
        how = dask.delayed((function, np.empty((0, *shape), dtype)), traverse=False)
        found = [dask.delayed(_of_part)(part, how) for part in parts]
        return as_dask_array(found, sizes, shape, dtype)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features, when all were text."""
        return self.model_.feature_names_in_

    def __getstate__(self) -> dict[str, Any]:
        """The state without what lives on the cluster."""
        there = ("_connection", "label_issue_probability_")
        state = {name: v for name, v in super().__getstate__().items() if name not in there}
        return state if isinstance(self.cluster, str) else state | {"cluster": None}

    def __sklearn_clone__(self) -> RBoostClassifier:
        """An unfitted copy on the same cluster: a client cannot be copied."""
        own = self.get_params(deep=False) | {"cluster": None}
        others = {name: clone(value, safe=False) for name, value in own.items()}
        return type(self)(**others).set_params(cluster=self.cluster)


def _issues_of(block: Block, posterior: Floats) -> Floats:
    return wrong_probability(posterior, block.observed)


def _are_paths(X: Any) -> bool:
    several = X if isinstance(X, (list, tuple)) else [X]
    return len(several) > 0 and all(isinstance(one, (str, Path)) for one in several)


def _of_part(part: Any, how: tuple[Any, NDArray[Any]]) -> NDArray[Any]:
    function, nothing = how
    return function(part) if len(part) else nothing
