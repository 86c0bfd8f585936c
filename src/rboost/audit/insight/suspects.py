"""Rows whose labels are worth a look: which they are, what a check finds, and where they lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA

from rboost._typing import Floats, Integers
from rboost._validation import Number
from rboost.audit.labels import NO_LABEL, TableLabels

# Numbers of rows that a person may want to check.
BUDGETS = (10, 20, 50, 100, 200, 500)
# More points than this cannot be told apart in a picture.
MOST_ROWS, MOST_SUSPECTS = 3000, 500


@dataclass(frozen=True, eq=False)
class Suspects:
    """The most suspicious rows, the most suspicious first.

    Attributes
    ----------
    rows : ndarray of shape (n_suspects,)
        Their positions in the table, counted from 0.
    probability_wrong : ndarray of shape (n_suspects,)
        How likely the label of each is to be wrong.
    expected_wrong_labels : float
        How many of all labels that nobody checked are expected to be wrong.
    """

    rows: Integers
    probability_wrong: Floats
    expected_wrong_labels: float

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        first = ", ".join(map(str, self.rows[:5].tolist())) + (", …" if len(self) > 5 else "")
        return (
            f"Suspects: {len(self)} rows ({first or 'none'}), of which {self.expected_found:.1f} "
            f"are expected to be wrong, of {self.expected_wrong_labels:.1f} in all"
        )

    @property
    def expected_precision(self) -> float:
        """The share of the suspects that is expected to be wrong; NaN without suspects."""
        return float(self.probability_wrong.mean()) if len(self) else float("nan")

    @property
    def expected_found(self) -> float:
        """How many wrong labels a check of all suspects is expected to find."""
        return float(self.probability_wrong.sum())

    @property
    def expected_recall(self) -> float:
        """The share of all wrong labels that is expected to be among the suspects."""
        total = self.expected_wrong_labels
        return self.expected_found / total if total > 0 else float("nan")


def choose_suspects(
    issue_probability: Floats,
    n: int | None = None,
    threshold: float | None = None,
    expected_precision: float | None = None,
) -> Suspects:
    """The most suspicious rows; those with NaN are not suspected.

    As many as ``n``, or all that are at least as suspicious as ``threshold``, or as many as keep
    their mean at ``expected_precision``; else all that are more likely wrong than right.
    """
    given = [x for x in (n, threshold, expected_precision) if x is not None]
    if len(given) > 1:
        raise ValueError("Pass only one of n, threshold and expected_precision.")
    count = Number(0, integer=True, closed=True, optional=True)
    share = Number(0, closed=True, high=1, optional=True)
    for name, value, requirement in (
        ("n", n, count),
        ("threshold", threshold, share),
        ("expected_precision", expected_precision, share),
    ):
        if not requirement.accepts(value):
            raise ValueError(f"{name} must be {requirement}, not {value!r}.")
    probability = np.nan_to_num(issue_probability, nan=-1.0)
    order = np.argsort(-probability, kind="stable")
    order = order[probability[order] > 0]
    ordered = probability[order]
    if n is not None:
        n_chosen = min(n, len(order))
    elif expected_precision is not None:
        running = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
        # The running mean never rises; the margin keeps rounding from cutting off equal rows.
        n_chosen = int(np.count_nonzero(running >= expected_precision - 1e-12))
    else:
        n_chosen = int(np.count_nonzero(ordered >= (0.5 if threshold is None else threshold)))
    return Suspects(order[:n_chosen], ordered[:n_chosen], float(ordered.sum()))


@dataclass(frozen=True)
class Budget:
    """A number of rows to check, and what that is expected to find."""

    n_rows: int
    expected_found: float
    expected_precision: float
    expected_recall: float


def review_gain(unchecked: Floats) -> Floats:
    """``gain[n]`` wrong labels are expected among the ``n`` most suspicious rows, 0 ≤ n ≤ all.

    ``unchecked`` has the probability that each label nobody checked is wrong; NaN is left out.
    """
    known = np.sort(unchecked[np.isfinite(unchecked)])[::-1]
    return np.concatenate([[0.0], np.cumsum(known)])


def usual_budgets(gain: Floats) -> tuple[Budget, ...]:
    """The usual numbers of rows to check, as far as the table has them."""
    return tuple(
        Budget(n, float(gain[n]), float(gain[n] / n), float(gain[n] / (gain[-1] or np.nan)))
        for n in BUDGETS
        if n < len(gain)
    )


def project(
    standardized: Floats, labels: TableLabels, suspects: Suspects
) -> tuple[Integers, Floats, float]:
    """A sample of the labelled rows, and the suspects, in the plane in which rows differ most.

    Returns positions in the table (suspects last, the most suspicious at the very end; always the
    same sample), points of shape (n, 2), and the share of all variance that this plane keeps.
    """
    doubted = suspects.rows[:MOST_SUSPECTS][::-1]
    others = np.setdiff1d(np.flatnonzero(labels.current != NO_LABEL), doubted)
    if len(others) > MOST_ROWS:
        others = np.sort(np.random.RandomState(0).choice(others, MOST_ROWS, replace=False))
    rows = np.concatenate([others, doubted]).astype(np.intp)
    features = np.asarray(standardized[rows], dtype=np.float64)
    points = np.zeros((len(rows), 2))
    if not np.ptp(features, axis=0).any():  # all alike, and no direction is better than another
        return rows, points, 1.0
    n_components = min(2, *features.shape)
    fitted = PCA(n_components, random_state=0).fit(features)
    points[:, :n_components] = fitted.transform(features)
    return rows, points, float(fitted.explained_variance_ratio_.sum())
