"""Answers survive whatever happens to the server, and count once."""

import sqlite3
import subprocess
import sys
import threading
import uuid
from contextlib import closing

import pytest

from rboost.review.answers import ConflictError
from rboost.review.store import AnswerStore


def key():
    return str(uuid.uuid4())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "review.sqlite"


@pytest.fixture
def store(path):
    with closing(AnswerStore(path, "audit")) as store:
        yield store


def test_current_answers_are_the_last_that_hold(store):
    store.add(key(), 3, "keep", 1)
    store.add(key(), 5, "change", 0)
    unsure = store.add(key(), 4, "unsure", None)
    later = store.add(key(), 4, "keep", 1, expects=unsure.number)
    log = store.log()
    assert list(log.current) == [3, 5, 4]
    assert log.current[4] == later
    assert log.touched == {3, 4, 5}
    assert log.version == 4


def test_undo_takes_back_the_last_and_restores_what_was_before(store):
    first = store.add(key(), 4, "unsure", None)
    second = store.add(key(), 4, "keep", 1, expects=first.number)
    assert store.undo(key()) == [second]
    assert store.log().current == {4: first}
    assert store.undo(key()) == [first]
    assert store.log().current == {}
    assert store.log().touched == {4}
    with pytest.raises(ConflictError, match="no answer to take back"):
        store.undo(key())


def test_a_certain_answer_is_taken_back_once(store):
    first, _ = store.add(key(), 1, "keep", 1), store.add(key(), 2, "keep", 1)
    assert store.undo(key(), first.number) == [first]
    assert list(store.log().current) == [2]
    with pytest.raises(ConflictError, match="already"):
        store.undo(key(), first.number)


def test_a_retried_request_counts_once(store):
    answer_key, undo_key = key(), key()
    first = store.add(answer_key, 1, "keep", 1)
    assert store.add(answer_key, 1, "keep", 1) == first
    store.add(key(), 2, "keep", 0)
    undone = store.undo(undo_key)
    assert store.undo(undo_key) == undone
    assert list(store.log().current) == [1]


def test_a_key_stands_for_one_thing(store):
    answer_key, undo_key = key(), key()
    store.add(answer_key, 1, "keep", 1)
    with pytest.raises(ConflictError, match="something else"):
        store.add(answer_key, 1, "change", 0)
    with pytest.raises(ConflictError, match="something else"):
        store.undo(answer_key)
    store.undo(undo_key)
    with pytest.raises(ConflictError, match="something else"):
        store.add(undo_key, 1, "keep", 1)


def test_of_two_answers_to_what_was_seen_the_first_counts(store):
    first = store.add(key(), 1, "keep", 1)
    with pytest.raises(ConflictError) as refused:
        store.add(key(), 1, "change", 0)
    assert refused.value.present == first
    with pytest.raises(ConflictError):
        store.add(key(), 2, "keep", 0, expects=first.number)
    assert store.log().current == {1: first}


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
        for row in range(300):
            store.add(key(), row, "keep", 1)
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


def test_several_rows_are_answered_and_taken_back_together(store):
    before = store.add(key(), 9, "keep", 0, reviewer="Ann")
    batch, undo = key(), key()
    said = [(row, "change", 1) for row in (4, 2, 3)]
    saved = store.add_all(batch, said, "Ann", "all blurred")
    assert [answer.said for answer in saved] == said
    assert {answer.comment for answer in saved} == {"all blurred"}
    assert store.add_all(batch, said, "Ann", "all blurred") == saved
    with pytest.raises(ConflictError, match="something else"):
        store.add_all(batch, said[:2], "Ann", "all blurred")
    assert store.undo(undo, reviewer="Ann") == saved
    assert store.undo(undo, reviewer="Ann") == saved
    assert store.log().current == {9: before}


def test_of_several_rows_all_are_written_or_none(store):
    own = store.add(key(), 3, "keep", 0, reviewer="Ann")
    with pytest.raises(ConflictError) as refused:
        store.add_all(key(), [(row, "change", 1) for row in (1, 2, 3)], "Ann")
    assert refused.value.present == own
    assert store.log().version == 1
    # The same answer as before stands in the way of nothing; Ben has none.
    store.add_all(key(), [(row, "keep", 0) for row in (1, 3)], "Ann")
    store.add_all(key(), [(row, "change", 1) for row in (1, 2, 3)], "Ben")
    assert [len(own) for own in store.log().by_reviewer.values()] == [2, 3]


