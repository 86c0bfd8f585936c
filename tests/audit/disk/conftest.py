"""Small models, for which threads are a burden."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield
