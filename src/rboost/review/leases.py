"""Rows handed out to several reviewers: each to one at a time, and some of them to two people.

A row that a page receives is leased to its reviewer for ten minutes, and nobody else receives it
meanwhile. A page renews the leases of the rows that it still holds whenever it asks for more; an
answer ends the lease of its row. Leases are kept in memory: after a new start a row that somebody
has on the page may be handed out once more, which costs one answer and loses none.

A share of all rows, drawn at random once for every table, is handed to a second reviewer after the
first has answered, so that agreement can be measured. Nobody gives both opinions. Rows whose only
answer is doubtful are asked again of somebody else; of the same person once no other row is left.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from rboost.review.answers import Log

# Seconds for which a row is one reviewer's.
LEASE_SECONDS = 600.0
# Rows that one reviewer can hold; a page has about ten. Nobody can hold the whole table.
MOST_LEASED = 30
# Share of the rows that two people answer.
SECOND_OPINIONS = 0.1
# A browser keeps six connections open, and some systems give a process 256 files.
MOST_REVIEWERS = 20
LONGEST_NAME = 100
# The rows for second opinions are the same at every start.
SEED = 1


@dataclass(frozen=True)
class Lease:
    """Whose a row is, and until when by the clock."""

    reviewer: str
    until: float


class Leases:
    """Which rows are whose at the moment; a reviewer's own rows are always free to that person."""

    def __init__(
        self, seconds: float = LEASE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds, self._clock = seconds, clock
        self._held: dict[int, Lease] = {}  # what was taken or renewed last comes last

    def of_others(self, reviewer: str) -> set[int]:
        """The rows that others hold now."""
        self._expire()
        return {row for row, lease in self._held.items() if lease.reviewer != reviewer}

    def take(self, reviewer: str, rows: Iterable[int]) -> list[int]:
        """Lease those of these rows that nobody else holds; return them.

        With more than ``MOST_LEASED`` rows the reviewer loses those taken or renewed first.
        """
        others = self.of_others(reviewer)
        free = [row for row in rows if row not in others]
        until = self._clock() + self._seconds
        for row in free:
            self._held.pop(row, None)
            self._held[row] = Lease(reviewer, until)
        own = [row for row, lease in self._held.items() if lease.reviewer == reviewer]
        for row in own[:-MOST_LEASED]:
            del self._held[row]
        return free

    def renew(self, reviewer: str, rows: Iterable[int]) -> None:
        """Prolong the leases that this reviewer holds among these rows."""
        self._expire()
        held = self._held
        self.take(reviewer, [row for row in rows if row in held and held[row].reviewer == reviewer])

    def release(self, reviewer: str, rows: Iterable[int]) -> None:
        """End the leases that this reviewer holds among these rows."""
        for row in rows:
            if row in self._held and self._held[row].reviewer == reviewer:
                del self._held[row]

    def _expire(self) -> None:
        now = self._clock()
        self._held = {row: lease for row, lease in self._held.items() if lease.until > now}


class Team:
    """Reviewers who answer the rows of a table together.

    Parameters
    ----------
    reviewers : sequence of str
        Their names.
    n_rows : int
        Rows of the table.
    second_opinions : float, default=0.1
        Share of the rows that two people answer.
    leases : Leases, default=None
        Who holds which rows; new ones if it is left out.
    """

    def __init__(
        self,
        reviewers: Sequence[str],
        n_rows: int,
        second_opinions: float = SECOND_OPINIONS,
        leases: Leases | None = None,
    ) -> None:
        self.reviewers = checked_names(reviewers)
        if not 0 <= second_opinions <= 1:
            raise ValueError(
                f"The share of second opinions must be between 0 and 1, not {second_opinions:g}."
            )
        drawn = np.random.RandomState(SEED).random_sample(n_rows) < second_opinions
        self.asked_twice = frozenset(np.flatnonzero(drawn).tolist())
        self._leases = Leases() if leases is None else leases
        # One request for rows at a time: from reading the answers to leasing what is open.
        self.turn = threading.RLock()

    def first_and_last(
        self, log: Log, doubtful: Iterable[int], reviewer: str
    ) -> tuple[list[int], list[int]]:
        """Answered rows to be asked of a reviewer before all open ones, and after them.

        ``doubtful`` are rows with one answer that may be a mistake.
        """
        said: dict[int, list[str]] = {}
        for name, own in log.by_reviewer.items():
            for row in own:
                said.setdefault(row, []).append(name)
        due = [row for row, names in said.items() if row in self.asked_twice and len(names) == 1]
        doubted = [row for row in doubtful if len(said.get(row, ())) == 1]
        own_rows = log.own(reviewer)
        first = [row for row in dict.fromkeys([*doubted, *due]) if row not in own_rows]
        return first, [row for row in doubted if row in own_rows]

    def hand_out(
        self, reviewer: str, rows: Iterable[int], count: int, held: Iterable[int] = ()
    ) -> list[int]:
        """Lease the first of these rows that nobody else holds; ``held`` are still on the page."""
        with self.turn:
            self._leases.renew(reviewer, held)
            others = self._leases.of_others(reviewer)
            free = (row for row in rows if row not in others)
            return self._leases.take(reviewer, islice(free, count))

    def hold(self, reviewer: str, rows: Iterable[int]) -> None:
        """Lease rows that come back to the page of a reviewer, unless somebody else has them."""
        with self.turn:
            self._leases.take(reviewer, rows)

    def release(self, reviewer: str, rows: Iterable[int]) -> None:
        """A reviewer has answered these rows."""
        with self.turn:
            self._leases.release(reviewer, rows)

    def of_others(self, reviewer: str) -> set[int]:
        """The rows that other reviewers have on their pages."""
        with self.turn:
            return self._leases.of_others(reviewer)


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names of reviewers, without spaces that nobody sees; fail if two cannot be told apart."""
    found = tuple(" ".join(name.split()) for name in names)
    for name in found:
        if not name or not name.isprintable() or len(name) > LONGEST_NAME:
            raise ValueError(
                f"{name!r} is no name of a reviewer; use 1 to {LONGEST_NAME} characters that can "
                "be printed."
            )
    if len({name.casefold() for name in found}) < len(found):
        raise ValueError("Two reviewers have the same name; give each one of their own.")
    if not 0 < len(found) <= MOST_REVIEWERS:
        raise ValueError(f"Name 1 to {MOST_REVIEWERS} reviewers, not {len(found)}.")
    return found
