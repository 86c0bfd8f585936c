"""Every public booster, for tests that all must pass."""

from rboost import rivals

BOOSTERS = [getattr(rivals, name) for name in rivals.__all__]


def cheap(booster, n_estimators):
    """With goals that are given, as estimates take a forest and depend on its folds."""
    model = booster(n_estimators=n_estimators, random_state=0)
    given = {"error_goal": 0.3, "max_removed": 0.1, "n_bags": 3}
    return model.set_params(**{k: v for k, v in given.items() if k in model.get_params()})
