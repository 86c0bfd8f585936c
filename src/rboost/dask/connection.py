"""A client that is there as long as somebody needs it."""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from typing import Any

from rboost.dask.cluster import connected, wait_for_worker


class Connection:
    """A client of a cluster; a cluster that was started for it ends with this object."""

    def __init__(self, cluster: Any, n_workers: int = 1) -> None:
        with ExitStack() as stack:
            self.client = stack.enter_context(connected(cluster, n_workers))
            wait_for_worker(self.client)
            self._end = weakref.finalize(self, stack.pop_all().close)

    def close(self) -> None:
        """End the cluster, if it was started here; the user's own stays."""
        self._end()
