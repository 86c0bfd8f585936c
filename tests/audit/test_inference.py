from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit, logit

from rboost.audit.inference import infer
from rboost.audit.labels import NO_LABEL, Labels
from rboost.noise.platt.scaling import fit_noise_aware_platt

NOISE_3 = np.array([[0.75, 0.2, 0.05], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]])


def two_classes(n_rows, rates, seed=0, slope=3.0, offset=0.3):
    """Scores of which the sigmoid is known, labels, true classes."""
    random = np.random.RandomState(seed)
    scores = random.standard_normal(n_rows)
    true = (random.uniform(size=n_rows) < expit(slope * scores + offset)).astype(np.intp)
    flipped = random.uniform(size=n_rows) < np.asarray(rates)[true]
    return scores[:, np.newaxis], labels_of(np.where(flipped, 1 - true, true), 2), true


def several_classes(n_rows, noise, seed=0, sharp=4.0):
    """Scores that are log-odds of a class against the others, labels, true classes."""
    random = np.random.RandomState(seed)
    n_classes = len(noise)
    weight = np.exp(sharp * random.standard_normal((n_rows, n_classes)))
    probability = weight / weight.sum(axis=1, keepdims=True)
    true = (probability.cumsum(axis=1) < random.uniform(size=(n_rows, 1))).sum(axis=1)
    given = (noise.cumsum(axis=1)[true] < random.uniform(size=(n_rows, 1))).sum(axis=1)
    scores = logit(np.clip(probability, 1e-9, 1 - 1e-9))
    return scores, labels_of(given, n_classes), true


def labels_of(given, n_classes):
    given = np.asarray(given, dtype=np.intp)
    return Labels(np.arange(n_classes), given, np.full(len(given), NO_LABEL))


def assert_calibrated(probability, happened, atol):
    """What is said to happen with some probability happens as often."""
    bins = np.digitize(probability, [0.1, 0.3, 0.5, 0.7, 0.9])
    for k in np.unique(bins):
        if np.count_nonzero(bins == k) >= 300:
            assert_allclose(probability[bins == k].mean(), happened[bins == k].mean(), atol=atol)


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.2, 0.2), (0.3, 0.05)], ids=str)
def test_the_noise_of_two_classes_is_found_and_posteriors_are_calibrated(rates):
    scores, labels, true = two_classes(10_000, rates)
    found = infer(scores, labels)
    assert_allclose(found.noise_matrix[[0, 1], [1, 0]], rates, atol=0.03)
    assert_allclose(found.noise_matrix.sum(axis=1), 1)
    low, high = found.noise_interval
    assert np.all((low <= found.noise_matrix + 1e-9) & (found.noise_matrix <= high + 1e-9))
    assert_calibrated(found.probability[:, 1], true == 1, atol=0.05)
    assert_calibrated(found.posterior[:, 1], true == 1, atol=0.05)
    wrong = found.posterior[np.arange(10_000), 1 - labels.given]
    assert_allclose(wrong.mean(), np.mean(true != labels.given), atol=0.02)


def test_the_noise_of_three_classes_is_found_and_posteriors_are_calibrated():
    scores, labels, true = several_classes(10_000, NOISE_3)
    found = infer(scores, labels)
    assert_allclose(np.diag(found.noise_matrix), np.diag(NOISE_3), atol=0.05)
    assert_allclose(found.noise_matrix, NOISE_3, atol=0.05)
    for j, k in ((0, 1), (0, 2), (1, 0), (2, 1)):
        others = [m for m in range(3) if m != j]
        share = found.noise_matrix[j, k] / found.noise_matrix[j, others].sum()
        assert_allclose(share, NOISE_3[j, k] / NOISE_3[j, others].sum(), atol=0.12)
    for k in range(3):
        assert_calibrated(found.posterior[:, k], true == k, atol=0.07)
    low, high = found.noise_interval
    assert np.all((low <= found.noise_matrix + 1e-9) & (found.noise_matrix <= high + 1e-9))


@pytest.mark.parametrize("seed", range(3))
def test_clean_labels_of_three_classes_are_found_clean(seed):
    scores, labels, _ = several_classes(3000, np.eye(3), seed)
    assert_allclose(infer(scores, labels).noise_matrix, np.eye(3), atol=0.03)


