"""Part one: methods that nobody helps, and references that know more.

All settings are fixed and plain. Those of other packages were not chosen on these tables; rBoost's
prior of kinds of noise was settled with both collections in view, beside the suite "development".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from catboost import CatBoostClassifier
from cleanlab.classification import CleanLearning
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benchmarks.real_noise.measures import average_precision, held, quality, rates
from benchmarks.real_noise.tables import Halves
from benchmarks.store import Record
from rboost import RBoostClassifier
from rboost._typing import Floats, Integers
from rboost.noise import infer_noise


class Work(NamedTuple):
    """What is measured on the halves of a table, and the package that its result depends on."""

    package: str
    run: Callable[[Halves, int], Record]


def forest(seed: int) -> RandomForestClassifier:
    """The plain forest that others are compared with."""
    return RandomForestClassifier(300, min_samples_leaf=3, random_state=seed)


def out_of_fold(halves: Halves, seed: int) -> Floats:
    """p(given label 1) by forests that were not fitted to the row."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    found = cross_val_predict(
        forest(seed), halves.X, halves.given, cv=folds, method="predict_proba"
    )
    return found[:, 1]


def _plain(build: Callable[[int], Any], package: str, verified: bool = False) -> Work:
    """A classifier fitted to given or to verified labels."""

    def run(halves: Halves, seed: int) -> Record:
        model = build(seed).fit(halves.X.to_numpy(), halves.true if verified else halves.given)
        return quality(model.predict_proba(halves.X_test.to_numpy())[:, 1], halves.y_test)

    return Work(package, run)


def _rboost(halves: Halves, seed: int) -> Record:
    """With its flip rates and the share of wrong labels, and whether intervals hold the truth."""
    model = RBoostClassifier(random_state=seed)
    record = _with_ranking(model, halves)
    record |= rates(model.noise_matrix_, model.noise_interval_, halves.noise_matrix)
    scores = model.held_out_scores_
    noise = infer_noise(scores, halves.given)
    mean, low, high = noise.wrong_share_interval(scores, halves.given)
    record |= held("wrong share", float(halves.wrong.mean()), low, high)
    return record | {"wrong share estimated": mean}


def _rboost_told(halves: Halves, seed: int) -> Record:
    model = RBoostClassifier(noise_matrix=halves.noise_matrix, random_state=seed)
    return _with_ranking(model, halves)


def _with_ranking(model: RBoostClassifier, halves: Halves) -> Record:
    model.fit(halves.X.to_numpy(), halves.given)
    record = quality(model.predict_proba(halves.X_test.to_numpy())[:, 1], halves.y_test)
    ranking = average_precision(model.label_issue_probability_, halves.wrong)
    return record | {"average precision": ranking}


def self_confidence(probability: Floats, given: Integers) -> Floats:
    """How unlikely each given label is."""
    return np.where(given == 1, 1 - probability, probability)


def cleanlab_order(probability: Floats, given: Integers) -> Floats:
    """Suspicion by cleanlab: the issues that it finds first, all by self-confidence."""
    both = np.column_stack([1 - probability, probability])
    return find_label_issues(given, both, n_jobs=1) + self_confidence(probability, given)


def cleanlab_adjusted(probability: Floats, given: Integers) -> Floats:
    """Suspicion by cleanlab's margin, probabilities adjusted by what is usual in each class."""
    both = np.column_stack([1 - probability, probability])
    return 1 - get_label_quality_scores(
        given, both, method="normalized_margin", adjust_pred_probs=True
    )


RANKINGS: dict[str, Callable[[Floats, Integers], Floats]] = {
    "self-confidence of the forest": self_confidence,
    "cleanlab, found issues first": cleanlab_order,
    "cleanlab, adjusted margin": cleanlab_adjusted,
}
# Rankings that need nothing but a forest's held-out probabilities are compared in one piece.
FOREST_RANKINGS = "rankings by the forest"


def _forest_rankings(halves: Halves, seed: int) -> Record:
    probability = out_of_fold(halves, seed)
    return {
        name: average_precision(suspicion(probability, halves.given), halves.wrong)
        for name, suspicion in RANKINGS.items()
    }


def _lightgbm(seed: int) -> LGBMClassifier:
    return LGBMClassifier(n_estimators=150, n_jobs=1, random_state=seed, verbose=-1)


def _catboost(seed: int) -> CatBoostClassifier:
    return CatBoostClassifier(
        iterations=300, thread_count=1, random_seed=seed, verbose=0, allow_writing_files=False
    )


def _cleanlab(seed: int) -> CleanLearning:
    return CleanLearning(forest(seed), seed=seed, find_label_issues_kwargs={"n_jobs": 1})


FOREST, FOREST_VERIFIED = "forest", "forest, verified labels"
RBOOST, RBOOST_TOLD = "rBoost", "rBoost, told the rates"
RBOOST_NO_NOISE, RBOOST_VERIFIED = "rBoost, told there is no noise", "rBoost, verified labels"
METHODS: dict[str, Work] = {
    FOREST: _plain(forest, "scikit-learn"),
    "LightGBM, 150 rounds": _plain(_lightgbm, "lightgbm"),
    "CatBoost, 300 rounds": _plain(_catboost, "catboost"),
    "cleanlab around the forest": _plain(_cleanlab, "cleanlab"),
    RBOOST: Work("rboost", _rboost),
    RBOOST_TOLD: Work("rboost", _rboost_told),
    RBOOST_NO_NOISE: _plain(
        lambda seed: RBoostClassifier(noise_matrix=np.eye(2), random_state=seed), "rboost"
    ),
    FOREST_VERIFIED: _plain(forest, "scikit-learn", verified=True),
    RBOOST_VERIFIED: _plain(
        lambda seed: RBoostClassifier(random_state=seed), "rboost", verified=True
    ),
    FOREST_RANKINGS: Work("cleanlab", _forest_rankings),
}
