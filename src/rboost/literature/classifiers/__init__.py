"""Classifiers that expect wrong labels, one method a file."""

from rboost.literature.classifiers.annotators import MultiAnnotatorLogisticRegression
from rboost.literature.classifiers.discriminant import RobustDiscriminantClassifier
from rboost.literature.classifiers.gaussian_process import RobustGaussianProcessClassifier
from rboost.literature.classifiers.kernel_logistic import RobustKernelLogisticRegression
from rboost.literature.classifiers.mixture_discriminant import RobustMixtureDiscriminantClassifier
from rboost.literature.classifiers.neighbors import DepurationNeighborsClassifier

__all__ = [
    "DepurationNeighborsClassifier",
    "MultiAnnotatorLogisticRegression",
    "RobustDiscriminantClassifier",
    "RobustGaussianProcessClassifier",
    "RobustKernelLogisticRegression",
    "RobustMixtureDiscriminantClassifier",
]
