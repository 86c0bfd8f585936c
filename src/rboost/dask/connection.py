"""A client that is there as long as somebody needs it."""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from typing import Any

from rboost.dask.cluster import connected, wait_for_worker
from rboost.native.xgboost import arrays_on


class _Ending:
    """What is to be ended when nobody refers to this any more."""

    def __init__(self, stack: ExitStack) -> None:
        weakref.finalize(self, stack.close)


# By the id of the client.
_endings: weakref.WeakValueDictionary[str, _Ending] = weakref.WeakValueDictionary()


class Connection:
    """A client of a cluster whose workers have the device.

    A cluster that was started for it ends when it is closed, or gone, and so are all others that
    have found its client in use.
    """

    def __init__(self, cluster: Any, n_workers: int | None = None, device: str = "cpu") -> None:
        with ExitStack() as stack:
            self.client = stack.enter_context(connected(cluster, n_workers, device))
            wait_for_worker(self.client)
            self.client.run(_check_device, device)
            ending = _Ending(stack.pop_all())
        self._ending: _Ending | None = _endings.setdefault(self.client.id, ending)

    def close(self) -> None:
        """End the cluster, if it was started here and nobody else uses it; the user's own stays."""
        self._ending = None


def _check_device(device: str) -> None:
    arrays_on(device)
