"""The cluster: the connection to it, and a function that runs on all its workers at once."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any

from rboost.dask import gpus
from rboost.dask.attempt import Attempt
from rboost.dask.collective import WorkerLostError, distributed
from rboost.packages import package

dask = package("dask", "dask")

CONNECT_SECONDS = 10
# A worker whose memory XGBoost fills must not stop taking tasks, nor be killed before the machine
# is full; what Dask holds itself it still moves to the disk.
MEMORY = {"distributed.worker.memory.pause": False, "distributed.worker.memory.terminate": False}
# Words are read by one thread of a process at a time, so that several processes are faster; each
# takes a quarter of a gigabyte for itself.
MOST_PROCESSES = 4
ATTEMPTS = 3
# Fits of several clients that wait for each other's workers would wait for ever: one at a time. The
# scheduler takes the turn back from a client that was killed (after half a minute).
TURN = "rboost fit"
# How long to wait for a worker that was lost to come back, and for one at all.
RETURN_SECONDS, NONE_SECONDS = 20, 120


@contextmanager
def connected(
    cluster: Any = None, n_workers: int | None = None, device: str = "cpu"
) -> Iterator[Any]:
    """A client of a cluster.

    Parameters
    ----------
    cluster : None, "local", address or distributed.Client
        None is the client in use, and a cluster on this machine if there is none.
    n_workers : int, optional
        Processes of a cluster on this machine, which share its cores; one for each of up to four,
        or for each GPU where these are used.
    device : {"cpu", "cuda"}, default="cpu"
        What the processes of a cluster on this machine are for.
    """
    if cluster is None:
        with suppress(ValueError):  # there is none
            cluster = distributed.Client.current()
    with ExitStack() as closing:
        if isinstance(cluster, distributed.Client):
            client = cluster
        elif cluster in (None, "local"):
            local = closing.enter_context(_local_cluster(n_workers, device))
            client = closing.enter_context(distributed.Client(local))
        else:
            client = closing.enter_context(_client_at(cluster))
        yield client


@contextmanager
def _local_cluster(n_workers: int | None, device: str) -> Iterator[Any]:
    _leave_if_imported_by_a_worker()
    n_cores = os.cpu_count() or 1
    n_workers = _n_workers(n_workers, n_cores, device)
    n_threads = max(1, n_cores // n_workers)
    # XGBoost wants each process to have a GPU of its own.
    preload = {"preload": [gpus.__name__]} if device == "cuda" and n_workers > 1 else {}
    try:
        with dask.config.set(MEMORY), _deaf_to_interrupts():
            cluster = distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=n_threads,
                processes=True,
                silence_logs=logging.CRITICAL,
                dashboard_address=None,
                # Without a page, Dask still serves its state: at a port that nobody else wants.
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                **preload,
            )
    except RuntimeError as error:
        if "Nanny" not in str(error):
            raise
        raise RuntimeError(
            "The workers of a local cluster did not start; in a script, call this below "
            "`if __name__ == '__main__':`, since every worker imports the script."
        ) from None
    with cluster:
        yield cluster


def _n_workers(wanted: int | None, n_cores: int, device: str) -> int:
    if wanted is not None and wanted < 1:
        raise ValueError(f"n_workers must be at least 1, not {wanted}.")
    if device == "cpu":
        return wanted or min(n_cores, MOST_PROCESSES)
    n_gpus = gpus.count()
    if wanted is not None and wanted > n_gpus:
        raise ValueError(
            f"{wanted} workers cannot share {n_gpus} GPU{'s' if n_gpus > 1 else ''}, since each "
            "needs one of its own; ask for fewer workers, or set device='cpu'."
        )
    return wanted or n_gpus


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started meanwhile leave Ctrl-C to this one, which ends them; it hears it later."""
    resource_tracker.ensure_running()  # would end the deafness when the first process is started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave_if_imported_by_a_worker() -> None:
    """A worker that imports a script without that line ends without a word; its parent has it."""
    is_worker = multiprocessing.current_process().name.startswith("Dask Worker")
    if is_worker and threading.current_thread() is threading.main_thread():
        sys.exit(1)


