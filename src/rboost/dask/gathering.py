"""Results of tasks on a cluster, fetched while a bar shows how many of them are done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rboost.packages import package
from rboost.progress import track


def gathered(client: Any, tasks: Sequence[Any], doing: str = "", verbose: bool = False) -> Any:
    """Compute tasks and fetch their results; ``doing`` says before the bar what is being done."""
    futures = client.compute(tasks)
    if verbose:
        wait_for(futures, doing, verbose)
    return client.gather(futures)


def wait_for(futures: Sequence[Any], doing: str, verbose: bool) -> None:
    """Wait until all are done, or raise what one of them has raised."""
    if not futures:
        return
    with futures[0].client.as_current():
        done = package("distributed", "dask").as_completed(futures)
    for future in track(done, len(futures), doing, enabled=verbose):
        if future.status == "error":
            future.result()
