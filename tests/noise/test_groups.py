"""Noise by group: the fit of one group against slow references, and what is said of many."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from rboost.noise import groups, infer_noise, symmetric
from rboost.noise.groups import GroupPrior, GroupRows, fit_group, infer_group_noise


def labelled(seed, rates, n_rows=1000, scale=3.0, n_classes=2, shifts=None):
    """Scores, true classes, labels and groups: symmetric noise at a rate for each group."""
    random = np.random.RandomState(seed)
    group = random.randint(len(rates), size=n_rows)
    if n_classes == 2:
        scores = random.normal(scale=scale, size=n_rows)
        logits = np.column_stack([np.zeros(n_rows), scores])
    else:
        typical = np.eye(n_classes)[random.randint(n_classes, size=n_rows)]
        scores = scale * typical + random.normal(size=(n_rows, n_classes))
        logits = scores.copy()
    if shifts is not None:
        logits[:, 1] += np.asarray(shifts)[group]
    true = drawn(softmax(logits, axis=1), random)
    matrices = np.array([symmetric(rate, n_classes) for rate in rates])
    return scores, true, drawn(matrices[group, true], random), group


def drawn(probability, random):
    return (probability.cumsum(axis=1) < random.uniform(size=(len(probability), 1))).sum(axis=1)


def rows_of(seed, n_classes, n_rows=60):
    random = np.random.RandomState(seed)
    log_probability = np.log(random.dirichlet(np.full(n_classes, 0.4), size=n_rows) + 1e-3)
    label = drawn(softmax(log_probability, axis=1) @ symmetric(0.2, n_classes), random)
    known = np.where(random.uniform(size=n_rows) < 0.2, random.randint(n_classes, size=n_rows), -1)
    label[(known >= 0) & (random.uniform(size=n_rows) < 0.5)] = -1
    probability = softmax(log_probability.round(1), axis=1)  # as rows of two classes are merged
    return probability, label, random.uniform(0.5, 2, size=n_rows), known


def log_density(rows, prior, logs, offsets):
    """Log-likelihood and log-prior of one group, written down row by row."""
    matrix = softmax(logs, axis=1)
    value = -offsets @ offsets / (2 * prior.shift**2)
    value += prior.strength * np.sum(prior.matrix * np.log(matrix))
    for probability, label, weight, known in zip(*rows, strict=True):
        p = softmax(np.log(probability) + offsets)
        chance = p * (1 if label < 0 else matrix[:, label])
        value += weight * np.log(chance.sum() if known < 0 else chance[known])
    return value


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), n_classes=st.integers(2, 4))
def test_mode_is_where_derivatives_vanish(seed, n_classes):
    rows, prior = rows_of(seed, n_classes), GroupPrior(symmetric(0.1, n_classes), 6.0, 0.5)
    fit = fit_group(GroupRows.of(*rows), prior)
    logs = np.log(fit.noise_matrix)
    for direction in np.random.RandomState(seed).normal(size=(5, n_classes + 1, n_classes)):
        step = 1e-4 * direction
        ends = [
            log_density(rows, prior, logs + sign * step[:-1], fit.offsets + sign * step[-1])
            for sign in (-1, 1)
        ]
        assert abs(ends[1] - ends[0]) / 2e-4 < 0.02


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), n_classes=st.integers(2, 4))
def test_information_is_the_second_derivative(seed, n_classes):
    rows, prior = rows_of(seed, n_classes), GroupPrior(symmetric(0.1, n_classes), 6.0, 0.5)
    fit = fit_group(GroupRows.of(*rows), prior)
    found = groups._expect(GroupRows.of(*rows), fit.noise_matrix, fit.offsets)
    _, information = groups._informations(found, fit.noise_matrix, prior)
    logs = np.log(fit.noise_matrix)
    for direction in np.random.RandomState(seed).normal(size=(5, n_classes + 1, n_classes)):
        # Constants in a row of logarithms count for nothing; information on them is made up.
        direction[:-1] -= direction[:-1].mean(axis=1, keepdims=True)
        middle, *ends = (
            log_density(rows, prior, logs + h * direction[:-1], fit.offsets + h * direction[-1])
            for h in (0, -1e-3, 1e-3)
        )
        numeric = (2 * middle - sum(ends)) / 1e-6
        assert direction.ravel() @ information @ direction.ravel() == pytest.approx(
            numeric, rel=1e-3, abs=1e-2
        )


@pytest.mark.slow
@pytest.mark.parametrize("strength", [2.0, 20.0, np.inf])
def test_evidence_is_near_the_integral(strength):
    rows = rows_of(3, 2, n_rows=80)
    prior = GroupPrior(symmetric(0.15), strength, 0.5)
    random, grouped, values = np.random.RandomState(0), GroupRows.of(*rows), []
    for _ in range(3000):
        offsets = random.normal(scale=prior.shift, size=2)
        matrix = prior.matrix
        if np.isfinite(strength):
            matrix = np.stack([random.dirichlet(strength * row) for row in prior.matrix])
        found = groups._expect(grouped, np.maximum(matrix, 1e-12), offsets)
        values.append(found.log_likelihood)
    integral = np.logaddexp.reduce(values) - np.log(len(values))
    assert fit_group(grouped, prior).log_evidence == pytest.approx(integral, abs=0.5)


def test_careless_annotator_is_found():
    scores, true, observed, group = labelled(1, (0.02, 0.02, 0.3, 0.02))
    found = infer_group_noise(scores, observed, group, noise=infer_noise(scores, observed))
    shares = [np.mean(true[group == g] != observed[group == g]) for g in range(4)]
    np.testing.assert_allclose(found.wrong_share, shares, atol=0.05)
    assert found.log_evidence > 5
    wrong = found.issue_probability(scores, observed, group)
    assert wrong[group == 2].mean() == pytest.approx(found.wrong_share[2])
    np.testing.assert_allclose(found.noise_matrix.sum(axis=2), 1)


def test_three_classes():
    scores, true, observed, group = labelled(0, (0.3, 0.03, 0.03), scale=5.0, n_classes=3)
    found = infer_group_noise(scores, observed, group, noise=infer_noise(scores, observed))
    shares = [np.mean(true[group == g] != observed[group == g]) for g in range(3)]
    np.testing.assert_allclose(found.wrong_share, shares, atol=0.05)
    assert found.log_evidence > 5


@pytest.mark.parametrize("n_classes", [2, 3])
def test_order_of_groups_and_rows_does_not_matter(n_classes):
    scores, _, observed, group = labelled(2, (0.02, 0.3, 0.1), 600, 4.0, n_classes)
    noise = infer_noise(scores, observed)
    first = infer_group_noise(scores, observed, group, noise=noise)
    new_name, rows = np.array([2, 0, 1]), np.random.RandomState(0).permutation(600)
    second = infer_group_noise(scores[rows], observed[rows], new_name[group][rows], noise=noise)
    for name in ("noise_matrix", "offsets", "wrong_share"):
        old, new = getattr(first, name), getattr(second, name)
        np.testing.assert_allclose(new[new_name], old, atol=1e-4)
    assert second.log_evidence == pytest.approx(first.log_evidence, abs=1e-3)


def test_few_rows_and_unknown_groups_have_the_common_matrix():
    scores, _, observed, group = labelled(4, (0.02, 0.3))
    group[:3] = 2
    noise = infer_noise(scores, observed)
    found = infer_group_noise(scores, observed, group, noise=noise, n_groups=4)
    for few in (2, 3):
        np.testing.assert_allclose(found.noise_matrix[few], noise.flips.noise_matrix, atol=0.005)
    for unknown in (-1, 4):
        group = np.full(len(scores), unknown)
        np.testing.assert_allclose(
            found.posterior(scores, observed, group), noise.flips.posterior(scores, observed)
        )


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_frequencies_that_differ_are_no_evidence(n_classes):
    shifts = (-1.5, 0, 1, 2)
    found = []
    for seed in range(4):
        rates, scale = (0.05,) * 4, 3.0 if n_classes == 2 else 5.0
        scores, _, observed, group = labelled(seed, rates, 1000, scale, n_classes, shifts)
        noise = infer_noise(scores, observed)
        found.append(infer_group_noise(scores, observed, group, noise=noise))
    assert max(one.log_evidence for one in found) < 5
    spread = np.mean([one.offsets[:, 1] - one.offsets[:, 0] for one in found], axis=0)
    assert np.all(np.diff(spread) > 0.2)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals_hold_as_often_as_they_say(n_classes):
    rates, entries, shares = (0.02, 0.1, 0.3), [], []
    for seed in range(8):
        scores, true, observed, group = labelled(seed, rates, 750, 4.0, n_classes)
        found = infer_group_noise(scores, observed, group, noise=infer_noise(scores, observed))
        truth = np.array([symmetric(rate, n_classes) for rate in rates])
        low, high = found.interval
        entries.append((low <= truth) & (truth <= high))
        share = [np.mean(true[group == g] != observed[group == g]) for g in range(3)]
        low, high = found.wrong_share_interval
        shares.append((low <= share) & (share <= high))
    assert 0.8 <= np.mean(entries) <= 0.97
    assert 0.8 <= np.mean(shares) <= 0.99


def test_checked_rows_say_what_their_group_does():
    scores, true, observed, group = labelled(5, (0.05, 0.05), 400, scale=0.3)
    observed[group == 1] = np.where(true == 0, 1, observed)[group == 1]
    noise = infer_noise(scores, observed)
    trusted = np.arange(400) < 200
    current = np.where(trusted, true, observed)
    told, untold = (
        infer_group_noise(scores, current, group, noise=noise, trusted=trusted, before=before)
        for before in (observed, None)
    )
    assert told.noise_matrix[1, 0, 1] > untold.noise_matrix[1, 0, 1] > 0.8
    widths = [np.diff(one.interval[:, 1, 0, 1]) for one in (told, untold)]
    assert widths[0] < widths[1]


def test_columns_of_another_length_fail():
    scores, _, observed, group = labelled(0, (0.1,), 100)
    with pytest.raises(ValueError, match="one entry a row"):
        infer_group_noise(scores, observed, group[1:], noise=infer_noise(scores, observed))
