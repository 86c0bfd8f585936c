"""Other boosters, to compare with."""

from rboost.boosting.rivals.adacost import AdaCostClassifier
from rboost.boosting.rivals.bagged import BaggedBoostClassifier
from rboost.boosting.rivals.cost_sensitive import CostSensitiveBoostClassifier
from rboost.boosting.rivals.eta import EtaBoostClassifier
from rboost.boosting.rivals.gentle import GentleBoostClassifier
from rboost.boosting.rivals.logit import LogitBoostClassifier
from rboost.boosting.rivals.modest import ModestBoostClassifier
from rboost.boosting.rivals.outlier_removal import OutlierRemovalBoostClassifier
from rboost.boosting.rivals.robust_boost import RobustBoostClassifier

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
