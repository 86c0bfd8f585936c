"""The estimators: RBoostClassifier and AdaRBoostClassifier."""

from rboost.model.algorithm_1 import AdaRBoostClassifier
from rboost.model.classifier import RBoostClassifier

__all__ = ["AdaRBoostClassifier", "RBoostClassifier"]
