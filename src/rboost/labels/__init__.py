"""What was said of the class of each row, and by whom."""

from rboost.labels.context import Groups, group_rows
from rboost.labels.statements import NO_CLASS, Labels, Patterns, Source

__all__ = ["NO_CLASS", "Groups", "Labels", "Patterns", "Source", "group_rows"]
