"""The noise matrix, its identities, its estimation, and label flips made on purpose."""

from rboost.noise.estimate import multiplicative_update
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

__all__ = [
    "asymmetric",
    "check_noise_matrix",
    "compose",
    "flip_labels",
    "multiplicative_update",
    "observed_probability",
    "posterior",
    "symmetric",
    "threshold",
    "true_probability",
]
