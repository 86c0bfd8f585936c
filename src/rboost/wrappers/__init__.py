"""Any classifier made aware of wrong labels, and the noise inferred from its scores."""

from rboost.wrappers.aware import NoiseAwareClassifier
from rboost.wrappers.calibrated import (
    NoiseCalibratedClassifier,
    NoiseEstimate,
    estimate_noise_matrix,
)

__all__ = [
    "NoiseAwareClassifier",
    "NoiseCalibratedClassifier",
    "NoiseEstimate",
    "estimate_noise_matrix",
]
