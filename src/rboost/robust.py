"""Other papers' classifiers that expect wrong labels, to compare with."""

from rboost.literature.classifiers import (
    DepurationNeighborsClassifier,
    MultiAnnotatorLogisticRegression,
    RobustDiscriminantClassifier,
    RobustGaussianProcessClassifier,
    RobustKernelLogisticRegression,
    RobustMixtureDiscriminantClassifier,
)

__all__ = [
    "DepurationNeighborsClassifier",
    "MultiAnnotatorLogisticRegression",
    "RobustDiscriminantClassifier",
    "RobustGaussianProcessClassifier",
    "RobustKernelLogisticRegression",
    "RobustMixtureDiscriminantClassifier",
]
