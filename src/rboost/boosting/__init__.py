"""rBoost: Algorithm 1 of the paper, and what makes it work without clean labels."""

from rboost.boosting.classifier import RBoostClassifier
from rboost.boosting.parameters import ALGORITHM_1

__all__ = ["ALGORITHM_1", "RBoostClassifier"]
