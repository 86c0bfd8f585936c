import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rboost.labels import Labels, majority_of
from rboost.noise import annotators
from rboost.noise.annotators import (
    AnnotatorNoise,
    AnnotatorPrior,
    Calibration,
    Statements,
    annotator_table,
    counted,
    fit_annotators,
)


def crowd(seed, n_rows=400, n_annotators=15, n_classes=2, a_row=3, guessers=0.0, right=(0.6, 0.95)):
    """Statements, scores of rows, true classes, and the annotators' matrices."""
    random = np.random.RandomState(seed)
    y = random.choice(n_classes, n_rows, p=random.dirichlet(np.full(n_classes, 5.0)))
    matrices = np.empty((n_annotators, n_classes, n_classes))
    for matrix in matrices:
        if random.uniform() < guessers:
            matrix[:] = random.dirichlet(np.ones(n_classes))
            continue
        rates = random.uniform(*right, size=n_classes)
        others = random.dirichlet(np.ones(n_classes - 1), size=n_classes)
        for j, rate in enumerate(rates):
            matrix[j] = np.insert((1 - rate) * others[j], j, rate)
    drawn = [random.choice(n_annotators, a_row, replace=False) for _ in range(n_rows)]
    row, annotator = np.repeat(np.arange(n_rows), a_row), np.concatenate(drawn)
    stated = np.array(
        [random.choice(n_classes, p=matrices[a, y[i]]) for i, a in zip(row, annotator, strict=True)]
    )
    scores = 1.2 * np.eye(n_classes)[y] + 0.8 * random.normal(size=(n_rows, n_classes))
    said = Statements(row, annotator, stated, n_rows, n_annotators, n_classes)
    return said, scores, y, matrices


def dawid_skene(said, n_steps):
    """EM of Dawid and Skene as they wrote it, in loops."""
    n_rows, n_annotators, n_classes = said.n_rows, said.n_annotators, said.n_classes
    q = said.votes + 0.5 / n_classes
    q /= q.sum(axis=1, keepdims=True)
    for _ in range(n_steps):
        shares = q.mean(axis=0)
        matrices = np.zeros((n_annotators, n_classes, n_classes))
        for i, a, k in zip(said.row, said.annotator, said.stated, strict=True):
            matrices[a, :, k] += q[i]
        matrices /= matrices.sum(axis=2, keepdims=True)
        q = np.tile(shares, (n_rows, 1))
        for i, a, k in zip(said.row, said.annotator, said.stated, strict=True):
            q[i] *= matrices[a, :, k]
        q /= q.sum(axis=1, keepdims=True)
    return q, matrices


def kinds_of(said, scores, classes):
    position = np.full((said.n_rows, said.n_annotators), -1)
    position[said.row, said.annotator] = said.stated
    names = [f"annotator {a}" for a in range(said.n_annotators)]
    labels = Labels.of_annotators(np.array(classes), position, names)
    noise = AnnotatorNoise.of(fit_annotators(Statements.of(labels), scores))
    return [record["kind"] for record in annotator_table(labels, noise)]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_flat_priors_without_columns_are_dawid_and_skene(n_classes, monkeypatch):
    monkeypatch.setattr(annotators, "MOST_SUPPORT", 0.0)  # each label vouches for itself
    monkeypatch.setattr(annotators, "ENOUGH", 1e-9)
    monkeypatch.setattr(annotators, "PENALTY", 1e-9)
    said, *_ = crowd(0, 300, 6, n_classes, a_row=5)
    flat = AnnotatorPrior(np.full((n_classes, n_classes), 1e-9), np.eye(n_classes + 3)[0])
    found = fit_annotators(said, prior=flat)
    q, matrices = dawid_skene(said, annotators.MOST_STEPS)
    assert_allclose(found.posterior, q, atol=1e-5)
    assert_allclose(found.matrices, matrices, atol=1e-5)


