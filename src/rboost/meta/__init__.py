"""Any classifier made aware of wrong labels."""

from rboost.meta.calibrated import NoiseCalibratedClassifier

__all__ = ["NoiseCalibratedClassifier"]
