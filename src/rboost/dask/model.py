"""What a fit on a cluster leaves: a model for tables in memory, and probabilities of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats
from rboost.dask.blocks import Block
from rboost.dask.checks import Summary
from rboost.dask.fitting import TableFit
from rboost.engines import XGBOOST
from rboost.model import RBoostClassifier
from rboost.noise.inference import wrong_probability
from rboost.packages import package

dask, arrays = package("dask", "dask"), package("dask.array", "dask")


def local_model(
    fit: TableFit, classes: NDArray[Any], names: Sequence[Any] | None = None
) -> RBoostClassifier:
    """The fitted model as one for tables in memory; ``classes`` are what it predicts."""
    model = RBoostClassifier(engines=XGBOOST)
    model._encoder, model._allows_nan = fit.encoder, True
    model.n_features_in_ = len(fit.encoder.columns)
    if names is not None and all(isinstance(name, str) for name in names):
        model.feature_names_in_ = np.array(names, dtype=object)
    model._keep(fit.fitted, classes)
    return model


def issue_probabilities(client: Any, fit: TableFit) -> list[Any]:
    """How likely each label is to be wrong, NaN where there is none: a future a partition."""
    posteriors = fit.posteriors()
    tasks = [
        dask.delayed(issues_of)(block, posterior)
        for block, posterior in zip(fit.blocks, posteriors, strict=True)
    ]
    return list(client.compute(tasks))


def issues_of(block: Block, posterior: Floats) -> Floats:
    """p(y ≠ ỹ) of the rows of a block."""
    return wrong_probability(posterior, block.observed)


def as_dask_array(parts: Sequence[Any], summary: Summary) -> Any:
    """Futures of each partition as one Dask array."""
    return arrays.concatenate(
        [
            arrays.from_delayed(dask.delayed(part), (size,), dtype=np.float64)
            for part, size in zip(parts, summary.sizes, strict=True)
        ]
    )
