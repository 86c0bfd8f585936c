"""Where the losses of two classes are smallest, given infinitely many rows."""

import numpy as np

from rboost.engines.rounds import mixing_coefficients


def population_minimiser(observed_probability, noise_matrix, mixing="posterior"):
    """The score H that minimises the expected loss where p(ỹ = 1 | x) is ``observed_probability``.

    H = ½·ln(p̃·c[:, 1] / p̃·c[:, 0]) with p̃ = (p(ỹ = 0), p(ỹ = 1)).
    """
    positive = np.asarray(observed_probability, dtype=np.float64)
    mass = np.stack([1 - positive, positive], axis=-1) @ mixing_coefficients(noise_matrix, mixing)
    return (np.log(mass[..., 1]) - np.log(mass[..., 0])) / 2
