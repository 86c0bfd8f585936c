"""Other papers' classifiers that expect wrong labels, to compare with."""

from rboost.literature.annotators import MultiAnnotatorLogisticRegression
from rboost.literature.discriminant import (
    RobustDiscriminantClassifier,
    RobustMixtureDiscriminantClassifier,
)
from rboost.literature.gaussian_process import RobustGaussianProcessClassifier
from rboost.literature.kernel_logistic import RobustKernelLogisticRegression
from rboost.literature.neighbors import DepurationNeighborsClassifier

__all__ = [
    "DepurationNeighborsClassifier",
    "MultiAnnotatorLogisticRegression",
    "RobustDiscriminantClassifier",
    "RobustGaussianProcessClassifier",
    "RobustKernelLogisticRegression",
    "RobustMixtureDiscriminantClassifier",
]
