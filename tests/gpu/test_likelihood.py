"""The likelihood of labels on the device: its derivatives are those of NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost.noise.likelihood import Likelihood

NOISE = {
    2: np.array([[0.8, 0.2], [0.1, 0.9]]),
    4: 0.7 * np.eye(4) + 0.3 * np.roll(np.eye(4), 1, axis=1),
}


@pytest.mark.parametrize("n_classes", [2, 4])
def test_derivatives_on_the_device_are_those_of_numpy(n_classes):
    cupy = pytest.importorskip("cupy")
    random, n_rows = np.random.RandomState(0), 40_000
    scores = 5 * random.standard_normal((n_rows, n_classes))
    scores[:10] *= 20  # where a class is certain
    if n_classes == 2:
        scores = scores[:, 0]
    # The upper half of the patterns are labels that are trusted.
    code = random.randint(0, 2 * n_classes, n_rows).astype(np.int16)
    columns = np.hstack([NOISE[n_classes], np.eye(n_classes)])
    weight = random.uniform(0.5, 2, n_rows)
    likelihood = Likelihood(code, columns, weight)
    expected, device = likelihood.derivatives(scores), likelihood.moved_to(cupy)
    found = device.derivatives(cupy.asarray(scores))
    loss = device.loss_sum(cupy.asarray(scores))
    assert_allclose(loss, likelihood.loss_sum(scores), rtol=1e-12)
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, cupy.ndarray)
        assert_allclose(cupy.asnumpy(one), other, rtol=0, atol=1e-12)
