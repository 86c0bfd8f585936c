"""Trees for large tables: columns are binned once, then each tree counts bins, not rows."""

from rboost.trees.binning import BinnedRows, Binning
from rboost.trees.histogram import HistogramTreeClassifier

__all__ = ["BinnedRows", "Binning", "HistogramTreeClassifier"]
