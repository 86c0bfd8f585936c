"""From a table with doubtful labels to the rows that deserve a look."""

from rboost.audit.audit import audit_labels
from rboost.audit.explanation import Explanation, Reason
from rboost.audit.labels import Labels
from rboost.audit.result import LabelAudit
from rboost.audit.suspects import Suspects

__all__ = ["Explanation", "LabelAudit", "Labels", "Reason", "Suspects", "audit_labels"]
