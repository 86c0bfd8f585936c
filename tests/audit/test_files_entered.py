"""How much of the package an audit runs through: the fewer files, the easier to follow."""

import pytest

from rboost.audit import audit_labels
from tests.audit.conftest import make_table
from tests.model.test_files_entered import files_entered

MOST_FILES = 40


@pytest.mark.slow
def test_an_audit_enters_few_files():
    """The second audit, as the first one imports what it needs; model, noise, check of columns."""
    X, _, given = make_table(150, 2)
    audit_labels(X, given)
    entered = files_entered(lambda: audit_labels(X, given))
    assert "audit/audit.py" in entered
    assert len(entered) <= MOST_FILES, "\n".join(entered)
