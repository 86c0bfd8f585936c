"""A function that runs on all workers at once: sums, reports, errors, turns."""

import os
import threading
import time

import distributed
import numpy as np
import pytest
from joblib import effective_n_jobs

import dask
from rboost.dask import collective
from rboost.dask.collective import WorkerLostError, run_together
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


def test_a_process_has_all_its_threads(client):
    """Although a worker of this machine is a daemon, which joblib gives one."""
    assert run_together(client, blocks_of(client, 2), lambda *_: effective_n_jobs(3), tuple) == 3


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
        other = distributed.Semaphore(1, collective.SEMAPHORE)
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
        killed = distributed.Semaphore(1, collective.SEMAPHORE)
        killed.acquire()
        killed.refresh_leases = False
        assert run_together(client, blocks_of(client, 1), lambda own, communicator: 7, tuple) == 7


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("/src/collective/result.cc:83: [histogram.h:197]:\n\n- [loop.cc:102]: Encountered EOF. "
         "The other end is likely closed.", WorkerLostError),
        ("/src/collective/comm.cu:45: Multiple processes within communication group running on "
         "same CUDA device is not supported", ValueError),
        ("/src/collective/result.cc:83:\n- [comm.cu:45]: Multiple processes within communication "
         "group running on same CUDA device is not supported", ValueError),
        ("/src/objective/objective.cc:21: Unknown objective", collective.XGBoostError),
    ],
)  # fmt: skip
def test_errors_of_xgboost_are_told_apart(client, message, kind, monkeypatch):
    def fail(own, communicator):
        raise collective.XGBoostError(message)

    monkeypatch.setattr(collective, "ATTEMPTS", 1)
    with pytest.raises((ConnectionError, ValueError, kind)) as raised:
        run_together(client, client.map(np.ones, [1, 2]), fail, tuple)
    if kind is WorkerLostError:
        assert isinstance(raised.value.__cause__, kind)
    else:
        assert type(raised.value) is kind
        assert kind is not ValueError or "share a GPU" in str(raised.value)


def test_several_workers_of_a_process_leave_standard_error_as_it_was():
    before, both = os.fstat(2), threading.Barrier(2, timeout=10)
    first_out = threading.Event()

    def join(is_first):
        with collective._quiet_standard_error():
            both.wait()
            if not is_first:
                first_out.wait(10)
        first_out.set()

    threads = [threading.Thread(target=join, args=(is_first,)) for is_first in (True, False)]
    saved = os.dup(2)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert os.path.samestat(os.fstat(2), before)
    finally:
        os.dup2(saved, 2)
        os.close(saved)