def test_a_seen_answer_is_replaced_together_with_others(store):
    own = store.add(key(), 3, "keep", 0, reviewer="Ann")
    said = [(row, "change", 1) for row in (3, 1)]
    for rows, expects in ((said, None), (said, 99), (said[::-1], own.number)):
        with pytest.raises(ConflictError, match="in the meantime"):
            store.add_all(key(), rows, "Ann", expects=expects)
    saved = store.add_all(key(), said, "Ann", expects=own.number)
    assert list(store.log().current.values()) == saved
    assert store.undo(key(), reviewer="Ann") == saved
    assert store.log().current == {3: own}
    store.undo(key(), reviewer="Ann")
    with pytest.raises(ConflictError, match="in the meantime"):  # what was seen is gone
        store.add_all(key(), said, "Ann", expects=own.number)


def test_one_of_several_is_taken_back_by_its_number(store):
    saved = store.add_all(key(), [(row, "keep", 0) for row in (1, 2, 3)], "Ann")
    assert store.undo(key(), saved[1].number, "Ann") == [saved[1]]
    assert store.undo(key(), reviewer="Ann") == [saved[0], saved[2]]


def test_the_latest_answer_stands_and_each_person_keeps_their_own(store):
    ann = store.add(key(), 1, "keep", 0, reviewer="Ann")
    ben = store.add(key(), 1, "change", 1, reviewer="Ben", comment="see page 2")
    log = store.log()
    assert log.current == {1: ben}
    assert log.by_reviewer == {"Ann": {1: ann}, "Ben": {1: ben}}
    assert log.of_row(1) == [ann, ben]
    with pytest.raises(ConflictError, match="no answer to take back"):
        store.undo(key(), reviewer="Carl")
    assert store.undo(key(), reviewer="Ann") == [ann]
    assert store.log().current == {1: ben}
    with pytest.raises(ConflictError, match="another person's; only they can"):
        store.undo(key(), ben.number, "Ann")
    assert store.undo(key(), ben.number, "Ben") == [ben]


def test_who_is_unsure_leaves_the_answer_of_another(store):
    changed = store.add(key(), 1, "change", 1, reviewer="Ann")
    kept = store.add(key(), 2, "keep", 0, reviewer="Ann")
    unsure = store.add(key(), 1, "unsure", None, reviewer="Ben")
    log = store.log()
    assert log.current == {1: changed, 2: kept}
    assert list(log.current) == [1, 2]  # the oldest first
    assert log.of_row(1) == [changed, unsure]
    store.undo(key(), unsure.number, "Ben")
    assert store.log().current[1] == changed
    again = store.add(key(), 1, "unsure", None, reviewer="Ben")
    store.undo(key(), changed.number, "Ann")
    assert store.log().current == {1: again, 2: kept}
    # A person who becomes unsure takes back what they said themselves.
    own = store.add(key(), 2, "unsure", None, expects=kept.number, reviewer="Ann")
    assert store.log().current == {1: again, 2: own}


def test_the_same_answer_from_a_second_tab_is_no_conflict(store):
    first = store.add(key(), 1, "keep", 0, reviewer="Ann", comment="clear")
    assert store.add(key(), 1, "keep", 0, reviewer="Ann") == first
    assert store.add(key(), 1, "keep", 0, reviewer="Ann", comment="clear") == first
    for other in ({"comment": "unclear"}, {"answer": "unsure", "label": None}):
        said = {"row": 1, "answer": "keep", "label": 0, "reviewer": "Ann", **other}
        with pytest.raises(ConflictError, match="differently"):
            store.add(key(), **said)
    assert store.log().version == 1


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
for kill in range(100):
    child = os.fork()
    if not child:
        store = AnswerStore(Path(sys.argv[1]), "audit")
        os.write(begin, b".")
        for row in range(1_000_000 * kill, 1_000_000 * (kill + 1), 2):
            store.add_all(str(uuid.uuid4()), [(row, "keep", 1), (row + 1, "keep", 1)], "Ann")
            os.write(1, b"%d\\n" % row)
    if kill >= 10:  # the first die while they open the file
        os.read(begun, 100)
    time.sleep(rng.uniform(0, 0.05))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def test_a_hundred_kills_lose_nothing_that_was_confirmed(path):
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
    assert len(found) <= 2 * (len(confirmed) + 100)
    assert {row + 1 for row in found if row % 2 == 0} == {row for row in found if row % 2}
