"""Classification when some labels are wrong."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

__version__ = version("rboost")
__all__ = [
    "AdaRBoostClassifier",
    "LabelAudit",
    "NoiseAwareClassifier",
    "NoiseCalibratedClassifier",
    "RBoostClassifier",
    "RobustLogisticRegression",
    "annotation_columns",
    "audit_labels",
    "estimate_noise_matrix",
    "flip_labels",
    "load",
]

if TYPE_CHECKING:
    from rboost.audit import LabelAudit, audit_labels
    from rboost.learners import RobustLogisticRegression
    from rboost.model import AdaRBoostClassifier, RBoostClassifier
    from rboost.noise import flip_labels
    from rboost.saving import load
    from rboost.table.annotations import annotation_columns
    from rboost.wrappers import (
        NoiseAwareClassifier,
        NoiseCalibratedClassifier,
        estimate_noise_matrix,
    )
else:
    # Imported when first asked for: scikit-learn, which all of it needs, takes a second to import
    # and brings pandas where that is installed.
    _PARTS = ["audit", "datasets", "learners", "model", "noise", "rivals", "robust", "wrappers"]
    _MODULE_OF = {
        "AdaRBoostClassifier": "model",
        "LabelAudit": "audit",
        "NoiseAwareClassifier": "wrappers",
        "NoiseCalibratedClassifier": "wrappers",
        "RBoostClassifier": "model",
        "RobustLogisticRegression": "learners",
        "annotation_columns": "table.annotations",
        "audit_labels": "audit",
        "estimate_noise_matrix": "wrappers",
        "flip_labels": "noise",
        "load": "saving",
    }

    def __getattr__(name: str) -> Any:
        if name in _PARTS:
            return import_module(f"rboost.{name}")
        if name in _MODULE_OF:
            return getattr(import_module(f"rboost.{_MODULE_OF[name]}"), name)
        raise AttributeError(f"module 'rboost' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({"__version__", *__all__, *_PARTS})
