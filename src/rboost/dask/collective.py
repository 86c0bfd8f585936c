"""A function that runs on all workers at once, and again when one of them is lost.

XGBoost's own collective connects the processes and does the sums, so that its trees and ours go the
same way. The client's side comes first, then the side of a worker.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from joblib import parallel_backend

from rboost._typing import Floats
from rboost.dask.cluster import distributed, wait_for_worker
from rboost.engines.xgboost import Value
from rboost.packages import package

package("xgboost", "dask")
collective, tracking = package("xgboost.collective"), package("xgboost.tracker")
XGBoostError = package("xgboost.core").XGBoostError

ATTEMPTS = 3
# One fit at a time, as fits of several clients that wait for each other's workers would wait for
# ever. Half a minute after a client was killed, the scheduler releases its semaphore.
SEMAPHORE = "rboost fit"
# Seconds to wait for a lost worker to come back; between two checks of the workers; and, once one
# is lost, for the others to end the step that they are at.
RETURN_SECONDS, POLL_SECONDS, END_SECONDS = 20, 0.5, 300
# Seconds that a process waits for the slowest of the others. One that ends is noticed at once, by
# its closed connection; the timeout is for machines that are cut off.
PROCESS_TIMEOUT = 600

Listen = Callable[[dict[str, Any]], None]


class WorkerLostError(ConnectionError):
    """A process of the fit has gone, so that the others cannot go on."""


def run_together(
    client: Any,
    blocks: list[Any],
    function: Callable[..., Any],
    arguments: Callable[[], tuple[Any, ...]],
    listen: Listen | None = None,
) -> Any:
    """The result of function(own blocks, communicator, *arguments()), run where the blocks are.

    Every process runs it; the result is that of rank 0.

    Parameters
    ----------
    client : distributed.Client
    blocks : list of futures
        Each process gets those that lie on its worker, in the order of this list.
    function : callable
    arguments : callable
        Asked before every attempt, so that one after a loss can start from the last checkpoint.
    listen : callable, optional
        Gets what the process of rank 0 reports, in this process, while the function runs.
    """
    address, n_workers = client.scheduler.address, max(len(client.nthreads()), 1)
    try:
        for _ in range(ATTEMPTS):
            try:
                with client.as_current(), _only_fit(client):
                    attempt = Attempt(client, _place(client, blocks, n_workers), listen)
                    return attempt.run(blocks, function, arguments())
            except WorkerLostError as error:
                lost = error
        raise ConnectionError(
            f"The fit was given up after {ATTEMPTS} attempts, since in each of them a worker of "
            "the cluster was lost; workers that run out of memory need more of it or smaller "
            "partitions."
        ) from lost
    except Exception as error:
        if client.status == "running":
            raise
        raise ConnectionError(
            f"The scheduler at {address} does not answer any more; start the cluster and the fit "
            "again."
        ) from error


@contextmanager
def _only_fit(client: Any) -> Iterator[None]:
    semaphore = distributed.Semaphore(1, SEMAPHORE)
    try:
        semaphore.acquire()
        try:
            yield
        finally:
            if client.status == "running":
                semaphore.release()
    finally:
        semaphore.refresh_leases = False  # where waiting was interrupted, the scheduler ends it


def _place(client: Any, blocks: list[Any], n_workers: int) -> dict[str, list[int]]:
    """The numbers of the blocks by worker: where they are, but no worker has more than a share."""
    with suppress(TimeoutError):  # go on with the others then
        client.wait_for_workers(n_workers, timeout=RETURN_SECONDS)
    wait_for_worker(client)
    distributed.wait(blocks)
    for block in blocks:
        if block.status == "error":
            block.result()
    holders = client.who_has(blocks)
    placed: dict[str, list[int]] = {worker: [] for worker in client.nthreads()}
    if not placed:
        raise WorkerLostError("all workers were lost")
    share = -(-len(blocks) // len(placed))
    for number, block in enumerate(blocks):
        has_room = [worker for worker, own in placed.items() if len(own) < share]
        near = [worker for worker in has_room if worker in holders[block.key]] or has_room
        placed[min(near, key=lambda worker: len(placed[worker]))].append(number)
    occupied = {worker: numbers for worker, numbers in placed.items() if numbers}
    return dict(sorted(occupied.items(), key=lambda item: item[1]))


class Attempt:
    """One attempt: it ends with a result, an error of the function's own, or a lost worker."""

    def __init__(self, client: Any, placed: dict[str, list[int]], listen: Listen | None) -> None:
        self.client, self.placed, self.listen = client, placed, listen
        self.name, self.workers = f"rboost-{uuid.uuid4().hex}", list(placed)
        self.reports = distributed.Queue(self.name)
        self.futures: list[Any] = []

    def run(
        self, blocks: list[Any], function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> Any:
        """Start the function on all workers and wait for the result of the first."""
        try:
            self._start(blocks, function, arguments)
            is_running = True
            while is_running:
                self._wait()
                is_running = bool(self._running())
                self._deliver()
                self._check()
            return self.futures[0].result()
        except (CancelledError, distributed.KilledWorker) as error:
            raise WorkerLostError("the first worker was lost with its result") from error
        finally:
            self.client.cancel(self.futures, force=True)
            self._stop_tracker()
            self.reports.close()

    def _start(
        self, blocks: list[Any], function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        first, host = self.workers[0], distributed.comm.get_address_host(self.workers[0])
        try:
            processes = self.client.run(os.getpid, workers=self.workers)
            found = self.client.run(
                start_tracker, self.name, host, len(self.workers), workers=[first]
            )
            [shared] = self.client.scatter([arguments], workers=[first], hash=False)
        except OSError as error:
            raise WorkerLostError("a worker was lost before the start") from error
        # A result that is lost before it is fetched cannot be had again: since the arguments, which
        # were scattered, are gone by then, Dask says so instead of waiting for the worker.
        for rank, (worker, numbers) in enumerate(self.placed.items()):
            self.futures.append(
                self.client.submit(
                    take_part, function, [blocks[number] for number in numbers], shared,
                    self.name, (worker, processes[worker]), rank, found[first],
                    workers=[worker], pure=False,
                )
            )  # fmt: skip

    def _running(self, workers: Any = None) -> list[Any]:
        """Futures of processes that go on, on these workers or on any."""
        return [
            future
            for worker, future in zip(self.workers, self.futures, strict=True)
            if future.status == "pending" and (workers is None or worker in workers)
        ]

    def _wait(self) -> None:
        with suppress(TimeoutError, CancelledError):
            distributed.wait(self._running(), POLL_SECONDS, return_when="FIRST_COMPLETED")

    def _deliver(self) -> None:
        """Pass on the reports that have arrived."""
        for message in self.reports.get(batch=True):
            if self.listen:
                self.listen(message)

    def _check(self) -> None:
        """Fail if a process has failed; an error of the function's own precedes a lost worker."""
        is_complete = set(self.client.nthreads()).issuperset(self.workers)
        if is_complete and all(one.status in ("pending", "finished") for one in self.futures):
            return
        self._stop_tracker()  # for processes that still wait for the lost one to come
        deadline = time.monotonic() + END_SECONDS
        while self._running(self.client.nthreads()) and time.monotonic() < deadline:
            self._wait()
        self._deliver()  # the last checkpoint, for the next attempt
        for future in self.futures:
            if future.status == "error" and not isinstance(
                future.exception(), (WorkerLostError, distributed.KilledWorker)
            ):
                future.result()
        raise WorkerLostError("a worker was lost")

    def _stop_tracker(self) -> None:
        with suppress(OSError):
            if self.workers[0] in self.client.nthreads():
                self.client.run(stop_tracker, self.name, workers=self.workers[:1])


# The trackers that run in this process, by the name of the attempt.
_trackers: dict[str, Any] = {}
# How many threads of this process are joining others, and where standard error was before.
_joining, _lock, _standard_error = 0, threading.Lock(), -1


def start_tracker(attempt: str, host: str, n_workers: int) -> dict[str, Any] | None:
    """Start XGBoost's tracker on one of the workers, and return how to reach it."""
    if n_workers == 1:
        return None
    tracker = tracking.RabitTracker(n_workers=n_workers, host_ip=host, sortby="task")
    tracker.start()
    _trackers[attempt] = tracker
    return tracker.worker_args()


def stop_tracker(attempt: str) -> None:
    """Stop the tracker, if there is one; processes that still wait for others fail then."""
    with suppress(KeyError, XGBoostError):  # it complains about missing workers
        _trackers.pop(attempt).free()


def take_part(
    function: Callable[..., Any],
    blocks: list[Any],
    arguments: tuple[Any, ...],
    attempt: str,
    process: tuple[str, int],
    rank: int,
    tracker: dict[str, Any] | None,
) -> Any:
    """One process's part of a fit: the task that Dask runs on a worker; rank 0 has the result.

    Dask runs it again on a worker that comes back at the same address, which cannot step in.
    """
    if process != (distributed.get_worker().address, os.getpid()):
        raise WorkerLostError("another process took the place of a worker")
    reports = distributed.Queue(attempt)
    try:
        # A worker is a daemon, to which joblib would otherwise give a single thread.
        with _connected(rank, tracker), parallel_backend("threading"):
            result = function(blocks, Collective(reports), *arguments)
            return result if rank == 0 else None
    finally:
        reports.close()


@contextmanager
def _connected(rank: int, tracker: dict[str, Any] | None) -> Iterator[None]:
    """Connect to the other processes; translate errors that XGBoost raises meanwhile."""
    if tracker is None:  # a single process
        yield
        return
    others = collective.CommunicatorContext(
        dmlc_task_id=f"{rank:06d}", dmlc_timeout=PROCESS_TIMEOUT, dmlc_retry=1, **tracker
    )
    is_connected = False
    try:
        with _quiet_standard_error():
            others.__enter__()
        is_connected = True
        yield
    except XGBoostError as error:
        if "same CUDA device" in str(error):
            raise ValueError(
                "Several workers of the cluster share a GPU, which XGBoost does not allow; start "
                "one for each GPU, with its own CUDA_VISIBLE_DEVICES, or a single one."
            ) from error
        # The source file in which XGBoost raises all failures of communication.
        if "collective/result" in str(error) or not is_connected:
            raise WorkerLostError("the connection to another worker was lost") from error
        raise
    finally:  # closes the connections, whereby the others notice a failure
        if is_connected:
            with suppress(XGBoostError):
                others.__exit__(None, None, None)


@contextmanager
def _quiet_standard_error() -> Iterator[None]:
    """XGBoost writes the rank of a process to standard error, which no option prevents."""
    global _joining, _standard_error  # several workers may be threads of one process
    with _lock:
        if not _joining:
            _standard_error, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
        _joining += 1
    try:
        yield
    finally:
        with _lock:
            _joining -= 1
            if not _joining:
                os.dup2(_standard_error, 2)
                os.close(_standard_error)


class Collective:
    """The :class:`rboost.engines.xgboost.Communicator` of one attempt at a fit.

    Parameters
    ----------
    reports : distributed.Queue
        Where reports wait for the client.
    """

    def __init__(self, reports: Any) -> None:
        self._reports, self._worker = reports, distributed.get_worker()
        self._task = self._worker.get_current_task()
        self.rank, self.n_threads = collective.get_rank(), self._worker.state.nthreads

    def sum(self, numbers: Floats) -> Floats:
        """The sum of the arrays of all processes, the same bits in each of them."""
        self._check_not_cancelled()
        numbers = np.asarray(numbers, dtype=np.float64)
        total = collective.allreduce(numbers, collective.Op.SUM)
        return total.reshape(numbers.shape)  # versions before 3.4 forget the shape

    def gather(self, value: Value) -> list[Value]:
        """The values of all processes in the order of their ranks."""
        self._check_not_cancelled()
        return [
            collective.broadcast((value,) if rank == self.rank else None, rank)[0]
            for rank in range(collective.get_world_size())
        ]

    def report(self, message: dict[str, Any]) -> None:
        """Send a message to the client: numbers, words, bytes and lists of them."""
        self._check_not_cancelled()
        if self.rank == 0:
            self._reports.put(message)

    def _check_not_cancelled(self) -> None:
        """Dask cannot stop a thread: a task that was cancelled has to notice it."""
        task = self._worker.state.tasks.get(self._task)
        if task is None or task.state not in ("executing", "long-running"):
            raise WorkerLostError("the fit was cancelled")
