"""Answers on disk: a log of events in SQLite, to which events are only ever added.

An answer is on the disk before the caller hears that it was taken, so a kill at any moment loses
none. What holds now is derived from the log: the last answer of each row that was not taken back.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

KEEP, CHANGE, UNSURE = ANSWERS = ("keep", "change", "unsure")
UNDO = "undo"
# How long to wait, in seconds, while another process writes.
PATIENCE = 10.0
# Says in the head of a file that it is one of ours: "rBst".
APPLICATION = 0x72427374

SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('keep', 'change', 'unsure', 'undo')),
    row INTEGER NOT NULL,
    label INTEGER,
    undoes INTEGER UNIQUE REFERENCES events (number),
    time TEXT NOT NULL
);
"""
EVENT = "SELECT number, row, kind, label, time FROM events"


@dataclass(frozen=True)
class Answer:
    """What a person said of a row; ``label`` is the position of a class, None when unsure."""

    number: int
    row: int
    answer: str
    label: int | None
    time: str


@dataclass(frozen=True)
class Log:
    """What the log says after its event ``version``.

    ``current`` holds the answer of each row that has one, the oldest first; ``touched`` all rows
    that ever had one.
    """

    version: int
    current: dict[int, Answer]
    touched: frozenset[int]


class ConflictError(ValueError):
    """Something else happened meanwhile; ``present`` is the answer that the row has now."""

    def __init__(self, sentence: str, present: Answer | None = None) -> None:
        super().__init__(sentence)
        self.present = present


class AnswerStore:
    """The answers of one audit, which its fingerprint names.

    Any number of threads and processes may use the same file.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._log = Log(-1, {}, frozenset())
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # Statements are grouped by _transaction alone, and threads take turns by the lock.
            self._connection = sqlite3.connect(
                path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise ValueError(f"{path} cannot be opened: {error}.") from error
        try:
            self._prepare(fingerprint)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, fingerprint: str) -> None:
        try:
            # Beyond FULL, EXTRA also makes sure of the folder's entry for the journal.
            self._connection.execute("PRAGMA synchronous = EXTRA")
            with self._transaction():
                self._create(fingerprint)
            found = self.recall("fingerprint")
            self._read_log()
        except sqlite3.OperationalError as error:
            raise ValueError(f"{self.path} cannot be used: {error}.") from error
        except sqlite3.DatabaseError as error:
            raise ValueError(self._damaged()) from error
        if found != fingerprint:
            raise ValueError(
                f"{self.path} holds answers to another audit; move it away, or review the audit "
                "that it belongs to."
            )

    def _create(self, fingerprint: str) -> None:
        """Make the tables of a new file; fail if it is none of ours, or damaged."""
        ask = self._connection.execute
        (sound,) = ask("PRAGMA quick_check(1)").fetchone()
        (n_tables,) = ask("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = ask("PRAGMA application_id").fetchone()
        if sound != "ok" or (n_tables and application != APPLICATION):
            raise sqlite3.DatabaseError
        if not n_tables:
            ask(f"PRAGMA application_id = {APPLICATION}")
            for statement in SCHEMA.split(";"):
                ask(statement)
            ask("INSERT INTO about VALUES ('fingerprint', ?)", (fingerprint,))

    def _damaged(self) -> str:
        return f"{self.path} is damaged or no file of answers; move it away to start anew."

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, one writer at a time; on disk when the block has ended."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def log(self) -> Log:
        """What holds now, whoever wrote it."""
        with self._lock:
            return self._read_log()

    def _read_log(self) -> Log:
        """Read the log again if events were added; as none is removed, its end tells."""
        (version,) = self._connection.execute("SELECT max(number) FROM events").fetchone()
        version = version or 0
        if version != self._log.version:
            with closing(
                self._connection.execute(
                    "SELECT number, row, kind, label, time, number IN (SELECT undoes FROM events "
                    "WHERE undoes IS NOT NULL) FROM events WHERE kind <> 'undo' AND number <= ? "
                    "ORDER BY number",
                    (version,),
                )
            ) as events:
                current: dict[int, Answer] = {}
                touched = set()
                for *answer, is_undone in events:
                    touched.add(answer[1])
                    if not is_undone:
                        current.pop(answer[1], None)  # the latest answers come last
                        current[answer[1]] = Answer(*answer)
            self._log = Log(version, current, frozenset(touched))
        return self._log

    def add(
        self, key: str, row: int, answer: str, label: int | None, expects: int | None = None
    ) -> Answer:
        """Write an answer down, for good.

        Parameters
        ----------
        key : str
            Made by whoever answers; the same answer with the same key counts once.
        row : int
            Position of the row.
        answer : {"keep", "change", "unsure"}
            What was said.
        label : int or None
            Position of the class that is right; None when unsure.
        expects : int, default=None
            Number of the answer that the row was seen with. If it has another by now, nothing is
            written and a :class:`ConflictError` is raised.
        """
        with self._transaction():
            earlier, present = self._event(key), self._read_log().current.get(row)
            if earlier is not None:
                if (earlier.row, earlier.answer, earlier.label) != (row, answer, label):
                    raise ConflictError("This key stands for something else already.", present)
                return earlier
            if (present.number if present else None) != expects:
                raise ConflictError("This row was answered differently in the meantime.", present)
            return self._append(key, row, answer, label)

    def undo(self, key: str, number: int | None = None) -> Answer:
        """Take back an answer, by default the last one, and return it."""
        with self._transaction():
            earlier = self._event(key)
            if earlier is not None:
                if earlier.answer != UNDO:
                    raise ConflictError("This key stands for something else already.")
                return self._undone_by(key)
            current = self._read_log().current.values()
            chosen = [a for a in current if number is None or a.number == number]
            if not chosen:
                raise ConflictError(
                    "There is no answer to take back."
                    if number is None
                    else "That answer was taken back or replaced already."
                )
            self._append(key, chosen[-1].row, UNDO, None, chosen[-1].number)
            return chosen[-1]

    def _append(
        self, key: str, row: int, kind: str, label: int | None, undoes: int | None = None
    ) -> Answer:
        time = datetime.now(UTC).isoformat(timespec="seconds")
        number = self._connection.execute(
            "INSERT INTO events (key, kind, row, label, undoes, time) VALUES (?, ?, ?, ?, ?, ?)",
            (key, kind, row, label, undoes, time),
        ).lastrowid
        assert number is not None  # a row was inserted
        return Answer(number, row, kind, label, time)

    def _event(self, key: str) -> Answer | None:
        found = self._connection.execute(f"{EVENT} WHERE key = ?", (key,)).fetchone()
        return Answer(*found) if found else None

    def _undone_by(self, key: str) -> Answer:
        which = "WHERE number = (SELECT undoes FROM events WHERE key = ?)"
        return Answer(*self._connection.execute(f"{EVENT} {which}", (key,)).fetchone())

    def recall(self, name: str) -> str | None:
        """What was written down under a name."""
        with self._lock:
            found = self._connection.execute(
                "SELECT value FROM about WHERE name = ?", (name,)
            ).fetchone()
        return found[0] if found else None

    def remember(self, name: str, value: str) -> str:
        """Write something down under a name, unless there is something already; return what is."""
        with self._transaction():
            self._connection.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", (name, value))
        return self.recall(name) or value
