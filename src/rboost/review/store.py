"""Answers on disk: a log of events in SQLite, to which events are only ever added.

An answer is on the disk before the caller hears that it was taken, so a kill at any moment loses
none. What holds now is derived from the log. The tables of a file are made, and those of an older
version extended, in one transaction.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rboost.review.answers import CHANGE, KEEP, UNDO, UNSURE, Answer, ConflictError, Log

# Says in the head of a file that it is one of ours: "rBst".
APPLICATION = 0x72427374

# Each list of statements leads from one version to the next; the file says which it has.
VERSIONS = (
    (
        "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        """CREATE TABLE events (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            key TEXT NOT NULL UNIQUE,
            kind TEXT NOT NULL CHECK (kind IN ('keep', 'change', 'unsure', 'undo')),
            row INTEGER NOT NULL,
            label INTEGER,
            undoes INTEGER UNIQUE REFERENCES events (number),
            time TEXT NOT NULL
        )""",
    ),
    (
        "ALTER TABLE events ADD COLUMN reviewer TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE events ADD COLUMN comment TEXT NOT NULL DEFAULT ''",
        # The key of the request that made several events; an event by itself has none.
        "ALTER TABLE events ADD COLUMN action TEXT",
        "CREATE INDEX actions ON events (action)",
    ),
)
ANSWERS = (KEEP, CHANGE, UNSURE, UNDO)
# Seconds to wait while another process writes.
TIMEOUT = 10.0
EVENT = (
    "SELECT number, row, kind, label, time, reviewer, comment, coalesce(action, key), undoes "
    "FROM events"
)


class AnswerStore:
    """The answers of the audit with this fingerprint, of ``n_rows`` rows and ``n_classes`` classes.

    Any number of threads and processes may use the same file.
    """

    def __init__(
        self, path: Path, fingerprint: str, n_rows: int = sys.maxsize, n_classes: int = sys.maxsize
    ) -> None:
        self.path, self._n_rows, self._n_classes = path, n_rows, n_classes
        self._lock = threading.Lock()
        self._log = Log(0, {}, frozenset())
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # Statements are grouped by _transaction alone, and threads take turns by the lock.
            self._connection = sqlite3.connect(
                path, timeout=TIMEOUT, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise self._refused(error, "opened") from error
        self._file = os.stat(path)
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
                _bring_up_to_date(self._connection, fingerprint)
            found = self.recall("fingerprint")
            if found == fingerprint:
                self.log()
        except (sqlite3.OperationalError, ValueError) as error:
            raise self._refused(error, "used") from error
        except sqlite3.DatabaseError as error:
            raise ValueError(
                f"{self.path} is damaged or no file of answers; move it away to start anew."
            ) from error
        if found != fingerprint:
            raise ValueError(
                f"{self.path} holds answers to another audit; move it away, or review the audit "
                "that it belongs to."
            )

    def _refused(self, error: Exception, what: str) -> ValueError:
        """Why the file cannot be opened or used, with the remedy where it is not to be written."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without what SQLite adds to it
        is_closed = code == sqlite3.SQLITE_CANTOPEN and not os.access(self.path.parent, os.W_OK)
        if is_closed or code == sqlite3.SQLITE_READONLY:
            return ValueError(
                f"Answers are saved in the folder {self.path.parent}, which may not be written to; "
                "make it and its files writable, or copy it and use the copy."
            )
        return ValueError(f"{self.path} cannot be {what}: {error}.")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, one writer at a time; on disk when the block has ended."""
        with self._lock:
            self.check_there()
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @property
    def is_there(self) -> bool:
        """Whether the file is where it was; if not, what is written would be lost."""
        try:
            return os.path.samestat(os.stat(self.path), self._file)
        except OSError:
            return False

    def check_there(self) -> None:
        """Fail with one sentence if the file was moved, removed or replaced."""
        if not self.is_there:
            raise FileNotFoundError(
                f"{self.path} was moved, removed or replaced during the review; put it back, or "
                "download checked.csv, which has the answers before."
            )

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def log(self) -> Log:
        """What holds now, whoever wrote it."""
        with self._lock:
            return self._read_log()

    def _read_log(self) -> Log:
        """Read what was added to the log; nothing in it ever changes."""
        events = self._read("WHERE number > ? ORDER BY number", self._log.version)
        if not all(self._is_possible(*event) for event in events):
            raise sqlite3.DatabaseError("it holds an answer that nobody can give")
        try:
            self._log = self._log.after(events) if events else self._log
        except KeyError as error:
            raise sqlite3.DatabaseError("an answer is taken back that is not there") from error
        return self._log

    def _is_possible(self, event: Answer, undoes: int | None) -> bool:
        """Whether an event can be of this audit; a file may hold anything."""
        if not _is_below(event.row, self._n_rows) or (event.answer == UNDO) != (undoes is not None):
            return False
        texts = (event.time, event.reviewer, event.comment, event.action)
        if event.answer not in ANSWERS or not all(isinstance(text, str) for text in texts):
            return False
        if event.answer in (UNDO, UNSURE):
            return event.label is None
        return _is_below(event.label, self._n_classes)

    def _read(self, which: str, *values: int | str) -> list[tuple[Answer, int | None]]:
        """Events, each with the number of the answer that it takes back."""
        found = self._connection.execute(f"{EVENT} {which}", values).fetchall()
        return [(Answer(*answer), undoes) for *answer, undoes in found]

    def add(
        self,
        key: str,
        row: int,
        answer: str,
        label: int | None,
        expects: int | None = None,
        reviewer: str = "",
        comment: str = "",
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
            Number of the answer by the same person that the row was seen with. If there is another
            by now that says something else, nothing is written and a ``ConflictError`` is
            raised; if it says the same, it is returned.
        reviewer : str, default=""
            Who answers.
        comment : str, default=""
            What else is to be said.
        """
        said = (row, answer, label)
        with self._transaction():
            known = self._known(key, [said], reviewer, comment)
            if known:
                return known[0]
            present = self._read_log().own(reviewer).get(row)
            if not _is_expected(present, expects):
                if present is None or present.said != said or comment not in ("", present.comment):
                    raise _differs(present)
                return present
            return self._append(key, said, reviewer, comment)

    def add_all(
        self,
        key: str,
        said: Sequence[tuple[int, str, int | None]],
        reviewer: str = "",
        comment: str = "",
        expects: int | None = None,
    ) -> list[Answer]:
        """Write down answers to several rows, all or none; they are taken back together.

        ``said`` has a row, an answer and a label each. ``expects`` is as in :meth:`add`, for the
        first row; the others were seen without an answer by the same person.
        """
        with self._transaction():
            known = self._known(key, said, reviewer, comment)
            if known:
                return known
            own = self._read_log().own(reviewer)
            for place, each in enumerate(said):
                present = own.get(each[0])
                is_expected = _is_expected(present, None if place else expects)
                if not is_expected and (present is None or present.said != each):
                    raise _differs(present)
            return [
                self._append(f"{key}/{place}", each, reviewer, comment, action=key)
                for place, each in enumerate(said)
            ]

    def undo(self, key: str, number: int | None = None, reviewer: str = "") -> list[Answer]:
        """Take back an own answer, by default all of the last action; return what it was."""
        with self._transaction():
            earlier = self._of_action(key)
            if earlier:
                if earlier[0][0].answer != UNDO:
                    raise ConflictError("This key stands for something else already.")
                return [self._read("WHERE number = ?", undone or 0)[0][0] for _, undone in earlier]
            chosen = _to_undo(self._read_log(), number, reviewer)
            for place, answer in enumerate(chosen):
                said = (answer.row, UNDO, None)
                self._append(f"{key}/{place}", said, reviewer, "", answer.number, action=key)
            return chosen

    def _append(
        self,
        key: str,
        said: tuple[int, str, int | None],
        reviewer: str,
        comment: str,
        undoes: int | None = None,
        action: str | None = None,
    ) -> Answer:
        time = datetime.now(UTC).isoformat(timespec="seconds")
        row, kind, label = said
        number = self._connection.execute(
            "INSERT INTO events (key, kind, row, label, undoes, time, reviewer, comment, action) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (key, kind, row, label, undoes, time, reviewer, comment, action),
        ).lastrowid
        assert number is not None  # a row was inserted
        return Answer(number, *said, time, reviewer, comment, action or key)

    def _of_action(self, key: str) -> list[tuple[Answer, int | None]]:
        """The events that a request has made."""
        return self._read("WHERE key = ? OR action = ? ORDER BY number", key, key)

    def _known(
        self, key: str, said: Sequence[tuple[int, str, int | None]], reviewer: str, comment: str
    ) -> list[Answer]:
        """What the same request has written before, if it is a second try."""
        earlier = [answer for answer, _ in self._of_action(key)]
        asked = [(each, reviewer, comment) for each in said]
        if earlier and [(each.said, each.reviewer, each.comment) for each in earlier] != asked:
            present = self._read_log().own(reviewer).get(said[0][0])
            raise ConflictError("This key stands for something else already.", present)
        return earlier

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


