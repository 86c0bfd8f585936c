"""Tables to cut into partitions, and a client that runs everything at once, here."""

from contextlib import contextmanager
from itertools import pairwise

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.base import compute
from dask.delayed import delayed
from distributed import Client, LocalCluster


def blocks_of(client, n_blocks):
    """Blocks that hold their number."""
    return [client.submit(np.full, 3, float(number), pure=False) for number in range(n_blocks)]


class Here:
    """As much of a client of Dask as the tables need; tasks run one after the other."""

    def compute(self, tasks):
        if hasattr(tasks, "compute"):
            return tasks.compute(scheduler="synchronous")
        return list(compute(*tasks, scheduler="synchronous"))

    def gather(self, values):
        return values


def cluster_of_threads(n_workers=1, n_threads=1):
    """A cluster whose workers are threads of this process, which start at once."""
    # Any free port, as there is a warning where another cluster has the usual one.
    where = {"processes": False, "dashboard_address": ":0"}
    return LocalCluster(n_workers=n_workers, threads_per_worker=n_threads, **where)


@contextmanager
def on_a_cluster(n_workers=1):
    """Yield the client of a cluster of threads."""
    with cluster_of_threads(n_workers) as cluster, Client(cluster) as client:
        yield client


def make_table(n_rows, seed=0, missing=0.1):
    """Numbers, whole numbers, words and dates, some of them missing, and labels."""
    random = np.random.RandomState(seed)
    words = np.array(["red", "green", "blue", "a word", ""], dtype=object)
    days = np.datetime64("2020-01-01") + random.randint(0, 1000, n_rows).astype("m8[D]")
    table = pd.DataFrame(
        {
            "number": random.normal(size=n_rows),
            "whole": random.randint(0, 9, n_rows),
            "word": random.choice(words, n_rows),
            "day": days.astype("M8[ns]"),
            "id": np.arange(n_rows),
            "weight": random.uniform(0.5, 2, n_rows),
            "y": random.choice(["no", "yes", "maybe"], n_rows, p=[0.5, 0.3, 0.2]),
        }
    )
    for name in ("number", "word", "day"):
        table.loc[random.uniform(size=n_rows) < missing, name] = None
    return table


def cut(table, cuts):
    """A Dask frame whose partitions begin at these rows; some may be empty."""
    bounds = [0, *sorted(cuts), len(table)]
    parts = [table.iloc[first:stop] for first, stop in pairwise(bounds)]
    return dd.from_delayed([delayed(part) for part in parts], meta=table.iloc[:0])


def write_files(table, folder, cuts, **settings):
    """Parquet files that begin at these rows."""
    folder.mkdir(exist_ok=True)
    bounds = [0, *sorted(cuts), len(table)]
    for number, first in enumerate(bounds[:-1]):
        part = table.iloc[first : bounds[number + 1]]
        part.to_parquet(folder / f"{number:02}.parquet", index=False, **settings)
    return folder
