"""The two collections, each table cut in halves: one to learn from, one to judge by.

The data is other people's, so it is not kept here: ``real_noise/defects.csv.gz`` and
``real_noise/commits.csv.gz`` in a folder that the command is told. Each file holds several tables,
named in the column ``table``; a row has features, which are numbers, and two labels, of which 1
means defective.

    defects    a release of each of 12 Java projects, a row for each source file, 44 metrics of
               size, inheritance and coupling; ``given`` by the SZZ heuristic, ``true`` from issues
               that were validated by hand
    commits    3000 commits of each of 10 projects, 14 metrics of the change; ``given`` by AG-SZZ,
               ``true`` by RA-SZZ, which knows refactorings: a better algorithm, not people

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

COLLECTIONS = ("defects", "commits")
SOURCES = (
    "SZZ labels of Java projects by Herbold et al., as prepared in the GitHub repository "
    "sticeran/NoiseDetection (Apache-2.0), and commits by Fan et al., YuanruiZJU/SZZ-TSE (MIT)"
)


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


def file_of(data: Path, collection: str) -> Path:
    """Where the data folder holds a collection."""
    path = data / "real_noise" / f"{collection}.csv.gz"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; its sources are {SOURCES}.")
    return path


@cache
def load(data: Path, collection: str) -> dict[str, pd.DataFrame]:
    """The tables of a collection by their names."""
    rows = pd.read_csv(file_of(data, collection))
    return {str(name): table.drop(columns="table") for name, table in rows.groupby("table")}


@cache
def data_fingerprint(data: Path, collection: str) -> str:
    """A number that changes with the tables."""
    return f"{zlib.crc32(file_of(data, collection).read_bytes()):08x}"


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
