"""The noise matrix, its identities, and label flips made on purpose."""

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
