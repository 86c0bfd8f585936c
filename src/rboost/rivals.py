"""Other boosters under the same interface, to compare with."""

from rboost.literature.boosters import (
    AdaCostClassifier,
    BaggedBoostClassifier,
    CostSensitiveBoostClassifier,
    EtaBoostClassifier,
    GentleBoostClassifier,
    LogitBoostClassifier,
    ModestBoostClassifier,
    OutlierRemovalBoostClassifier,
    RobustBoostClassifier,
)

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
