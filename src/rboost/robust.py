"""Other papers' classifiers that expect wrong labels, to compare with."""

from rboost.literature.classifiers import *  # noqa: F403
from rboost.literature.classifiers import __all__ as __all__
