"""``rboost audit --cluster`` of a table with known errors."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from rboost.cli import main
from rboost.engines.engine import EngineSettings

N_ROWS = 1000


def make_table(n_rows=N_ROWS):
    """Two classes that are easy to tell apart, a tenth of the labels wrong."""
    random = np.random.RandomState(0)
    likes = random.uniform(size=n_rows) < 0.5
    wrong = random.uniform(size=n_rows) < 0.1
    return pd.DataFrame({
        "key": [f"k{i:04}" for i in range(n_rows)],
        "amount": random.standard_normal(n_rows) + 4 * likes,
        "kind": np.where(random.uniform(size=n_rows) < 0.9, np.where(likes, "a", "b"), None),
        "label": random.choice(["=HYPERLINK(1)", "plain"], n_rows),
        "churn": np.where(likes ^ wrong, "yes", "no"),
        "truth": np.where(likes, "yes", "no"),
    })  # fmt: skip


TABLE = make_table()


def write_parts(folder, *tables):
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables):
        table.to_parquet(folder / f"{number}.parquet", index=False)
    return folder


def run(command, max_iter=60):
    """The exit code of a command that grows few trees."""
    with pytest.MonkeyPatch.context() as patch:
        few = partial(EngineSettings, max_iter=max_iter)
        patch.setattr("rboost.dask.audit.EngineSettings", few)
        return main(command)


def arguments(client, data, out, *more):
    cluster = ["--cluster", client.scheduler.address, "--out", str(out), "--quiet"]
    return ["audit", str(data), "--label", "churn", "--id", "key", "--drop", "truth", *cluster,
            *more]  # fmt: skip
