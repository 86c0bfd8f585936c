"""Small tables for trees."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def tables(draw, missing=True, max_rows=60, n_classes=2):
    """Rows with few distinct values, some missing, labels from 0, and weights."""
    random = np.random.RandomState(draw(st.integers(0, 2**31 - 1)))
    n_rows, n_columns = draw(st.integers(4, max_rows)), draw(st.integers(1, 4))
    X = random.randint(0, draw(st.integers(2, 12)), size=(n_rows, n_columns)) / 2.0
    if missing and draw(st.booleans()):
        X[random.uniform(size=X.shape) < 0.2] = np.nan
    y = random.permutation(np.arange(n_rows) % n_classes)
    return X, y, random.gamma(1.0, size=n_rows) + 1e-3
