"""The processes of a fit on a cluster: how they find each other, add up and report.

XGBoost's own collective does the sums, so that its trees and ours go the same way.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from rboost._typing import Floats
from rboost.engines.xgboost import Value
from rboost.packages import package

distributed = package("distributed", "dask")
package("xgboost", "dask")
collective, xgboost_core = package("xgboost.collective"), package("xgboost.core")
RabitTracker = package("xgboost.tracker").RabitTracker

# How long, in seconds, a process waits for the slowest of the others. One that ends is noticed at
# once, by its closed connection; this is for a machine that vanishes without a word.
PATIENCE = 600

# What this process keeps for the attempts at a fit that run in it, by the attempt's name.
_trackers: dict[str, Any] = {}
_mailboxes: dict[str, list[dict[str, Any]]] = {}
# How many threads of this process are joining others, and where standard error was before.
_joining, _lock, _standard_error = 0, threading.Lock(), -1


class WorkerLostError(ConnectionError):
    """A process of the fit has gone, so that the others cannot go on."""


class Collective:
    """The :class:`rboost.engines.xgboost.Communicator` of one attempt at a fit.

    Parameters
    ----------
    attempt : str
        The name under which messages are kept until the client asks for them.
    """

    def __init__(self, attempt: str) -> None:
        self._attempt = attempt
        self._worker = distributed.get_worker()
        self._task = self._worker.get_current_task()
        self.rank = collective.get_rank()
        self.n_threads = self._worker.state.nthreads

    def sum(self, numbers: Floats) -> Floats:
        """The sum of the arrays of all processes, the same bits in each of them."""
        self._check_wanted()
        numbers = np.asarray(numbers, dtype=np.float64)
        with _peers():
            total = collective.allreduce(numbers, collective.Op.SUM)
        return total.reshape(numbers.shape)  # versions before 3.4 forget the shape

    def gather(self, value: Value) -> list[Value]:
        """The values of all processes in the order of their ranks."""
        self._check_wanted()
        with _peers():
            return [
                collective.broadcast((value,) if rank == self.rank else None, rank)[0]
                for rank in range(collective.get_world_size())
            ]

    def report(self, message: dict[str, Any]) -> None:
        """Leave a message for the client, who comes and fetches it (`messages`)."""
        if self.rank == 0 and self.is_wanted():
            _mailboxes.setdefault(self._attempt, []).append(message)

    def is_wanted(self) -> bool:
        """Dask cannot stop a thread: a task that was cancelled has to notice it."""
        task = self._worker.state.tasks.get(self._task)
        return task is not None and task.state in ("executing", "long-running")

    def _check_wanted(self) -> None:
        if not self.is_wanted():
            raise WorkerLostError("nobody waits for this fit any more")


@contextmanager
def _peers() -> Iterator[None]:
    try:
        yield
    except xgboost_core.XGBoostError as error:
        raise WorkerLostError("the connection to another worker was lost") from error


@contextmanager
def _without_ranks() -> Iterator[None]:
    """XGBoost says on standard error which rank a process has got, and cannot be told not to."""
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
        raise WorkerLostError(f"the worker at {process[0]} is gone")
    if tracker is None:  # a single process
        return _run(function, blocks, arguments, attempt)
    communicator = collective.CommunicatorContext(
        dmlc_task_id=f"{rank:06d}", dmlc_timeout=PATIENCE, dmlc_retry=1, **tracker
    )
    with _peers(), _without_ranks():
        communicator.__enter__()
    try:
        result = _run(function, blocks, arguments, attempt)
        return result if rank == 0 else None
    except xgboost_core.XGBoostError as error:
        _raise_in_words(error)
        raise
    finally:  # closes the connections, whereby the others notice a failure
        with suppress(xgboost_core.XGBoostError):
            communicator.__exit__(None, None, None)


def _run(
    function: Callable[..., Any], blocks: list[Any], arguments: tuple[Any, ...], attempt: str
) -> Any:
    communicator = Collective(attempt)
    try:
        return function(blocks, communicator, *arguments)
    finally:
        if not communicator.is_wanted():  # nobody comes for what was told
            _mailboxes.pop(attempt, None)


def _raise_in_words(error: Exception) -> None:
    """What an error of XGBoost's own means, whose trees add up by themselves."""
    if "same CUDA device" in str(error):
        raise ValueError(
            "Several workers of the cluster share a GPU, which XGBoost does not allow; start one "
            "for each GPU, with its own CUDA_VISIBLE_DEVICES, or a single one."
        ) from error
    if "collective/result" in str(error):  # the file that all failed exchanges are raised in
        raise WorkerLostError("the connection to another worker was lost") from error


def start_tracker(attempt: str, host: str, n_workers: int) -> dict[str, Any]:
    """On one of the workers: start what tells them of each other, and say how to reach it."""
    tracker = RabitTracker(n_workers=n_workers, host_ip=host, sortby="task")
    tracker.start()
    _trackers[attempt] = tracker
    return tracker.worker_args()


def stop_tracker(attempt: str) -> None:
    """End the tracker; processes that still wait for others to come are let go."""
    with suppress(KeyError, xgboost_core.XGBoostError):  # it complains about missing workers
        _trackers.pop(attempt).free()


def messages(attempt: str) -> list[dict[str, Any]]:
    """What was told since the last time."""
    return _mailboxes.pop(attempt, [])