@given(st.integers(0, 1000), st.integers(2, 4), st.booleans())
@settings(max_examples=15, deadline=None)
def test_the_order_of_rows_annotators_classes_and_labels_does_not_matter(seed, n_classes, columns):
    said, scores, _, _ = crowd(seed, 150, 8, n_classes)
    random = np.random.RandomState(seed)
    rows, people, classes, labels = (
        random.permutation(n) for n in (150, 8, n_classes, len(said.row))
    )
    moved = said._replace(
        row=rows[said.row][labels],
        annotator=people[said.annotator][labels],
        stated=classes[said.stated][labels],
    )
    turned = np.empty_like(scores)
    turned[np.ix_(rows, classes)] = scores
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = fit_annotators(said, scores if columns else None)
        second = fit_annotators(moved, turned if columns else None)
    assert_allclose(second.posterior[np.ix_(rows, classes)], first.posterior, atol=1e-6)
    assert_allclose(second.matrices[np.ix_(people, classes, classes)], first.matrices, atol=1e-6)
    assert_allclose(second.accuracy[:, people], first.accuracy, atol=1e-6)


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"n_classes": 4},
        {"a_row": 1},
        {"guessers": 0.4, "a_row": 5},
        {"n_annotators": 3},
        {"right": (0.8, 0.8)},
        {"n_rows": 100, "n_annotators": 8},
        {"n_classes": 10, "n_rows": 800, "a_row": 5},
    ],
    ids=str,
)
def test_intervals_of_accuracy_hold_the_truth_as_often_as_they_say(case):
    inside, n = 0.0, 0
    for seed in range(12):
        said, scores, y, matrices = crowd(seed, **case)
        shares = np.bincount(y, minlength=said.n_classes) / len(y)
        true = np.einsum("ajj,j->a", matrices, shares)
        _, low, high = fit_annotators(said, scores).accuracy
        inside += np.sum((low <= true) & (true <= high))
        n += len(true)
    deviation = np.sqrt(0.09 / n)
    assert 0.85 - 2 * deviation <= inside / n <= 0.95 + 2 * deviation


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_label_is_left_out_of_the_matrix_that_judges_it(n_classes):
    """One step is that of Gibbs sampling with expected counts, of which the row's own are taken."""
    said, _, _, _ = crowd(0, 60, 4, n_classes, a_row=2)
    q = np.random.RandomState(0).dirichlet(np.ones(n_classes), size=60)
    counts = np.zeros((4, n_classes, n_classes))
    for i, a, k in zip(said.row, said.annotator, said.stated, strict=True):
        counts[a, :, k] += q[i]
    prior = AnnotatorPrior(3 * np.eye(n_classes) + 0.5, np.eye(n_classes + 3)[0])
    kinds = np.tile(prior.shares, (4, 1))
    matrices = prior.matrices(counts, kinds)
    found = said.log_likelihood(matrices) + said.left_out(q, matrices, prior.support(counts, kinds))
    for i in range(60):
        expected = np.zeros(n_classes)
        for s in np.flatnonzero(said.row == i):
            others = counts[said.annotator[s]] + prior.informative
            others[:, said.stated[s]] -= q[i]
            expected += np.log(others[:, said.stated[s]] / others.sum(axis=1))
        assert_allclose(found[i], expected)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_few_labels_of_each_annotator_do_not_vouch_for_themselves(n_classes):
    """With one label a row and 27 an annotator, too many labels were found wrong."""
    beyond = []
    for seed in range(10):
        said, scores, y, _ = crowd(seed, n_classes=n_classes, a_row=1)
        given = said.stated[np.argsort(said.row)]
        right = fit_annotators(said, scores).posterior[np.arange(400), given]
        beyond.append(np.mean(1 - right) - np.mean(given != y))
    assert np.mean(beyond) < (0.025 if n_classes == 2 else 0.075)


def test_columns_and_who_errs_decide_better_than_the_majority():
    said, scores, y, _ = crowd(3, 1500, 40, 3, guessers=0.4)
    majority = np.mean(majority_of(said.votes) == y)
    alone = np.mean(fit_annotators(said).posterior.argmax(axis=1) == y)
    found = np.mean(fit_annotators(said, scores).posterior.argmax(axis=1) == y)
    assert alone > majority + 0.02
    assert found > alone + 0.02


def test_scores_that_say_nothing_change_little():
    said, scores, _, _ = crowd(0, 800)
    noise = np.random.RandomState(1).normal(size=scores.shape)
    found = fit_annotators(said, noise)
    assert found.calibration.slope < 0.3
    assert np.abs(found.posterior - fit_annotators(said).posterior).mean() < 0.03


def test_kinds_of_annotators_are_named():
    said, scores, y, _ = crowd(1, 600, 8, 3, a_row=6)
    random = np.random.RandomState(0)
    others = [
        np.full(600, 2),
        random.randint(3, size=600),
        (y + random.randint(1, 3, size=600)) % 3,
    ]
    said = Statements(
        np.concatenate([said.row, np.tile(np.arange(600), 3)]),
        np.concatenate([said.annotator, 8 + np.repeat(np.arange(3), 600)]),
        np.concatenate([said.stated, *others]),
        600, 11, 3,
    )  # fmt: skip
    kinds = kinds_of(said, scores, ["a", "b", "c"])
    assert kinds == ["informative"] * 8 + ["always says c", "guesses", "reversed"]


def test_few_labels_do_not_make_a_kind():
    said, scores, _, _ = crowd(2, 60, 10, a_row=2)
    assert set(kinds_of(said, scores, ["a", "b"])) == {"informative"}


