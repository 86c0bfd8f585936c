"""What the estimators say of a table of two classes, as numbers that are kept.

``python -m tests.two_classes`` writes them to ``tests/data/two_classes.npz``; a test compares, so
that no change of these numbers goes unnoticed.
"""

import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from rboost import (
    AdaRBoostClassifier,
    NoiseAwareClassifier,
    NoiseCalibratedClassifier,
    RBoostClassifier,
    RobustLogisticRegression,
    estimate_noise_matrix,
)
from rboost.datasets import make_banana
from rboost.noise import asymmetric, flip_labels

STORED = Path(__file__).parent / "data" / "two_classes.npz"

X, TRUE = make_banana(300, random_state=3)
OBSERVED, _ = flip_labels(TRUE, asymmetric(0.3, from_class=0), random_state=3)
X_NEW, _ = make_banana(50, random_state=4)
WEIGHT = np.random.RandomState(0).randint(1, 4, len(X)).astype(float)
TRUSTED = np.arange(0, len(X), 15)
REST = np.setdiff1d(np.arange(len(X)), TRUSTED)
ANSWERS = np.where(np.isin(np.arange(len(X)), TRUSTED), TRUE.astype(float), np.nan)
CHECKED = {"X_trusted": X[TRUSTED], "y_trusted": TRUE[TRUSTED]}
STUMP, FOREST = DecisionTreeClassifier(max_depth=1), RandomForestClassifier(30, random_state=0)

MODELS = {
    "rboost": RBoostClassifier(engines="pool", max_iter=60, random_state=0),
    "rboost told": RBoostClassifier(
        engines="pool", max_iter=60, random_state=0, noise_matrix=asymmetric(0.3, from_class=0)
    ),
    "rboost of linear learners": RBoostClassifier(engines="linear", max_iter=60, random_state=0),
    "algorithm 1": AdaRBoostClassifier(STUMP, n_estimators=40),
    "algorithm 1, rLR": AdaRBoostClassifier(
        RobustLogisticRegression(n_init=1), n_estimators=15, random_state=0
    ),
    "algorithm 1, drawn": AdaRBoostClassifier(
        LogisticRegression(),
        n_estimators=15,
        sampling="weights",
        negative_weights="keep",
        mixing="paper",
        random_state=0,
    ),
    "rLR": RobustLogisticRegression(random_state=0),
    "rLR alternating": RobustLogisticRegression(solver="alternating", random_state=0),
    "calibrated forest": NoiseCalibratedClassifier(FOREST, random_state=0),
    "aware forest": NoiseAwareClassifier(FOREST, cv=3, max_iter=5, random_state=0),
}
WITH_TRUSTED = ("rboost", "rboost of linear learners", "algorithm 1", "calibrated forest")


def results():
    """Every number that is compared, by its name."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in MODELS.items():
            found |= _of_model(name, model.fit(X, OBSERVED))
            found |= _of_model(f"{name}, weighted", model.fit(X, OBSERVED, sample_weight=WEIGHT))
            if name in WITH_TRUSTED:
                model.fit(X[REST], OBSERVED[REST], **CHECKED)
                found |= _of_model(f"{name}, trusted", model)
            if name in ("rboost", "calibrated forest"):
                model.fit(X, OBSERVED, y_checked=ANSWERS)
                found |= _of_model(f"{name}, checked", model)
        estimate = estimate_noise_matrix(X, OBSERVED, FOREST, random_state=0)
        found["estimate/noise"] = estimate.noise_matrix
        found["estimate/interval"] = estimate.interval
    return found


def _of_model(name, model):
    found = {
        "probability": model.predict_proba(X_NEW),
        "decision": getattr(model, "decision_function", model.predict_proba)(X_NEW),
        "noise": model.noise_matrix_,
    }
    for attribute in ("noise_interval_", "label_issue_probability_", "estimator_weights_"):
        if hasattr(model, attribute):
            found[attribute] = getattr(model, attribute)
    if hasattr(model, "staged_decision_function"):
        found["staged"] = list(model.staged_decision_function(X_NEW))[:11][-1]
    return {f"{name}/{key}": np.asarray(value) for key, value in found.items()}


if __name__ == "__main__":
    STORED.parent.mkdir(exist_ok=True)
    np.savez_compressed(STORED, **results())
