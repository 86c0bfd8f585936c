"""Work that a page does not wait for."""

import threading
import time

import pytest

from rboost.review.background import Task, in_one_line


def test_work_asked_for_meanwhile_is_done_once():
    gate, runs = threading.Semaphore(0), []
    latest = Task(lambda: (gate.acquire(), runs.append(1)))
    for _ in range(10):
        latest.ask()
    gate.release()
    gate.release()
    latest.wait()
    assert 1 <= len(runs) <= 2
    assert latest.status == "done"


def test_work_waits_for_a_pause_but_not_for_ever():
    runs = []
    latest = Task(lambda: runs.append(time.monotonic()), quiet=30.0, longest=0.5)
    begin = time.monotonic()
    while not runs and time.monotonic() < begin + 20:  # nobody pauses
        latest.ask()
        time.sleep(0.01)
    assert begin + 0.5 <= runs[0]
    latest = Task(lambda: runs.append(time.monotonic()), quiet=30.0, longest=60.0)
    latest.ask()
    latest.wait(20)  # who waits for the work has it without a pause
    assert len(runs) == 2


def test_long_work_takes_a_fifth_of_the_time_at_most():
    runs = []
    latest = Task(lambda: (runs.append(time.monotonic()), time.sleep(0.1)), 0.02, 0.05)
    begin = time.monotonic()
    while time.monotonic() < begin + 1.2:
        latest.ask()
        time.sleep(0.002)
    latest.wait()
    assert 1 <= len(runs) <= 4


def test_work_that_fails_is_said_and_tried_again():
    errors = [ValueError("no")]
    latest = Task(lambda: errors and (_ for _ in ()).throw(errors.pop()))
    latest.ask()
    latest.wait()
    assert latest.error == "no"
    latest.ask()
    latest.wait()
    assert latest.error is None


def test_waiting_has_an_end():
    gate = threading.Event()
    latest = Task(lambda: gate.wait(30))
    latest.ask()
    with pytest.raises(TimeoutError):
        latest.wait(0.01)
    gate.set()
    latest.wait()


def test_work_that_is_started_runs_once():
    gate = threading.Event()
    job = Task(lambda: gate.wait(30) and "result")
    assert job.status == "idle"
    assert [job.start(), job.start()] == [True, False]
    assert (job.status, job.result) == ("running", None)
    gate.set()
    job.wait()
    assert (job.status, job.result, job.error) == ("done", "result", None)


def test_errors_are_one_line():
    assert in_one_line(ValueError("a\nb")) == "a b"
    assert in_one_line(KeyError()) == "KeyError"
    assert len(in_one_line(ValueError("x" * 1000))) == 301
