"""The loop of Algorithm 1, with an engine that says what it is told."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost.boosting.rounds import USELESS_LEARNERS, Progress, boost, ensemble_of
from rboost.losses import ExponentialSums

USELESS = ExponentialSums(0.5, 0.5, 1.0, 1.0, perfect=False)
GOOD = ExponentialSums(0.8, 0.2, 1.0, 1.0, perfect=False)
PERFECT = ExponentialSums(1.0, 0.0, 1.0, 1.0, perfect=True)
AT_MINIMUM = ExponentialSums(0.8, 0.2, 1.0, 0.0, perfect=False)
STEP = 0.5 * np.log(4)


class Told:
    """An engine whose learners are judged as told; it notes what it is asked."""

    def __init__(self, judgements, out_of_bag=False):
        self.judgements, self.out_of_bag = list(judgements), out_of_bag
        self.asked, self.kept, self.noise = [], [], []

    def fit_learner(self, noise_matrix):
        self.asked.append("fit")
        self.noise.append(noise_matrix)

    def judge(self):
        self.asked.append("judge")
        return self.judgements.pop(0)

    def move(self, step):
        self.asked.append("move")
        self.kept.append(step)

    def finish(self):
        return self.kept


def run(judgements, out_of_bag=False, n_rounds=30, learning_rate=1.0, progress=None):
    engine = Told(judgements, out_of_bag)
    progress = Progress(np.eye(2)) if progress is None else progress

    def update_noise(engine, progress):
        engine.asked.append(f"noise {progress.n_rounds}")
        progress.noise_matrix = progress.noise_matrix + 1

    found = boost(engine, progress, update_noise, learning_rate, range(1, n_rounds + 1))
    return found, engine, progress


def test_a_round_fits_judges_moves_and_updates_the_noise():
    found, engine, progress = run([GOOD, GOOD], n_rounds=2)
    assert engine.asked == ["fit", "judge", "move", "noise 1", "fit", "judge", "move", "noise 2"]
    assert_allclose(found.steps, STEP)
    assert_allclose(found.errors, 0.2)
    assert found.stop_reason == "all 2 rounds done"
    assert not found.finished
    assert_allclose(engine.noise, [np.eye(2), np.eye(2) + 1])
    assert_allclose(progress.noise_matrix, np.eye(2) + 2)
    ensemble = ensemble_of(engine, found, 2)
    assert ensemble.learners == engine.kept == found.steps
    assert_allclose(ensemble.noise_matrices, [np.eye(2) + 1, np.eye(2) + 2])


def test_the_learning_rate_shortens_every_step():
    found, engine, _ = run([GOOD], n_rounds=1, learning_rate=0.1)
    assert_allclose(found.steps, 0.1 * STEP)
    assert_allclose(engine.kept, 0.1 * STEP)


def test_a_perfect_learner_ends_it():
    found, engine, _ = run([PERFECT] * 3)
    assert len(engine.kept) == len(found.steps) == 1
    assert "without errors" in found.stop_reason
    assert found.finished


def test_rows_at_their_minimum_end_it_uncounted():
    found, engine, progress = run([GOOD, AT_MINIMUM, GOOD])
    assert found.stop_reason == "round 2: every row is at the minimum of its loss"
    assert (len(engine.kept), progress.n_rounds, found.n_rounds) == (1, 1, 2)
    assert found.finished


def test_useless_learners_are_skipped_and_end_it_when_they_go_on():
    found, engine, progress = run([USELESS] * 5 + [GOOD] + [USELESS] * 30)
    assert found.n_rounds == 6 + USELESS_LEARNERS
    assert f"{USELESS_LEARNERS} base learners in a row no better than chance" in found.stop_reason
    assert len(engine.kept) == 1
    assert progress.useless == USELESS_LEARNERS
    assert [name for name in engine.asked if "noise" in name] == ["noise 6"]


def test_a_count_of_useless_learners_survives_a_break():
    first, _, progress = run([USELESS] * 6, n_rounds=6)
    assert first.stop_reason == "all 6 rounds done, 6 of them without a learner better than chance"
    second, _, _ = run([USELESS] * 30, progress=progress)
    assert second.n_rounds == USELESS_LEARNERS - 6


def test_out_of_bag_useless_learners_end_nothing_and_do_not_put_off_the_inference():
    n_rounds = 3 * USELESS_LEARNERS
    judged = [USELESS] * (n_rounds - 1) + [GOOD]
    found, engine, _ = run(judged, out_of_bag=True, n_rounds=n_rounds)
    assert len(found.steps) == 1
    assert f"{n_rounds - 1} of them without a learner" in found.stop_reason
    assert not found.finished
    assert sum("noise" in name for name in engine.asked) == n_rounds


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_learner_at_all_is_an_empty_ensemble(n_classes):
    found, engine, _ = run([USELESS] * 3, n_rounds=3)
    ensemble = ensemble_of(engine, found, n_classes)
    assert len(ensemble) == 0
    assert ensemble.noise_matrices.shape == (0, n_classes, n_classes)
