"""From a table with doubtful labels to the rows that deserve a look."""

from rboost.audit.audit import audit_labels
from rboost.audit.explanation import Explanation, Reason
from rboost.audit.labels import Labels
from rboost.audit.plots import IssueDistributionDisplay, NoiseMatrixDisplay, ReviewGainDisplay
from rboost.audit.projection_plot import ProjectionDisplay
from rboost.audit.result import LabelAudit
from rboost.audit.suspects import Suspects

__all__ = [
    "Explanation",
    "IssueDistributionDisplay",
    "LabelAudit",
    "Labels",
    "NoiseMatrixDisplay",
    "ProjectionDisplay",
    "Reason",
    "ReviewGainDisplay",
    "Suspects",
    "audit_labels",
]
