"""Classification when some labels are wrong."""

from importlib.metadata import version

from rboost.boosting import RBoostClassifier
from rboost.learners import RobustLogisticRegression
from rboost.noise import flip_labels
from rboost.wrappers import (
    NoiseAwareClassifier,
    NoiseCalibratedClassifier,
    estimate_noise_matrix,
)

__version__ = version("rboost")
__all__ = [
    "NoiseAwareClassifier",
    "NoiseCalibratedClassifier",
    "RBoostClassifier",
    "RobustLogisticRegression",
    "estimate_noise_matrix",
    "flip_labels",
]
