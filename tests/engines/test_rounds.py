"""The loop of Algorithm 1, with rounds that say what they are told."""

import numpy as np
from numpy.testing import assert_allclose

from rboost.engines.rounds import USELESS_LEARNERS, ExponentialSums, Progress, boost

USELESS = ExponentialSums(0.5, 0.5, 1.0, 1.0, perfect=False)
GOOD = ExponentialSums(0.8, 0.2, 1.0, 1.0, perfect=False)
PERFECT = ExponentialSums(1.0, 0.0, 1.0, 1.0, perfect=True)
AT_MINIMUM = ExponentialSums(0.8, 0.2, 1.0, 0.0, perfect=False)
STEP = 0.5 * np.log(4)


class Told:
    """Rounds whose learners are judged as told; they note what they are asked."""

    def __init__(self, judgements, out_of_bag=False):
        self.judgements, self.out_of_bag = list(judgements), out_of_bag
        self.asked, self.kept, self.columns = [], [], []

    def fit_learner(self, columns):
        self.asked.append("fit")
        self.columns.append(columns)

    def judge(self):
        self.asked.append("judge")
        return self.judgements.pop(0)

    def move(self, step):
        self.asked.append("move")
        self.kept.append(step)


def run(judgements, out_of_bag=False, n_rounds=30, learning_rate=1.0, progress=None):
    rounds = Told(judgements, out_of_bag)
    progress = Progress(np.eye(2)) if progress is None else progress

    def update_noise():
        rounds.asked.append(f"noise {progress.n_rounds}")
        progress.columns = progress.columns + 1

    boost(rounds, progress, update_noise, learning_rate, range(1, n_rounds + 1))
    return rounds, progress


def test_a_round_fits_judges_moves_and_updates_the_noise():
    rounds, progress = run([GOOD, GOOD], n_rounds=2)
    assert rounds.asked == ["fit", "judge", "move", "noise 1", "fit", "judge", "move", "noise 2"]
    assert_allclose(progress.steps, STEP)
    assert_allclose(progress.errors, 0.2)
    assert progress.stop_reason == "all 2 rounds done"
    assert not progress.finished
    assert_allclose(rounds.columns, [np.eye(2), np.eye(2) + 1])
    assert_allclose(progress.columns, np.eye(2) + 2)
    assert rounds.kept == progress.steps


def test_the_learning_rate_shortens_every_step():
    rounds, progress = run([GOOD], n_rounds=1, learning_rate=0.1)
    assert_allclose(progress.steps, 0.1 * STEP)
    assert_allclose(rounds.kept, 0.1 * STEP)


def test_a_perfect_learner_ends_it():
    rounds, progress = run([PERFECT] * 3)
    assert len(rounds.kept) == len(progress.steps) == 1
    assert "without errors" in progress.stop_reason
    assert progress.finished


def test_rows_at_their_minimum_end_it_uncounted():
    rounds, progress = run([GOOD, AT_MINIMUM, GOOD])
    assert progress.stop_reason == "round 2: every row is at the minimum of its loss"
    assert (len(rounds.kept), len(progress.steps), progress.n_rounds) == (1, 1, 2)
    assert progress.finished


def test_useless_learners_are_skipped_and_end_it_when_they_go_on():
    rounds, progress = run([USELESS] * 5 + [GOOD] + [USELESS] * 30)
    assert progress.n_rounds == 6 + USELESS_LEARNERS
    reason = f"{USELESS_LEARNERS} base learners in a row no better than chance"
    assert reason in progress.stop_reason
    assert len(rounds.kept) == 1
    assert progress.useless == USELESS_LEARNERS
    assert [name for name in rounds.asked if "noise" in name] == ["noise 6"]


def test_a_count_of_useless_learners_survives_a_break():
    _, progress = run([USELESS] * 6, n_rounds=6)
    expected = "all 6 rounds done, 6 of them without a learner better than chance"
    assert progress.stop_reason == expected
    _, progress = run([USELESS] * 30, progress=progress)
    assert progress.n_rounds == USELESS_LEARNERS - 6


def test_out_of_bag_useless_learners_end_nothing_and_do_not_put_off_the_inference():
    n_rounds = 3 * USELESS_LEARNERS
    judged = [USELESS] * (n_rounds - 1) + [GOOD]
    rounds, progress = run(judged, out_of_bag=True, n_rounds=n_rounds)
    assert len(progress.steps) == 1
    assert f"{n_rounds - 1} of them without a learner" in progress.stop_reason
    assert not progress.finished
    assert sum("noise" in name for name in rounds.asked) == n_rounds
