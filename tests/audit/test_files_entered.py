"""How much of the package an audit runs through: the fewer files, the easier to follow."""

import numpy as np
import pandas as pd
import pytest

from rboost.audit import audit_labels
from tests.audit.conftest import make_table
from tests.model.test_files_entered import files_entered

MOST_FILES = 40


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_audit_enters_few_files(n_classes):
    """The second audit, as the first one imports what it needs; with the check of columns."""
    X, _, given = make_table(150, n_classes)
    table = pd.DataFrame(X, columns=["height", "girth"])
    table["day"] = pd.date_range("2020", periods=150).astype(str)
    table["site"] = np.array(["north", "south", "west"])[np.arange(150) % 3]
    audit_labels(table, given)
    entered = files_entered(lambda: audit_labels(table, given))
    assert {"audit/audit.py", "audit/insight/suspicion.py", "model/fit.py"} <= set(entered)
    assert len(entered) <= MOST_FILES, "\n".join(entered)
