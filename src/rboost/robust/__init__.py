"""Classifiers that expect wrong labels, one method a file."""

from rboost.robust.annotators import MultiAnnotatorLogisticRegression
from rboost.robust.discriminant import RobustDiscriminantClassifier
from rboost.robust.gaussian_process import RobustGaussianProcessClassifier
from rboost.robust.kernel_logistic import RobustKernelLogisticRegression
from rboost.robust.mixture_discriminant import RobustMixtureDiscriminantClassifier
from rboost.robust.neighbors import DepurationNeighborsClassifier

__all__ = [
    "DepurationNeighborsClassifier",
    "MultiAnnotatorLogisticRegression",
    "RobustDiscriminantClassifier",
    "RobustGaussianProcessClassifier",
    "RobustKernelLogisticRegression",
    "RobustMixtureDiscriminantClassifier",
]
