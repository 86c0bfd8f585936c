"""Any classifier made aware of wrong labels."""

from rboost.meta.aware import NoiseAwareClassifier
from rboost.meta.calibrated import NoiseCalibratedClassifier

__all__ = ["NoiseAwareClassifier", "NoiseCalibratedClassifier"]
