"""rBoost: boosting with a loss that knows labels can be wrong."""

from rboost.boosting.classifier import RBoostClassifier

__all__ = ["RBoostClassifier"]
