"""Workers that are killed, and clients that leave, at any moment."""

import os
import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest

from rboost.dask import collective
from rboost.dask.cluster import Connection
from rboost.dask.collective import WorkerLostError, run_together, take_part
from tests.dask.tables import blocks_of

STEPS = 30


def add_up(blocks, communicator, start, total, pause):
    """Sums over all blocks, one a step, with a checkpoint after each."""
    for step in range(start, STEPS):
        total = total + step * communicator.sum(np.sum(blocks, axis=0))
        communicator.report({"step": step + 1, "total": total.tolist(), "pid": os.getpid()})
        time.sleep(pause)
    return total, start


class Checkpoint:
    """The last report, from which the next attempt starts."""

    def __init__(self, pause=0.05, when=None):
        self.step, self.total, self.starts, self.pause, self.when = 0, np.zeros(3), [], pause, when

    def arguments(self):
        self.starts.append(self.step)
        return self.step, self.total, self.pause

    def listen(self, message):
        self.step, self.total = message["step"], np.array(message["total"])
        if self.when and self.step > 5:
            action, self.when = self.when, None
            action(message)


def expected(n_blocks):
    return np.full(3, sum(range(STEPS)) * sum(range(n_blocks)), dtype=float)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_worker_costs_an_attempt(client, victim):
    """Rank 0 is the one that also runs XGBoost's tracker and tells the checkpoints."""
    pids = client.run(os.getpid)

    def kill(message):
        others = set(pids.values()) - {message["pid"]}
        os.kill(message["pid"] if victim == 0 else others.pop(), signal.SIGKILL)

    def add_up_everywhere(own, communicator, *arguments):
        return communicator.gather(add_up(own, communicator, *arguments))

    checkpoint = Checkpoint(when=kill)
    parts = run_together(
        client, blocks_of(client, 4), add_up_everywhere, checkpoint.arguments, checkpoint.listen
    )
    assert len(checkpoint.starts) == 2
    assert checkpoint.starts[1] > 5
    assert len(parts) == 2  # the worker that came back takes part
    for total, start in parts:
        np.testing.assert_array_equal(total, expected(4))
        assert start == checkpoint.starts[1]


class Fatal:
    """A result that takes its worker along when it is sent."""

    def __reduce__(self):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_worker_that_is_killed_before_its_result_is_fetched_costs_an_attempt(client):
    attempts = []

    def arguments():
        attempts.append(len(attempts))
        return (attempts[-1],)

    def result(own, communicator, number):
        communicator.sum(np.ones(1))
        return number or Fatal()

    assert run_together(client, blocks_of(client, 2), result, arguments) == 1
    assert attempts == [0, 1]


def test_all_workers_may_go_before_blocks_are_placed():
    gone = SimpleNamespace(
        wait_for_workers=lambda *_, **__: None, who_has=lambda blocks: {}, nthreads=dict
    )
    with pytest.raises(WorkerLostError, match="all workers"):
        collective._place(gone, [], 2)


@pytest.mark.slow
def test_the_only_worker_is_killed():
    checkpoint = Checkpoint(when=lambda message: os.kill(message["pid"], signal.SIGKILL))
    with Connection("local", n_workers=1) as client:
        total, start = run_together(
            client, blocks_of(client, 2), add_up, checkpoint.arguments, checkpoint.listen
        )
    np.testing.assert_array_equal(total, expected(2))
    assert checkpoint.starts == [0, start]
    assert start > 5


@pytest.mark.slow
def test_a_worker_that_dies_before_the_others_meet_it_keeps_nobody(client, monkeypatch):
    def dies(*arguments):
        if arguments[5] == 1:  # the rank
            os.kill(os.getpid(), signal.SIGKILL)
        return take_part(*arguments)

    monkeypatch.setattr(collective, "take_part", dies)
    monkeypatch.setattr(collective, "ATTEMPTS", 1)
    started = time.monotonic()
    with pytest.raises(ConnectionError, match="given up after 1 attempts"):
        run_together(client, blocks_of(client, 2), add_up, Checkpoint().arguments)
    assert time.monotonic() - started < 60
    assert_idle(client)


@pytest.fixture
def interruptible():
    """Ctrl-C interrupts, also where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupted_client_leaves_no_running_tasks(client, interruptible):
    def forever(own, communicator):
        while True:
            communicator.sum(np.ones(1))
            for _ in range(20):  # also when nobody listens any more
                communicator.report({})
                time.sleep(0.05)

    with pytest.raises(KeyboardInterrupt):
        run_together(
            client, blocks_of(client, 2), forever, tuple,
            lambda message: signal.raise_signal(signal.SIGINT),
        )  # fmt: skip
    assert_idle(client)


def assert_idle(client):
    """No tasks, no threads at work for tasks that were cancelled, and nothing kept of them."""
    deadline = time.monotonic() + 30
    while any(client.processing().values()) or any(client.run(_active_threads).values()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert not any(client.run(lambda: len(collective._trackers)).values())
    assert client.run_on_scheduler(_waiting_reports) == 0


def _active_threads(dask_worker):
    return len(dask_worker.active_threads)


def _waiting_reports(dask_scheduler):
    return sum(queue.qsize() for queue in dask_scheduler.extensions["queues"].queues.values())
