"""Other classifiers that expect wrong labels."""

from rboost.robust.annotators import MultiAnnotatorLogisticRegression

__all__ = ["MultiAnnotatorLogisticRegression"]
