"""The noise matrix, its identities, its estimation, and label flips made on purpose."""

from rboost.noise.estimation import NoiseEstimate, estimate_noise_matrix
from rboost.noise.inject import flip_labels
from rboost.noise.matrix import (
    asymmetric,
    check_noise_matrix,
    compose,
    observed_probability,
    posterior,
    symmetric,
    threshold,
    true_probability,
)
from rboost.noise.updates import multiplicative_update

__all__ = [
    "NoiseEstimate",
    "asymmetric",
    "check_noise_matrix",
    "compose",
    "estimate_noise_matrix",
    "flip_labels",
    "multiplicative_update",
    "observed_probability",
    "posterior",
    "symmetric",
    "threshold",
    "true_probability",
]
