"""A function that runs on all workers at once, and the cluster that it runs on."""

import signal
import socket
import subprocess
import sys
import threading
import time

import distributed
import numpy as np
import pytest

import dask
from rboost.dask import cluster
from rboost.dask.cluster import connected, run_together
from tests.dask.tables import blocks_of


def test_every_worker_has_its_blocks_in_order_and_the_same_sums(client):
    blocks = blocks_of(client, 5)

    def numbers(own, communicator):
        arrays = [
            np.array(2.5),
            np.ones((2, 3, 4)) / 3,
            np.empty((0, 2)),
            np.full((4, 1), 0.1)[::2],
        ]
        sums = [communicator.sum(array * (communicator.rank + 1)) for array in arrays]
        return communicator.gather((communicator.rank, [block[0] for block in own], sums, None))

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

    def report(own, communicator):
        for number in range(4):
            communicator.sum(np.ones(1))
            communicator.report({"number": number, "model": bytes(2_000_000), "at": time.time()})
            time.sleep(0.4)
        communicator.report({"number": 4, "model": b"", "at": time.time()})
        return communicator.gather(communicator.n_threads)

    def listen(message):
        told.append((message["number"], len(message["model"]), message["at"], time.time()))

    threads = run_together(client, blocks_of(client, 2), report, tuple, listen)
    assert threads == list(client.nthreads().values())
    assert [number for number, *_ in told] == list(range(5))
    assert {size for _, size, *_ in told} == {2_000_000, 0}
    assert told[0][3] < told[-1][2]  # here before the last was told


def test_an_error_of_the_function_is_raised_at_once_as_it_is(client):
    def fail(own, communicator):
        for step in range(10**6):
            communicator.sum(np.ones(1))
            if communicator.rank == 1 and step == 3:
                raise ValueError("a class is missing")

    started = time.monotonic()
    with pytest.raises(ValueError, match="a class is missing"):
        run_together(client, blocks_of(client, 2), fail, tuple)
    assert time.monotonic() - started < 30


def test_a_fit_waits_for_that_of_another_client(client):
    results, begun = [], threading.Event()

    def arguments():
        begun.set()
        return ()

    def fit():
        blocks = blocks_of(client, 2)
        results.append(run_together(client, blocks, lambda own, communicator: 7, arguments))

    with client.as_current():
        other = distributed.Semaphore(1, cluster.TURN)
        other.acquire()
    waiting = threading.Thread(target=fit)
    waiting.start()
    assert not begun.wait(1)
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
        assert run_together(client, blocks_of(client, 1), lambda own, communicator: 7, tuple) == 7


@pytest.fixture
def handle_interrupts():
    """Sets what handles Ctrl-C, which is ignored where a shell started the tests with &."""
    before = signal.getsignal(signal.SIGINT)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN, signal.SIG_DFL])
@pytest.mark.parametrize("already", [set(), {signal.SIGINT}])
def test_handlers_of_signals_are_left_alone_and_the_mask_is_restored(
    handler, already, handle_interrupts
):
    handle_interrupts(handler)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, already)
    try:
        with cluster._deaf_to_interrupts():
            assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
            assert signal.getsignal(signal.SIGINT) == handler
        assert signal.getsignal(signal.SIGINT) == handler
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before | already
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_an_interrupt_meanwhile_is_heard_afterwards(handle_interrupts):
    heard = []
    handle_interrupts(lambda number, _: heard.append(number))
    with cluster._deaf_to_interrupts():
        signal.raise_signal(signal.SIGINT)  # of this thread; others have masks of their own
        assert heard == []
    assert heard == [signal.SIGINT]


def test_the_client_in_use_is_taken_and_left_open(client):
    with connected() as taken:
        assert taken is client
    with connected(client) as taken:
        assert taken is client
    with connected(client.scheduler.address) as other:
        assert other is not client
        lengths = run_together(
            other,
            blocks_of(other, 2),
            lambda own, communicator: communicator.gather(len(own)),
            tuple,
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


@pytest.mark.slow
def test_a_script_that_starts_workers_while_they_import_it_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from rboost.dask.cluster import connected\nwith connected('local', 1):\n    print(1)\n"
    )
    run = subprocess.run([sys.executable, script], check=False, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.count("Traceback") == 1
    assert "call this below `if __name__ == '__main__':`" in run.stderr.splitlines()[-1]
