"""Other classifiers that model wrong labels."""

from rboost.robust.gaussian_process import RobustGaussianProcessClassifier

__all__ = ["RobustGaussianProcessClassifier"]