def test_two_classes_follow_bayes_formula_where_the_noise_is_known_well():
    scores, labels, _ = two_classes(10_000, (0.3, 0.1))
    found = infer(scores, labels)
    joint = found.probability * found.noise_matrix[:, labels.given].T
    expected = joint / joint.sum(axis=1, keepdims=True)
    assert_allclose(found.posterior, expected, atol=0.03)


@given(st.integers(0, 9999), st.integers(3, 4), st.integers(20, 80))
@settings(max_examples=30)
def test_several_classes_follow_bayes_formula(seed, n_classes, n_rows):
    scores, labels = random_table(seed, n_classes, n_rows)
    found = infer(scores, labels)
    observed = np.flatnonzero(labels.is_observed)
    for row in observed[:10]:
        joint = found.probability[row] * found.noise_matrix[:, labels.given[row]]
        assert_allclose(found.posterior[row], joint / joint.sum(), rtol=1e-9, atol=1e-12)


def random_table(seed, n_classes, n_rows):
    """Any scores and labels, some missing, some checked, some both."""
    random = np.random.RandomState(seed)
    n_columns = 1 if n_classes == 2 else n_classes
    scale = random.choice([0.1, 1.0, 30.0])
    scores = scale * random.standard_normal((n_rows, n_columns))
    given = random.randint(n_classes, size=n_rows)
    if random.uniform() < 0.5:  # else scores say nothing
        scores += 2 * scale * (given[:, np.newaxis] == (np.arange(n_columns) + (n_columns == 1)))
    checked = np.where(random.uniform(size=n_rows) < 0.2, given, NO_LABEL)
    corrected = random.uniform(size=n_rows) < 0.1
    checked[corrected] = random.randint(n_classes, size=corrected.sum())
    given[random.uniform(size=n_rows) < 0.2] = NO_LABEL
    return scores, replace(labels_of(given, n_classes), checked=checked)


@settings(max_examples=40)
@given(st.integers(0, 9999), st.integers(2, 4), st.integers(20, 80))
def test_posteriors_are_distributions_and_checked_rows_are_certain(seed, n_classes, n_rows):
    scores, labels = random_table(seed, n_classes, n_rows)
    found = infer(scores, labels)
    assert found.posterior.shape == found.probability.shape == (n_rows, n_classes)
    for distribution in (found.posterior, found.probability, found.noise_matrix):
        assert np.all((distribution >= 0) & (distribution <= 1 + 1e-12))
        assert_allclose(distribution.sum(axis=1), 1, rtol=1e-9)
    one_hot = np.eye(n_classes)[labels.checked[labels.is_checked]]
    np.testing.assert_array_equal(found.posterior[labels.is_checked], one_hot)
    without = labels.current == NO_LABEL
    np.testing.assert_array_equal(found.posterior[without], found.probability[without])
    low, high = found.noise_interval
    assert low.shape == high.shape == (n_classes, n_classes)
    assert np.all((low >= 0) & (low <= high + 1e-12) & (high <= 1 + 1e-12))


@pytest.mark.parametrize("far", [100.0, 1e4, 1e8])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_without_doubt_give_distributions_too(far, n_classes):
    given = np.arange(300) % n_classes
    columns = np.arange(n_classes) if n_classes > 2 else np.array([1])
    scores = far * np.where(given[:, np.newaxis] == columns, 1.0, -1.0)
    scores[:5] = -far  # no class wants these
    found = infer(scores, labels_of(given, n_classes))
    assert_allclose(found.probability.sum(axis=1), 1, rtol=1e-9)
    assert_allclose(found.posterior.sum(axis=1), 1, rtol=1e-9)


@settings(max_examples=15)
@given(st.integers(0, 999), st.permutations(range(3)))
def test_permuting_the_classes_permutes_the_result(seed, order):
    scores, labels, _ = several_classes(400, NOISE_3, seed)
    labels = labels.with_checked(np.where(np.arange(400) < 40, labels.given, NO_LABEL))
    order = np.array(order)
    place = np.append(np.argsort(order), NO_LABEL)  # where a class has gone; −1 stays
    moved = replace(labels, given=place[labels.given], checked=place[labels.checked])
    one, other = infer(scores, labels), infer(scores[:, order], moved)
    assert_allclose(other.posterior, one.posterior[:, order], atol=1e-9)
    assert_allclose(other.noise_matrix, one.noise_matrix[np.ix_(order, order)], atol=1e-9)
    assert_allclose(other.noise_interval, one.noise_interval[:, order][:, :, order], atol=1e-9)


