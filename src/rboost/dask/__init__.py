"""Tables on many machines, or larger than the memory of one.

Needs the extra ``dask``: ``pip install 'rboost[dask]'``.
"""

from rboost.dask.audit import DistributedAudit, audit_labels
from rboost.dask.classifier import RBoostClassifier

__all__ = ["DistributedAudit", "RBoostClassifier", "audit_labels"]
