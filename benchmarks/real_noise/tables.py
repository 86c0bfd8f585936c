"""The two collections, each table cut in halves: one to learn from, one to judge by.

What is learnt from has labels as they were collected (``given``); what is judged by has verified
ones only. The verified labels of the first half (``true``) are for references and for the reviewer.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from rboost._typing import Floats, Integers

FOLDER = Path(__file__).parents[1] / "data" / "real_noise"
COLLECTIONS = ("defects", "commits")


@dataclass(frozen=True, eq=False)
class Halves:
    """The half to learn from, with both kinds of labels, and the half to judge by."""

    X: pd.DataFrame
    given: Integers
    true: Integers
    X_test: pd.DataFrame
    y_test: Integers

    @property
    def wrong(self) -> Integers:
        """Which given labels are wrong."""
        return np.asarray(self.given != self.true).astype(int)

    @property
    def noise_matrix(self) -> Floats:
        """``noise_matrix[j, k]`` = share of the rows of class j with the given label k."""
        rates = [np.mean(self.given[self.true == j]) for j in (0, 1)]
        return np.array([[1 - rate, rate] for rate in rates])


@cache
def load(collection: str) -> dict[str, pd.DataFrame]:
    """The tables of a collection by their names."""
    rows = pd.read_csv(FOLDER / f"{collection}.csv.gz")
    return {str(name): table.drop(columns="table") for name, table in rows.groupby("table")}


@cache
def data_fingerprint(collection: str) -> str:
    """A number that changes with the tables."""
    return f"{zlib.crc32((FOLDER / f'{collection}.csv.gz').read_bytes()):08x}"


def cut(table: pd.DataFrame, seed: int) -> Halves:
    """Two halves with equal shares of both true classes."""
    labels = table["true"].to_numpy()
    rows = train_test_split(
        np.arange(len(table)), test_size=0.5, stratify=labels, random_state=seed
    )
    train, test = (table.iloc[part].reset_index(drop=True) for part in rows)
    features = [name for name in table.columns if name not in ("given", "true")]
    return Halves(
        train[features], train["given"].to_numpy(), train["true"].to_numpy(),
        test[features], test["true"].to_numpy(),
    )  # fmt: skip
