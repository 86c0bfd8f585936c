"""audit_labels: find the labels of a table that are probably wrong."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats
from rboost._validation import is_missing
from rboost.audit.features import (
    as_features,
    as_frame,
    column_of_feature,
    cut_texts,
    make_vectorizer,
)
from rboost.audit.inference import infer
from rboost.audit.insight.checked import AnswersContradictWarning
from rboost.audit.insight.columns import SuspiciousColumn
from rboost.audit.labels import Labels, encode_labels
from rboost.audit.render import findings
from rboost.audit.result import LabelAudit
from rboost.audit.scorers import TableModel, fit_scorer, make_scorer
from rboost.audit.suspicion import SuspiciousColumnWarning, find_suspicious_columns
from rboost.context import Groups, group_rows
from rboost.io.packages import package

FEWEST_ROWS = 20


def audit_labels(
    X: Any,
    y: Any,
    *,
    y_checked: Any = None,
    checked_at_random: Any = None,
    X_trusted: Any = None,
    y_trusted: Any = None,
    context: Any = None,
    ids: Any = None,
    id_name: str = "row",
    label_name: str = "label",
    model: Any = "rboost",
    check_columns: bool = True,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> LabelAudit:
    """Estimate how noisy labels are, and which of them are probably wrong.

    Parameters
    ----------
    X : data frame or array-like of shape (n_rows, n_columns)
        Numbers, categories, dates, short texts, missing values.
    y : array-like of shape (n_rows,)
        Labels of two or more classes, of any kind. Rows where it is missing are left out of
        training and given a suggestion.
    y_checked : array-like of shape (n_rows,), default=None
        What a person said who looked at the row; missing where nobody did. Such rows are trusted
        and never flagged.
    checked_at_random : bool or array-like of bool of shape (n_rows,), default=None
        Which of these rows were drawn for the check at random, if not by their labels or values.
        They say how many labels are wrong without any model; see ``summary().random_checks``.
    X_trusted, y_trusted : like X and y, default=None
        More rows, whose labels are known to be right. They come last in the result.
    context : str, list of str, array-like or data frame, default=None
        What labels may depend on but classes do not: who labelled a row, its source, the date.
        Names of columns of X, which are then no features, or values for each row. Every group of
        rows has its own noise; see ``summary().groups``.
    ids : array-like of shape (n_rows,), default=None
        Names of the rows; by default they are counted from 1.
    id_name, label_name : str
        What to call names and labels.
    model : {"rboost", "linear", "forest"} or classifier, default="rboost"
        What scores the rows. Any classifier of as many classes will do.
    check_columns : bool, default=True
        Whether to look for columns that hide wrong labels: copies of the label, and columns that
        tell who labelled a row or which part was mislabelled. A few small fits more.
    random_state : int, default=0
        Seed; the same seed gives the same result.
    n_jobs : int, default=None
        Threads or processes.
    verbose : int, default=0
        Whether to show progress bars on standard error.

    Returns
    -------
    audit : LabelAudit
        The noise matrix with intervals, the probability that each label is wrong, suspects and
        reasons.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rboost.audit import audit_labels
    >>> from rboost.noise import flip_labels, symmetric
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> noisy, flipped = flip_labels(y, symmetric(0.2), random_state=0)
    >>> audit = audit_labels(X, noisy)
    >>> suspects = audit.suspects(n=50)
    >>> bool(flipped[suspects.rows].mean() > 0.9)
    True
    """
    table, groups = _grouped(as_frame(X), context)
    n_rows = len(table)
    given = y.tolist() if hasattr(y, "tolist") else list(np.asarray(y, dtype=object))
    names = list(range(1, n_rows + 1)) if ids is None else list(ids)
    checked = [None] * n_rows if y_checked is None else list(y_checked)
    _check_answers(checked, given)
    _check_length("X", n_rows, "y", given)
    _check_length("X", n_rows, "ids", names)
    extra, extra_labels = _trusted_rows(table, X_trusted, y_trusted)
    table, names = with_trusted(table, names, extra)
    labels = encode_labels(given + [None] * len(extra_labels), checked + extra_labels, label_name)
    labels = replace(labels, at_random=_drawn(checked_at_random, n_rows, len(table)))
    n_observed = np.count_nonzero(labels.is_observed)
    if n_observed < FEWEST_ROWS:
        raise ValueError(
            f"Only {n_observed} rows have a label that nobody checked; at least {FEWEST_ROWS} are "
            "needed."
        )
    if groups is not None:
        groups = groups.followed_by(len(table) - n_rows)
    vectorizer, features = _vectorized(table)
    scorer = make_scorer(model, random_state, n_jobs, verbose)
    scores = fit_scorer(scorer, features, labels, groups)
    inference = infer(scores, labels, groups)
    _warn_of_one_class(inference.probability, labels)
    suspicious: tuple[SuspiciousColumn, ...] = ()
    if check_columns:
        suspicious = _checked_columns(
            table, features, vectorizer, labels, random_state, by_group=groups is None
        )
    audit = LabelAudit(
        table, labels, np.array(names, dtype=object), id_name, features, scores,
        inference, TableModel(vectorizer, scorer, labels.classes, inference.noise),
        len(table) - n_rows, groups, suspicious,
    )  # fmt: skip
    if contradiction := findings.of_contradiction(audit.predictive_check):
        warnings.warn(contradiction, AnswersContradictWarning, stacklevel=2)
    return audit


def _drawn(at_random: Any, n_rows: int, n_all: int) -> NDArray[np.bool_]:
    """Whether each row was drawn at random, were it checked; trusted rows at the end were not."""
    drawn = np.asarray(False if at_random is None else at_random)
    if drawn.dtype != bool or drawn.shape not in ((), (n_rows,)):
        raise ValueError(
            "checked_at_random must be True, False, or one of them for each row of X; pass True "
            "if all rows that have a checked label were drawn at random."
        )
    found = np.zeros(n_all, dtype=bool)
    found[:n_rows] = drawn
    return found


def _grouped(table: Any, context: Any) -> tuple[Any, Groups | None]:
    """The columns that are features, and the groups of rows that the others make."""
    if context is None:
        return table, None
    names = [context] if isinstance(context, str) else context
    if not isinstance(names, (list, tuple)) or not all(isinstance(one, str) for one in names):
        return table, group_rows(context, len(table))
    absent = [one for one in names if one not in table.columns]
    if len(absent) == len(names) == len(table):  # a word for each row
        return table, group_rows(context, len(table))
    if absent:
        raise ValueError(
            f"context names the column {absent[0]!r}, which X does not have; pass names of columns "
            "of X, or one entry a row."
        )
    return table.drop(columns=list(names)), group_rows(table[list(names)], len(table))


def with_trusted(table: Any, names: list[Any], extra: Any) -> tuple[Any, list[Any]]:
    """The table and the names of its rows, then trusted rows that are not of the table, if any."""
    if extra is None:
        return table, names
    joined = package("pandas").concat([table, extra], ignore_index=True)
    return joined, [*names, *(f"trusted {k}" for k in range(1, len(extra) + 1))]


def _trusted_rows(table: Any, X_trusted: Any, y_trusted: Any) -> tuple[Any, list[Any]]:
    """Extra rows with the columns of the table, and their labels; None where there are none."""
    if X_trusted is None and y_trusted is None:
        return None, []
    if X_trusted is None or y_trusted is None:
        raise ValueError("X_trusted and y_trusted belong together; pass both or neither.")
    extra, labels = as_frame(X_trusted), list(y_trusted)
    absent = [column for column in table.columns if column not in extra.columns]
    if absent:
        raise ValueError(f"X_trusted lacks the columns {absent}; pass all columns of X.")
    _check_length("X_trusted", len(extra), "y_trusted", labels)
    return extra[table.columns], labels


def _check_answers(checked: list[Any], given: list[Any]) -> None:
    """Fail where a checked label is none of the table's."""
    if any(np.ndim(value) for value in checked):
        raise ValueError("y_checked must have one label a row, missing where nobody looked.")
    known = {value for value in given if not is_missing(value)}
    unknown = [value for value in checked if not is_missing(value) and value not in known]
    if unknown:
        raise ValueError(
            f"y_checked holds {unknown[0]!r}, which y never is; use the same labels in both."
        )


