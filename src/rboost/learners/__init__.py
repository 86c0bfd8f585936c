"""Base learners: robust logistic regression and a random kernel machine."""

from rboost.learners.kernel import RandomKernelClassifier
from rboost.learners.logistic import RobustLogisticRegression

__all__ = ["RandomKernelClassifier", "RobustLogisticRegression"]
