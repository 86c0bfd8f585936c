"""Other boosters under the same interface, to compare with."""

from rboost.literature.boosters import *  # noqa: F403
from rboost.literature.boosters import __all__ as __all__
