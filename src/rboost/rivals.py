"""Other boosters under the same interface, to compare with."""

from rboost.literature.costs import AdaCostClassifier, CostSensitiveBoostClassifier
from rboost.literature.losses import (
    EtaBoostClassifier,
    GentleBoostClassifier,
    LogitBoostClassifier,
    ModestBoostClassifier,
)
from rboost.literature.outliers import BaggedBoostClassifier, OutlierRemovalBoostClassifier
from rboost.literature.robust_boost import RobustBoostClassifier

__all__ = [
    "AdaCostClassifier",
    "BaggedBoostClassifier",
    "CostSensitiveBoostClassifier",
    "EtaBoostClassifier",
    "GentleBoostClassifier",
    "LogitBoostClassifier",
    "ModestBoostClassifier",
    "OutlierRemovalBoostClassifier",
    "RobustBoostClassifier",
]
