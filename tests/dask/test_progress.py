"""Trees that are kept while they grow: taken up by the same fit alone."""

from dataclasses import replace

import numpy as np
import pytest

from rboost.boosting.engines.growing import TreeSettings
from rboost.dask.checks import check_facts, facts_of
from rboost.dask.partitions import Piece
from rboost.dask.progress import FitProgress
from rboost.learners.bins import learn_bins

GROWN = [[b"first", b"pass"], [b"second", b""]]
COLUMNS = np.arange(40.0).reshape(20, 2)
SUMMARY = check_facts([facts_of(Piece(COLUMNS, np.arange(20) % 2, None), "part 0")])
FIT = (SUMMARY, learn_bins(COLUMNS, [0, 0], 8), TreeSettings(), None)


def begun(file, fit=FIT, version="1", verbose=False):
    progress = FitProgress(verbose, file, version)
    progress.begin(*fit)
    return progress


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kept.npz"
    begun(path).listen({"n_rounds": 10, "grown": GROWN})
    return path


def test_the_same_fit_goes_on_and_says_so(file, capsys):
    assert begun(file, verbose=True).grown == GROWN
    assert capsys.readouterr().err == f"Going on with the trees that are kept in {file}.\n"


def test_another_fit_begins_anew(file):
    summary, bins, settings, _ = FIT
    others = [
        (replace(summary, n_rows=21), bins, settings, None),
        (summary, learn_bins(COLUMNS + 1, [0, 0], 8), settings, None),
        (summary, bins, replace(settings, seed=1), None),
        (summary, bins, settings, np.eye(2)),
    ]
    assert [begun(file, fit).grown for fit in others] == [[]] * 4
    assert begun(file, version="2").grown == []


@pytest.mark.parametrize("length", [0, 1, 50, -1])
def test_a_damaged_file_is_as_good_as_none(file, length):
    file.write_bytes(file.read_bytes()[:length])
    assert begun(file).grown == []
