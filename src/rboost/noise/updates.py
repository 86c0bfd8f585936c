"""Estimate the noise matrix from probabilities and observed labels: arrays in, arrays out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats


def multiplicative_update(
    noise_matrix: Floats,
    true_probability: Floats,
    observed_class: NDArray[np.intp],
    sample_weight: Floats | None = None,
) -> Floats:
    """One multiplicative update of the noise matrix, eq. (5)–(7) and (20)–(22).

    g[j, k] = γ[j, k] · Σᵢ 1(ỹᵢ = k)·p(y = j | xᵢ) / p(ỹ = k | xᵢ), and each row of γ becomes the
    row of g divided by its sum. This is the EM step for the noise matrix when the probabilities of
    the true class are held fixed, so the likelihood of eq. (2) never decreases. An entry that is
    zero stays zero. ``observed_class`` has the positions of the labels ỹᵢ.
    """
    noise_matrix, true_probability = np.asarray(noise_matrix), np.asarray(true_probability)
    mixture = true_probability @ noise_matrix  # eq. (1)
    responsibility = np.zeros_like(mixture)
    rows = np.arange(len(mixture))
    weight = 1.0 if sample_weight is None else sample_weight
    # The floor only matters where a row is impossible under the model: 0/0 must count as 0.
    likelihood = np.maximum(mixture[rows, observed_class], 1e-200)
    responsibility[rows, observed_class] = weight / likelihood
    g = noise_matrix * (true_probability.T @ responsibility)  # eq. (7), (22)
    total = g.sum(axis=1, keepdims=True)
    # A class that no row can belong to teaches nothing: its row stays as it is.
    return np.where(total > 0, g / np.where(total > 0, total, 1), noise_matrix)
