"""The cluster: which one, how long it lives, and the results of tasks on it."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any

from rboost.native.boosters import arrays_on
from rboost.packages import package
from rboost.progress import track

dask, distributed = package("dask", "dask"), package("distributed", "dask")

CONNECT_SECONDS = 10
# How long to wait for a first worker.
WORKER_SECONDS = 120
# A worker whose memory XGBoost fills must not stop taking tasks, nor be killed before the machine
# is full; what Dask holds itself it still moves to the disk.
MEMORY = {"distributed.worker.memory.pause": False, "distributed.worker.memory.terminate": False}
# Words are read by one thread of a process at a time, so that several processes are faster; each
# takes a quarter of a gigabyte for itself.
MOST_PROCESSES = 4
VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"


class _Ending:
    """Closes a stack when nothing refers to this object any more."""

    def __init__(self, stack: ExitStack) -> None:
        weakref.finalize(self, stack.close)


# By the id of the client.
_endings: weakref.WeakValueDictionary[str, _Ending] = weakref.WeakValueDictionary()


class Connection:
    """A client of a cluster whose workers have the device; as a context, the client is its value.

    A cluster that was started for it ends when it is closed, or gone, and so are all others that
    have found its client in use.

    Parameters
    ----------
    cluster : None, "local", address or distributed.Client
        None is the client in use, and a cluster on this machine if there is none.
    n_workers : int, optional
        Processes of a cluster on this machine, which share its cores; one for each of up to four,
        or for each GPU where these are used.
    device : {"cpu", "cuda"}, default="cpu"
        What the workers grow trees on.
    """

    def __init__(
        self, cluster: Any = None, n_workers: int | None = None, device: str = "cpu"
    ) -> None:
        if cluster is None:
            with suppress(ValueError):  # there is none
                cluster = distributed.Client.current()
        with ExitStack() as stack:
            if isinstance(cluster, distributed.Client):
                self.client = cluster
            elif cluster in (None, "local"):
                local = stack.enter_context(_local_cluster(n_workers, device))
                self.client = stack.enter_context(distributed.Client(local))
            else:
                self.client = stack.enter_context(_client_at(cluster))
            wait_for_worker(self.client)
            self.client.run(_check_device, device)
            ending = _Ending(stack.pop_all())
        self._ending: _Ending | None = _endings.setdefault(self.client.id, ending)

    def close(self) -> None:
        """End the cluster, if it was started here and nobody else uses it; the user's own stays."""
        self._ending = None

    def __enter__(self) -> Any:
        return self.client

    def __exit__(self, *_: Any) -> None:
        self.close()


def _check_device(device: str) -> None:
    arrays_on(device)


def _local_cluster(n_workers: int | None, device: str) -> Any:
    _leave_if_imported_by_a_worker()
    n_cores = os.cpu_count() or 1
    n_workers = _n_workers(n_workers, n_cores, device)
    # XGBoost wants each process to have a GPU of its own.
    preload = {"preload": [__name__]} if device == "cuda" and n_workers > 1 else {}
    try:
        with dask.config.set(MEMORY), _interrupts_deferred():
            return distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=max(1, n_cores // n_workers),
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


def _leave_if_imported_by_a_worker() -> None:
    """End a worker that imports a script without that line silently; its parent reports it."""
    is_worker = multiprocessing.current_process().name.startswith("Dask Worker")
    if is_worker and threading.current_thread() is threading.main_thread():
        sys.exit(1)


def _n_workers(wanted: int | None, n_cores: int, device: str) -> int:
    if wanted is not None and wanted < 1:
        raise ValueError(f"n_workers must be at least 1, not {wanted}.")
    if device == "cpu":
        return wanted or min(n_cores, MOST_PROCESSES)
    n_gpus = count_gpus()
    if wanted is not None and wanted > n_gpus:
        raise ValueError(
            f"{wanted} workers cannot share {n_gpus} GPU{'s' if n_gpus > 1 else ''}, since each "
            "needs one of its own; ask for fewer workers, or set device='cpu'."
        )
    return wanted or n_gpus


def count_gpus() -> int:
    """The number of GPUs; 1 where it cannot be determined, as workers raise the error then."""
    try:
        return int(arrays_on("cuda").cuda.runtime.getDeviceCount())
    except (ImportError, ValueError):
        return 1


def dask_setup(worker: Any) -> None:
    """Leave a worker one GPU; those of a local cluster have the names 0, 1 and so on.

    Dask calls this when a worker starts that was told to load this module.
    """
    named = os.environ.get(VISIBLE_GPUS)
    os.environ[VISIBLE_GPUS] = named.split(",")[worker.name] if named else str(worker.name)


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Processes started meanwhile ignore Ctrl-C; this one receives it afterwards, and ends them."""
    resource_tracker.ensure_running()  # unblocks the signal when the first process is started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _client_at(address: str) -> Any:
    """A client, once a scheduler has answered: Dask's own client may wait for ever for one."""
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


def wait_for_worker(client: Any) -> None:
    """Return once there is a worker; fail with one sentence if none comes."""
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError:
        raise ConnectionError(
            f"The cluster at {client.scheduler.address} has no workers; start some with "
            "`dask worker ADDRESS`."
        ) from None


def gathered(client: Any, tasks: Sequence[Any], doing: str = "", verbose: bool = False) -> Any:
    """Compute tasks and fetch their results; ``doing`` is the description of the bar."""
    futures = client.compute(tasks)
    if verbose:
        wait_for(futures, doing, verbose)
    return client.gather(futures)


def wait_for(futures: Sequence[Any], doing: str, verbose: bool) -> None:
    """Wait until all are done, or raise what one of them has raised."""
    if not futures:
        return
    with futures[0].client.as_current():
        done = distributed.as_completed(futures)
    for future in track(done, len(futures), doing, enabled=verbose):
        if future.status == "error":
            future.result()
