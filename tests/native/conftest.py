"""What the tests of the native core share."""

import pytest

INSTRUCTION_SETS = ["portable", pytest.param("avx2", marks=pytest.mark.slow), "avx512"]


@pytest.fixture(scope="module", params=INSTRUCTION_SETS)
def instruction_set(request):
    """Each instruction set that this processor has, in turn; the best one again afterwards.

    It lasts as long as a module because Hypothesis runs many examples within one test.
    """
    native = pytest.importorskip("rboost.native._native")
    best = native.instruction_set()
    try:
        native.choose_instruction_set(request.param)
    except ValueError:
        pytest.skip(f"this processor has no {request.param}")
    yield request.param
    native.choose_instruction_set(best)
