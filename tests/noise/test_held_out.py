"""What held-out scores say: of the noise, of L, and of each row; few rows may stand for all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from rboost.labels import NO_CLASS, TRUSTED, Groups, Labels, Patterns, Source
from rboost.noise import asymmetric, infer_noise
from rboost.noise.inference import (
    BIN_WIDTH,
    FARTHEST,
    NoiseInference,
    ScoredRows,
    count_scores,
    counted_rows,
    infer_by_group,
    judge,
)


def scored(n_rows, seed=0, rates=(0.25, 0.1), spread=3.0):
    """Held-out log-odds of two classes, weights, and labels; the patterns 2 and 3 are trusted."""
    random = np.random.RandomState(seed)
    scores = spread * random.standard_normal(n_rows)
    true = random.uniform(size=n_rows) < expit(scores)
    trusted = random.uniform(size=n_rows) < 0.05
    flipped = random.uniform(size=n_rows) < np.where(true, rates[1], rates[0])
    observed = (true ^ (flipped & ~trusted)).astype(np.intp)
    weight = random.choice([0.0, 0.5, 1.0, 3.0], n_rows)
    return ScoredRows(scores, observed + 2 * trusted, weight)


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 50), st.integers(0, 99))
def test_counts_add_up_over_parts(n_before, n_between, n_after, seed):
    rows = scored(n_before + n_between + n_after, seed)
    ends = [n_before, n_before + n_between]
    parts = np.split(np.arange(len(rows.scores)), ends)
    added = sum(count_scores(rows.take(part), 4) for part in parts)
    whole = count_scores(rows, 4)
    assert_array_equal(added[0], whole[0])  # halves are exact
    assert_allclose(added[1], whole[1], rtol=1e-12, atol=1e-12)


@given(st.integers(1, 300), st.integers(0, 99), st.sampled_from([0.01, 3.0, 200.0]))
def test_stand_ins_weigh_what_the_rows_do_and_lie_where_they_lie(n_rows, seed, spread):
    rows = scored(n_rows, seed, spread=spread)
    few = counted_rows(count_scores(rows, 4), 4)
    assert np.all(few.weight > 0)
    for pattern in range(4):
        of_all, of_few = rows.code == pattern, few.code == pattern
        weight = rows.weight[of_all]
        assert_allclose(few.weight[of_few].sum(), weight.sum())
        moment = few.weight[of_few] @ few.scores[of_few]
        assert_allclose(moment, weight @ rows.scores[of_all], atol=1e-9 * spread)
    inside = np.abs(few.scores) < FARTHEST - BIN_WIDTH
    nearest = np.abs(few.scores[inside, np.newaxis] - rows.scores).min(axis=1, initial=np.inf)
    assert np.all(nearest <= BIN_WIDTH)


def test_scores_that_are_sure_and_rows_without_weight():
    scores = np.array([-1e6, -FARTHEST, FARTHEST, 1e6, 0.0, 0.0])
    rows = ScoredRows(scores, np.array([0, 0, 1, 1, 1, 0]), np.array([1, 1, 1, 1, 2, 0.0]))
    few = counted_rows(count_scores(rows, 4), 4)
    assert_array_equal(few.weight, [2, 2, 2])
    assert_array_equal(few.code, [0, 1, 1])
    assert_allclose(few.scores, [(-1e6 - FARTHEST) / 2, 0, (1e6 + FARTHEST) / 2])


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.25, 0.1), (0.0, 0.4)])
def test_the_noise_of_stand_ins_is_that_of_all_rows(rates):
    rows = scored(20_000, rates=rates)
    few = counted_rows(count_scores(rows, 4), 4)
    assert len(few.scores) < 4000
    found = [
        infer_noise(own.scores, own.code % 2, sample_weight=own.weight, trusted=own.code >= 2)
        for own in (rows, few)
    ]
    assert_allclose(found[1].noise_matrix, found[0].noise_matrix, atol=0.001)
    assert_allclose(found[1].interval(), found[0].interval(), atol=0.02)
    one, other = (own.issue_probability(rows.scores, rows.code % 2) for own in found)
    assert np.abs(one - other).max() < 0.05
    assert np.abs(one - other).mean() < 0.005


TWO = Patterns.of_labels(np.arange(2), np.zeros(2, dtype=bool), 2)


def test_the_noise_is_inferred_or_given():
    rows = scored(2000)
    assert_allclose(NoiseInference(TWO).noise(rows).noise_matrix.sum(axis=1), 1)
    known = np.array([[0.8, 0.2], [0.3, 0.7]])
    told = NoiseInference(TWO, known)
    assert_allclose(told.noise(rows).noise_matrix, known)
    assert_allclose(told(rows), np.hstack([known, np.eye(2)]))


def test_nothing_is_inferred_twice_from_the_same_scores():
    rows, infer = scored(500), NoiseInference(TWO)
    first = infer.noise(rows)
    assert infer.noise(ScoredRows(rows.scores.copy(), rows.code, rows.weight)) is first
    rows.scores[:250] += 1.0  # boosters write their scores in place
    assert infer.noise(rows) is not first


def test_likelihoods_are_columns_of_the_noise_matrix_and_of_the_identity():
    rows, infer = scored(2000), NoiseInference(TWO)
    expected = np.hstack([infer.noise(rows).noise_matrix, np.eye(2)])
    assert_allclose(infer(rows), expected)
    assert_allclose(infer.common(rows), expected)  # there are no groups


def grouped(n_rows=3000, seed=0):
    """Labels of two groups, of which the second errs often; with their held-out log-odds."""
    random = np.random.RandomState(seed)
    scores = 3 * random.standard_normal(n_rows)
    true = (random.uniform(size=n_rows) < expit(scores)).astype(int)
    group = random.randint(2, size=n_rows)
    given_ = true ^ (random.uniform(size=n_rows) < np.array([0.02, 0.35])[group])
    return scores, true, Labels.of(np.arange(2), given_, Groups(group, ("careful", "careless")))


def test_each_group_has_likelihoods_of_its_own_and_common_ones_are_those_of_all():
    scores, _, labels = grouped()
    rows = ScoredRows(scores, labels.patterns.code, np.ones(len(labels)))
    infer = NoiseInference(labels.patterns)
    columns = infer(rows)
    careful, careless = columns[:, :2], columns[:, 2:4]
    assert careless[0, 1] > 0.2 > 0.1 > careful[0, 1]
    common = infer.common(rows)
    assert_allclose(common[:, :2], common[:, 2:4])
    assert careful[0, 1] < common[0, 1] < careless[0, 1]
    by_group = infer_by_group(infer.noise(rows), scores, labels)
    assert_allclose(by_group.noise_matrix[1], careless, atol=1e-6)


@pytest.mark.parametrize("n_rows", [20, 40, 60, 200])
@pytest.mark.parametrize("weight", [1.0, 100.0, 1e4])
def test_nothing_is_more_than_certain(n_rows, weight):
    scores = 4 * np.linspace(-1, 1, n_rows)
    noise = infer_noise(scores, scores > 0, sample_weight=np.full(n_rows, weight))
    for given_ in ((scores > 0).astype(int), (scores <= 0).astype(int)):
        judged = judge(noise, scores, Labels.of(np.arange(2), given_))
        assert_allclose(judged.posterior.sum(axis=1), 1)
        assert np.all((judged.issue >= 0) & (judged.issue <= 1))
        assert_array_equal(judged.likeliest != given_, judged.issue > 0.5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_are_judged_by_bayes_rule_and_known_ones_are_certain(n_classes, rng):
    noise_matrix = asymmetric(0.3, 0, n_classes)
    true = rng.randint(n_classes, size=300)
    scores = 2.0 * np.eye(n_classes)[true] + rng.standard_normal((300, n_classes))
    scores = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores
    given_ = rng.randint(n_classes, size=300)
    noise = infer_noise(scores, given_, noise_matrix=noise_matrix)
    labels = Labels.of(np.arange(n_classes), given_)
    judged = judge(noise, scores, labels)
    assert_allclose(judged.issue, noise.issue_probability(scores, given_), atol=1e-12)
    known = labels.with_statements(Source(TRUSTED), np.where(np.arange(300) < 20, true, NO_CLASS))
    told = judge(noise, scores, known)
    assert_array_equal(told.likeliest[:20], true[:20])
    assert_array_equal(told.issue[:20], (true != given_)[:20].astype(float))
    assert_array_equal(told.posterior[20:], judged.posterior[20:])


def test_rows_without_a_label_have_the_probability_of_their_score():
    scores, _, labels = grouped(200)
    given_ = np.where(np.arange(200) < 50, NO_CLASS, labels.given)
    noise = infer_noise(scores[50:], given_[50:])
    judged = judge(noise, scores, Labels.of(np.arange(2), given_))
    assert_allclose(judged.posterior[:50], noise.probability(scores[:50]))
    assert np.isnan(judged.issue[:50]).all()
    assert not np.isnan(judged.issue[50:]).any()


def test_groups_are_judged_by_their_own_noise():
    scores, _, labels = grouped()
    noise = infer_noise(scores, labels.given)
    plain = judge(noise, scores, labels)
    by_group = infer_by_group(noise, scores, labels)
    found = judge(noise, scores, labels, by_group)
    careless = labels.group == 1
    assert found.issue[careless].mean() > plain.issue[careless].mean()
    assert found.issue[~careless].mean() < plain.issue[~careless].mean()
    assert infer_by_group(noise, scores, Labels.of(np.arange(2), labels.given)) is None
