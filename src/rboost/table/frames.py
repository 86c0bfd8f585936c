"""Tables as people see them: pandas frames with names of columns that are text."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from rboost.packages import package
from rboost.table.columns import as_table, column_name

# Cells of a sparse matrix that are made dense at most.
MOST_CELLS = 200_000_000


def as_frame(X: Any) -> Any:
    """A pandas frame of X: any frame or table of Arrow, or a matrix whose columns are numbered."""
    pandas = package("pandas")
    X = _dense(X) if issparse(X) else as_table(X)
    if isinstance(X, pandas.DataFrame):
        frame = X.reset_index(drop=True)
    elif hasattr(X, "to_pandas"):
        frame = X.to_pandas()
    else:
        try:
            values = np.asarray(X)
        except ValueError:  # rows of different lengths
            values = np.empty(0)
        if values.ndim != 2:
            raise ValueError(
                "X must be a data frame or a matrix of rows and columns, not "
                f"{type(X).__name__} of {values.ndim} dimensions; pass one entry a row and column."
            )
        frame = pandas.DataFrame(values, columns=[f"x{k}" for k in range(values.shape[1])])
    sparse = [name for name, kind in frame.dtypes.items() if isinstance(kind, pandas.SparseDtype)]
    if sparse:
        frame = frame.assign(**{str(name): frame[name].sparse.to_dense() for name in sparse})
    if not len(frame):
        raise ValueError("X has no rows; pass at least 20.")
    frame = frame.set_axis([column_name(column) for column in frame.columns], axis=1)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"X has more than one column {twice!r}; give each another name.")
    return frame


def _dense(X: Any) -> Any:
    n_cells = int(X.shape[0]) * int(np.prod(X.shape[1:]))
    if n_cells > MOST_CELLS:
        raise ValueError(
            f"X is sparse and would have {n_cells} cells; pass fewer columns, for instance by "
            "TruncatedSVD, or the probabilities of a model of your own."
        )
    return X.toarray()
