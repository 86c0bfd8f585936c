"""Classifiers that withstand wrong labels by themselves, one method a file."""

from rboost.robust.discriminant import RobustDiscriminantClassifier
from rboost.robust.mixture_discriminant import RobustMixtureDiscriminantClassifier
from rboost.robust.neighbors import DepurationNeighborsClassifier

__all__ = [
    "DepurationNeighborsClassifier",
    "RobustDiscriminantClassifier",
    "RobustMixtureDiscriminantClassifier",
]
