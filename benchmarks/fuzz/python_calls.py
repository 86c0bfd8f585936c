"""Cases about the Python interface: odd X, odd y, odd parameters."""

from __future__ import annotations

import decimal
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from benchmarks.fuzz.outcome import check_sentence
from benchmarks.fuzz.tables import LABEL, TABLES, base_table
from rboost import (
    NoiseAwareClassifier,
    NoiseCalibratedClassifier,
    RBoostClassifier,
    estimate_noise_matrix,
)
from rboost.audit import audit_labels

Change = Callable[[Any, Any], tuple[Any, Any]]
# What scikit-learn says of an estimator's input, or a wrapped classifier of its own, is known.
KNOWN = ("/sklearn/",)


def python_call(random: Random, folder: Path) -> None:
    """A call with an X and a y that are odd in one way or two."""
    frame = base_table(random.choice(list(TABLES)))
    X: Any = frame.drop(columns=LABEL).head(60)
    y: Any = frame[LABEL].head(60).to_numpy()
    names = random.sample(list(CHANGES), random.choice((1, 1, 2)))
    for name in names:
        try:
            X, y = CHANGES[name](X, y)
        except Exception:  # what one change made, another cannot change
            continue
    called = random.choice(list(CALLS))
    (folder / "call.txt").write_text(f"{called} with {', '.join(names)}\n")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            CALLS[called](X, y, random)
    except (ValueError, TypeError, OverflowError) as error:
        check_sentence(error, () if called == "audit_labels" else KNOWN)


def _audit(X: Any, y: Any, random: Random) -> None:
    audit = audit_labels(X, y, model="linear", **random.choice(EXTRAS)(X, y))
    repr(audit)
    audit.to_frame()


def _fit(estimator: Any) -> Callable[[Any, Any, Random], None]:
    def fit(X: Any, y: Any, random: Random) -> None:
        from sklearn.base import clone

        model = clone(estimator)
        n_attributes = len(vars(model))
        try:
            model.fit(X, y)
        except (ValueError, TypeError):
            assert len(vars(model)) == n_attributes, "a fit that failed left attributes behind"
            raise
        model.predict_proba(X)

    return fit


CALLS: dict[str, Callable[[Any, Any, Random], object]] = {
    "audit_labels": _audit,
    "RBoostClassifier": _fit(RBoostClassifier(max_iter=5, random_state=0)),
    "trees": _fit(RBoostClassifier(engines="trees", max_iter=5, random_state=0)),
    "NoiseCalibratedClassifier": _fit(
        NoiseCalibratedClassifier(LogisticRegression(max_iter=20), cv=2, random_state=0)
    ),
    "NoiseAwareClassifier": _fit(
        NoiseAwareClassifier(LogisticRegression(max_iter=20), max_iter=2, random_state=0)
    ),
    "estimate_noise_matrix": lambda X, y, random: estimate_noise_matrix(X, y),
}
EXTRAS: tuple[Callable[[Any, Any], dict[str, Any]], ...] = (
    *([lambda X, y: {}] * 6),
    lambda X, y: {"ids": ["a"] * 60},
    lambda X, y: {"ids": 5},
    lambda X, y: {"context": "nothing"},
    lambda X, y: {"context": [None] * 60},
    lambda X, y: {"context": np.zeros((60, 2))},
    lambda X, y: {"y_checked": [None] * 60},
    lambda X, y: {"y_checked": y},
    lambda X, y: {"y_checked": np.full(60, np.nan)},
    lambda X, y: {"y_checked": 3},
    lambda X, y: {"X_trusted": X, "y_trusted": y},
    lambda X, y: {"X_trusted": X},
    lambda X, y: {"random_state": "x"},
    lambda X, y: {"random_state": -1},
    lambda X, y: {"checked_at_random": "yes"},
)


def _array(X: Any) -> Any:
    return np.asarray(pd.DataFrame(X).apply(pd.to_numeric, errors="coerce").fillna(0.0))


def _cell(value: Any) -> Change:
    def change(X: Any, y: Any) -> tuple[Any, Any]:
        X = pd.DataFrame(X).astype(object).copy()
        for k in range(0, len(X), 3):
            X.iat[k, 0] = value
        return X, y

    return change


def _labels(make: Callable[[Any], Any]) -> Change:
    return lambda X, y: (X, make(y))


def _features(make: Callable[[Any], Any]) -> Change:
    return lambda X, y: (make(X), y)


def _some(value: Any) -> Callable[[Any], Any]:
    return lambda y: np.array([value if k % 5 == 0 else v for k, v in enumerate(y)], dtype=object)


