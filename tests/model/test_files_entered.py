"""How much of the package a fit runs through: the fewer files, the easier to follow."""

import sys
from pathlib import Path

import numpy as np
import pytest

import rboost
from rboost import RBoostClassifier

ROOT = Path(rboost.__file__).parent
MOST_FILES = 20


def files_entered(run):
    """The files of the package in which a function is called, by their paths in it."""
    found = set()

    def note(frame, event, _):
        if event == "call":
            found.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    paths = (Path(name) for name in found)
    return sorted(str(path.relative_to(ROOT)) for path in paths if path.is_relative_to(ROOT))


@pytest.mark.slow
def test_a_fit_enters_few_files(rng):
    """The second fit, as the first one imports what it needs; 600 rows of numbers, pool and trees.

    Threads of boosters are not seen here; they run in files that are entered anyway.
    """
    X = rng.standard_normal((600, 5))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(600) > 1).astype(int)
    model = RBoostClassifier(random_state=0).fit(X, y)
    entered = files_entered(lambda: model.fit(X, y))
    assert "model/classifier.py" in entered
    assert np.isfinite(model.decision_function(X)).all()
    assert len(entered) <= MOST_FILES, "\n".join(entered)
