"""Tests of a GPU: where there is none they are skipped, and the reason says what is missing.

They need neither Hypothesis nor a network. ``make test-gpu`` runs them.
"""

import pytest


def missing():
    """What keeps fits from running on a GPU, or None."""
    try:
        import cupy
        import xgboost
    except ImportError as error:
        return f"there is no GPU: {error}"
    if not xgboost.build_info().get("USE_CUDA"):
        return "this XGBoost was built without CUDA"
    try:
        return None if cupy.cuda.runtime.getDeviceCount() else "CUDA finds no GPU"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CUDA finds no GPU: {error}"


@pytest.fixture(scope="session", autouse=True)
def gpu():
    """A GPU that CuPy and XGBoost can use."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
