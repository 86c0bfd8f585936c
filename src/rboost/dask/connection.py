"""A client that is there as long as somebody needs it."""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from typing import Any

from rboost.dask.cluster import connected

# Who has the client of an id, first.
_first: weakref.WeakValueDictionary[str, Connection] = weakref.WeakValueDictionary()


class Connection:
    """A client of a cluster; a cluster that was started for it ends with this object.

    One that finds the client of another in use keeps that other one alive.
    """

    def __init__(self, cluster: Any, n_workers: int = 1) -> None:
        stack = ExitStack()
        self.client = stack.enter_context(connected(cluster, n_workers))
        self._end = weakref.finalize(self, stack.close)
        first = _first.setdefault(self.client.id, self)
        self._other = None if first is self else first

    def close(self) -> None:
        """End the cluster, if it was started here; the user's own stays."""
        self._end()
