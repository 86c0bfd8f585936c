"""Classification when some labels are wrong."""

from importlib.metadata import version

from rboost.boosting import RBoostClassifier
from rboost.linear import RobustLogisticRegression

__version__ = version("rboost")
__all__ = ["RBoostClassifier", "RobustLogisticRegression"]