CHANGES: dict[str, Change] = {
    "X as it is": _features(lambda X: X),
    "X None": _features(lambda X: None),
    "X a number": _features(lambda X: 3.0),
    "X a word": _features(lambda X: "table.csv"),
    "X 1-d": _features(lambda X: _array(X)[:, 0]),
    "X 3-d": _features(lambda X: _array(X)[:, :, None]),
    "X an array": _features(_array),
    "X integers": _features(lambda X: _array(X).astype(int)),
    "X complex": _features(lambda X: _array(X) + 1j),
    "X sparse": _features(lambda X: sparse.csr_matrix(_array(X))),
    "X sparse array": _features(lambda X: sparse.coo_array(_array(X))),
    "X without rows": _features(lambda X: X.iloc[:0]),
    "X without columns": _features(lambda X: X.iloc[:, :0]),
    "X short": _features(lambda X: X.iloc[:-3]),
    "X with infinities": _features(lambda X: np.where(_array(X) > 1, np.inf, _array(X))),
    "X all NaN": _features(lambda X: np.full((60, 3), np.nan)),
    "X huge": _features(lambda X: 1e300 * (_array(X) + 1)),
    "X constant": _features(lambda X: np.ones((60, 2))),
    "X lists": _features(lambda X: _array(X).tolist()),
    "X ragged": _features(lambda X: [[1.0] * (1 + k % 3) for k in range(60)]),
    "X dict": _features(lambda X: {"a": list(range(60))}),
    "X generator": _features(lambda X: (row for row in _array(X))),
    "X twice the same name": _features(lambda X: pd.concat([X, X], axis=1)),
    "X numbered columns": _features(lambda X: X.set_axis(range(X.shape[1]), axis=1)),
    "X mixed names": _features(lambda X: X.set_axis([*range(X.shape[1] - 1), "x"], axis=1)),
    "X columns in levels": _features(
        lambda X: X.set_axis(pd.MultiIndex.from_product([["a"], X.columns]), axis=1)
    ),
    "X odd index": _features(lambda X: X.set_axis(["same"] * len(X))),
    "X zones": _features(lambda X: X.assign(t=pd.date_range("2013", periods=60, tz="Asia/Tokyo"))),
    "X categories": _features(lambda X: X.astype("category")),
    "X masked": _features(lambda X: np.ma.masked_greater(_array(X), 1)),
    "X matrix of texts": _features(lambda X: np.asarray(X).astype(str)),
    "cells of lists": _cell([1, 2]),
    "cells of dicts": _cell({"a": 1}),
    "cells of sets": _cell({1}),
    "cells of objects": _cell(object()),
    "cells of arrays": _cell(np.arange(2)),
    "cells of decimals": _cell(decimal.Decimal("NaN")),
    "cells of bytes": _cell(b"\xff"),
    "cells of types": _cell(int),
    "cells of large numbers": _cell(10**400),
    "cells of NA": _cell(pd.NA),
    "cells of NaT": _cell(pd.NaT),
    "cells of surrogates": _cell("\ud800"),
    "y None": _labels(lambda y: None),
    "y a number": _labels(lambda y: 1),
    "y a word": _labels(lambda y: "label"),
    "y short": _labels(lambda y: y[:-2]),
    "y empty": _labels(lambda y: []),
    "y NaN": _labels(lambda y: np.full(60, np.nan)),
    "y some NaN": _labels(_some(float("nan"))),
    "y some None": _labels(_some(None)),
    "y some NA": _labels(_some(pd.NA)),
    "y numbers and words": _labels(_some(1)),
    "y lists": _labels(lambda y: [[value] for value in y]),
    "y dicts": _labels(lambda y: [{"a": value} for value in y]),
    "y 2-d": _labels(lambda y: np.column_stack([y, y])),
    "y one class": _labels(lambda y: ["a"] * 60),
    "y a class a row": _labels(lambda y: list(range(60))),
    "y floats": _labels(lambda y: np.linspace(0, 1, 60)),
    "y infinite": _labels(lambda y: np.where(np.arange(60) % 2, np.inf, 1.0)),
    "y complex": _labels(lambda y: (np.arange(60) % 2) * 1j),
    "y dates": _labels(lambda y: pd.to_datetime(["2013-01-01", "2014-01-01"] * 30)),
    "y bytes": _labels(lambda y: np.array([b"a", b"b"] * 30)),
    "y booleans": _labels(lambda y: np.arange(60) % 2 == 0),
    "y categories": _labels(lambda y: pd.Categorical(y)),
    "y generator": _labels(lambda y: (value for value in y)),
    "y set": _labels(lambda y: set(y)),
    "y series, odd index": _labels(lambda y: pd.Series(y, index=range(60, 0, -1))),
    "y frame": _labels(lambda y: pd.DataFrame({"a": y})),
    "y sparse": _labels(lambda y: sparse.csr_matrix(np.arange(60) % 2)),
    "y objects": _labels(lambda y: [object(), object()] * 30),
    "y surrogates": _labels(lambda y: ["\ud800", "b"] * 30),
}
