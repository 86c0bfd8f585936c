"""From a table with doubtful labels to the rows that deserve a look."""

from rboost.audit.audit import audit_labels
from rboost.audit.check import Check, TableCheck, check_table
from rboost.audit.insight.checked import AnswersContradictWarning
from rboost.audit.insight.explanation import Explanation, Reason
from rboost.audit.insight.summary import Suspects
from rboost.audit.insight.suspicion import SuspiciousColumn, SuspiciousColumnWarning
from rboost.audit.insight.words import ReadText, Word
from rboost.audit.labels import TableLabels
from rboost.audit.render.plots import (
    AnnotatorDisplay,
    CalibrationDisplay,
    GroupNoiseDisplay,
    IssueDistributionDisplay,
    NoiseMatrixDisplay,
    ProjectionDisplay,
    ReviewGainDisplay,
)
from rboost.audit.result import LabelAudit

__all__ = [
    "AnnotatorDisplay",
    "AnswersContradictWarning",
    "CalibrationDisplay",
    "Check",
    "Explanation",
    "GroupNoiseDisplay",
    "IssueDistributionDisplay",
    "LabelAudit",
    "NoiseMatrixDisplay",
    "ProjectionDisplay",
    "ReadText",
    "Reason",
    "ReviewGainDisplay",
    "Suspects",
    "SuspiciousColumn",
    "SuspiciousColumnWarning",
    "TableCheck",
    "TableLabels",
    "Word",
    "audit_labels",
    "check_table",
]
