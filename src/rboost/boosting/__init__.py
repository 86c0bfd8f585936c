"""rBoost: Algorithm 1 of the paper, and what makes it work without clean labels."""

from rboost.boosting.classifier import ALGORITHM_1, RBoostClassifier

__all__ = ["ALGORITHM_1", "RBoostClassifier"]
