"""Both versions of RBoostClassifier: with its defaults, and as the paper has it."""

import pytest
from sklearn.tree import DecisionTreeClassifier

from rboost import RBoostClassifier
from rboost.boosting import ALGORITHM_1

STUMP = DecisionTreeClassifier(max_depth=1)


def algorithm_1(estimator=STUMP, **parameters):
    """The paper's version, with other parameters where they are given."""
    return RBoostClassifier(estimator, **{**ALGORITHM_1, **parameters})


VERSIONS = {"default": RBoostClassifier, "algorithm 1": algorithm_1}
both_versions = pytest.mark.parametrize("version", VERSIONS.values(), ids=VERSIONS.keys())
