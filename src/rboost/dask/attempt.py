"""One attempt to run a function on workers at once, followed from the client."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from rboost.dask.collective import (
    WorkerLostError,
    distributed,
    messages,
    start_tracker,
    stop_tracker,
    take_part,
)

POLL_SECONDS = 0.5
# How long workers have to end once one of them is lost: to the end of a step of their own.
END_SECONDS = 300


class Attempt:
    """One attempt: it ends with a result, an error of the function's own, or a lost worker."""

    def __init__(
        self, client: Any, placed: dict[str, list[int]], listen: Callable[..., None] | None
    ) -> None:
        self.client, self.placed, self.listen = client, placed, listen
        self.name = f"rboost-{uuid.uuid4().hex}"
        self.workers = list(placed)
        self.futures: list[Any] = []

    def run(
        self, blocks: list[Any], function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> Any:
        """Start the function on all workers and wait for the result of the first."""
        try:
            self._start(blocks, function, arguments)
            while any(future.status == "pending" for future in self.futures):
                self._wait(POLL_SECONDS)
                self._raise_failure()
                self._deliver()
            self._deliver()
            self._raise_failure()
            return self._result()
        except BaseException:
            try:
                self._deliver()  # the last checkpoint, for the next attempt
            finally:
                self.client.cancel(self.futures, force=True)
            raise
        finally:
            if len(self.workers) > 1:
                self._on_first(stop_tracker)

    def _start(
        self, blocks: list[Any], function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        try:
            processes = self.client.run(os.getpid, workers=self.workers)
            tracker = self._tracker()
            [shared] = self.client.scatter([arguments], workers=self.workers[:1], hash=False)
        except OSError as error:
            raise WorkerLostError("a worker was lost before the start") from error
        # A result that is lost before it is fetched cannot be had again: since the arguments, which
        # were scattered, are gone by then, Dask says so instead of waiting for the worker.
        for rank, (worker, numbers) in enumerate(self.placed.items()):
            self.futures.append(
                self.client.submit(
                    take_part, function, [blocks[number] for number in numbers], shared,
                    self.name, (worker, processes[worker]), rank, tracker,
                    workers=[worker], pure=False,
                )
            )  # fmt: skip

    def _result(self) -> Any:
        try:
            return self.futures[0].result()
        except (CancelledError, distributed.KilledWorker) as error:
            raise WorkerLostError("the first worker was lost with its result") from error

    def _tracker(self) -> dict[str, Any] | None:
        if len(self.workers) == 1:
            return None
        host = distributed.comm.get_address_host(self.workers[0])
        tracker = self._on_first(start_tracker, host, len(self.workers))
        if tracker is None:
            raise WorkerLostError("the first worker was lost before the start")
        return tracker

    def _wait(self, seconds: float) -> None:
        pending = [future for future in self.futures if future.status == "pending"]
        with suppress(TimeoutError, CancelledError):
            distributed.wait(pending, timeout=seconds, return_when="FIRST_COMPLETED")

    def _raise_failure(self) -> None:
        """An error of the function's own goes before a lost worker, which may be due to it."""
        alive = set(self.client.nthreads())
        if alive.issuperset(self.workers) and not self._failed():
            return
        self._raise_own_error()
        if len(self.workers) > 1:
            self._on_first(stop_tracker)  # for processes that still wait for the lost one to come
        deadline = time.monotonic() + END_SECONDS
        while self._running() and time.monotonic() < deadline:
            self._wait(POLL_SECONDS)
        self._raise_own_error()
        raise WorkerLostError("a worker was lost")

    def _failed(self) -> list[Any]:
        return [
            future for future in self.futures if future.status in ("error", "cancelled", "lost")
        ]

    def _running(self) -> bool:
        """Whether a process of the attempt goes on; a dead worker's task is not one."""
        alive = self.client.nthreads()
        return any(
            future.status == "pending" and worker in alive
            for worker, future in zip(self.workers, self.futures, strict=True)
        )

    def _raise_own_error(self) -> None:
        for future in self._failed():
            if future.status == "error" and not isinstance(
                future.exception(), (WorkerLostError, distributed.KilledWorker)
            ):
                future.result()

    def _deliver(self) -> None:
        """Fetch what was told; in a worker that was lost, it is lost."""
        for message in self._on_first(messages) or []:
            if self.listen:
                self.listen(message)

    def _on_first(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function gives on the first worker, None if that has gone."""
        first = self.workers[0]
        with suppress(OSError):
            if first in self.client.nthreads():
                return self.client.run(function, self.name, *arguments, workers=[first])[first]
        return None
