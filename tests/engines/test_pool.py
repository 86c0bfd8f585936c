import numpy as np
import pytest
from numpy.testing import assert_allclose
from rboost.boosting.noise_updates import FIRST_UPDATE, infer, noise_update, vote_scores
from rboost.boosting.rounds import Progress
from rboost.boosting.votes import RowVotes, coded

from rboost.noise import asymmetric, flip_labels
from rboost.tables import Rows

NOISE = {n_classes: asymmetric(0.3, from_class=0, n_classes=n_classes) for n_classes in (2, 3)}


def votes_and_rows(n_rows=2000, n_classes=2, total=2.0):
    """Out-of-bag votes that know the true classes of most rows, and noisy labels."""
    random = np.random.RandomState(0)
    true = random.randint(n_classes, size=n_rows)
    sure = np.clip(random.normal(0.7, 0.2, size=n_rows), 0, 1)[:, np.newaxis]
    probability = sure * np.eye(n_classes)[true] + (1 - sure) / n_classes
    observed, _ = flip_labels(true, NOISE[n_classes], random_state=0)
    nobody = np.zeros(n_rows, dtype=bool)
    rows = Rows(np.zeros((n_rows, 1)), observed, np.ones(n_rows), nobody, n_classes)
    return RowVotes(total / 2 * coded(probability), np.full(n_rows, total / 2), total), rows


class Asked:
    def __init__(self, votes):
        self.votes = votes

    def paper_noise(self, noise_matrix):
        return noise_matrix / 2


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_noise_is_inferred_each_time_the_rounds_have_doubled(n_classes):
    votes, rows = votes_and_rows(n_classes=n_classes)
    update = noise_update("noise-aware", rows)
    for n_rounds in (FIRST_UPDATE, 50, 1600):
        progress = Progress(np.eye(n_classes), n_rounds)
        update(Asked(votes), progress)
        assert_allclose(progress.noise_matrix, NOISE[n_classes], atol=0.06)
        assert progress.inferred.noise_matrix is not None
    for n_rounds in (1, 24, 26, 51, 75, 99):
        progress.n_rounds, before = n_rounds, progress.noise_matrix
        update(Asked(votes), progress)
        assert progress.noise_matrix is before
        assert progress.inferred is None


def test_known_noise_is_kept_and_the_papers_is_the_engines():
    votes, rows = votes_and_rows()
    progress = Progress(NOISE[2], 25)
    noise_update("none", rows)(Asked(votes), progress)
    assert progress.noise_matrix is NOISE[2]
    noise_update("paper", rows)(Asked(votes), progress)
    assert_allclose(progress.noise_matrix, NOISE[2] / 2)
    assert_allclose(infer(votes, rows, NOISE[2]).noise_matrix, NOISE[2])


def test_rows_that_every_learner_has_seen_say_nothing_about_the_noise():
    votes, rows = votes_and_rows()
    unseen = np.arange(len(rows.observed)) < 1000
    some = RowVotes(votes.sums * unseen, votes.steps * unseen, votes.total)
    found = infer(some, rows).noise_matrix
    alone = Rows(rows.X[:1000], rows.observed[:1000], np.ones(1000), rows.trusted[:1000], 2)
    half = RowVotes(votes.sums[:1000], votes.steps[:1000], votes.total)
    assert_allclose(found, infer(half, alone).noise_matrix, atol=0.005)
    assert_allclose(found, NOISE[2], atol=0.08)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_votes_at_all_infer_something_finite(n_classes):
    nobody, observed = np.zeros(60, dtype=bool), np.resize(np.arange(n_classes), 60)
    rows = Rows(np.zeros((60, 1)), observed, np.ones(60), nobody, n_classes)
    posterior = infer(RowVotes.none_yet(60, n_classes, out_of_bag=True), rows)
    assert np.all(np.isfinite(posterior.noise_matrix))
    if n_classes > 2:
        scores = vote_scores(np.zeros((1, n_classes)), rows.prevalence)
        assert_allclose(posterior.probability(scores), 1 / n_classes, atol=0.05)


def test_trusted_rows_bound_the_noise():
    """Rows whose labels are right, and that agree with the votes, leave the flips to the rest."""
    votes, rows = votes_and_rows(200)
    trusted = np.arange(200) < 100
    labels = np.where(trusted, votes.sums > 0, rows.observed)
    with_trust, without = (
        infer(votes, Rows(rows.X, labels, np.ones(200), told, 2)).noise_matrix[0, 1]
        for told in (trusted, np.zeros(200, dtype=bool))
    )
    assert abs(with_trust - 0.3) < 0.1
    assert without < with_trust  # half the labels have no noise at all


def test_scores_of_votes_are_odd_for_two_classes_and_finite_for_all():
    votes = np.linspace(-1, 1, 21)
    log_odds = vote_scores(votes, np.array([0.5, 0.5]))
    assert np.all(np.isfinite(log_odds))
    assert np.all(np.diff(log_odds) > 0)
    assert_allclose(log_odds, -log_odds[::-1], atol=1e-12)
    unanimous = vote_scores(coded(np.eye(3)), np.array([0.2, 0.3, 0.5]))
    assert np.all(np.isfinite(unanimous))
    np.testing.assert_array_equal(unanimous.argmax(axis=1), [0, 1, 2])
