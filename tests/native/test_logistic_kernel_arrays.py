"""What arrays the compiled logistic regression takes, and what it refuses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.native.test_logistic_kernel import COARSE, FINE, native_fit, plain, table

pytestmark = pytest.mark.usefixtures("instruction_set")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tol", [FINE, COARSE])
def test_arrays_of_any_layout_give_the_same(dtype, tol):
    X, observed = table(70, 5)
    objective = plain((X + 1e5).astype(dtype), observed)  # digits that float32 would not keep
    expected = native_fit(objective, np.zeros(6), tol=tol)
    wide = np.zeros((140, 15), dtype=dtype)
    wide[::2, ::3] = objective.X
    fixed = objective.X.copy()
    fixed.setflags(write=False)
    backwards = np.ascontiguousarray(objective.X[::-1])[::-1]
    for rows in (wide[::2, ::3], np.asfortranarray(objective.X), fixed, backwards):
        before = rows.copy()
        found = native_fit(objective, np.zeros(6), tol=tol, X=rows)
        # float32 may be widened on the way.
        assert_allclose(found.parameters, expected.parameters, atol=1e-6)
        assert_array_equal(rows, before)
    twice = np.repeat(observed, 2)
    found = native_fit(objective, np.zeros(6), tol=tol, observed=twice[::2])
    assert_allclose(found.parameters, expected.parameters, atol=1e-6)
    found = native_fit(objective, np.zeros(6), tol=tol, observed=observed > 0)
    assert_allclose(found.parameters, expected.parameters, atol=1e-6)


WRONG = {
    "weight too short": ({"weight": np.ones(9)}, "one entry a row"),
    "observed too long": ({"observed": np.ones(11)}, "one entry a row"),
    "no rows": (
        {"X": np.zeros((0, 2)), "observed": np.zeros(0), "weight": np.zeros(0)},
        "one entry a row",
    ),
    "center too long": ({"center": np.zeros(3)}, "one entry a column"),
    "scale too short": ({"scale": np.ones(1)}, "one entry a column"),
    "scale of 0": ({"scale": np.array([1.0, 0.0])}, "scale must lie between"),
    "scale not a number": ({"scale": np.array([1.0, np.nan])}, "scale must lie between"),
    "scale too large": ({"scale": np.array([1e200, 1.0])}, "scale must lie between"),
    "no starts": ({"starts": np.zeros((0, 3))}, "packed parameters"),
    "starts too short": ({"starts": np.zeros((1, 2))}, "packed parameters"),
    "starts with rates": ({"starts": np.zeros((1, 5))}, "packed parameters"),
    "no weight": ({"weight": np.zeros(10)}, "sum to more than 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused_with_one_sentence(case):
    arrays, message = WRONG[case]
    objective = plain(*table(10, 2))
    with pytest.raises(ValueError, match=message) as caught:
        native_fit(objective, **{"starts": np.zeros(3), **arrays})
    assert str(caught.value).count(".") == 1
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("rates", [(0.5, 0.5), (-0.1, 0.1), (np.nan, 0.0)])
def test_rates_that_tell_nothing_are_refused(rates):
    objective = plain(*table(10, 2))
    with pytest.raises(ValueError, match="must sum to less than 1"):
        native_fit(objective, np.zeros(3), rates=rates)
