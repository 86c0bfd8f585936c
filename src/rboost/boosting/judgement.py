"""Which labels of the training rows are wrong, by learners that have not seen the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from rboost._typing import Floats, Integers
from rboost._validation import check_class_labels
from rboost.boosting.fitting import Fitted
from rboost.boosting.groups import RowsOfGroups, grouped_noise
from rboost.boosting.models import Model
from rboost.context import Groups
from rboost.noise.groups import GroupedNoise
from rboost.noise.likelihood import likeliest
from rboost.tables import Rows


class LabelJudge(Protocol):
    """What knows the noise in the labels of some rows."""

    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, ỹ) of each row."""

    def issue_probability(self, scores: Floats, observed: Integers) -> Floats:
        """p(y ≠ ỹ | score, ỹ) of each row."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """How likely each label is to be wrong, the likeliest classes, and the noise of groups."""

    issues: Floats
    likeliest: Integers
    by_group: GroupedNoise | None


def judge_rows(
    fitted: Fitted,
    rows: Rows,
    table: tuple[Any, ArrayLike, ArrayLike | None],
    groups: Groups | None,
    n_jobs: int | None,
) -> Judgement | None:
    """Judge all rows of a table (X, y and weights); None where all rows judged all learners."""
    if fitted.noise is None or fitted.held_out is None:
        return None
    scores, observed = _scores_of_all(fitted.model, fitted.held_out, rows, table, n_jobs)
    by_group, judge = None, cast(LabelJudge, fitted.noise)
    if groups is not None:
        by_group = grouped_noise(fitted.held_out, rows, fitted.noise, len(groups))
        judge = RowsOfGroups(by_group, groups.position)
    issues, likeliest = judge_labels(judge, scores, observed)
    if rows.checked is not None:  # nobody knows better than people who looked
        used = np.arange(len(issues)) if table[2] is None else np.flatnonzero(table[2])
        checked = rows.checked[: len(used)]
        known = used[checked >= 0]
        likeliest[known] = checked[checked >= 0]
        issues[known] = likeliest[known] != observed[known]
    return Judgement(issues, likeliest, by_group)


def _scores_of_all(
    model: Model,
    held_out: Floats,
    rows: Rows,
    table: tuple[Any, ArrayLike, ArrayLike | None],
    n_jobs: int | None,
) -> tuple[Floats, Integers]:
    """Scores and labels of all rows, also of those that were left out as they weigh nothing.

    ``held_out`` scores are of ``rows``, of which trusted ones come last.
    """
    X, y, sample_weight = table
    n_rows = X.shape[0]
    observed: Integers = rows.observed[: np.count_nonzero(~rows.trusted)]
    if len(observed) == n_rows:
        return held_out[:n_rows], observed
    kept = np.asarray(sample_weight) != 0
    scores = np.empty((n_rows, *held_out.shape[1:]))
    scores[kept], scores[~kept] = held_out[: kept.sum()], model.row_scores(X[~kept], n_jobs)
    return scores, check_class_labels(y)[1]


def judge_labels(judge: LabelJudge, scores: Floats, observed: Integers) -> tuple[Floats, Integers]:
    """p(y ≠ ỹ) and the most probable true class of rows with these held-out scores and labels.

    Of classes that are equally probable the label is taken.
    """
    if scores.ndim == 1:
        issues = judge.issue_probability(scores, observed)
        return issues, np.where(issues > 0.5, 1 - observed, observed)
    found = judge.posterior(scores, observed)
    right = found[np.arange(len(found)), observed]
    return np.clip(1 - right, 0.0, 1.0), likeliest(found, observed)
