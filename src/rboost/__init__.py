"""Classification when some labels are wrong."""

from importlib.metadata import version

from rboost.boosting import RBoostClassifier
from rboost.linear import RobustLogisticRegression
from rboost.meta import NoiseAwareClassifier, NoiseCalibratedClassifier

__version__ = version("rboost")
__all__ = [
    "NoiseAwareClassifier",
    "NoiseCalibratedClassifier",
    "RBoostClassifier",
    "RobustLogisticRegression",
]
