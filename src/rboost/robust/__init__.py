"""Classifiers that withstand wrong labels by themselves, one method a file."""

from rboost.robust.discriminant import RobustDiscriminantClassifier
from rboost.robust.mixture_discriminant import RobustMixtureDiscriminantClassifier

__all__ = ["RobustDiscriminantClassifier", "RobustMixtureDiscriminantClassifier"]
