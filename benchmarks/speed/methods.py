"""The classifiers that are timed: ours, and the peers with the settings that users start from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lightgbm import LGBMClassifier
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

from benchmarks.speed.adaboost import ForcedAdaBoost
from rboost import AdaRBoostClassifier, RBoostClassifier, RobustLogisticRegression

LINEAR = "rBoost, linear"
PAPER = "rBoost, linear, paper's noise update"
POOL = "rBoost, default pool"
DEFAULT = "rBoost, all defaults"
ADABOOST = "AdaBoost+LR, forced"
ADABOOST_NATURAL = "AdaBoost+LR, as it stops"
LIGHTGBM = "LightGBM"
XGBOOST = "XGBoost"
HISTOGRAM = "HistGradientBoosting"


@dataclass(frozen=True)
class Method:
    """``build(rounds, threads)`` makes an unfitted classifier.

    ``slow_from`` are the rows from which ``--skip-slow`` leaves it out. From ``sampled_from`` rows
    on, a tenth of the rounds is run and the time multiplied.
    """

    build: Callable[[int, int], Any]
    slow_from: float = math.inf
    sampled_from: float = math.inf

    def rounds_run(self, rows: int, rounds: int) -> int:
        """How many rounds are really run where so many are asked for."""
        return max(1, rounds // 10) if rows >= self.sampled_from else rounds


def _robust_logistic_regression() -> RobustLogisticRegression:
    # A weak learner: one start, not to the last digit, from as many rows as it has use for.
    return RobustLogisticRegression(max_rows=1024, n_init=1, tol=1e-2)


def _linear(rounds: int, threads: int) -> Any:
    return RBoostClassifier(engines="linear", max_iter=rounds, n_jobs=threads, random_state=0)


def _linear_paper(rounds: int, threads: int) -> Any:
    return AdaRBoostClassifier(
        _robust_logistic_regression(),
        n_estimators=rounds,
        sampling="uniform",
        max_samples=0.5,
        n_jobs=threads,
        random_state=0,
    )


def _pool(rounds: int, threads: int) -> Any:
    return RBoostClassifier(engines="pool", max_iter=rounds, n_jobs=threads, random_state=0)


def _default(rounds: int, threads: int) -> Any:
    # As many rounds as it has by default, whatever the others run.
    return RBoostClassifier(n_jobs=threads, random_state=0)


def _adaboost(rounds: int, threads: int) -> Any:
    return AdaBoostClassifier(LogisticRegression(), n_estimators=rounds, random_state=0)


def _lightgbm(rounds: int, threads: int) -> Any:
    return LGBMClassifier(n_estimators=rounds, n_jobs=threads, random_state=0, verbose=-1)


def _xgboost(rounds: int, threads: int) -> Any:
    return XGBClassifier(n_estimators=rounds, tree_method="hist", n_jobs=threads, random_state=0)


def _histogram(rounds: int, threads: int) -> Any:
    # It takes no number of threads; the limit that timing sets holds for it.
    return HistGradientBoostingClassifier(max_iter=rounds, early_stopping=False, random_state=0)


METHODS: dict[str, Method] = {
    LINEAR: Method(_linear),
    PAPER: Method(_linear_paper),
    POOL: Method(_pool, slow_from=100_000),
    DEFAULT: Method(_default, slow_from=100_000),
    ADABOOST: Method(
        lambda rounds, threads: ForcedAdaBoost(rounds), slow_from=100_000, sampled_from=1_000_000
    ),
    ADABOOST_NATURAL: Method(_adaboost),
    LIGHTGBM: Method(_lightgbm),
    XGBOOST: Method(_xgboost),
    HISTOGRAM: Method(_histogram),
}
OURS = (LINEAR, PAPER, POOL)
# Their time is that of the rounds they run, however many are asked for.
AS_THEY_STOP = (ADABOOST_NATURAL, DEFAULT)
TREE_PEERS = (LIGHTGBM, XGBOOST, HISTOGRAM)


def chosen(names: tuple[str, ...], rows: int, skip_slow: bool) -> Mapping[str, Method]:
    """The methods that are measured at so many rows."""
    return {
        name: METHODS[name] for name in names if not skip_slow or rows < METHODS[name].slow_from
    }
