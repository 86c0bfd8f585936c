"""Other boosters, to compare with."""

from rboost.literature.boosters.adacost import AdaCostClassifier
from rboost.literature.boosters.bagged import BaggedBoostClassifier
from rboost.literature.boosters.cost_sensitive import CostSensitiveBoostClassifier
from rboost.literature.boosters.eta import EtaBoostClassifier
from rboost.literature.boosters.gentle import GentleBoostClassifier
from rboost.literature.boosters.logit import LogitBoostClassifier
from rboost.literature.boosters.modest import ModestBoostClassifier
from rboost.literature.boosters.outlier_removal import OutlierRemovalBoostClassifier
from rboost.literature.boosters.robust_boost import RobustBoostClassifier

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
