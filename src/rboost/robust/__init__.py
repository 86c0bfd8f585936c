"""Classifiers that withstand wrong labels by themselves, one method a file."""

from rboost.robust.discriminant import RobustDiscriminantClassifier

__all__ = ["RobustDiscriminantClassifier"]
