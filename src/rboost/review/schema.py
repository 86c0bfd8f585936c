"""The tables of a file of answers, made and brought up to date in one transaction."""

from __future__ import annotations

import sqlite3

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


def bring_up_to_date(connection: sqlite3.Connection, fingerprint: str) -> None:
    """Make or extend the tables; fail if the file is none of ours, damaged, or of the future."""
    ask = connection.execute
    (sound,) = ask("PRAGMA quick_check(1)").fetchone()
    (n_tables,) = ask("SELECT count(*) FROM sqlite_master").fetchone()
    (application,) = ask("PRAGMA application_id").fetchone()
    # The first version did not number itself.
    version = ask("PRAGMA user_version").fetchone()[0] or (1 if n_tables else 0)
    if sound != "ok" or (n_tables and application != APPLICATION):
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
