"""What can be known of wrong labels that depend on the row: intervals, order, calibrated ranks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.metrics import average_precision_score

from rboost.noise import asymmetric, flip_labels, infer_noise, symmetric
from rboost.noise.posterior import Reading
from rboost.noise.row_dependent import (
    N_CELLS,
    N_TAIL,
    Levels,
    Sample,
    _hats,
    _nodes,
    find_levels,
    prior_of_u,
    weight_of_margin,
)


def drawn(probability, random):
    return (probability.cumsum(axis=1) > random.uniform(size=(len(probability), 1))).argmax(axis=1)


def two_classes(n_rows, seed, spread=2.0):
    random = np.random.RandomState(seed)
    scores = random.normal(scale=spread, size=n_rows)
    return scores, (random.uniform(size=n_rows) < expit(2 * scores)).astype(int)


@given(flipped=st.floats(0, 0.5), doubt=st.floats(0, 0.5))
def test_the_prior_is_one_and_flips_that_explain_much_leave_less_beside_them(flipped, doubt):
    low, high, weight = prior_of_u(flipped, doubt)
    assert weight.sum() == pytest.approx(1)
    assert len(low) == len(high) == 1 + N_CELLS + N_TAIL
    assert np.all(low <= high)
    assert weight[0] <= prior_of_u(flipped + 0.1, doubt)[2][0] + 1e-12


@pytest.mark.parametrize("n_classes", [2, 3])
@given(seed=st.integers(0, 1000))
@settings(max_examples=10)
def test_nodes_have_the_mean_that_their_cell_says_and_posteriors_sum_to_one(n_classes, seed):
    """u times the overlap that is left, where that many errors are possible."""
    random = np.random.RandomState(seed)
    p = softmax(random.normal(size=(200, n_classes)), axis=1)
    label = drawn(p, random)
    sample = Sample(np.zeros(200), label, np.full(200, 1 / 200), 200)
    (node, *_) = _nodes([Reading(1.0, np.eye(n_classes), p)], sample, False)
    assert_allclose(node.posterior.sum(axis=2), 1, atol=1e-9)
    wrong = 1 - node.posterior[:, np.arange(200), label].mean(axis=1)
    middles = (node.cells.low + node.cells.high) / 2
    assert wrong[0] == pytest.approx(0, abs=1e-9)
    assert_allclose(wrong[1:N_CELLS], middles[1:N_CELLS] * node.overlap, rtol=0.15, atol=0.005)
    assert np.all(np.diff(wrong) >= 0)


@given(seed=st.integers(0, 1000))
def test_means_by_knots_are_means_of_interpolated_values(seed):
    random = np.random.RandomState(seed)
    knots, values = np.sort(random.normal(size=9)), random.normal(scale=2, size=50)
    table = random.uniform(size=9)
    assert _hats(values, knots) @ table == pytest.approx(np.interp(values, knots, table).mean())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_that_follow_the_scores_may_all_be_right_or_not(n_classes):
    """No flips: suspicious is what the scores speak against, and nothing is certain."""
    random = np.random.RandomState(1)
    logits = 1.5 * random.normal(size=(1500, n_classes))
    label = drawn(softmax(logits, axis=1), random)
    scores = logits[:, 1] - logits[:, 0] if n_classes == 2 else logits
    found = infer_noise(scores, label)
    assert found.overlapping > 0.2
    assert_allclose(found.probability(scores), softmax(logits, axis=1), atol=0.1)
    doubt = 1 - softmax(logits, axis=1)[np.arange(1500), label]
    issues = found.issue_probability(scores, label)
    assert np.corrcoef(np.argsort(np.argsort(doubt)), np.argsort(np.argsort(issues)))[0, 1] > 0.9
    _, low, high = found.wrong_share_interval(scores, label)
    assert low == 0
    assert high > doubt.mean()
    assert not np.array_equal(found.noise_matrix, np.eye(n_classes))


@pytest.mark.parametrize("noise", [symmetric(0.2), asymmetric(0.3, from_class=0)])
def test_flips_that_show_are_flips(noise):
    scores, true = two_classes(3000, 0, spread=3.0)
    label = flip_labels(true, noise, random_state=0)[0]
    found = infer_noise(scores, label)
    assert found.overlapping < 0.01
    assert_allclose(found.noise_matrix, noise, atol=0.05)
    low, high = found.interval()
    assert np.all((low <= noise) & (noise <= high))
    _, low, high = found.wrong_share_interval(scores, label)
    assert low <= np.mean(true != label) <= high
    assert high - low < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["flips", "guesses", "all right", "sure"])
def test_intervals_of_the_share_hold_whatever_the_labels_depend_on(kind):
    held = []
    for seed in range(20):
        random = np.random.RandomState(seed)
        scores, true = two_classes(800, seed)
        p = expit(2 * scores)
        guess = (random.uniform(size=800) < p).astype(int)
        label = {
            "flips": flip_labels(true, symmetric(0.15), random_state=seed)[0],
            "guesses": np.where(random.uniform(size=800) < 0.6, guess, true),
            "all right": true,
            "sure": guess,  # and the true class is that of the larger probability
        }[kind]
        wrong = (label != (p > 0.5)) if kind == "sure" else label != true
        _, low, high = infer_noise(scores, label).wrong_share_interval(scores, label)
        held.append(low <= wrong.mean() <= high)
        assert (
            high - low > 3 * np.sqrt(max(high * (1 - high), 0) / 800) - 0.02
        )  # never below chance
    assert np.mean(held) >= 0.85


def test_many_classes_are_ranked_no_worse_than_by_margin():
    random = np.random.RandomState(0)
    logits = 2.5 * random.normal(size=(2000, 6))
    true = drawn(softmax(logits, axis=1), random)
    label = flip_labels(true, symmetric(0.15, 6), random_state=0)[0]
    others = logits.copy()
    others[np.arange(2000), label] = -np.inf
    margin = others.max(axis=1) - logits[np.arange(2000), label]
    issue = infer_noise(logits, label).issue_probability(logits, label)
    ours, theirs = (average_precision_score(true != label, own) for own in (issue, margin))
    assert ours > theirs - 0.005


@pytest.mark.parametrize("kind", ["guesses", "flips beside a rare class"])
def test_two_classes_are_ranked_no_worse_than_by_margin(kind):
    ours, theirs = [], []
    for seed in range(6):
        random = np.random.RandomState(seed)
        is_rare = kind != "guesses"
        scores = random.normal(-4 if is_rare else -0.5, 2, size=3000)
        p = expit(scores)
        true = (random.uniform(size=3000) < p).astype(int)
        guess = (random.uniform(size=3000) < p).astype(int)
        label = np.where(random.uniform(size=3000) < 0.4, guess, true)
        if is_rare:
            label = flip_labels(true, [[0.97, 0.03], [0.1, 0.9]], random_state=seed)[0]
        margin, issue = np.where(label > 0, -scores, scores), infer_noise(scores, label)
        for own, order in ((theirs, margin), (ours, issue.issue_probability(scores, label))):
            own.append(average_precision_score(true != label, order))
    assert np.mean(ours) > np.mean(theirs) - 0.005


def test_flips_of_one_class_are_ranked_better_than_by_margin():
    ours, theirs = [], []
    for seed in range(6):
        random = np.random.RandomState(seed)
        scores = random.normal(0, 2, size=800)
        true = (random.uniform(size=800) < expit(scores)).astype(int)
        label = flip_labels(true, asymmetric(0.3, from_class=1), random_state=seed)[0]
        margin, issue = np.where(label > 0, -scores, scores), infer_noise(scores, label)
        for own, order in ((theirs, margin), (ours, issue.issue_probability(scores, label))):
            own.append(average_precision_score(true != label, order))
    assert np.mean(ours) > np.mean(theirs) + 0.05


def test_guesses_between_many_classes_are_ranked_no_worse_than_by_margin():
    random = np.random.RandomState(0)
    logits = 1.5 * random.normal(size=(3000, 5))
    p = softmax(logits, axis=1)
    true = drawn(p, random)
    label = np.where(random.uniform(size=3000) < 0.4, drawn(p, random), true)
    others = p.copy()
    others[np.arange(3000), label] = 0
    margin = others.max(axis=1) - p[np.arange(3000), label]
    issue = infer_noise(logits, label).issue_probability(logits, label)
    ours, theirs = (average_precision_score(true != label, own) for own in (issue, margin))
    assert ours > theirs - 0.005


@given(share=st.floats(0.02, 0.3), seed=st.integers(0, 1000))
def test_the_margin_counts_the_less_the_better_flips_are_told_apart(share, seed):
    weight = np.random.RandomState(seed).uniform(size=400)
    is_flipped = np.arange(400) < 400 * share
    told_apart = [0.0, 0.1, 0.2, 0.4, 1.0]
    counts = [weight_of_margin(np.where(is_flipped, w, 0.0), weight) for w in told_apart]
    assert np.all(np.diff(counts) <= 0)
    assert counts[0] == 1
    assert counts[1] > 0.9
    assert counts[-2:] == [0, 0]
    assert weight_of_margin(is_flipped / 5, 3 * weight) == pytest.approx(counts[2])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_known_noise_ranks_by_itself(n_classes):
    random = np.random.RandomState(0)
    logits = random.normal(size=(600, n_classes))
    noise = symmetric(0.2, n_classes)
    label = flip_labels(drawn(softmax(logits, axis=1), random), noise, random_state=0)[0]
    scores = logits[:, 1] - logits[:, 0] if n_classes == 2 else logits
    found = infer_noise(scores, label, noise_matrix=noise)
    assert found.margin_weight == 0
    flipped = found.flipped.issue_probability(scores, label)
    assert_array_equal(np.argsort(found.order(scores, label)), np.argsort(flipped))


def test_a_rare_class_that_is_never_sure_is_no_noise():
    random = np.random.RandomState(0)
    top = random.beta(1, 9, size=3000)
    label = (random.uniform(size=3000) < top).astype(int)
    scores = np.log(top / (1 - top))
    found = infer_noise(scores, label)
    assert abs(found.probability(scores)[:, 1].mean() - label.mean()) < 0.03
    assert found.wrong_share_interval(scores, label)[1] == 0


@pytest.mark.slow
@given(seed=st.integers(0, 1000), n_classes=st.sampled_from([2, 3]))
@settings(max_examples=15)
def test_whatever_the_labels_probabilities_sum_to_one(seed, n_classes):
    random = np.random.RandomState(seed)
    scores = random.normal(size=(150, n_classes))
    scores = scores[:, 0] if n_classes == 2 else scores
    label = random.randint(n_classes, size=150)
    found = infer_noise(scores, label)
    for p in (found.probability(scores), found.observed_probability(scores)):
        assert_allclose(p.sum(axis=1), 1)
    posterior = found.posterior(scores, label)
    assert_allclose(posterior.sum(axis=1), 1)
    assert np.all(posterior >= 0)
    issue = found.issue_probability(scores, label)
    assert_allclose(1 - posterior[np.arange(150), label], issue)
    order = found.order(scores, label)
    assert np.all(np.diff(issue[np.argsort(order)]) >= -1e-12)
    low, high = found.interval()
    assert np.all((low >= 0) & (high <= 1) & (low <= high))


def test_the_sample_weighs_as_all_rows_do():
    random = np.random.RandomState(0)
    scores, label = two_classes(20_000, 0)
    weight = random.uniform(0, 2, size=20_000)
    rows = Sample(scores, label, weight, weight.sum())
    few = rows.fewer(np.where(label > 0, -scores, scores))
    assert len(few.observed) <= 2000
    assert few.weight.sum() == pytest.approx(1)
    assert few.weight @ few.observed == pytest.approx(np.average(label, weights=weight), abs=0.01)
    assert few.weight @ few.scores == pytest.approx(np.average(scores, weights=weight), abs=0.05)


def test_levels_are_found_once_and_can_be_kept_instead_of_rows():
    scores, label = two_classes(500, 0)
    found = infer_noise(scores, label)
    assert isinstance(found.levels, Levels)
    order = found.order(scores, label)
    rows = found.basis.fewer(order)
    readings = found.flipped.readings(rows.scores, rows.observed, rows.weight)
    again = find_levels(readings, rows, found.order(rows.scores, rows.observed), is_known=True)
    assert_array_equal(again.is_right, 1)
