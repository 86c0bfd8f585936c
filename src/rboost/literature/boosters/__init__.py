"""Other boosters, to compare with."""

from rboost.literature.boosters.bagged import BaggedBoostClassifier
from rboost.literature.boosters.costs import AdaCostClassifier, CostSensitiveBoostClassifier
from rboost.literature.boosters.eta import EtaBoostClassifier
from rboost.literature.boosters.logit import LogitBoostClassifier
from rboost.literature.boosters.modest import ModestBoostClassifier
from rboost.literature.boosters.outlier_removal import OutlierRemovalBoostClassifier
from rboost.literature.boosters.robust_boost import RobustBoostClassifier
from rboost.literature.boosters.working_response import GentleBoostClassifier

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
