"""Growth that was interrupted goes on with the trees it had."""

import json
import pickle

import pytest
from numpy.testing import assert_array_equal

from rboost.engines import xgboost
from rboost.engines.engine import EngineSettings
from rboost.engines.trees import grow_in_two_passes
from rboost.engines.xgboost import SingleProcess, XGBoostBoosters
from rboost.noise import symmetric
from rboost.noise.inference import NoiseInference
from tests.engines.tables import table
from tests.engines.test_xgboost import boosters_of

pytest.importorskip("xgboost")
pytestmark = pytest.mark.peers


class Reported(SingleProcess):
    """Keeps what is reported, as whoever waits for a fit on a cluster does."""

    def __init__(self):
        super().__init__()
        self.grown, self.n_rounds = [], []

    def report(self, message):
        self.n_rounds.append(message["n_rounds"])
        if "grown" in message:
            self.grown.append(pickle.loads(pickle.dumps(message["grown"])))


def run(rows, noise, grown=None, max_iter=120):
    reported = Reported()
    boosters = boosters_of(rows, noise, reported, grown, max_iter=max_iter, learning_rate=0.4)
    infer = NoiseInference(rows.patterns) if noise is None else None
    settings = EngineSettings(max_iter=max_iter)
    growth = grow_in_two_passes(boosters, rows.likelihood(noise), infer, settings)
    return boosters, growth, reported


def trees_of(boosters):
    stored = (json.loads(own.trees.save_raw("json")) for own in boosters._folds)
    return [model["learner"]["gradient_booster"]["model"]["trees"] for model in stored]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("known", [False, True])
def test_growth_that_was_interrupted_ends_as_if_it_had_not_been(n_classes, known, monkeypatch):
    monkeypatch.setattr(xgboost, "REPORT_INTERVAL", 1)
    rows, _ = table(n_classes, n_rows=150)
    noise = symmetric(0.2, n_classes) if known else None
    boosters, growth, reported = run(rows, noise)
    assert {len(grown) for grown in reported.grown} == ({1} if known else {1, 2})
    assert len(reported.grown) == len(reported.n_rounds) > 5
    expected = trees_of(boosters)
    for place, grown in enumerate(reported.grown[::3]):
        monkeypatch.setattr(xgboost, "REPORT_INTERVAL", 1 if place == 0 else 100)
        again, growth_again, reported_again = run(rows, noise, grown)
        assert trees_of(again) == expected
        assert_array_equal(again.scores, boosters.scores)
        assert_array_equal(growth_again[0].columns, growth[0].columns)
        assert growth_again[1] == growth[1]
        assert reported_again.n_rounds == reported.n_rounds
        if reported_again.grown:  # an interrupted run that is interrupted again
            middle = reported_again.grown[len(reported_again.grown) // 2]
            assert trees_of(run(rows, noise, middle)[0]) == expected


def test_trees_are_reported_every_few_steps():
    reported = run(table(n_rows=150)[0], None)[2]
    assert len(reported.grown) == len(reported.n_rounds) // xgboost.REPORT_INTERVAL > 0


def test_trees_that_were_grown_before_are_not_grown_again(monkeypatch):
    monkeypatch.setattr(xgboost, "REPORT_INTERVAL", 1)
    rows, _ = table(n_rows=150)
    _, _, reported = run(rows, None)
    calls, derivatives = [], XGBoostBoosters._derivatives

    def counted(self, *arguments):
        calls.append(1)
        return derivatives(self, *arguments)

    monkeypatch.setattr(XGBoostBoosters, "_derivatives", counted)
    run(rows, None)
    n_all = len(calls)
    calls.clear()
    run(rows, None, reported.grown[-1])
    assert len(calls) < n_all / 4