def test_annotators_who_each_name_one_class_are_believed_by_majority():
    """Rules that speak for one class and are silent otherwise would all seem to say it always."""
    random = np.random.RandomState(0)
    y = random.randint(2, size=500)
    likely = np.column_stack([*[np.where(y == 0, 0.6, 0.1)] * 4, *[np.where(y == 1, 0.6, 0.1)] * 4])
    row, annotator = np.nonzero(random.uniform(size=(500, 8)) < likely)
    said = Statements(row, annotator, (annotator >= 4).astype(int), 500, 8, 2)
    with pytest.warns(UserWarning, match="the majority of each row decides; add labels"):
        found = fit_annotators(said)
    assert found.is_majority
    votes = said.votes
    clear = votes[:, 0] != votes[:, 1]
    assert_allclose(found.posterior.argmax(axis=1)[clear], votes.argmax(axis=1)[clear])


def test_a_row_of_which_more_is_known_follows_it():
    said, scores, y, _ = crowd(0)
    known = np.ones((400, 2))
    known[:50] = np.eye(2)[y[:50]]
    found = fit_annotators(said._replace(known=known), scores)
    assert_allclose(found.posterior[:50], known[:50], atol=1e-9)


def test_a_weight_of_two_is_a_row_twice():
    said, scores, _, _ = crowd(5, 200)
    weight = 1.0 + (np.arange(200) % 2)
    rows = np.repeat(np.arange(200), weight.astype(int))
    parts = [said.take(np.array([i])) for i in rows]
    twice = Statements(
        np.repeat(np.arange(len(rows)), [len(part.row) for part in parts]),
        np.concatenate([part.annotator for part in parts]),
        np.concatenate([part.stated for part in parts]),
        len(rows), said.n_annotators, 2,
    )  # fmt: skip
    weighted, repeated = fit_annotators(said, scores, weight), fit_annotators(twice, scores[rows])
    assert_allclose(weighted.posterior[rows], repeated.posterior, atol=1e-4)


@given(st.integers(0, 10_000), st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_a_step_of_the_calibration_never_raises_the_cost(seed, n_classes):
    random = np.random.RandomState(seed)
    F = random.normal(scale=random.choice([0.1, 1, 30]), size=(50, n_classes))
    q = random.dirichlet(np.full(n_classes, 0.3), size=50)
    own, last = Calibration(0.0, np.zeros(n_classes)), np.inf
    for _ in range(20):
        own = own.fitted(F, q, np.ones(50), 1.0)
        cost = -np.sum(q * own.log_probability(F))
        assert own.slope >= 0
        assert cost <= last + 1.0  # up to the penalty
        last = cost


def test_posteriors_of_the_noise():
    said, scores, y, _ = crowd(7, 1000, 20, 3)
    fit = fit_annotators(said, scores)
    noise = AnnotatorNoise.of(fit)
    given = majority_of(said.votes)
    share = np.array([[np.mean(given[y == j] == k) for k in range(3)] for j in range(3)])
    assert_allclose(noise.noise_matrix.sum(axis=1), 1)
    low, high = noise.interval()
    assert np.mean((low <= share) & (share <= high)) > 0.7
    judged = noise.judged(scores, said)
    assert_allclose(judged, counted(fit.posterior, said, fit.is_informed), atol=2e-3)
    assert_allclose(judged.argmax(axis=1), fit.posterior.argmax(axis=1))
    mean, low, high = noise.wrong_share_interval(scores, given)
    assert low <= np.mean(given != y) <= high
    assert_allclose(noise.posterior(scores, given).sum(axis=1), 1)
    assert low <= mean <= high


def test_single_labels_are_counted_whole():
    said, *_ = crowd(0, 100, 5, a_row=1)
    q = np.random.RandomState(0).dirichlet(np.ones(2), size=100)
    assert_allclose(counted(q, said, np.ones(5, bool)), q)


def test_labels_of_guessers_do_not_make_others_count_less():
    """Beside guessers, labels count as if these were not there."""
    said, scores, *_ = crowd(4, 600, 8, 3, a_row=4)
    random = np.random.RandomState(0)
    more = Statements(
        np.append(said.row, np.repeat(np.arange(600), 4)),
        np.append(said.annotator, np.tile(np.arange(8, 12), 600)),
        np.append(said.stated, random.randint(3, size=2400)),
        600, 12, 3,
    )  # fmt: skip
    alone, beside = (AnnotatorNoise.of(fit_annotators(own, scores)) for own in (said, more))
    assert_array_equal(beside.is_informed, np.arange(12) < 8)
    assert_allclose(beside.judged(scores, more), alone.judged(scores, said), atol=0.1)
    sure = [noise.judged(scores, own).max(axis=1).mean()
            for noise, own in ((alone, said), (beside, more))]  # fmt: skip
    assert_allclose(*sure, atol=0.005)


def test_weak_annotators_of_many_classes_are_no_guessers():
    said, scores, y, _ = crowd(0, 1500, 40, 10, a_row=20, guessers=0.4, right=(0.2, 0.35))
    found = fit_annotators(said, scores)
    assert not found.is_majority
    majority = np.mean(majority_of(said.votes) == y)
    assert np.mean(found.posterior.argmax(axis=1) == y) > majority + 0.05
