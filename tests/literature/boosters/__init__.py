"""Every public booster, for tests that all must pass."""

from rboost import rivals

BOOSTERS = [getattr(rivals, name) for name in rivals.__all__]
