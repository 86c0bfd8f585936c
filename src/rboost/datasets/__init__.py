"""Data to try the package on."""

from rboost.datasets.generators import make_banana

__all__ = ["make_banana"]
