"""audit_labels for tables on a cluster: which labels are probably wrong."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from rboost._typing import Floats, Integers
from rboost._validation import Number, OneOf
from rboost.audit.audit import SEED
from rboost.audit.cleaning import THRESHOLD
from rboost.audit.fit import TableModel
from rboost.audit.insight.summary import (
    AuditSummary,
    ClassSummary,
    checks_would_tell,
    expected_rates,
    flip_rates,
)
from rboost.audit.labels import NO_LABEL, encode_labels
from rboost.audit.render.text import renamed
from rboost.dask.blocks import Summary, summarize
from rboost.dask.cluster import Connection, wait_for
from rboost.dask.fitting import FitProgress, TableFit, fit_table
from rboost.dask.outputs import (
    cleaned_table,
    fetch_rows,
    issue_frame,
    judge,
    with_names,
    worst_rows,
    write_parts,
)
from rboost.dask.partitions import Partitions, as_dask_array, partitions_of
from rboost.engines.engine import EngineSettings
from rboost.labels import FEWEST_OF_CLASS
from rboost.native.boosters import DEVICES
from rboost.noise.posterior import Doubt
from rboost.packages import package

dask = package("dask", "dask")
DEVICE = OneOf(DEVICES)
NUMBER_OF_ROWS = Number(0, integer=True, closed=True)
# Size of the sample of labels from which the classes are determined.
LABELS_TO_READ = 10_000
# Size of the sample of rows from which the interval of the share of wrong labels is computed.
SHARE_ROWS = 20_000


def audit_labels(
    X: Any,
    y: Any,
    *,
    drop: tuple[str, ...] = (),
    cluster: Any = None,
    n_workers: int | None = None,
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
    n_workers : int, default=None
        Processes of a cluster that is started here; they share the cores. None is one for each core
        up to four, or one for each GPU.
    device : {"cpu", "cuda"}, default="cpu"
        Where each worker grows trees.
    random_state : int, default=0
        Seed; the same seed gives the same result, however rows are spread.
    checkpoint : Path, default=None
        A file for the trees that have grown: a run of the same audit after a kill goes on from
        them. It stays, for results may be wanted that were not written yet; remove it when all are.
    verbose : int, default=0
        Whether to show a progress bar on standard error.

    Returns
    -------
    audit : DistributedAudit
        The noise matrix with intervals, the probability that each label is wrong, suspects.
    """
    if not SEED.accepts(random_state):
        raise ValueError(f"random_state must be {SEED}, not {random_state!r}.")
    if not DEVICE.accepts(device):
        raise ValueError(f"device must be {DEVICE}, not {device!r}.")
    partitions = partitions_of(X, y, drop=drop)
    connection = Connection(cluster, n_workers, device)
    try:
        name = str(partitions.label)
        summary = summarize(connection.client, partitions, repr(name), bool(verbose))
        summary = _with_classes(summary, name)
        progress = FitProgress(bool(verbose), checkpoint, partitions.version)
        seed = check_random_state(random_state).randint(2**31 - 1)  # as a classifier draws it
        settings = EngineSettings(seed=seed, device=device)
        fit = fit_table(connection.client, partitions, summary, settings, None, progress)
    except BaseException:
        connection.close()
        raise
    return DistributedAudit(connection, partitions, summary, fit, bool(verbose))


def _with_classes(summary: Summary, name: str) -> Summary:
    """Labels as audits read them: spellings of a class are merged, rare labels are no classes."""
    share = min(1, LABELS_TO_READ / sum(summary.label_counts.values()))
    counts = {
        label: max(min(count, FEWEST_OF_CLASS), round(count * share))
        for label, count in summary.label_counts.items()
    }
    few = [label for label, count in counts.items() for _ in range(count)]
    labels = encode_labels(np.array(few, dtype=object), name=name)
    first = np.cumsum([0, *counts.values()])[:-1]
    places = dict(zip(counts, labels.given[first].tolist(), strict=True))
    kept = {label: place for label, place in places.items() if place != NO_LABEL}
    return replace(summary, classes=labels.classes, places=kept)


