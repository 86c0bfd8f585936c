import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rboost.audit.insight.summary import estimate_quality
from rboost.audit.labels import NO_LABEL, table_labels


def simulate(n_rows, n_classes, seed, sharp=3.0, n_missing=0):
    """True classes drawn from known probabilities, labels flipped by a known matrix."""
    random = np.random.RandomState(seed)
    logits = sharp * random.standard_normal((n_rows, n_classes))
    probability = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    true = np.array([random.choice(n_classes, p=p) for p in probability])
    noise = 0.6 * np.eye(n_classes) + 0.4 * random.dirichlet(np.ones(n_classes), size=n_classes)
    given = np.array([random.choice(n_classes, p=noise[j]) for j in true])
    joint = probability * noise[:, given].T
    posterior = joint / joint.sum(axis=1, keepdims=True)
    given[:n_missing] = NO_LABEL
    posterior[:n_missing] = probability[:n_missing]
    labels = table_labels(np.arange(n_classes), given, np.full(n_rows, NO_LABEL))
    return posterior, probability, labels, true


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("sharp", [0.5, 3.0])
def test_expected_shares_are_near_the_true_ones(n_classes, sharp):
    posterior, probability, labels, true = simulate(10_000, n_classes, n_classes, sharp)
    quality = estimate_quality(posterior, probability, labels)
    predicted = probability.argmax(axis=1)
    assert_allclose(quality.accuracy, np.mean(predicted == true), atol=0.02)
    assert_allclose(quality.label_accuracy, np.mean(labels.given == true), atol=0.02)
    assert_allclose(quality.agreement, np.mean(predicted == labels.given), atol=1e-12)
    by_class = [np.mean(predicted[true == k] == k) for k in range(n_classes)]
    assert_allclose(quality.accuracy_by_class, by_class, atol=0.04)
    assert quality.n_rows == 10_000


def test_the_model_may_know_better_than_the_table_and_worse():
    for sharp, better in ((6.0, True), (0.1, False)):
        quality = estimate_quality(*simulate(3000, 2, 0, sharp)[:3])
        assert (quality.accuracy > quality.label_accuracy) is better


@given(st.integers(0, 999), st.integers(2, 4), st.integers(0, 20))
def test_shares_are_sums_over_rows_with_a_label(seed, n_classes, n_missing):
    posterior, probability, labels, _ = simulate(60, n_classes, seed, n_missing=n_missing)
    quality = estimate_quality(posterior, probability, labels)
    right = by_label = agreeing = 0.0
    caught, members = np.zeros(n_classes), np.zeros(n_classes)
    for row in range(n_missing, 60):
        predicted = int(np.argmax(probability[row]))
        right += posterior[row, predicted]
        by_label += posterior[row, labels.given[row]]
        agreeing += predicted == labels.given[row]
        caught[predicted] += posterior[row, predicted]
        members += posterior[row]
    n_rows = 60 - n_missing
    assert quality.n_rows == n_rows
    assert_allclose(quality.accuracy, right / n_rows)
    assert_allclose(quality.label_accuracy, by_label / n_rows)
    assert_allclose(quality.agreement, agreeing / n_rows)
    assert_allclose(quality.accuracy_by_class, caught / members)


def test_a_checked_label_is_what_counts():
    posterior, probability, labels, true = simulate(500, 3, 0)
    posterior[:] = np.eye(3)[true]
    quality = estimate_quality(posterior, probability, labels.with_checked(true))
    assert quality.label_accuracy == 1
    predicted = probability.argmax(axis=1)
    assert_allclose(quality.accuracy, np.mean(predicted == true))
    assert_allclose(quality.agreement, np.mean(predicted == true))
