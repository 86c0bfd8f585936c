"""The file of answers survives kills, other programs and other versions."""

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest

from rboost.review.answers import ConflictError
from rboost.review.store import AnswerStore
from tests.review.clients import key


def test_a_store_opened_again_or_twice_sees_everything(path, store):
    store.add(key(), 1, "keep", 1)
    with closing(AnswerStore(path, "audit")) as other:
        assert other.log() == store.log()
        other.add(key(), 2, "unsure", None)
        other.remember("start", "first")
        assert store.log() == other.log()
        assert store.remember("start", "second") == "first"


def test_answers_to_another_audit_are_refused(path, store):
    with pytest.raises(ValueError, match=r"holds answers to another audit; move it away"):
        AnswerStore(path, "another")
    store.add(key(), 5, "keep", 1)
    with pytest.raises(ValueError, match=r"holds answers to another audit"):
        AnswerStore(path, "another", n_rows=3)


@pytest.mark.parametrize(
    "content", [b"no database at all, " * 100, b"SQLite format 3\0" + b"x" * 900]
)
def test_a_damaged_file_is_named(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"review\.sqlite is damaged"):
        AnswerStore(path, "audit")
    assert path.read_bytes() == content


def test_a_file_whose_middle_is_damaged_is_named(path):
    with closing(AnswerStore(path, "audit")) as store:
        store.add_all(key(), [(row, "keep", 1) for row in range(300)])
    content = bytearray(path.read_bytes())
    content[8192:16384] = b"\xff" * 8192
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"review\.sqlite is damaged"):
        AnswerStore(path, "audit")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET undoes = 77 WHERE undoes = 2",
        "UPDATE events SET undoes = NULL WHERE undoes = 2",
        "UPDATE events SET row = 10",
        "UPDATE events SET row = -1 WHERE number = 2",
        "UPDATE events SET row = 'x'",
        "UPDATE events SET label = 3 WHERE number = 1",
        "UPDATE events SET label = NULL WHERE number = 1",
        "UPDATE events SET label = 'x' WHERE number = 1",
        "UPDATE events SET label = 1 WHERE number = 2",
        "DELETE FROM events WHERE number = 2",
        "UPDATE events SET comment = x'ff00' WHERE number = 1",
        "UPDATE events SET reviewer = x'00' WHERE number = 1",
        "CREATE TRIGGER more AFTER INSERT ON events BEGIN DELETE FROM about; END",
        "CREATE VIEW more AS SELECT * FROM events",
    ],
)
def test_answers_that_cannot_have_been_given_are_damage(path, change):
    with closing(AnswerStore(path, "audit", n_rows=10, n_classes=3)) as store:
        store.add(key(), 9, "keep", 2)
        store.add(key(), 8, "unsure", None)
        store.undo(key())
    AnswerStore(path, "audit", n_rows=10, n_classes=3).close()
    with closing(sqlite3.connect(path)) as other:
        other.execute(change)
        other.commit()
    with pytest.raises(ValueError, match=r"review\.sqlite is damaged"):
        AnswerStore(path, "audit", n_rows=10, n_classes=3)


def test_a_database_of_something_else_is_left_alone(path):
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE events (name TEXT)")
        other.commit()
    before = path.read_bytes()
    with pytest.raises(ValueError, match="no file of answers"):
        AnswerStore(path, "audit")
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(ValueError, match="cannot be opened"):
        AnswerStore(tmp_path, "audit")