class DistributedAudit:
    """The result of an audit on a cluster; the rows and their results stay on the workers.

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
        self,
        connection: Connection,
        partitions: Partitions,
        summary: Summary,
        fit: TableFit,
        verbose: bool = False,
    ) -> None:
        self._connection, self._partitions = connection, partitions
        self._summary, self._fit, self._verbose = summary, fit, verbose
        self.classes, self.label_name = summary.classes, str(partitions.label)
        self.noise_matrix, self.noise_interval = fit.noise.noise_matrix, fit.noise.interval()
        self.n_rows = summary.n_rows
        self.n_labelled = sum(summary.label_counts[label] for label in summary.places)
        scorer = fit.model(np.arange(len(self.classes)))
        self.model = TableModel(fit.encoder, scorer, summary.classes, fit.noise)

    @cached_property
    def _judged(self) -> list[Any]:
        """The results of each block, as futures: trees score every row once."""
        known = dask.delayed(self._summary, traverse=False)
        tasks = [
            dask.delayed(judge)(block, posterior, known)
            for block, posterior in zip(self._fit.blocks, self._fit.posteriors(), strict=True)
        ]
        futures = list(self._connection.client.compute(tasks))
        wait_for(futures, "Judging labels", self._verbose)
        return futures

    def _sum(self, name: str) -> Any:
        """The sum over all blocks of one of the sums of :class:`rboost.dask.outputs.Judged`."""
        client = self._connection.client
        return np.sum(client.gather(client.map(attrgetter(name), self._judged)), axis=0)

    @cached_property
    def _flips(self) -> Floats:
        """How many rows of class j are expected to carry the label k."""
        return self._sum("flips")

    @property
    def issue_probability(self) -> Any:
        """How likely each label is to be wrong, NaN where there is none: a Dask array."""
        issues = [dask.delayed(getattr)(judged, "issue") for judged in self._judged]
        return as_dask_array(issues, self._summary.sizes)

    @property
    def expected_wrong(self) -> float:
        """How many labels are expected to be wrong."""
        return float(self._flips.sum() - np.trace(self._flips))

    @cached_property
    def _drawn(self) -> tuple[Floats, Integers]:
        """Scores and labels of rows that stand for all, each as often as it weighs."""
        rows = self._fit.representatives
        n_drawn, up_to = min(self.n_labelled, SHARE_ROWS), np.cumsum(rows.weight)
        some = np.searchsorted(up_to, (np.arange(n_drawn) + 0.5) * up_to[-1] / n_drawn)
        return rows.scores[some], self._fit.their_labels[some]

    @cached_property
    def wrong_share(self) -> tuple[float, float, float]:
        """The share of labels that are wrong, and an interval that holds it with probability .9."""
        _, low, high = self._fit.noise.wrong_share_interval(*self._drawn)
        mean = self.expected_wrong / self.n_labelled
        return mean, min(low, mean), max(high, mean)

    def suspects(self, n: int = 100) -> Any:
        """The rows whose labels are most likely wrong, as a frame.

        ``row`` is counted from 1, ``suggested`` is the likeliest other class. All columns of the
        table but the label follow, with ``table_`` before those that are called like one of these.
        """
        if not NUMBER_OF_ROWS.accepts(n):
            raise ValueError(f"n must be {NUMBER_OF_ROWS}, not {n!r}.")
        client, summary = self._connection.client, self._summary
        worst = with_names(worst_rows(client, self._issue_frames(), n), self.classes)
        columns = [name for name in self._partitions.columns if name != self._partitions.label]
        rows, tables = worst["row"].to_numpy() - 1, self._partitions.tables(columns)
        table = fetch_rows(client, tables, summary, rows, "Reading suspects", self._verbose)
        table.columns = renamed(table.columns, list(worst.columns))
        return worst.set_axis(rows).join(table).reset_index(drop=True)

    def summary(self, suspects: Any) -> AuditSummary:
        """The numbers of the audit; ``suspects`` is a result of :meth:`suspects`."""
        flips, probably_wrong = self._flips, self._sum("probably_wrong")
        found, (share, low, high) = float(suspects["probability"].sum()), self.wrong_share
        names, noise = [str(name) for name in self.classes], self._fit.noise
        doubt = Doubt.of(noise.issue_probability(*self._drawn))._replace(n_rows=self.n_labelled)
        ends = (np.nan, np.nan)
        if len(suspects):
            ends = doubt.interval(suspects["probability"].to_numpy(), (low, high))
            ends = ends[0], min(ends[1], high * self.n_labelled / len(suspects))
        return AuditSummary(
            self.label_name,
            n_rows=self.n_rows,
            n_missing=self.n_rows - self.n_labelled,
            n_checked=0,
            n_corrected=0,
            n_unchecked=self.n_labelled,
            classes=_class_summaries(names, flips, probably_wrong),
            noise=flip_rates(names, *expected_rates(noise), flips),
            expected_wrong=self.expected_wrong,
            expected_share=share,
            share_low=low,
            share_high=high,
            probably_wrong=int(probably_wrong.sum()),
            n_suspects=len(suspects),
            expected_precision=found / max(len(suspects), 1),
            expected_recall=found / max(self.expected_wrong, found, 1e-9),
            expected_found=found,
            list_low=ends[0],
            list_high=ends[1],
            budgets=(),
            is_uncertain=checks_would_tell(share, low, high),
        )

    def _issue_frames(self) -> list[Any]:
        return [
            dask.delayed(issue_frame)(block, judged)
            for block, judged in zip(self._fit.blocks, self._judged, strict=True)
        ]

    def write_issues(self, folder: str | Path) -> list[Path]:
        """Write row, label, suggested class and probability of all rows as a Parquet data set."""
        issues = [dask.delayed(with_names)(one, self.classes) for one in self._issue_frames()]
        return self._write(issues, folder)

    def clean(
        self, folder: str | Path, how: str = "relabel", threshold: float = THRESHOLD
    ) -> list[Path]:
        """Write the table with better labels as a Parquet data set; see ``LabelAudit.clean``."""
        known = dask.delayed(self._summary, traverse=False)
        label, tables = self._partitions.label, self._partitions.tables()
        mended = [
            dask.delayed(cleaned_table)(table, posterior, label, known, how, threshold)
            for table, posterior in zip(tables, self._fit.posteriors(), strict=True)
        ]
        return self._write(mended, folder)

    def _write(self, frames: list[Any], folder: str | Path) -> list[Path]:
        return write_parts(self._connection.client, frames, folder, self._verbose)

    def close(self) -> None:
        """End the cluster if it was started for this audit; what was written stays."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _class_summaries(
    names: list[str], flips: Floats, probably_wrong: Integers
) -> tuple[ClassSummary, ...]:
    given, true, right = flips.sum(axis=0), flips.sum(axis=1), np.diag(flips)
    return tuple(
        ClassSummary(
            name,
            n_rows=round(given[k]),
            n_unchecked=round(given[k]),
            expected_wrong=float(given[k] - right[k]),
            probably_wrong=int(probably_wrong[k]),
            expected_rows=float(true[k]),
            expected_lost=float(true[k] - right[k]),
        )
        for k, name in enumerate(names)
    )
