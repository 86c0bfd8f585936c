"""The versions of RBoostClassifier: its defaults, its engines alone, and as the paper has it."""

import pytest
from sklearn.tree import DecisionTreeClassifier

from rboost import RBoostClassifier
from rboost.boosting import ALGORITHM_1

STUMP = DecisionTreeClassifier(max_depth=1)


def algorithm_1(estimator=STUMP, **parameters):
    """The paper's version, with other parameters where they are given."""
    return RBoostClassifier(estimator, **{**ALGORITHM_1, **parameters})


def pool(estimator="pool", **parameters):
    """Algorithm 1 with out-of-bag scores and the default pool, or another estimator."""
    return RBoostClassifier(estimator, **parameters)


def trees(estimator="trees", **parameters):
    """Boosted trees, or another estimator."""
    return RBoostClassifier(estimator, **parameters)


ROUNDS = {"pool": pool, "algorithm 1": algorithm_1}
VERSIONS = {"default": RBoostClassifier, "trees": trees, **ROUNDS}
both_versions = pytest.mark.parametrize("version", ROUNDS.values(), ids=ROUNDS.keys())
every_version = pytest.mark.parametrize("version", VERSIONS.values(), ids=VERSIONS.keys())
