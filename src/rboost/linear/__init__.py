"""Robust logistic regression: what is optimised, how, and the estimator."""

from rboost.linear.kernel import RandomKernelClassifier
from rboost.linear.logistic import RobustLogisticRegression

__all__ = ["RandomKernelClassifier", "RobustLogisticRegression"]
