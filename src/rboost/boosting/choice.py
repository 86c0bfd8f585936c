"""Which engines run: what the user chose, or what suits the table.

pool        Algorithm 1 with the default pool of base learners
trees       boosted trees on the likelihood, by LightGBM; on a GPU by XGBoost
xgboost     the same by XGBoost, on a CPU too
learners    Algorithm 1 with the classifiers that the user gave, taken in turn
"""

from __future__ import annotations

from typing import Any

from rboost._validation import check_classifier
from rboost.native.lightgbm import lightgbm
from rboost.native.xgboost import xgboost

POOL, TREES, XGBOOST, LEARNERS = "pool", "trees", "xgboost", "learners"
# Up to so many rows the pool adds to what trees know; on more it would take longer than they.
POOL_ROWS = 20_000
# Trees add to what the pool knows from so many rows of a class on; of two classes from fewer, since
# one tree a round serves both.
ROWS_PER_CLASS = {"two": 50, "more": 400}


def given_learners(estimator: Any) -> list[Any]:
    """The classifiers among what the user chose."""
    chosen = estimator if isinstance(estimator, list) else [estimator]
    return [one for one in chosen if one is not None and not isinstance(one, str)]


def check_choice(estimator: Any) -> None:
    """Fail with one sentence when ``estimator`` is no choice of engines."""
    chosen = estimator if isinstance(estimator, list) else [estimator]
    if estimator == []:
        raise ValueError("estimator must hold at least one classifier, not an empty list.")
    for one in chosen:
        if isinstance(one, str) and one not in (POOL, TREES, XGBOOST):
            raise ValueError(
                "estimator must be 'pool', 'trees', 'xgboost', a classifier or a list of these, "
                f"not {one!r}."
            )
        if not isinstance(one, str) and estimator is not None:
            check_classifier(one, "DecisionTreeClassifier(max_depth=1)")


def chosen_engines(
    estimator: Any,
    n_rows: int,
    is_sparse: bool,
    n_classes: int,
    can_stack: bool,
    device: str = "cpu",
) -> list[str]:
    """The names of the engines for a table; whether the pool is one does not depend on classes.

    ``can_stack`` says whether the other parameters leave room for trees and for several engines,
    which need scores of rows that were not fitted to.
    """
    if estimator is not None:
        chosen = estimator if isinstance(estimator, list) else [estimator]
        names = [one if isinstance(one, str) else LEARNERS for one in chosen]
        names = list(dict.fromkeys(names))
        if not can_stack and names not in ([POOL], [LEARNERS]):
            raise ValueError(
                "Trees, and several engines, need out_of_bag=True, calibration='platt', "
                "noise_estimator='noise-aware' or a noise_matrix, and warm_start=False; set these, "
                "or boost a classifier or the 'pool' alone."
            )
    else:
        fewest = n_classes * ROWS_PER_CLASS["two" if n_classes == 2 else "more"]
        if not can_stack or is_sparse or n_rows < min(fewest, POOL_ROWS):
            return [POOL]
        names = [POOL, TREES] if n_rows <= POOL_ROWS else [TREES]
    if device != "cpu":
        names = list(dict.fromkeys(XGBOOST if name == TREES else name for name in names))
    if XGBOOST in names:
        xgboost()  # says what is missing, before other engines are fitted
    if TREES in names and lightgbm() is None:
        names = [name for name in names if name != TREES] or [POOL]
    return names
