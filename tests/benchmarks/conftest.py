"""Methods of the leaderboard with fewer trees and rounds."""

import pytest
from sklearn.ensemble import RandomForestClassifier

from benchmarks import estimators
from benchmarks.methods import METHODS, Method
from rboost import RBoostClassifier


@pytest.fixture
def small_methods(monkeypatch):
    """Two methods of the leaderboard with fewer trees and rounds, under their own names."""

    def forest(noise_matrix, seed):
        return RandomForestClassifier(5, min_samples_leaf=5, random_state=seed)

    def boosted(noise_matrix, seed):
        told = {} if noise_matrix is None else {"noise_matrix": noise_matrix}
        return RBoostClassifier(max_iter=4, random_state=seed, **told)

    monkeypatch.setitem(METHODS, "random forest", Method(forest, "scikit-learn"))
    monkeypatch.setitem(METHODS, "rBoost", Method(boosted, "rboost", "told"))
    return ("random forest", "rBoost")


@pytest.fixture
def small_forest(monkeypatch):
    """A small forest for the estimators of noise."""

    def forest(seed):
        return RandomForestClassifier(10, min_samples_leaf=5, random_state=seed)

    monkeypatch.setattr(estimators, "forest", forest)
