"""One small cluster for all tests of a module."""

import pytest

pytest.importorskip("distributed")
pytest.importorskip("xgboost")

from rboost.dask.cluster import connected


@pytest.fixture(scope="module")
def client():
    """The client of a cluster of two workers on this machine."""
    with connected("local", n_workers=2) as client:
        yield client