def test_threads_and_connections_lose_nothing(path):
    n_threads, n_rows = 6, 15
    with closing(AnswerStore(path, "audit")) as one, closing(AnswerStore(path, "audit")) as two:

        def work(place):
            store = (one, two)[place % 2]
            for row in range(n_rows):
                store.add(key(), place * n_rows + row, "keep", 1)

        threads = [threading.Thread(target=work, args=(place,)) for place in range(n_threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(one.log().current) == list(range(n_threads * n_rows))


def test_of_threads_that_answer_one_row_a_single_one_succeeds(store):
    outcomes = []

    def work(label):
        try:
            outcomes.append(store.add(key(), 7, "change", label))
        except ConflictError as error:
            outcomes.append(error.present)

    threads = [threading.Thread(target=work, args=(label,)) for label in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [store.log().current[7]] * 8


OLD_FILE = """
PRAGMA application_id = 0x72427374;
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
INSERT INTO about VALUES ('fingerprint', 'audit');
INSERT INTO events VALUES (1, 'k1', 'keep', 5, 1, NULL, '2026-01-01T00:00:00+00:00');
INSERT INTO events VALUES (2, 'k2', 'change', 6, 0, NULL, '2026-01-01T00:00:01+00:00');
INSERT INTO events VALUES (3, 'k3', 'unsure', 7, NULL, NULL, '2026-01-01T00:00:02+00:00');
INSERT INTO events VALUES (4, 'k4', 'undo', 7, NULL, 3, '2026-01-01T00:00:03+00:00');
"""


@pytest.fixture
def old_file(path):
    with closing(sqlite3.connect(path)) as old:
        old.executescript(OLD_FILE)
    return path


def test_a_file_of_the_first_version_is_extended_in_place(old_file):
    for _ in range(2):
        with closing(AnswerStore(old_file, "audit")) as store:
            log = store.log()
            kept, changed = log.current[5], log.current[6]
            assert (kept.said, kept.reviewer, kept.comment) == ((5, "keep", 1), "", "")
            assert log.touched == {5, 6, 7}
            assert store.add("k1", 5, "keep", 1) == kept
    with closing(AnswerStore(old_file, "audit")) as store:
        assert store.undo(key()) == [changed]
        store.add(key(), 8, "keep", 1, reviewer="Ann", comment="new")
        assert list(store.log().by_reviewer) == ["", "Ann"]


def test_an_extension_that_fails_leaves_the_file_as_it_was(old_file):
    with closing(sqlite3.connect(old_file)) as old:
        old.execute("CREATE TABLE actions (name TEXT)")  # its name is taken
        old.commit()
    before = old_file.read_bytes()
    with pytest.raises(ValueError, match="cannot be used"):
        AnswerStore(old_file, "audit")
    with closing(sqlite3.connect(old_file)) as found:
        assert "reviewer" not in [
            name for _, name, *_ in found.execute("PRAGMA table_info(events)")
        ]
    assert old_file.read_bytes()[100:] == before[100:]  # the head counts attempts


def test_a_file_of_a_later_version_is_left_alone(path, store):
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 99")
    with pytest.raises(ValueError, match="a newer rboost wrote it; use that one"):
        AnswerStore(path, "audit")


# Writers, one after the other, each of which is killed at any moment.
KILLED = """
import os, random, signal, sys, time, uuid
from pathlib import Path
from rboost.review.store import AnswerStore

rng = random.Random(0)
begun, begin = os.pipe()
for kill in range(25):
    child = os.fork()
    if not child:
        store = AnswerStore(Path(sys.argv[1]), "audit")
        for row in range(1_000_000 * kill, 1_000_000 * (kill + 1), 2):
            if row == 1_000_000 * kill + 2 * (kill % 4):  # a slow disk is given time for so many
                os.write(begin, b".")
            store.add_all(str(uuid.uuid4()), [(row, "keep", 1), (row + 1, "keep", 1)], "Ann")
            os.write(1, b"%d\\n" % row)
    if kill >= 6:  # the first die while they open the file
        os.read(begun, 100)
    time.sleep(rng.uniform(0, 0.05))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


@pytest.mark.slow
def test_kills_at_any_moment_lose_nothing_that_was_confirmed(path):
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, check=True
    )
    assert ended.stderr == ""  # every writer could open what the one before it left
    confirmed = set(map(int, ended.stdout.split()))
    assert len(confirmed) > 20  # writers got somewhere
    with closing(AnswerStore(path, "audit")) as store:
        found = set(store.log().current)
    assert confirmed <= found
    # One more a kill may have been written whose confirmation did not get out, and all are whole.
    assert len(found) <= 2 * (len(confirmed) + 25)
    assert {row + 1 for row in found if row % 2 == 0} == {row for row in found if row % 2}
