"""Which row to look at next.

What a person says of a row does three things: it corrects the row, it teaches how labels go wrong,
and, if the row was drawn at random, it counts wrong labels without any model. The default order
mixes rows for all three.

Rows that teach most are chosen one after the other by optimal design. Answers teach
p(label is wrong | row) through a logistic regression, for each label given, on the log-odds of that
label by the columns (``noise/answers.py``). With the covariance S of its two coefficients, the
variance of all probabilities together is Σ_r w_r²·x_rᵀ·S·x_r, where x = (1, log-odds) and
w = p·(1 − p). Another answer adds w·x·xᵀ to the inverse of S, which reduces the variance by

    w·xᵀ·S·M·S·x / (1 + w·xᵀ·S·x)   with   M = Σ_r w_r²·x_r·x_rᵀ

so that rows in the middle and at both ends of the scores are chosen, of each label in proportion to
the variance that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from rboost._typing import Floats, Integers
from rboost.audit import LabelAudit, TableLabels
from rboost.audit.labels import NO_LABEL

# What a row may be picked for: a random check, as its label is likely wrong, as its answer teaches
# most, or as its true class is least known.
RANDOM, SUSPICIOUS, DESIGN, INFORMATIVE = "random", "suspicious", "design", "informative"
# Of every five rows of the mixed order, what each is picked for.
PATTERN = (RANDOM, SUSPICIOUS, DESIGN, SUSPICIOUS, DESIGN)
# Rows in the mixed order, which is made anew before anybody gets to its end.
N_MIXED = 100
# The fewest draws from which an interval is computed: with fewer it is too wide to be of use.
FEWEST_DRAWS = 5
# Prior standard deviations of the two coefficients, and bounds of p(label is wrong) before answers.
PRIOR_SCALES = np.array([1.5, 0.5])
LEAST_PROBABILITY = 0.01


@dataclass(frozen=True, eq=False)
class Ranking:
    """Rows in an order, and what each is picked for: as ``picks`` says, others for the usual."""

    rows: Integers
    usual: str
    picks: dict[int, str]

    def why(self, row: int) -> str:
        """What a row is picked for."""
        return self.picks.get(row, self.usual)


def informative(audit: LabelAudit, rows: Integers, n_answers: int = 0) -> Ranking:
    """The rows whose true class is least known first: by the entropy of their posterior."""
    doubt = entr(audit.inference.posterior[rows]).sum(axis=1)
    return Ranking(_largest_first(doubt, rows), INFORMATIVE, {})


def suspicious(audit: LabelAudit, rows: Integers, n_answers: int = 0) -> Ranking:
    """The labels that are likeliest wrong first; rows without a label come last."""
    wrong = np.nan_to_num(audit.issue_probability[rows], nan=-1.0)
    return Ranking(_largest_first(wrong, rows), SUSPICIOUS, {})


def mixed(audit: LabelAudit, rows: Integers, n_answers: int = 0) -> Ranking:
    """Rows drawn at random, rows that are likely wrong and rows that teach most, in turn.

    One row in five is to be drawn at random. Draws fall behind where several rows are answered at
    once, or rows of another order; those that are missing come first.
    """
    drawn = random_order(audit.labels)
    due = drawn[: n_answers // len(PATTERN) + 1]
    due = due[np.isin(due, rows)][:N_MIXED]
    streams = {
        RANDOM: iter(drawn[np.isin(drawn, rows)].tolist()),
        SUSPICIOUS: iter(suspicious(audit, rows).rows.tolist()),
        DESIGN: iter(optimal_design(audit, rows, N_MIXED).tolist()),
    }
    # The pattern goes on where earlier answers left it.
    taken = dict.fromkeys(due.tolist(), RANDOM)
    for place in range(n_answers + len(due), n_answers + min(N_MIXED, len(rows))):
        turn = place % len(PATTERN)
        for stream in (*PATTERN[turn:], *PATTERN[:turn]):  # the next one, where one has ended
            row = next((row for row in streams[stream] if row not in taken), None)
            if row is not None:
                taken[row] = stream
                break
    first = np.array(list(taken), dtype=np.intp)
    others = informative(audit, np.setdiff1d(rows, first))
    return Ranking(np.concatenate([first, others.rows]), others.usual, taken)


def random_order(labels: TableLabels) -> Integers:
    """All rows with a label in an order that has nothing to do with them, always the same."""
    shuffled = np.random.RandomState(0).permutation(len(labels))
    return shuffled[labels.given[shuffled] != NO_LABEL]


def random_draws(labels: TableLabels, n_answers: int, is_closed: NDArray[np.bool_]) -> Integers:
    """The rows that were drawn at random: the first of their order, one in five answers.

    Their number depends on the number of answers alone, and rows of the order that were answered
    for another reason count as well, so that they are a simple random sample of the table.
    """
    drawn = random_order(labels)[: n_answers // len(PATTERN)]
    fair = bool(is_closed[drawn].all()) and len(drawn) >= FEWEST_DRAWS
    return drawn if fair else drawn[:0]


def _largest_first(worth: Floats, rows: Integers) -> Integers:
    return rows[np.argsort(-worth, kind="stable")]


# From an audit, rows and the number of answers to the rows in the order to ask in.
ORDERS: dict[str, Callable[[LabelAudit, Integers, int], Ranking]] = {
    "mixed": mixed,
    "informative": informative,
    "suspicious": suspicious,
}
DEFAULT_ORDER = "mixed"
# The order of rows that others have answered, for a second opinion.
SECOND = "second"


def rank(
    audit: LabelAudit, order: str, set_aside: Iterable[int] = (), n_answers: int | None = None
) -> Ranking:
    """All rows that nobody checked or set aside, in this order; ties as in the table.

    ``n_answers`` says how many of these have an answer of the review; all, if it is left out.
    """
    is_open = ~audit.labels.is_checked
    is_open[list(set_aside)] = False
    rows = np.flatnonzero(is_open)
    return ORDERS[order](audit, rows, len(audit) - len(rows) if n_answers is None else n_answers)


def optimal_design(audit: LabelAudit, rows: Integers, n_chosen: int) -> Integers:
    """Of these rows those whose answers teach most, each given the ones before it."""
    labels, found = audit.labels, audit.inference
    labelled = np.flatnonzero(labels.given != NO_LABEL)
    given = labels.given[labelled]
    wrong = found.noise.issue_probability(audit.scores[labelled], given)
    wrong = np.clip(wrong, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    weight = wrong * (1 - wrong)
    right = found.probability[labelled, given].clip(LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    columns = np.column_stack([np.ones(len(right)), np.log(right) - np.log1p(-right)])
    is_open, is_checked = np.isin(labelled, rows), labels.is_checked[labelled]
    n_chosen = min(n_chosen, int(is_open.sum()))
    own, precision = {}, {}
    reduction = np.full(len(labelled), -1.0)  # of rows that are taken or not open
    for k in np.unique(given[is_open]).tolist():
        own[k], known = np.flatnonzero((given == k) & is_open), (given == k) & is_checked
        precision[k] = np.diag(PRIOR_SCALES**-2.0)
        precision[k] += (columns[known].T * weight[known]) @ columns[known]
        reduction[own[k]] = _reduction(columns[own[k]], weight[own[k]], precision[k])
    chosen: list[int] = []
    while len(chosen) < n_chosen:
        best = int(reduction.argmax())
        chosen.append(best)
        k = int(given[best])
        precision[k] += weight[best] * np.outer(columns[best], columns[best])
        reduction[own[k]] = _reduction(columns[own[k]], weight[own[k]], precision[k])
        reduction[chosen] = -1.0
    return labelled[chosen]


def _reduction(columns: Floats, weight: Floats, precision: Floats) -> Floats:
    """By how much an answer to each row with one label reduces the variance of all of them."""
    spread = (columns.T * weight**2) @ columns
    projected = columns @ np.linalg.inv(precision)
    gained = ((projected @ spread) * projected).sum(axis=1)
    return weight * gained / (1 + weight * (projected * columns).sum(axis=1))
