"""A function that runs on all workers at once, whatever happens to them."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import distributed
import numpy as np
import pytest

import dask
from rboost.dask import attempt, cluster, collective
from rboost.dask.cluster import connected, run_together
from rboost.dask.collective import WorkerLostError, take_part

STEPS = 30


def blocks_of(client, n_blocks):
    """Blocks that hold their number."""
    return [client.submit(np.full, 3, float(number), pure=False) for number in range(n_blocks)]


def add_up(blocks, together, start, total, pause):
    """Sums over all blocks, one a step, with a checkpoint after each."""
    for step in range(start, STEPS):
        total = total + step * together.sum(np.sum(blocks, axis=0))
        together.tell({"step": step + 1, "total": total, "pid": os.getpid()})
        time.sleep(pause)
    return total, start


class Checkpoint:
    """The last thing told, from which the next attempt starts."""

    def __init__(self, pause=0.05, when=None):
        self.step, self.total, self.starts, self.pause, self.when = 0, np.zeros(3), [], pause, when

    def arguments(self):
        self.starts.append(self.step)
        return self.step, self.total, self.pause

    def listen(self, message):
        self.step, self.total = message["step"], message["total"]
        if self.when and self.step > 5:
            action, self.when = self.when, None
            action(message)


def expected(n_blocks):
    return np.full(3, sum(range(STEPS)) * sum(range(n_blocks)), dtype=float)


def test_every_worker_has_its_blocks_in_order_and_the_same_sums(client):
    blocks = blocks_of(client, 5)

    def numbers(own, together):
        arrays = [
            np.array(2.5),
            np.ones((2, 3, 4)) / 3,
            np.empty((0, 2)),
            np.full((4, 1), 0.1)[::2],
        ]
        sums = [together.sum(array * (together.rank + 1)) for array in arrays]
        return together.gather((together.rank, [block[0] for block in own], sums, None))

    parts = run_together(client, blocks, numbers, tuple)
    assert [(rank, nothing) for rank, _, _, nothing in parts] == [(0, None), (1, None)]
    assert sorted(number for _, own, _, _ in parts for number in own) == list(range(5))
    _, _, sums, _ = parts[0]
    for _, own, others, _ in parts:
        assert own == sorted(own)
        for mine, first in zip(others, sums, strict=True):
            np.testing.assert_array_equal(mine, first)
    assert [array.shape for array in sums] == [(), (2, 3, 4), (0, 2), (2, 1)]
    np.testing.assert_allclose(sums[1], 1.0)


def test_all_that_is_told_arrives_in_order_while_the_function_runs(client):
    told = []

    def tell(own, together):
        for number in range(4):
            together.sum(np.ones(1))
            together.tell({"number": number, "model": bytes(2_000_000), "at": time.time()})
            time.sleep(0.4)
        together.tell({"number": 4, "model": b"", "at": time.time()})
        return together.gather(together.n_threads)

    def listen(message):
        told.append((message["number"], len(message["model"]), time.time() - message["at"]))

    threads = run_together(client, blocks_of(client, 2), tell, tuple, listen)
    assert threads == list(client.nthreads().values())
    assert [number for number, _, _ in told] == list(range(5))
    assert {size for _, size, _ in told} == {2_000_000, 0}
    assert max(delay for _, _, delay in told) < 1.2  # not only at the end


def test_an_error_of_the_function_is_raised_at_once_as_it_is(client):
    def fail(own, together):
        for step in range(10**6):
            together.sum(np.ones(1))
            if together.rank == 1 and step == 3:
                raise ValueError("a class is missing")

    started = time.monotonic()
    with pytest.raises(ValueError, match="a class is missing"):
        run_together(client, blocks_of(client, 2), fail, tuple)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_worker_costs_an_attempt(client, victim):
    """Rank 0 is the one that also runs XGBoost's tracker and tells the checkpoints."""
    pids = client.run(os.getpid)

    def kill(message):
        others = set(pids.values()) - {message["pid"]}
        os.kill(message["pid"] if victim == 0 else others.pop(), signal.SIGKILL)

    def add_up_everywhere(own, together, *arguments):
        return together.gather(add_up(own, together, *arguments))

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


def test_a_fit_waits_for_that_of_another_client(client):
    results, begun = [], threading.Event()

    def arguments():
        begun.set()
        return ()

    def fit():
        blocks = blocks_of(client, 2)
        results.append(run_together(client, blocks, lambda own, together: 7, arguments))

    with client.as_current():
        other = distributed.Semaphore(1, cluster.TURN)
        other.acquire()
    waiting = threading.Thread(target=fit)
    waiting.start()
    assert not begun.wait(4)
    other.release()
    waiting.join(30)
    assert results == [7]


