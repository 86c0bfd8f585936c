"""Base learners: robust logistic regression, a random kernel machine, a tree on bins."""

from rboost.learners.histogram_tree import HistogramTreeClassifier
from rboost.learners.kernel import RandomKernelClassifier
from rboost.learners.logistic import RobustLogisticRegression

__all__ = ["HistogramTreeClassifier", "RandomKernelClassifier", "RobustLogisticRegression"]
