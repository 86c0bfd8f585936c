"""Other boosters, to compare with."""

from rboost.boosting.rivals.gentle import GentleBoostClassifier
from rboost.boosting.rivals.modest import ModestBoostClassifier

__all__ = ["GentleBoostClassifier", "ModestBoostClassifier"]
