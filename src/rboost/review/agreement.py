"""How far reviewers agree who answered the same rows.

Only answers that name a label count: to be unsure contradicts nobody. Cohen's kappa of two people,

    κ = (p_o − p_e) / (1 − p_e),

compares the share p_o of rows on which they agree with the share p_e expected of two people who
choose labels as often but regardless of the row. Of more than two it is the mean over all pairs,
weighted by the rows that each pair has in common.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

from rboost.review.answers import Answer, Log


@dataclass(frozen=True)
class Agreement:
    """Of rows that at least two people labelled, how many they label alike, and Cohen's kappa.

    ``kappa`` is None where all labels are the same, so that no other outcome was to be expected.
    ``disagreements`` has the answers to each other row, the latest last.
    """

    n_rows: int
    n_agreed: int
    kappa: float | None
    disagreements: dict[int, list[Answer]]


def agreement(log: Log) -> Agreement | None:
    """Compare what several people said; None where no row was labelled by two."""
    names = log.by_reviewer
    counts = Counter(row for own in names.values() for row in own)
    shared = {row: labelled(log, row) for row, count in sorted(counts.items()) if count > 1}
    shared = {row: answers for row, answers in shared.items() if len(answers) > 1}
    if not shared:
        return None
    differing = {
        row: answers
        for row, answers in shared.items()
        if len({answer.label for answer in answers}) > 1
    }
    pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for answers in shared.values():
        ordered = sorted(answers, key=lambda answer: answer.reviewer)
        for one, other in combinations(ordered, 2):
            assert one.label is not None  # of labelled()
            assert other.label is not None
            both = (one.label, other.label)
            pairs.setdefault((one.reviewer, other.reviewer), []).append(both)
    return Agreement(
        len(shared), len(shared) - len(differing), _mean_kappa(list(pairs.values())), differing
    )


def labelled(log: Log, row: int) -> list[Answer]:
    """What each person who chose a label for a row says of it, the latest last."""
    return [answer for answer in log.of_row(row) if answer.label is not None]


def cohen_kappa(pairs: list[tuple[int, int]]) -> float | None:
    """Cohen's kappa of the labels that two people gave to the same rows.

    Examples
    --------
    >>> from rboost.review.agreement import cohen_kappa
    >>> cohen_kappa([(0, 0), (1, 1), (0, 1), (1, 1)]), cohen_kappa([(0, 0)])
    (0.5, None)
    """
    n_rows = len(pairs)
    agreed = sum(one == other for one, other in pairs)
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    by_chance = sum(count * second[label] for label, count in first.items())
    if by_chance == n_rows**2:
        return None
    return (n_rows * agreed - by_chance) / (n_rows**2 - by_chance)


def _mean_kappa(pairs: list[list[tuple[int, int]]]) -> float | None:
    known = [(kappa, len(both)) for both in pairs if (kappa := cohen_kappa(both)) is not None]
    if not known:
        return None
    return sum(kappa * count for kappa, count in known) / sum(count for _, count in known)
