"""Made-up tables of two classes: words, dates, numbers, sentences and missing cells.

Each generator takes a number of rows and a seed, and returns a frame of pandas and true classes,
which are drawn from a logistic model of a score. What a category means for the class is a property
of the table: it is the same whatever the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from rboost._typing import Floats, Integers

Random = np.random.RandomState
Table = tuple[pd.DataFrame, Integers]
Maker = Callable[[int, int], Table]


def customers(n_rows: int, seed: int) -> Table:
    """Who leaves: a plan changes what calls and hours mean, and habits changed with the years."""
    random = Random(seed)
    X = pd.DataFrame(
        {
            "joined": _days(random, n_rows, "2019-01-01", 2000),
            "plan": random.choice(["basic", "family", "business"], n_rows, p=[0.5, 0.3, 0.2]),
            "region": random.choice([f"region {k}" for k in range(12)], n_rows),
            "hours": random.gamma(4, 5, n_rows).round(1),
            "spent": random.gamma(3, 60, n_rows).round(2),
            "calls": random.poisson(2, n_rows),
        }
    )
    is_new = (X["joined"] > pd.Timestamp("2022-01-01")).to_numpy()
    is_basic = (X["plan"] == "basic").to_numpy()
    score = 1.2 * (X["calls"] - 2) * np.where(is_basic, 1, -0.5) - 0.15 * (X["hours"] - 18)
    score += 2 * is_new * (X["region"].isin(["region 1", "region 2", "region 7"])) + is_basic
    return _lose_cells(X, random, ("plan", "hours", "spent"), 0.05), _drawn(2 * score, random)


def orders(n_rows: int, seed: int) -> Table:
    """What is returned: each of 80 products has a rate of its own, and weekends theirs."""
    random = Random(seed)
    effects = Random(80).standard_normal(80)
    product = np.minimum(random.geometric(0.04, n_rows) - 1, 79)
    X = pd.DataFrame(
        {
            "product": [f"P-{k:03d}" for k in product],
            "carrier": random.choice(["post", "van", "ship", "bike"], n_rows),
            "ordered": _days(random, n_rows, "2023-01-01", 700),
            "price": np.exp(random.normal(3, 1, n_rows)).round(2),
            "weight": random.gamma(2, 2, n_rows).round(2),
            "note": random.choice(["gift", "none", "fragile"], n_rows, p=[0.1, 0.8, 0.1]),
        }
    )
    is_weekend = (X["ordered"].dt.dayofweek >= 5).to_numpy()
    is_heavy_ship = (X["carrier"] == "ship") & (X["weight"] > 4)
    score = 1.5 * effects[product] + 1.5 * is_weekend + 2 * is_heavy_ship
    score += 0.5 * (np.log(X["price"]) - 3)
    X = _lose_cells(X, random, ("carrier", "weight", "ordered"), 0.08)
    return X, _drawn(2 * (score - 0.8), random)


def patients(n_rows: int, seed: int) -> Table:
    """Who comes back: a value that was not measured says something, and so does the season."""
    random = Random(seed)
    effects = 1.2 * Random(25).standard_normal(25)
    diagnosis = random.randint(0, 25, n_rows)
    X = pd.DataFrame(random.standard_normal((n_rows, 6)).round(2), columns=list("abcdef"))
    X["age"] = random.randint(18, 95, n_rows)
    X["diagnosis"] = [f"{'ABCDE'[k // 5]}{k % 5}" for k in diagnosis]
    X["ward"] = random.choice(["north", "south", "children", "surgery"], n_rows)
    X["admitted"] = _days(random, n_rows, "2020-01-01", 1500)
    is_winter = X["admitted"].dt.month.isin([11, 12, 1, 2]).to_numpy()
    is_missing = random.uniform(size=n_rows) < 0.25
    score = X["a"] * X["b"] + np.abs(X["c"]) - 0.8 + effects[diagnosis]
    score += 0.03 * (X["age"] - 55) + is_winter * (X["ward"] == "north") + 1.5 * is_missing - 0.5
    X.loc[is_missing, "f"] = np.nan
    return _lose_cells(X, random, ("a", "diagnosis", "age"), 0.05), _drawn(2 * score, random)


def machines(n_rows: int, seed: int) -> Table:
    """What fails: the type of a machine says which of its measurements matters, and from where."""
    random = Random(seed)
    n_types = 8
    kind = random.randint(0, n_types, n_rows)
    limits, signs = Random(8).uniform(-0.7, 0.7, n_types), np.array([1, -1] * 4)
    values = random.standard_normal((n_rows, 10))
    X = pd.DataFrame(values.round(3), columns=[f"sensor {k}" for k in range(10)])
    X["type"] = [f"type {'ABCDEFGH'[k]}" for k in kind]
    X["maker"] = np.where(kind < 5, "ours", random.choice(["theirs", "unknown"], n_rows))
    X["serviced"] = _days(random, n_rows, "2021-06-01", 900)
    age = (pd.Timestamp("2024-01-01") - X["serviced"]).dt.days.to_numpy() / 450 - 1
    score = 2 * signs[kind] * np.sign(values[np.arange(n_rows), kind % 4] - limits[kind]) + age
    return _lose_cells(X, random, ("sensor 1", "serviced", "maker"), 0.1), _drawn(score, random)


def tickets(n_rows: int, seed: int) -> Table:
    """What is urgent: words of a sentence, beside who wrote it, when, and how long it waits."""
    random = Random(seed)
    urgent, calm = ["down", "outage", "lost", "refund"], ["thanks", "question", "later", "idea"]
    other = [f"{a}{b}" for a in ("ta", "mi", "lo", "re", "su") for b in ("ne", "kol", "ra", "vit")]
    mood = random.normal(size=n_rows)
    n_urgent, n_calm = random.binomial(2, expit(mood)), random.binomial(2, expit(-mood))
    sentences = [
        [*random.choice(urgent, m), *random.choice(calm, k), *random.choice(other, 9)]
        for m, k in zip(n_urgent, n_calm, strict=True)
    ]
    X = pd.DataFrame(
        {
            "text": [" ".join(random.permutation(words)) for words in sentences],
            "queue": random.choice(["billing", "network", "sales", "other"], n_rows),
            "sender": [f"firm {k}" for k in np.minimum(random.geometric(0.05, n_rows), 60)],
            "opened": _days(random, n_rows, "2024-01-01", 365),
            "waiting": random.gamma(2, 3, n_rows).round(1),
        }
    )
    score = 1.5 * (n_urgent - n_calm) + 2 * (X["queue"] == "network") - 0.5
    score += 0.2 * (X["waiting"] - 6) + (X["sender"].isin(["firm 1", "firm 2", "firm 5"]))
    return _lose_cells(X, random, ("queue", "waiting"), 0.05), _drawn(1.5 * score, random)


MIXED: dict[str, Maker] = {
    own.__name__: own for own in (customers, orders, patients, machines, tickets)
}
TEXTS = ("text",)


def _days(random: Random, n_rows: int, first: str, n_days: int) -> pd.Series:
    return pd.Timestamp(first) + pd.Series(
        pd.to_timedelta(random.randint(0, n_days, n_rows), unit="D")
    )


def _lose_cells(
    X: pd.DataFrame, random: Random, columns: tuple[str, ...], share: float
) -> pd.DataFrame:
    """The frame with cells of some columns missing at random."""
    return X.assign(**{name: X[name].mask(random.uniform(size=len(X)) < share) for name in columns})


def _drawn(score: Floats, random: Random) -> Integers:
    return (random.uniform(size=len(score)) < expit(np.asarray(score))).astype(np.intp)


class WithPlainColumns:
    """A classifier of CatBoost on such frames: told which columns are words and which sentences."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: pd.DataFrame, y: Integers) -> WithPlainColumns:
        """Fit; what is no number is a category or a text."""
        plain = plain_columns(X)
        words = [name for name in plain if plain[name].dtype.kind not in "if"]
        texts = [name for name in words if name in TEXTS]
        categories = [name for name in words if name not in TEXTS]
        self.model.fit(plain, y, cat_features=categories, text_features=texts or None)
        return self

    def predict_proba(self, X: pd.DataFrame) -> Floats:
        """The probability of each class."""
        return np.asarray(self.model.predict_proba(plain_columns(X)))


def plain_columns(X: pd.DataFrame) -> pd.DataFrame:
    """What people make of such a table for a booster: words, and numbers instead of dates."""
    columns: dict[str, pd.Series] = {}
    for name, own in X.items():
        if own.dtype.kind == "M":
            columns |= {
                name: (own - pd.Timestamp("2020-01-01")).dt.days,
                f"{name}: month": own.dt.month,
                f"{name}: weekday": own.dt.dayofweek,
            }
        else:
            columns[name] = own if own.dtype.kind in "if" else own.fillna("missing")
    return pd.DataFrame(columns)
