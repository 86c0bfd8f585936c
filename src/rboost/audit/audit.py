"""audit_labels: find the labels of a table that are probably wrong."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rboost._validation import Number
from rboost.audit.arguments import check_arguments, check_enough
from rboost.audit.fit import (
    DEFAULT,
    fit_model,
    infer,
    learn_features,
    make_scorer,
    merged_copies,
    used_columns,
)
from rboost.audit.insight.suspicion import (
    SuspiciousColumn,
    SuspiciousColumnWarning,
    find_suspicious_columns,
)
from rboost.audit.render.text import describe_suspicious_column
from rboost.audit.result import LabelAudit, warn_of

# What a seed must be for NumPy.
SEED = Number(0, integer=True, closed=True, high=2**32 - 1)


def audit_labels(
    X: Any,
    y: Any,
    *,
    y_checked: Any = None,
    checked_at_random: Any = None,
    X_trusted: Any = None,
    y_trusted: Any = None,
    probabilities: Any = None,
    context: Any = None,
    ids: Any = None,
    id_name: str = "row",
    label_name: str | None = None,
    model: Any = DEFAULT,
    check_columns: bool = True,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
    device: str = "cpu",
) -> LabelAudit:
    """Estimate how noisy labels are, and which of them are probably wrong.

    Parameters
    ----------
    X : data frame, array-like or sparse matrix of shape (n_rows, n_columns)
        Numbers, categories, dates, short texts, missing values. With ``probabilities`` it is only
        shown, and may be None.
    y : array-like of shape (n_rows,) or (n_rows, n_annotators)
        Labels of two or more classes, of any kind; those that differ only by case or white space
        are one. Rows where it is missing are left out of training and given a suggestion. Or labels
        of several annotators, one column each, missing where one did not label a row: the majority
        is then audited, ``consensus()`` has the most probable class of each row, and
        ``summary().annotators`` says how often each annotator is right.
    y_checked : array-like of shape (n_rows,) or data frame, default=None
        The class that a person chose who checked the row, missing elsewhere. Such rows are never
        flagged. Of several people a frame with a line for each answer, as :meth:`LabelAudit.refit`
        takes it.
    checked_at_random : bool or array-like of bool of shape (n_rows,), default=None
        Which of these rows were drawn for the check at random, if not by their labels or values.
        They say how many labels are wrong without any model; see ``summary().random_checks``.
    X_trusted, y_trusted : like X and y, default=None
        More rows, whose labels are known to be right. They come last in the result.
    probabilities : array-like or data frame of shape (n_rows, n_classes), default=None
        What any model says of rows that it was not fitted to, for instance by
        ``cross_val_predict``: of texts, images, anything. No model is fitted then. Columns are in
        the order of the sorted labels, or named after them.
    context : str, list of str, array-like or data frame, default=None
        What labels may depend on but classes do not: who labelled a row, its source, the date.
        Names of columns of X, which are then no features, or values for each row. Every group of
        rows has its own noise; see ``summary().groups``.
    ids : array-like of shape (n_rows,), default=None
        Names of the rows; by default they are counted from 1.
    id_name, label_name : str
        What to call names and labels; labels are called as ``y`` is, if it has a name.
    model : {"rboost", "linear", "forest"} or classifier, default="rboost"
        What scores the rows. Any classifier of as many classes will do.
    check_columns : bool, default=True
        Whether to look for columns that hide wrong labels: copies of the label, and columns that
        identify who labelled a row or which part was mislabelled. A few small fits more.
    random_state : int, default=0
        Seed; the same seed gives the same result.
    n_jobs : int, default=None
        Threads or processes.
    verbose : int, default=0
        Whether to show progress bars on standard error.
    device : {"cpu", "cuda"}, default="cpu"
        Where the model "rboost" grows trees. "cuda" is a GPU of NVIDIA (``rboost[gpu]``).

    Returns
    -------
    audit : LabelAudit
        The noise matrix with intervals, the probability that each label is wrong, suspects and
        reasons.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rboost import audit_labels
    >>> from rboost.noise import flip_labels, symmetric
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> noisy, flipped = flip_labels(y, symmetric(0.2), random_state=0)
    >>> audit = audit_labels(X, noisy)
    >>> suspects = audit.suspects(n=50)
    >>> bool(flipped[suspects.rows].mean() > 0.9)
    True
    """
    if not SEED.accepts(random_state):
        raise ValueError(f"random_state must be {SEED}, not {random_state!r}.")
    if probabilities is not None and model != DEFAULT:
        raise ValueError("With probabilities no model is fitted; pass either of them.")
    asked = check_arguments(
        X, y, y_checked=y_checked, checked_at_random=checked_at_random, X_trusted=X_trusted,
        y_trusted=y_trusted, probabilities=probabilities, context=context, ids=ids,
        id_name=id_name, label_name=label_name,
    )  # fmt: skip
    labels, scores = asked.labels, asked.scores
    check_enough(labels)
    features = learn_features(asked.table)
    copy_of, scorer, fitted = None, None, None
    suspicious: tuple[SuspiciousColumn, ...] = ()
    if scores is not None:
        inference = infer(scores, labels)
    elif not used_columns(features):
        raise ValueError(
            "No column says anything: all are empty, constant or different in every row; add "
            "columns that describe the rows."
        )
    else:
        copy_of = merged_copies(features, labels, asked.n_extra)
        scorer = make_scorer(model, random_state, n_jobs, verbose, device)
        scores, inference, fitted = fit_model(scorer, features, labels, copy_of)
        if copy_of is not None:
            n_copies = int(np.count_nonzero(copy_of != np.arange(len(copy_of))))
            warnings.warn(
                f"{n_copies} rows repeat others, label and all; they were taken for copies, of "
                "which each counts once for the model and the noise.",
                stacklevel=2,
            )
        if check_columns:
            by_group = asked.groups is None
            suspicious = find_suspicious_columns(
                asked.table, features, labels, random_state, by_group
            )
    for column in suspicious:
        warnings.warn(describe_suspicious_column(column), SuspiciousColumnWarning, stacklevel=2)
    audit = LabelAudit(
        asked.table, labels.settled(inference.posterior), asked.ids, id_name, features, scores,
        inference, fitted,
        asked.n_extra, asked.groups, suspicious, copy_of, scorer,
    )  # fmt: skip
    warn_of(audit)
    return audit
