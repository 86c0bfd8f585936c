"""Part two: a reviewer who knows the verified labels answers, in several orders; one errs in 10 %.

The answers of each stage go to ``audit_labels(..., y_checked=...)``, so that what is measured is
what the library makes of them, whatever the order. Shapes: one entry a row of the learning half;
``checked`` holds the verified label, −1 where nobody looked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from benchmarks.real_noise.measures import average_precision, held, quality
from benchmarks.real_noise.methods import (
    Work,
    cleanlab_order,
    forest,
    out_of_fold,
    self_confidence,
)
from benchmarks.real_noise.tables import Halves
from benchmarks.store import Record
from rboost._typing import Floats, Integers
from rboost.audit import LabelAudit, audit_labels
from rboost.audit.arguments import FEWEST_ROWS
from rboost.audit.labels import NO_LABEL
from rboost.review.queue import ORDERS as QUEUES
from rboost.review.queue import rank

STAGES = (0, 25, 50, 100, 200)
# Our queue is sorted anew after so many answers, as a review does it while a person answers.
SORTED_EVERY = 5
# The share of the answers of a careless reviewer that are wrong: another class, at random.
CARELESS = 0.1
# The order that a review has unless told otherwise.
OUR_ORDER = next(iter(QUEUES))
# Given an audit and what is checked in it, the rows to look at next, as many as asked for or less.
Chooser = Callable[[LabelAudit, Integers, int], Integers]


def answers_at(stage: int, halves: Halves) -> int:
    """Answers at a stage: small tables run out of rows, as an audit needs some unchecked ones."""
    return min(stage, len(halves.given) - FEWEST_ROWS)


def _queue(audit: LabelAudit, checked: Integers, n: int) -> Integers:
    """The first rows of our queue, sorted with all answers so far."""
    return rank(audit.with_checked(checked), OUR_ORDER).rows[: min(n, SORTED_EVERY)]


def _fixed(order: Integers, audit: LabelAudit, checked: Integers, n: int) -> Integers:
    """The next rows of an order that answers do not change."""
    return order[checked[order] == NO_LABEL][:n]


def random_order(halves: Halves, seed: int) -> Integers:
    """All rows, shuffled."""
    return np.random.RandomState(seed).permutation(len(halves.given))


def _in_our_order(halves: Halves, seed: int) -> Chooser:
    return _queue


def _at_random(halves: Halves, seed: int) -> Chooser:
    return partial(_fixed, random_order(halves, seed))


def _in_cleanlabs_order(halves: Halves, seed: int) -> Chooser:
    suspicion = cleanlab_order(out_of_fold(halves, seed), halves.given)
    return partial(_fixed, np.argsort(-suspicion, kind="stable"))


def said_by(halves: Halves, error: float, seed: int) -> Integers:
    """What a reviewer says of each row who errs in this share of cases, of two classes."""
    slips = np.random.RandomState(seed).random_sample(len(halves.true)) < error
    return np.where(slips, 1 - halves.true, halves.true)


def review(
    choose: Callable[[Halves, int], Chooser], halves: Halves, seed: int, error: float = 0.0
) -> Record:
    """Answer in an order, and measure at every stage."""
    said = said_by(halves, error, seed)
    chooser = choose(halves, seed)
    checked = np.full(len(halves.given), NO_LABEL)
    stages: list[Record] = []
    audit = None
    for stage in STAGES:
        n_answers = answers_at(stage, halves)
        while audit is not None and (missing := n_answers - np.sum(checked != NO_LABEL)) > 0:
            rows = chooser(audit, checked, int(missing))
            checked[rows] = said[rows]
        known = [None if label == NO_LABEL else label for label in checked.tolist()]
        audit = audit_labels(
            halves.X,
            halves.given,
            y_checked=known,
            random_state=seed,
            n_jobs=1,
            check_columns=False,
        )
        probability = audit.model.predict_proba(halves.X_test)[:, 1]
        stages.append(_measured(probability, audit.issue_probability, checked, halves))
        stages[-1] |= _intervals(audit, halves)
    return {"stages": stages}


def _measured(probability: Floats, suspicion: Floats, checked: Integers, halves: Halves) -> Record:
    """Quality on the judging half, and what was found and is still to be found in the other."""
    unchecked = checked == NO_LABEL
    return quality(probability, halves.y_test) | {
        "answers": int(np.sum(~unchecked)),
        "found": int(halves.wrong[~unchecked].sum()),
        "average precision": average_precision(suspicion[unchecked], halves.wrong[unchecked]),
    }


def _intervals(audit: LabelAudit, halves: Halves) -> Record:
    """Whether the interval for the share of wrong labels, of those nobody checked, holds it."""
    unchecked = audit.labels.is_observed
    return held("wrong share", float(halves.wrong[unchecked].mean()), *audit.inference.wrong_share)


def soft_labels(scores: Floats, given: Integers, checked: Integers) -> Floats:
    """p(true class 1) of every row, learnt from checked rows by a logistic regression.

    It sees the score, the given label and their product; checked rows are certain. While answers
    are of one class only, given labels are believed.
    """
    known = checked != NO_LABEL
    soft = given.astype(float)
    if len(np.unique(checked[known])) == 2:
        columns = np.column_stack([scores, given, scores * given])
        soft = LogisticRegression().fit(columns[known], checked[known]).predict_proba(columns)[:, 1]
    return np.where(known, checked, soft)


def prototype(halves: Halves, seed: int) -> Record:
    """The reference: random answers, soft labels from a forest's scores, a forest fitted to them.

    A row is copied for each class that is possible, weighed by how likely it is.
    """
    probability = out_of_fold(halves, seed)
    order, stages = random_order(halves, seed), []
    for stage in STAGES:
        checked = np.full(len(halves.given), NO_LABEL)
        rows = order[: answers_at(stage, halves)]
        checked[rows] = halves.true[rows]
        soft = soft_labels(logit(np.clip(probability, 0.01, 0.99)), halves.given, checked)
        row, label = np.nonzero(np.column_stack([1 - soft, soft]))
        weight = np.where(label == 1, soft[row], 1 - soft[row])
        model = forest(seed).fit(halves.X.to_numpy()[row], label, weight)
        suspicion = self_confidence(probability if stage == 0 else soft, halves.given)
        found = model.predict_proba(halves.X_test.to_numpy())[:, 1]
        stages.append(_measured(found, suspicion, checked, halves))
    return {"stages": stages}


OURS, RANDOM, CLEANLAB = "our queue", "random order", "cleanlab's order"
RANDOM_ERRS = "random order, 10 % of answers wrong"
PROTOTYPE = "prototype, random order"
REVIEWS: dict[str, Work] = {
    OURS: Work("rboost", partial(review, _in_our_order)),
    RANDOM: Work("rboost", partial(review, _at_random)),
    RANDOM_ERRS: Work("rboost", partial(review, _at_random, error=CARELESS)),
    CLEANLAB: Work("rboost", partial(review, _in_cleanlabs_order)),
    PROTOTYPE: Work("scikit-learn", prototype),
}
