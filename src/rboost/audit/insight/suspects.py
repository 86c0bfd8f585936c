"""Rows whose labels are worth a look, and what looking at them buys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rboost._typing import Floats, Integers
from rboost._validation import Number


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
    _check("n", n, Number(0, integer=True, closed=True, optional=True))
    share = Number(0, closed=True, high=1, optional=True)
    _check("threshold", threshold, share)
    _check("expected_precision", expected_precision, share)
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


def _check(name: str, value: float | None, requirement: Number) -> None:
    if not requirement.accepts(value):
        raise ValueError(f"{name} must be {requirement}, not {value!r}.")
