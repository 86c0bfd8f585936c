"""Answers survive whatever happens to the server, and count once."""

import os
import re
import signal
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


WRITER = """
import sys, uuid
from pathlib import Path
from rboost.review.store import AnswerStore
store = AnswerStore(Path(sys.argv[1]), "audit")
for row in range(100_000):
    store.add(str(uuid.uuid4()), row, "keep", 1)
    print(row, flush=True)
"""


@pytest.mark.parametrize("n_lines", [1, 20, 77])
def test_each_acknowledged_answer_survives_a_kill(path, n_lines):
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        for _ in range(n_lines):
            writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        rest = re.findall(r"(\d+)\n", writer.stdout.read())
    acknowledged = n_lines + len(rest)
    with closing(AnswerStore(path, "audit")) as store:
        # One more may have been written whose acknowledgement did not get out.
        assert len(store.log().current) in (acknowledged, acknowledged + 1)
        store.add(key(), 200_000, "keep", 1)
