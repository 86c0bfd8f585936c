"""What is inferred from scores of tables whose noise is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost.noise import asymmetric, flip_labels, infer_noise, symmetric
from rboost.noise.class_model import Rows
from rboost.noise.classes import _deviation


def next_class(rate, n_classes):
    return (1 - rate) * np.eye(n_classes) + rate * np.roll(np.eye(n_classes), 1, axis=1)


def single_pair(rate, n_classes):
    matrix = np.eye(n_classes)
    matrix[2, 0], matrix[2, 2] = rate, 1 - rate
    return matrix


def scored_rows(noise, n_rows=1500, separation=4.0, seed=0, overlapping=False):
    """Scores that follow the model, true classes, and observed labels."""
    random = np.random.RandomState(seed)
    n_classes = len(noise)
    centers = separation * np.eye(n_classes)
    if overlapping:
        centers[1] = centers[0]  # nothing tells these two apart
    true = random.randint(n_classes, size=n_rows)
    scores = centers[true] + random.normal(size=(n_rows, n_classes))
    if overlapping:
        scores[:, :2] = scores[:, :2].max(axis=1, keepdims=True)
        scores[:, :2] += 0.1 * random.normal(size=(n_rows, 2))
    observed, _ = flip_labels(true, noise, random_state=seed, classes=np.arange(n_classes))
    return scores, true, observed


NOISES = {
    "none": np.eye(4),
    "symmetric": symmetric(0.2, 4),
    "out of one class": asymmetric(0.3, from_class=1, n_classes=4),
    "next class": next_class(0.3, 4),
    "a pair": single_pair(0.25, 4),
}


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES.keys())
def test_the_noise_is_found_and_wrong_labels_are_ranked(noise):
    scores, true, observed = scored_rows(noise)
    found = infer_noise(scores, observed)
    assert_allclose(found.noise_matrix, noise, atol=0.04)
    assert_allclose(found.noise_matrix.sum(axis=1), 1)
    low, high = found.interval()
    assert np.mean((low <= noise + 1e-6) & (noise <= high + 1e-6)) >= 0.8
    assert np.all((low <= found.noise_matrix + 1e-6) & (found.noise_matrix <= high + 0.03))
    mean, least, most = found.wrong_share_interval(scores, observed)
    assert least - 1e-3 <= np.mean(true != observed) <= most + 1e-3
    assert least <= mean <= most
    wrong = found.issue_probability(scores, observed)
    assert mean == pytest.approx(wrong.mean(), abs=1e-9)
    if np.any(true != observed):
        suspects = np.argsort(-wrong)[: np.count_nonzero(true != observed)]
        assert np.mean((true != observed)[suspects]) > 0.9


def test_classes_that_overlap_are_not_called_noisy():
    scores, _, observed = scored_rows(np.eye(4), overlapping=True)
    found = infer_noise(scores, observed)
    assert np.diag(found.noise_matrix).min() > 0.95
    assert found.wrong_share_interval(scores, observed)[1] == 0


def test_probabilities_are_of_the_true_class():
    scores, true, observed = scored_rows(next_class(0.3, 4))
    found = infer_noise(scores, observed)
    probability = found.probability(scores)
    assert_allclose(probability.sum(axis=1), 1)
    assert np.mean(probability.argmax(axis=1) == true) > 0.97
    posterior = found.posterior(scores, observed)
    assert_allclose(posterior.sum(axis=1), 1)
    assert_allclose(np.exp(found.log_odds(scores)), probability)


def test_the_order_of_classes_and_constants_in_rows_do_not_matter():
    scores, _, observed = scored_rows(single_pair(0.25, 4), n_rows=600)
    order = np.array([2, 0, 3, 1])
    place = np.argsort(order)
    found = infer_noise(scores, observed)
    shifted = infer_noise(5.0 * scores[:, order] + 7.0, place[observed])
    moved = shifted.noise_matrix[np.ix_(place, place)]
    assert_allclose(moved, found.noise_matrix, atol=2e-3)


def test_known_noise_is_kept_and_calibrated():
    noise = next_class(0.3, 4)
    scores, true, observed = scored_rows(noise)
    found = infer_noise(scores, observed, noise_matrix=noise)
    assert_allclose(found.noise_matrix, noise)
    assert_allclose(found.flips.interval(), [noise, noise], atol=1e-4)
    _, low, high = found.wrong_share_interval(scores, observed)
    assert low <= np.mean(true != observed) <= high
    assert np.mean(found.probability(scores).argmax(axis=1) == true) > 0.97


def test_answers_tell():
    """Scores that say little about two classes: their noise is unknown until rows are checked."""
    noise = single_pair(0.4, 3)
    scores, true, observed = scored_rows(noise, n_rows=300, separation=1.5)
    without = infer_noise(scores, observed)
    found = infer_noise(scores, observed, checked=np.where(np.arange(300) % 2, -1, true))
    error = [np.abs(each.noise_matrix - noise).max() for each in (without, found)]
    assert error[1] < 0.1
    assert error[1] <= error[0] + 0.02
    assert np.all(found.standard_error < 0.12)


def test_the_deviation_of_one_rate_is_that_of_the_whole_matrix():
    """All deviations at once would be computed anew for each entry: minutes for 60 classes."""
    found = infer_noise(*scored_rows(NOISES["symmetric"])[::2])
    for fit in getattr(found, "flipped", found).fits:
        directions = fit.layout.kind.directions
        variance = np.einsum("mjk,ml,ljk->jk", directions, fit.covariance, directions)
        one_by_one = [[_deviation(fit, directions[:, j, k]) for k in range(4)] for j in range(4)]
        assert_allclose(np.square(one_by_one), np.maximum(variance, 0), atol=1e-15)


def test_rows_of_weight_0_are_left_out():
    scores, _, observed = scored_rows(symmetric(0.2, 3), n_rows=300)
    extra = np.vstack([scores, np.full((50, 3), 100.0)])
    weight = np.concatenate([np.ones(300), np.zeros(50)])
    labels = np.concatenate([observed, np.zeros(50, dtype=int)])
    found = infer_noise(extra, labels, sample_weight=weight)
    assert_allclose(found.noise_matrix, infer_noise(scores, observed).noise_matrix)


def test_many_rows_take_a_sample_and_give_the_same_each_time():
    scores, _, observed = scored_rows(symmetric(0.2, 3), n_rows=8000)
    first, second = (infer_noise(scores, observed).noise_matrix for _ in range(2))
    assert_allclose(first, second, rtol=0, atol=0)
    assert_allclose(first, symmetric(0.2, 3), atol=0.02)


def test_many_rows_of_overlapping_classes_are_not_called_noisy():
    """A sample of the rows counts as what it is, not as if it were all of them."""
    random = np.random.RandomState(0)
    logits = random.normal(size=(20_000, 4))
    probability = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    true = (probability.cumsum(axis=1) > random.uniform(size=(20_000, 1))).argmax(axis=1)
    scores = logits + 0.8 * random.normal(size=logits.shape)
    found = infer_noise(scores, true)
    assert np.diag(found.noise_matrix).min() > 0.95
    assert found.wrong_share_interval(scores, true)[1] == 0


def test_all_trusted_rows_of_many_rows_are_used():
    scores, _, observed = scored_rows(symmetric(0.2, 3), n_rows=5000)
    rows = Rows(scores, observed, np.ones(5000), np.arange(5000) % 100 == 0, np.zeros((0, 2), int))
    sample = rows.sample(500)
    assert sample.trusted.sum() == 50
    assert 500 <= len(sample) <= 550
    assert_allclose(sample.weight, 1)


def test_the_order_of_rows_does_not_matter_to_the_share():
    scores, _, observed = scored_rows(asymmetric(0.3, from_class=0, n_classes=3), n_rows=1500)
    found = infer_noise(scores, observed)
    order = np.argsort(observed, kind="stable").reshape(3, -1, order="C")[:, :400].T.ravel()
    shares = found.wrong_share_interval(scores[order], observed[order])
    assert shares[0] == pytest.approx(found.issue_probability(scores, observed)[order].mean())


def test_a_class_without_rows_is_no_problem():
    scores, _, observed = scored_rows(symmetric(0.1, 4), n_rows=400)
    kept = observed != 3
    found = infer_noise(scores[kept], observed[kept])
    assert np.isfinite(found.noise_matrix).all()
    assert np.isfinite(found.probability(scores)).all()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"observed": [0, 1, 3]}, "0 to 2"),
        ({"observed": [0, 1]}, "one entry a row"),
        ({"scores": [[0, 1, np.nan], [1, 0, 0], [0, 0, 1]]}, "finite"),
        ({"scores": np.zeros((3, 2))}, "of two classes, one score a row"),
        ({"scores": np.full((3, 3), 1 / 3)}, "pass their logarithms"),
        ({"sample_weight": [0, 0, 0]}, "must not be 0 for every row"),
        ({"checked": np.eye(2)}, "0 to 2, or -1 for each row"),
        ({"noise_matrix": np.eye(2)}, "3×3"),
    ],
)
def test_mistakes_are_told_in_one_sentence(change, problem):
    arguments = {"scores": 2.0 * np.eye(3), "observed": [0, 1, 2]} | change
    with pytest.raises(ValueError, match=problem):
        infer_noise(**arguments)
