"""audit_labels for tables on a cluster: which labels are probably wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from rboost._typing import Floats
from rboost.audit.audit import SEED
from rboost.audit.cleaning import THRESHOLD
from rboost.audit.features import as_frame, vectorize
from rboost.audit.labels import FEWEST_OF_CLASS, NO_LABEL, encode_labels
from rboost.audit.scorers import TableModel
from rboost.boosting.engines.growing import TreeSettings
from rboost.dask.checks import Summary, check_facts, gather_facts
from rboost.dask.connection import Connection
from rboost.dask.fitting import Encoding, TableFit, fit_table
from rboost.dask.model import as_dask_array, issue_probabilities, local_model
from rboost.dask.outputs import cleaned_table, fetch_rows, issue_frame, top_rows, write_parts
from rboost.dask.partitions import Partitions, partitions_of
from rboost.dask.progress import FitProgress
from rboost.io.packages import package

dask = package("dask", "dask")
# Labels are told apart on so many that stand for all.
LABELS_TO_READ = 10_000
# Rows that stand for all where the share of wrong labels is bounded.
SHARE_ROWS = 20_000


def audit_labels(
    X: Any,
    y: Any,
    *,
    drop: tuple[str, ...] = (),
    cluster: Any = None,
    n_workers: int = 1,
    device: str = "cpu",
    random_state: int = 0,
    checkpoint: Path | None = None,
    verbose: int = 0,
) -> DistributedAudit:
    """Estimate how noisy the labels of a large table are, and which of them are probably wrong.

    Parameters
    ----------
    X : Dask frame, Dask array, or path of a Parquet data set
        Numbers, categories, dates, short texts, missing values. A path is that of a file, of a
        folder, or a pattern such as ``data/*.parquet``.
    y : Dask array, Dask series, or the name of a column of X
        Labels of two or more classes; rows without one are given a suggestion.
    drop : tuple of str, default=()
        Columns that are no features: names of rows, say.
    cluster : None, "local", address or distributed.Client, default=None
        None is the client in use; where there is none, a cluster on this machine is started, which
        ends with the audit.
    n_workers : int, default=1
        Processes of a cluster that is started here; they share the cores.
    device : {"cpu", "cuda"}, default="cpu"
        Where each worker grows trees.
    random_state : int, default=0
        Seed; the same seed gives the same result, however rows are spread.
    checkpoint : Path, default=None
        A file for the trees that have grown: a run after a kill goes on from them.
    verbose : int, default=0
        Whether to show a progress bar on standard error.

    Returns
    -------
    audit : DistributedAudit
        The noise matrix with intervals, the probability that each label is wrong, suspects.
    """
    if not SEED.accepts(random_state):
        raise ValueError(f"random_state must be {SEED}, not {random_state!r}.")
    partitions = partitions_of(X, y, drop=drop)
    connection = Connection(cluster, n_workers)
    summary = check_facts(gather_facts(connection.client, partitions))
    summary = _with_classes(summary, str(partitions.label))
    progress = FitProgress(bool(verbose), checkpoint)
    settings = TreeSettings(seed=random_state, device=device)
    fit = fit_table(
        connection.client, partitions, summary, _learn_features, settings, None, progress
    )
    return DistributedAudit(connection, partitions, summary, fit)


def _with_classes(summary: Summary, name: str) -> Summary:
    """Labels as an audit reads them: spellings of one class are one, rare ones are none."""
    total = sum(summary.label_counts.values())
    counts = {
        label: max(min(count, FEWEST_OF_CLASS), round(count * LABELS_TO_READ / total))
        for label, count in summary.label_counts.items()
    }
    few = [label for label, count in counts.items() for _ in range(count)]
    labels = encode_labels(np.array(few, dtype=object), name=name)
    first = np.cumsum([0, *counts.values()])[:-1]
    places = dict(zip(counts, labels.given[first].tolist(), strict=True))
    kept = {label: place for label, place in places.items() if place != NO_LABEL}
    return replace(summary, classes=labels.classes, places=kept)


@dataclass(frozen=True, eq=False)
class Features:
    """Columns as an audit turns them into numbers."""

    model: TableModel

    def for_trees(self, X: Any) -> Floats:
        """The numbers of the rows."""
        return self.model.features(as_frame(X))


def _learn_features(sample: Any) -> Encoding:
    vectorizer, dates, features = vectorize(as_frame(sample))
    model = TableModel(vectorizer, dates, None, np.empty(0), None)  # type: ignore[arg-type]
    return Features(model), [0] * features.shape[1]


class DistributedAudit:
    """What an audit on a cluster has found; rows and what is said of them stay there.

    Attributes
    ----------
    classes : ndarray
        The classes, sorted.
    label_name : str
        The column that was audited.
    noise_matrix : ndarray of shape (n_classes, n_classes)
        ``noise_matrix[j, k] = p(observed k | true j)``.
    noise_interval : ndarray of shape (2, n_classes, n_classes)
        Intervals that hold its entries with probability .9.
    n_rows, n_labelled : int
        Rows of the table, and those with a label.
    model : TableModel
        The model, for frames in memory.
    """

    def __init__(
        self, connection: Connection, partitions: Partitions, summary: Summary, fit: TableFit
    ) -> None:
        self._connection, self._partitions = connection, partitions
        self._summary, self._fit = summary, fit
        self.classes, self.label_name = summary.classes, str(partitions.label)
        self.noise_matrix, self.noise_interval = fit.noise.noise_matrix, fit.noise.interval()
        self.n_rows = summary.n_rows
        self.n_labelled = sum(summary.label_counts[label] for label in summary.places)
        features: TableModel = fit.encoder.model
        scorer = local_model(fit, summary)
        self.model = TableModel(
            features.vectorizer, features.dates, scorer, summary.classes, fit.noise
        )

    @cached_property
    def _issues(self) -> list[Any]:
        return issue_probabilities(self._connection.client, self._fit)

    @property
    def issue_probability(self) -> Any:
        """How likely each label is to be wrong, NaN where there is none: a Dask array."""
        return as_dask_array(self._issues, self._summary)

    @cached_property
    def expected_wrong(self) -> float:
        """How many labels are expected to be wrong."""
        client = self._connection.client
        return float(sum(client.gather(client.map(np.nansum, self._issues))))

    @cached_property
    def wrong_share(self) -> tuple[float, float, float]:
        """The share of labels that are wrong, and an interval that holds it with probability .9."""
        rows = self._fit.stand_ins
        copies = np.round(rows.weight * (SHARE_ROWS / rows.weight.sum()) + 1e-9).astype(np.intp)
        some = np.repeat(np.arange(len(copies)), np.maximum(copies, 0))
        _, low, high = self._fit.noise.wrong_share_interval(rows.scores[some], rows.observed[some])
        mean = self.expected_wrong / self.n_labelled
        return mean, min(low, mean), max(high, mean)

    def suspects(self, n: int = 100) -> Any:
        """The rows whose labels are most likely wrong, as a frame with all their columns.

        Rows are counted from 1. ``suggested`` is the likeliest other class.
        """
        client, summary = self._connection.client, self._summary
        rows, _ = top_rows(client, self._issues, summary, n)
        told = fetch_rows(client, self._issue_frames(), summary, rows)
        table = fetch_rows(client, self._partitions.tables, summary, rows)
        return told.join(table, rsuffix=" of the table").reset_index(drop=True)

    def _issue_frames(self) -> list[Any]:
        known = dask.delayed(self._summary, traverse=False)
        return [
            dask.delayed(issue_frame)(block, posterior, known)
            for block, posterior in zip(self._fit.blocks, self._fit.posteriors(), strict=True)
        ]

    def write_issues(self, folder: str | Path) -> list[Path]:
        """Write row, label, suggested class and probability of all rows as a Parquet data set."""
        frames = [(frame,) for frame in self._issue_frames()]
        return write_parts(self._connection.client, frames, _as_it_is, folder)

    def clean(
        self, folder: str | Path, how: str = "relabel", threshold: float = THRESHOLD
    ) -> list[Path]:
        """Write the table with better labels as a Parquet data set; see ``LabelAudit.clean``."""
        mend = partial(
            cleaned_table, label=self._partitions.label, summary=self._summary, how=how,
            threshold=threshold,
        )  # fmt: skip
        inputs = list(zip(self._partitions.tables, self._fit.posteriors(), strict=True))
        return write_parts(self._connection.client, inputs, mend, folder)

    def close(self) -> None:
        """End the cluster if it was started for this audit; what was written stays."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _as_it_is(frame: Any) -> Any:
    return frame
