"""The classifiers that are timed: ours, and the peers with the settings that users start from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lightgbm import LGBMClassifier
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

from benchmarks.texts import linear_pipeline
from rboost import RBoostClassifier

DEFAULT = "rBoost, default"
LINEAR = "rBoost, linear"
ADABOOST = "AdaBoost+LR"
LIGHTGBM = "LightGBM"
XGBOOST = "XGBoost"
HISTOGRAM = "HistGradientBoosting"
WORDS = "TF-IDF+LR"
TREE_PEERS = (LIGHTGBM, XGBOOST, HISTOGRAM)


def _default(rounds: int, threads: int) -> Any:
    # As many rounds as it sees fit, whatever the others run.
    return RBoostClassifier(n_jobs=threads, random_state=0)


def _linear(rounds: int, threads: int) -> Any:
    return RBoostClassifier(engines="linear", max_iter=rounds, n_jobs=threads, random_state=0)


def _adaboost(rounds: int, threads: int) -> Any:
    return AdaBoostClassifier(LogisticRegression(), n_estimators=rounds, random_state=0)


def _lightgbm(rounds: int, threads: int) -> Any:
    return LGBMClassifier(n_estimators=rounds, n_jobs=threads, random_state=0, verbose=-1)


def _xgboost(rounds: int, threads: int) -> Any:
    return XGBClassifier(n_estimators=rounds, tree_method="hist", n_jobs=threads, random_state=0)


def _histogram(rounds: int, threads: int) -> Any:
    # It takes no number of threads; the limit that timing sets holds for it.
    return HistGradientBoostingClassifier(max_iter=rounds, early_stopping=False, random_state=0)


# Each makes an unfitted classifier of a number of rounds and of threads.
METHODS: dict[str, Callable[[int, int], Any]] = {
    DEFAULT: _default,
    LINEAR: _linear,
    ADABOOST: _adaboost,
    LIGHTGBM: _lightgbm,
    XGBOOST: _xgboost,
    HISTOGRAM: _histogram,
    WORDS: lambda rounds, threads: linear_pipeline(),
}