def test_exchanging_two_classes_exchanges_the_result():
    scores, labels, _ = two_classes(1000, (0.3, 0.1))
    one = infer(scores, labels)
    other = infer(-scores, replace(labels, given=1 - labels.given))
    # The grid of noise matrices is no mirror image of itself, but nearly.
    assert_allclose(other.posterior, one.posterior[:, ::-1], atol=0.015)
    assert_allclose(other.noise_matrix, one.noise_matrix[::-1, ::-1], atol=5e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_without_a_label_are_not_used(n_classes):
    if n_classes == 2:
        scores, labels, _ = two_classes(600, (0.2, 0.1))
    else:
        scores, labels, _ = several_classes(600, NOISE_3)
    random = np.random.RandomState(1)
    extra = 50 * random.standard_normal((200, scores.shape[1]))
    more = labels_of(np.append(labels.given, np.full(200, NO_LABEL)), n_classes)
    alone, both = infer(scores, labels), infer(np.vstack([scores, extra]), more)
    assert_allclose(both.noise_matrix, alone.noise_matrix, atol=1e-7)
    assert_allclose(both.noise_interval, alone.noise_interval, atol=1e-7)
    assert_allclose(both.posterior[:600], alone.posterior, atol=1e-7)
    assert_allclose(both.posterior[600:].sum(axis=1), 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_checked_rows_that_had_another_label_count_as_flips(n_classes):
    if n_classes == 2:
        scores, labels, true = two_classes(1000, (0.25, 0.0), slope=1.0)
    else:
        scores, labels, true = several_classes(1000, NOISE_3, sharp=1.0)
    noise = np.array([[0.75, 0.25], [0.0, 1.0]]) if n_classes == 2 else NOISE_3
    checked = np.where(np.arange(1000) < 500, true, NO_LABEL)
    before = infer(scores, labels)
    after = infer(scores, labels.with_checked(checked))
    assert np.abs(after.noise_matrix - noise).max() < np.abs(before.noise_matrix - noise).max()
    assert np.abs(after.noise_matrix - noise).max() < 0.08


def test_checked_flips_say_which_class_a_class_is_flipped_to():
    """Observed labels say 0 becomes 1 four times as often as 2; many checks say the contrary."""
    scores, labels, true = several_classes(2000, NOISE_3)
    before = infer(scores, labels).noise_matrix
    assert before[0, 1] > 2 * before[0, 2]
    given, checked = labels.given.copy(), np.full(2000, NO_LABEL)
    rows = np.flatnonzero(true == 0)[:400]
    given[rows], checked[rows] = np.where(np.arange(400) < 300, 0, 2), 0
    after = infer(scores, replace(labels, given=given, checked=checked)).noise_matrix
    assert after[0, 2] > after[0, 1]


def test_checked_rows_are_trusted_and_need_no_label_before():
    scores, labels, true = two_classes(1000, (0.3, 0.1), slope=1.0)
    is_checked = np.arange(1000) < 400
    given = np.where(is_checked, NO_LABEL, labels.given)
    checked = np.where(is_checked, true, NO_LABEL)
    found = infer(scores, replace(labels, given=given, checked=checked))
    expected = fit_noise_aware_platt(
        scores[:, 0], np.where(is_checked, true, labels.given), trusted=is_checked
    )
    assert_allclose(found.noise_matrix, expected.noise_matrix, atol=1e-9)
    assert_allclose(found.probability[:, 1], expected(scores[:, 0]), atol=1e-9)


def test_nothing_that_is_given_is_changed():
    scores, labels = random_table(0, 3, 60)
    kept = scores.copy(), labels.given.copy(), labels.checked.copy()
    infer(scores, labels)
    for now, then in zip((scores, labels.given, labels.checked), kept, strict=True):
        np.testing.assert_array_equal(now, then)
