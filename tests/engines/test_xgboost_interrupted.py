"""Growth that was interrupted goes on with the trees it had."""

import json
import pickle

import pytest
from numpy.testing import assert_array_equal

from rboost.boosting.engines import xgboost
from rboost.boosting.engines.growing import TreeSettings, grow_in_two_passes
from rboost.boosting.engines.xgboost import XGBoostBoosters
from rboost.boosting.together import Alone
from rboost.noise import symmetric
from tests.boosting.engines.test_trees import table
from tests.boosting.engines.test_xgboost import boosters_of

pytest.importorskip("xgboost")
pytestmark = pytest.mark.peers


class Told(Alone):
    """Keeps what is told, as whoever waits for a fit on a cluster does."""

    def __init__(self):
        super().__init__()
        self.grown, self.n_rounds = [], []

    def tell(self, message):
        self.n_rounds.append(message["n_rounds"])
        if "grown" in message:
            self.grown.append(pickle.loads(pickle.dumps(message["grown"])))


def run(rows, noise, grown=None, most_rounds=120):
    told = Told()
    boosters = boosters_of(rows, told, grown, most_rounds=most_rounds, learning_rate=0.4)
    settings = TreeSettings(most_rounds=most_rounds)
    growth = grow_in_two_passes(boosters, rows, noise, None, settings)
    return boosters, growth, told


def trees_of(boosters):
    stored = (json.loads(own.trees.save_raw("json")) for own in boosters._folds)
    return [model["learner"]["gradient_booster"]["model"]["trees"] for model in stored]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("known", [False, True])
def test_growth_that_was_interrupted_ends_as_if_it_had_not_been(n_classes, known, monkeypatch):
    monkeypatch.setattr(xgboost, "STEPS_TOLD", 1)
    rows, _ = table(n_classes, n_rows=150)
    noise = symmetric(0.2, n_classes) if known else None
    boosters, growth, told = run(rows, noise)
    assert {len(grown) for grown in told.grown} == ({1} if known else {1, 2})
    assert len(told.grown) == len(told.n_rounds) > 5
    expected = trees_of(boosters)
    for place, grown in enumerate(told.grown[::3]):
        monkeypatch.setattr(xgboost, "STEPS_TOLD", 1 if place == 0 else 100)
        again, growth_again, told_again = run(rows, noise, grown)
        assert trees_of(again) == expected
        assert_array_equal(again.scores, boosters.scores)
        assert_array_equal(growth_again.noise_matrix, growth.noise_matrix)
        assert growth_again.stop_reason == growth.stop_reason
        assert told_again.n_rounds == told.n_rounds
        if told_again.grown:  # an interrupted run that is interrupted again
            middle = told_again.grown[len(told_again.grown) // 2]
            assert trees_of(run(rows, noise, middle)[0]) == expected


def test_trees_are_told_every_few_steps():
    told = run(table(n_rows=150)[0], None)[2]
    assert len(told.grown) == len(told.n_rounds) // xgboost.STEPS_TOLD > 0


def test_trees_that_were_grown_before_are_not_grown_again(monkeypatch):
    rows, _ = table(n_rows=150)
    _, _, told = run(rows, None)
    calls, derivatives = [], XGBoostBoosters._derivatives

    def counted(self, *arguments):
        calls.append(1)
        return derivatives(self, *arguments)

    monkeypatch.setattr(XGBoostBoosters, "_derivatives", counted)
    run(rows, None)
    n_all = len(calls)
    calls.clear()
    run(rows, None, told.grown[-1])
    assert len(calls) < n_all / 4
