"""A fitted model without what only its training needed: small enough to be kept and sent."""

from __future__ import annotations

import copy
from dataclasses import is_dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


def without_training(model: Any) -> Any:
    """Copy a fitted model without rows of its training and without random generators.

    A class says in ``_training_only`` which of its attributes prediction can do without. Arrays
    and trees are shared with the original, which stays as it is.
    """
    if isinstance(model, (np.random.RandomState, np.random.Generator)):
        return None  # neither prediction nor a new fit needs the one that was used
    if type(model) in (list, tuple):
        return type(model)(without_training(part) for part in model)
    if type(model) is dict:
        return {name: without_training(part) for name, part in model.items()}
    if isinstance(model, type) or not (isinstance(model, BaseEstimator) or is_dataclass(model)):
        return model
    copied = copy.copy(model)
    dropped = getattr(type(model), "_training_only", ())
    kept = {n: without_training(part) for n, part in vars(copied).items() if n not in dropped}
    vars(copied).clear()
    vars(copied).update(kept)
    return copied
