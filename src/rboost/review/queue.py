"""Which row to look at next.

What a person says of a row does three things: it corrects the row, it teaches how labels go wrong,
and, if the row was drawn at random, it counts wrong labels without any model. The default order
mixes rows for all three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost.audit import LabelAudit, TableLabels
from rboost.audit.labels import NO_LABEL
from rboost.review.design import settling_rows

# Of every five rows of the mixed order, what each is picked for.
PATTERN = ("random", "suspicious", "settling", "suspicious", "settling")
# So many rows are mixed; the order is made anew before anybody gets to its end.
N_MIXED = 100
# Fewer draws may be accidents of another order, and say nothing anyway.
FEWEST_DRAWS = 5


def entropy(probability: Floats) -> Floats:
    """−Σ_j p_j log p_j of each row, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from rboost.review.queue import entropy
    >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4).tolist()
    [0.6931, 0.0]
    """
    p = np.clip(probability, 0.0, 1.0)
    logarithm = np.log(p, where=p > 0, out=np.zeros_like(p))
    return np.abs((p * logarithm).sum(axis=1))  # the sum is ≤ 0; this leaves no −0


def informative(audit: LabelAudit, rows: Integers, n_answers: int = 0) -> Integers:
    """The rows whose true class is least known first."""
    return _largest_first(entropy(audit.inference.posterior[rows]), rows)


def suspicious(audit: LabelAudit, rows: Integers, n_answers: int = 0) -> Integers:
    """The labels that are likeliest wrong first; rows without a label come last."""
    return _largest_first(np.nan_to_num(audit.issue_probability[rows], nan=-1.0), rows)


def mixed(audit: LabelAudit, rows: Integers, n_answers: int = 0) -> Integers:
    """Rows drawn at random, rows that are likely wrong and rows that settle the noise, in turn.

    Draws that are due come first: whoever answers several rows at once, or rows of another order,
    gets ahead of them.
    """
    drawn = random_order(audit.labels)
    due = drawn[: n_answers // len(PATTERN) + 1]
    due = due[np.isin(due, rows)][:N_MIXED]
    streams = {
        "random": iter(drawn[np.isin(drawn, rows)].tolist()),
        "suspicious": iter(suspicious(audit, rows).tolist()),
        "settling": iter(settling_rows(audit, rows, N_MIXED).tolist()),
    }
    # Where this goes on after other answers, so does the pattern.
    taken = dict.fromkeys(due.tolist())
    for place in range(n_answers + len(due), n_answers + min(N_MIXED, len(rows))):
        turn = place % len(PATTERN)
        for stream in (*PATTERN[turn:], *PATTERN[:turn]):  # the next one, where one has ended
            row = next((row for row in streams[stream] if row not in taken), None)
            if row is not None:
                taken[row] = None
                break
    first = np.array(list(taken), dtype=np.intp)
    return np.concatenate([first, informative(audit, np.setdiff1d(rows, first))])


def random_order(labels: TableLabels) -> Integers:
    """All rows with a label in an order that has nothing to do with them, always the same."""
    shuffled = np.random.RandomState(0).permutation(len(labels))
    return shuffled[labels.given[shuffled] != NO_LABEL]


def random_draws(labels: TableLabels, n_answers: int, is_closed: NDArray[np.bool_]) -> Integers:
    """The rows that were drawn at random: the first of their order, one in five answers.

    How many they are depends on the number of answers alone, and those that were answered for
    another reason count like the others, so that they are drawn fairly from the whole table.
    """
    drawn = random_order(labels)[: n_answers // len(PATTERN)]
    fair = bool(is_closed[drawn].all()) and len(drawn) >= FEWEST_DRAWS
    return drawn if fair else drawn[:0]


def _largest_first(worth: Floats, rows: Integers) -> Integers:
    return rows[np.argsort(-worth, kind="stable")]


# Rows of an audit in an order, after so many answers; the first is the default.
ORDERS: dict[str, Callable[[LabelAudit, Integers, int], Integers]] = {
    "mixed": mixed,
    "informative": informative,
    "suspicious": suspicious,
}


def rank(
    audit: LabelAudit, order: str, set_aside: Iterable[int] = (), n_answers: int | None = None
) -> Integers:
    """All rows that nobody checked or set aside, in this order; ties as in the table.

    ``n_answers`` says how many of these have an answer of the review; all, if it is left out.
    """
    is_open = ~audit.labels.is_checked
    is_open[list(set_aside)] = False
    rows = np.flatnonzero(is_open)
    return ORDERS[order](audit, rows, len(audit) - len(rows) if n_answers is None else n_answers)


def still_open(ranking: Integers, n_rows: int, *closed: Iterable[int]) -> Integers:
    """The rows of a ranking that are in none of the sets, in the same order."""
    is_open = np.ones(n_rows, dtype=bool)
    for rows in closed:
        is_open[[row for row in rows if row < n_rows]] = False
    return ranking[is_open[ranking]]
