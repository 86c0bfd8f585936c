"""Other classifiers that model wrong labels."""

from rboost.robust.gaussian_process import RobustGaussianProcessClassifier
from rboost.robust.kernel_logistic import RobustKernelLogisticRegression

__all__ = ["RobustGaussianProcessClassifier", "RobustKernelLogisticRegression"]
