"""What people said, which of it holds now, and how far they agree.

Agreement is that of answers which name a label: to be unsure contradicts nobody. Cohen's kappa of
two people compares the share of rows on which they agree with the share expected of two people who
choose labels as often but regardless of the row. Of more than two it is the mean over all pairs,
weighted by the rows that each pair has in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from operator import attrgetter

import numpy as np
from sklearn.metrics import cohen_kappa_score

KEEP, CHANGE, UNSURE, UNDO = "keep", "change", "unsure", "undo"
# Answers that are given before a row that was answered is asked again.
BETWEEN = 10
# What answers are sorted by, the oldest first.
NUMBER = attrgetter("number")


@dataclass(frozen=True)
class Answer:
    """What a person said of a row; ``label`` is the position of a class, None when unsure.

    Answers that were given together have the same ``action``.
    """

    number: int
    row: int
    answer: str
    label: int | None
    time: str
    reviewer: str = ""
    comment: str = ""
    action: str = field(default="", repr=False)

    @property
    def said(self) -> tuple[int, str, int | None]:
        """The row and what was said of it."""
        return self.row, self.answer, self.label


@dataclass(frozen=True)
class Log:
    """What the log says after its event ``version``.

    ``held`` are the answers that were not taken back, by their numbers, the oldest first;
    ``touched`` all rows that ever had one.
    """

    version: int
    held: dict[int, Answer]
    touched: frozenset[int]

    @cached_property
    def current(self) -> dict[int, Answer]:
        """The answer that stands of each row that has one, the oldest first.

        It is what most people say by now, of as many the latest; who is unsure contradicts nobody.
        """
        votes = Counter((answer.row, answer.label) for answer in self.standing)

        def weight(answer: Answer) -> tuple[bool, int, int]:
            return answer.label is not None, votes[answer.row, answer.label], answer.number

        latest = {answer.row: answer for answer in sorted(self.standing, key=weight)}
        return {answer.row: answer for answer in sorted(latest.values(), key=NUMBER)}

    @cached_property
    def standing(self) -> list[Answer]:
        """What each person says of each row by now, the oldest first."""
        said = (answer for own in self.by_reviewer.values() for answer in own.values())
        return sorted(said, key=NUMBER)

    @cached_property
    def _n_times(self) -> Counter[tuple[int, str]]:
        """How often each person has answered each row."""
        return Counter((answer.row, answer.reviewer) for answer in self.held.values())

    @cached_property
    def by_reviewer(self) -> dict[str, dict[int, Answer]]:
        """For each name that person's latest answer to each row, the oldest first."""
        answers: dict[str, dict[int, Answer]] = {}
        for answer in self.held.values():
            own = answers.setdefault(answer.reviewer, {})
            own.pop(answer.row, None)  # so that the latest come last
            own[answer.row] = answer
        return answers

    def own(self, reviewer: str) -> dict[int, Answer]:
        """The answers of one person that hold, by their rows, the oldest first."""
        return self.by_reviewer.get(reviewer, {})

    def of_row(self, row: int) -> list[Answer]:
        """What each person says of a row, the latest last."""
        answers = [own[row] for own in self.by_reviewer.values() if row in own]
        return sorted(answers, key=NUMBER)

    def unconfirmed(self, rows: Iterable[int]) -> list[int]:
        """Of these rows those that somebody has answered once, and not a second time."""
        once = {row for (row, _), times in self._n_times.items() if times == 1}
        return [row for row in rows if row in once]

    def due_again(self, rows: Iterable[int], reviewer: str) -> list[int]:
        """Of these rows those to ask a person of: answered, by this person at most once.

        Those among the latest answers have to wait.
        """
        latest = {answer.row for answer in list(self.held.values())[-BETWEEN:]}
        return [
            row
            for row in rows
            if row in self.current and row not in latest and self._n_times[row, reviewer] < 2
        ]

    def after(self, events: Iterable[tuple[Answer, int | None]]) -> Log:
        """The log after more events, each with the number of the answer that it takes back."""
        version, held, touched = self.version, dict(self.held), set(self.touched)
        for event, undoes in events:
            version = event.number
            if undoes is None:
                held[event.number] = event
                touched.add(event.row)
            else:
                del held[undoes]
        return Log(version, held, frozenset(touched))


class ConflictError(ValueError):
    """Something else happened meanwhile; ``present`` is the answer that the row has now."""

    def __init__(self, sentence: str, present: Answer | None = None) -> None:
        super().__init__(sentence)
        self.present = present


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
    counts = Counter(row for own in log.by_reviewer.values() for row in own)
    labelled = {
        row: [answer for answer in log.of_row(row) if answer.label is not None]
        for row, count in sorted(counts.items())
        if count > 1
    }
    shared = {row: answers for row, answers in labelled.items() if len(answers) > 1}
    if not shared:
        return None
    pairs: dict[tuple[str, str], list[tuple[int | None, int | None]]] = {}
    for answers in shared.values():
        ordered = sorted(answers, key=lambda answer: answer.reviewer)
        for one, other in combinations(ordered, 2):
            both = one.label, other.label
            pairs.setdefault((one.reviewer, other.reviewer), []).append(both)
    differing = {
        row: answers
        for row, answers in shared.items()
        if len({answer.label for answer in answers}) > 1
    }
    kappa = _mean_kappa(list(pairs.values()))
    return Agreement(len(shared), len(shared) - len(differing), kappa, differing)


def _mean_kappa(pairs: list[list[tuple[int | None, int | None]]]) -> float | None:
    """The mean of Cohen's kappa over pairs of people, where they did not always say the same."""
    known = [labels for labels in pairs if len({label for both in labels for label in both}) > 1]
    if not known:
        return None
    kappas = [cohen_kappa_score(*zip(*labels, strict=True)) for labels in known]
    return float(np.average(kappas, weights=[len(labels) for labels in known]))
