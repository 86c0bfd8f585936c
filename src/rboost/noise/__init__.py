"""The noise matrix: its identities, its inference from scores, and simulated label flips."""

from rboost.noise.inference import infer_noise
from rboost.noise.matrix import (
    asymmetric,
    check_noise_matrix,
    compose,
    flip_labels,
    multiplicative_update,
    observed_probability,
    posterior,
    symmetric,
    threshold,
    true_probability,
)
from rboost.noise.posterior import NoisePosterior

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
