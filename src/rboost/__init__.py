"""Classification when some labels are wrong."""

from importlib.metadata import version

from rboost.boosting import RBoostClassifier
from rboost.linear import RobustLogisticRegression
from rboost.meta import NoiseCalibratedClassifier

__version__ = version("rboost")
__all__ = ["NoiseCalibratedClassifier", "RBoostClassifier", "RobustLogisticRegression"]
