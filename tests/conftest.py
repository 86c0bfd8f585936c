"""Fixtures and Hypothesis settings shared by all tests."""

import numpy as np
import pytest
from hypothesis import settings

from rboost.datasets import make_banana
from rboost.noise import asymmetric, flip_labels

# The same examples on every machine and in every run.
settings.register_profile("rboost", derandomize=True, deadline=None, max_examples=16)
settings.register_profile("quick", settings.get_profile("rboost"), max_examples=8)
settings.load_profile("rboost")

NEED_PEERS = ("tests/benchmarks/", "tests/dask/", "tests/gpu/", "src/rboost/dask/")


def pytest_ignore_collect(collection_path, config):
    """Import no peer where the tests that need one are left out."""
    place = collection_path.relative_to(config.rootpath).as_posix() + "/"
    without = "not peers" in config.option.markexpr
    return True if without and place.startswith(NEED_PEERS) else None


def pytest_collection_modifyitems(items):
    """Mark tests by the packages and fixtures they need."""
    for item in items:
        if item.nodeid.startswith(NEED_PEERS):
            item.add_marker(pytest.mark.peers)
        opens_pages = hasattr(getattr(item, "module", None), "open_browser")
        if opens_pages or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def noisy_banana():
    """Features, true labels, observed labels (30 % of the negatives flipped), noise matrix."""
    X, y = make_banana(400, random_state=0)
    noise = asymmetric(0.3, from_class=0)
    noisy, _ = flip_labels(y, noise, random_state=0)
    return X, y, noisy, noise


@pytest.fixture(scope="session")
def clean_banana():
    """Many rows with true labels, to measure accuracy on."""
    return make_banana(4000, random_state=1)


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all pages that this process opens."""
    from tests.browser import open_browser

    with open_browser() as browser:
        yield browser


@pytest.fixture
def rng():
    return np.random.RandomState(0)
