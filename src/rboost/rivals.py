"""Other boosters under the same interface, to compare with."""

from rboost.boosting.rivals import GentleBoostClassifier, ModestBoostClassifier

__all__ = ["GentleBoostClassifier", "ModestBoostClassifier"]
