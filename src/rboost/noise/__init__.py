"""The noise matrix, its identities, and label flips made on purpose."""

from rboost.noise.inference import infer_noise
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
from rboost.noise.posterior import NoisePosterior
from rboost.noise.updates import multiplicative_update

__all__ = [
    "NoisePosterior",
    "asymmetric",
    "check_noise_matrix",
    "compose",
    "flip_labels",
    "infer_noise",
    "multiplicative_update",
    "observed_probability",
    "posterior",
    "symmetric",
    "threshold",
    "true_probability",
]