def _bring_up_to_date(connection: sqlite3.Connection, fingerprint: str) -> None:
    """Make or extend the tables; fail if the file is none of ours, damaged, or of the future."""
    ask = connection.execute
    (sound,) = ask("PRAGMA quick_check(1)").fetchone()
    (n_tables,) = ask("SELECT count(*) FROM sqlite_master").fetchone()
    # What runs statements of its own, or computes what it holds.
    (n_active,) = ask(
        "SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view') OR rootpage = 0"
    ).fetchone()
    (application,) = ask("PRAGMA application_id").fetchone()
    # The first version did not number itself.
    version = ask("PRAGMA user_version").fetchone()[0] or (1 if n_tables else 0)
    if sound != "ok" or n_active or (n_tables and application != APPLICATION):
        raise sqlite3.DatabaseError
    if version > len(VERSIONS):
        raise ValueError("a newer rboost wrote it; use that one")
    for statements in VERSIONS[version:]:
        for statement in statements:
            ask(statement)
    if not n_tables:
        ask(f"PRAGMA application_id = {APPLICATION}")
        ask("INSERT INTO about VALUES ('fingerprint', ?)", (fingerprint,))
    ask(f"PRAGMA user_version = {len(VERSIONS)}")


def _is_below(value: object, end: int) -> bool:
    return isinstance(value, int) and 0 <= value < end


def _is_expected(present: Answer | None, expects: int | None) -> bool:
    return (present.number if present else None) == expects


def _differs(present: Answer | None) -> ConflictError:
    return ConflictError("This row was answered differently in the meantime.", present)


def _to_undo(log: Log, number: int | None, reviewer: str) -> list[Answer]:
    """The answers that are to be taken back; at least one."""
    if number is not None:
        answer = log.held.get(number)
        if answer is None or log.own(answer.reviewer)[answer.row] is not answer:
            raise ConflictError("That answer was taken back or replaced already.")
        if answer.reviewer != reviewer:
            raise ConflictError("That answer is another person's; only they can take it back.")
        return [answer]
    own = list(log.own(reviewer).values())
    if not own:
        raise ConflictError("There is no answer to take back.")
    return [answer for answer in own if answer.action == own[-1].action]