def test_a_client_that_was_killed_keeps_nobody_waiting():
    locks = "distributed.scheduler.locks"
    quickly = {f"{locks}.lease-timeout": "1s", f"{locks}.lease-validation-interval": "500ms"}
    with (
        dask.config.set(quickly),
        distributed.Client(n_workers=1, processes=False, dashboard_address=":0") as client,
    ):
        killed = distributed.Semaphore(1, cluster.TURN)
        killed.acquire()
        killed.refresh_leases = False
        assert run_together(client, blocks_of(client, 1), lambda own, together: 7, tuple) == 7


class Fatal:
    """A result that takes its worker along when it is sent."""

    def __reduce__(self):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_before_its_result_is_fetched_costs_an_attempt(client):
    attempts = []

    def arguments():
        attempts.append(len(attempts))
        return (attempts[-1],)

    def result(own, together, number):
        together.sum(np.ones(1))
        return number or Fatal()

    assert run_together(client, blocks_of(client, 2), result, arguments) == 1
    assert attempts == [0, 1]


def test_all_workers_may_go_before_blocks_are_placed():
    gone = SimpleNamespace(
        wait_for_workers=lambda *_, **__: None, who_has=lambda blocks: {}, nthreads=dict
    )
    with pytest.raises(WorkerLostError, match="all workers"):
        cluster._place(gone, [], 2)


def test_a_handler_of_signals_that_is_not_pythons_is_left_alone(monkeypatch):
    monkeypatch.setattr(signal, "getsignal", lambda number: None)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    with cluster._deaf_to_interrupts():
        monkeypatch.undo()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_only_worker_is_killed():
    checkpoint = Checkpoint(when=lambda message: os.kill(message["pid"], signal.SIGKILL))
    with connected("local", n_workers=1) as client:
        total, start = run_together(
            client, blocks_of(client, 2), add_up, checkpoint.arguments, checkpoint.listen
        )
    np.testing.assert_array_equal(total, expected(2))
    assert checkpoint.starts == [0, start]
    assert start > 5


def test_a_worker_that_dies_before_the_others_meet_it_keeps_nobody(client, monkeypatch):
    def dies(*arguments):
        if arguments[5] == 1:  # the rank
            os.kill(os.getpid(), signal.SIGKILL)
        return take_part(*arguments)

    monkeypatch.setattr(attempt, "take_part", dies)
    monkeypatch.setattr(cluster, "ATTEMPTS", 1)
    started = time.monotonic()
    with pytest.raises(ConnectionError, match="given up after 1 attempts"):
        run_together(client, blocks_of(client, 2), add_up, Checkpoint().arguments)
    assert time.monotonic() - started < 15
    assert_idle(client)


def test_an_interrupted_client_leaves_no_running_tasks(client):
    def forever(own, together):
        while True:
            together.sum(np.ones(1))
            for _ in range(20):  # also when nobody listens any more
                together.tell({})
                time.sleep(0.05)

    with pytest.raises(KeyboardInterrupt):
        run_together(
            client, blocks_of(client, 2), forever, tuple,
            lambda message: signal.raise_signal(signal.SIGINT),
        )  # fmt: skip
    assert_idle(client)


def assert_idle(client):
    """No tasks, no threads at work for tasks that were cancelled, and nothing kept of them."""
    assert not any(client.processing().values())
    deadline = time.monotonic() + 5
    while any(client.run(_active_threads).values()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert not any(client.run(lambda: len(collective._mailboxes)).values())


def _active_threads(dask_worker):
    return len(dask_worker.active_threads)


def test_the_client_in_use_is_taken_and_left_open(client):
    with connected() as taken:
        assert taken is client
    with connected(client) as taken:
        assert taken is client
    with connected(client.scheduler.address) as other:
        assert other is not client
        lengths = run_together(
            other, blocks_of(other, 2), lambda own, together: together.gather(len(own)), tuple
        )
        assert lengths == [1, 1]
    assert (other.status, client.status) == ("closed", "running")


@pytest.mark.parametrize("address", ["foo bar", "localhost", "http://localhost:8787", ""])
def test_what_is_no_address(address):
    with pytest.raises(ValueError, match="is no address of a Dask scheduler"), connected(address):
        pass


def test_a_cluster_that_is_not_there(monkeypatch, capfd):
    """One that refuses, and one that listens but is no scheduler."""
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        for port in (1, mute.getsockname()[1]):
            address = f"tcp://127.0.0.1:{port}"
            with pytest.raises(ConnectionError, match=f"answers at {address}"), connected(address):
                pass
    assert capfd.readouterr().err == ""


def test_a_script_that_starts_workers_while_they_import_it_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from rboost.dask.cluster import connected\nwith connected('local'):\n    print('here')\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.count("Traceback") == 1
    assert "call this below `if __name__ == '__main__':`" in run.stderr.splitlines()[-1]
