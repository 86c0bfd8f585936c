"""The classifiers of Algorithm 1 and of likelihoods, by the same words in all tests."""

import pytest
from sklearn.tree import DecisionTreeClassifier

from rboost import AdaRBoostClassifier, RBoostClassifier

STUMP = DecisionTreeClassifier(max_depth=1)


def algorithm_1(estimator=STUMP, n_rounds=150, **parameters):
    """The paper's version, with other parameters where they are given."""
    return AdaRBoostClassifier(estimator, **{"n_estimators": n_rounds, **parameters})


def with_engines(engines):
    """Engines, for so many rounds and with other parameters."""

    def build(n_rounds=None, **parameters):
        return RBoostClassifier(engines=engines, max_iter=n_rounds, **parameters)

    return build


def stumps(n_rounds=150, **parameters):
    """The paper's version with stumps."""
    return algorithm_1(STUMP, n_rounds, **parameters)


ENGINES = {name: with_engines(name) for name in ("pool", "trees", "linear")}
RBOOST = {"default": with_engines("auto"), **ENGINES}
VERSIONS = {**RBOOST, "algorithm 1": stumps}
every_engine = pytest.mark.parametrize("version", RBOOST.values(), ids=RBOOST.keys())
every_version = pytest.mark.parametrize("version", VERSIONS.values(), ids=VERSIONS.keys())