def _client_at(address: str) -> Any:
    """A client, once a scheduler has answered: one that finds none hangs, or logs at its end."""
    try:
        distributed.comm.get_address_host_port(address)
    except ValueError:
        raise ValueError(
            f"{address!r} is no address of a Dask scheduler, like tcp://10.0.0.1:8786 (or 'local' "
            "for a cluster on this machine)."
        ) from None
    try:
        with ThreadPoolExecutor(1) as own_thread:  # this one may have an event loop, in a notebook
            own_thread.submit(asyncio.run, _identity(address)).result()
    except Exception as error:
        raise ConnectionError(
            f"No Dask scheduler answers at {address}; start one with `dask scheduler` and give the "
            "address that it prints, or use the cluster 'local'."
        ) from error
    return distributed.Client(address, timeout=CONNECT_SECONDS)


async def _identity(address: str) -> Any:
    arguments = distributed.Security().get_connection_args("client")
    async with distributed.rpc(address, connection_args=arguments) as scheduler:
        return await asyncio.wait_for(scheduler.identity(), CONNECT_SECONDS)


def run_together(
    client: Any,
    blocks: list[Any],
    function: Callable[..., Any],
    arguments: Callable[[], tuple[Any, ...]],
    listen: Callable[[dict[str, Any]], None] | None = None,
) -> Any:
    """What function(own blocks, communicator, *arguments()) gives, run where the blocks are.

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
        Gets what the process of rank 0 tells, in this process, while the function runs.
    """
    address = client.scheduler.address
    try:
        return _attempts(client, blocks, function, arguments, listen)
    except Exception as error:
        if client.status == "running":
            raise
        raise ConnectionError(
            f"The scheduler at {address} does not answer any more; start the cluster and the fit "
            "again."
        ) from error


def _attempts(
    client: Any,
    blocks: list[Any],
    function: Callable[..., Any],
    arguments: Callable[[], tuple[Any, ...]],
    listen: Callable[[dict[str, Any]], None] | None,
) -> Any:
    n_workers = max(len(client.nthreads()), 1)
    for _ in range(ATTEMPTS):
        try:
            with client.as_current(), _turn(client):  # for Dask's functions that take no client
                attempt = Attempt(client, _place(client, blocks, n_workers), listen)
                return attempt.run(blocks, function, arguments())
        except WorkerLostError as error:
            lost = error
    raise ConnectionError(
        f"The fit was given up after {ATTEMPTS} attempts, since in each of them a worker of the "
        "cluster was lost; workers that run out of memory need more of it or smaller partitions."
    ) from lost


@contextmanager
def _turn(client: Any) -> Iterator[None]:
    turn = distributed.Semaphore(1, TURN)
    try:
        turn.acquire()
        try:
            yield
        finally:
            if client.status == "running":
                turn.release()
    finally:
        turn.refresh_leases = False  # where waiting was interrupted, the scheduler ends it


def wait_for_worker(client: Any) -> None:
    """Return once there is a worker; say so if none comes."""
    try:
        client.wait_for_workers(1, timeout=NONE_SECONDS)
    except TimeoutError:
        raise ConnectionError(
            f"The cluster at {client.scheduler.address} has no workers; start some with "
            "`dask worker ADDRESS`."
        ) from None


def _place(client: Any, blocks: list[Any], n_workers: int) -> dict[str, list[int]]:
    """The numbers of the blocks by worker: where they are, but nobody gets more than a share."""
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
    homeless = []
    for number, block in enumerate(blocks):
        here = [worker for worker in holders[block.key] if worker in placed]
        near = [worker for worker in here if len(placed[worker]) < share]
        if near:
            placed[min(near, key=lambda worker: len(placed[worker]))].append(number)
        else:
            homeless.append(number)
    for number in homeless:
        placed[min(placed, key=lambda worker: len(placed[worker]))].append(number)
    occupied = {worker: sorted(numbers) for worker, numbers in placed.items() if numbers}
    return dict(sorted(occupied.items(), key=lambda item: item[1]))