def _check_length(table: str, n_rows: int, name: str, values: list[Any]) -> None:
    if len(values) != n_rows:
        raise ValueError(f"{table} has {n_rows} rows but {name} has {len(values)}; pass one a row.")


def _vectorized(table: Any) -> tuple[Any, Floats]:
    vectorizer = make_vectorizer(table)
    features = as_features(vectorizer.fit_transform(cut_texts(table)))
    if not features.shape[1]:
        raise ValueError(
            "No column says anything: all are empty, constant or different in every row; add "
            "columns that describe the rows."
        )
    return vectorizer, features


def _warn_of_one_class(probability: Floats, labels: Labels) -> None:
    predicted = np.unique(probability.argmax(axis=1))
    if len(predicted) == 1:
        warnings.warn(
            f"Every row is predicted as {labels.names(predicted)[0]!r}: the columns say too little "
            f"about {labels.name!r}, so that rates and suspects mean little; add columns.",
            stacklevel=3,
        )


def _checked_columns(
    table: Any, features: Floats, vectorizer: Any, labels: Labels, seed: int, by_group: bool
) -> tuple[SuspiciousColumn, ...]:
    """Columns that hide wrong labels, with a warning each."""
    source = column_of_feature(vectorizer, table)
    found = find_suspicious_columns(table, features, source, labels, seed, by_group)
    for column in found:
        sentence = findings.of_suspicious_column(column)
        warnings.warn(sentence, SuspiciousColumnWarning, stacklevel=3)
    return found
