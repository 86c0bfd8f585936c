"""Who copies, whom to ask next, how many labels a row are enough: on crowds with known truth."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import entr, log_softmax, softmax

from rboost.noise import crowd as module
from rboost.noise.annotators import AnnotatorNoise, Statements, fit_annotators
from rboost.noise.crowd import accuracy_by_labels, copying_pairs, next_questions
from tests.noise.test_annotators import crowd


def fitted(said, scores):
    return AnnotatorNoise.of(fit_annotators(said, scores))


def statements(table, n_classes=2):
    row, annotator = np.nonzero(table >= 0)
    return Statements(row, annotator, table[row, annotator], *table.shape, n_classes)


def table_of(said):
    table = np.full((said.n_rows, said.n_annotators), -1)
    table[said.row, said.annotator] = said.stated
    return table


def copied(said, share, seed):
    """The same labels, where annotator 1 copies from annotator 0 in a share of common rows."""
    table, random = table_of(said), np.random.RandomState(seed)
    common = (table[:, 0] >= 0) & (table[:, 1] >= 0) & (random.uniform(size=len(table)) < share)
    table[common, 1] = table[common, 0]
    return statements(table, said.n_classes)


CASES = [
    {},
    {"n_classes": 4, "n_rows": 600},
    {"guessers": 0.4, "a_row": 5},
    {"n_rows": 300, "n_annotators": 8, "a_row": 8},
    {"n_rows": 500, "n_annotators": 20, "a_row": 8, "right": (0.9, 0.99)},
    {"n_annotators": 3},
    {"n_annotators": 4, "n_rows": 600},
]


def test_independent_annotators_are_not_said_to_copy():
    """Of 84 crowds the level allows 4 on average, 7 or fewer with a probability of .94."""
    named = 0
    for seed in range(6):
        for case in CASES:
            said, scores, *_ = crowd(seed, **case)
            for known in (scores, np.zeros_like(scores)):
                named += bool(copying_pairs(fitted(said, known), known, said))
    assert named <= 7


@pytest.mark.parametrize("case", [{}, {"n_classes": 4}, {"right": (0.85, 0.95)}], ids=str)
def test_who_copies_half_of_the_labels_is_found(case):
    found, others = 0, 0
    for seed in range(6):
        said, scores, *_ = crowd(seed, 800, 6, **{"a_row": 4, **case})
        said = copied(said, 0.8, seed)
        pairs = copying_pairs(fitted(said, scores), scores, said)
        [*own] = [pair for pair in pairs if (pair.first, pair.second) == (0, 1)]
        found += len(own)
        others += len(pairs) - len(own)
        for pair in own:
            both = (table_of(said)[:, :2] >= 0).all(axis=1)
            assert pair.n_rows == both.sum()
            assert pair.n_same == np.sum(table_of(said)[both, 0] == table_of(said)[both, 1])
            assert pair.expected_same < pair.n_same
            assert pair.p_value < module.LEVEL
    assert found >= 5
    assert others <= 1


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize(("n_annotators", "a_row", "share"), [(4, 3, 0.9), (5, 5, 1.0)])
def test_who_copies_nearly_everything_is_found_alone(n_annotators, a_row, share, columns):
    """Both look perfect to a fit with both, and all others then look alike."""
    for seed in range(3):
        said, scores, *_ = crowd(seed, 600, n_annotators, a_row=a_row, right=(0.6, 0.9))
        table, random = table_of(said), np.random.RandomState(seed)
        is_copied = (table[:, 0] >= 0) & (random.uniform(size=600) < share)
        said = statements(np.column_stack([table, np.where(is_copied, table[:, 0], -1)]))
        known = scores if columns else np.zeros_like(scores)
        [pair] = copying_pairs(fitted(said, known), known, said)
        assert (pair.first, pair.second, pair.n_rows) == (0, n_annotators, is_copied.sum())
        assert pair.share > 0.9


def test_nothing_is_said_where_all_are_taken_to_be_alike():
    said, scores, *_ = crowd(0)
    noise = fitted(said, scores)
    alike = replace(noise, matrices=np.tile(noise.matrices[:1], (said.n_annotators, 1, 1)))
    assert copying_pairs(alike, scores, copied(said, 1.0, 0)) == []


def test_annotators_who_always_say_the_same_do_not_copy():
    said, scores, *_ = crowd(0, 500, 8, a_row=4)
    table = np.hstack([table_of(said), np.ones((500, 2), dtype=int)])
    said = statements(table)
    assert copying_pairs(fitted(said, scores), scores, said) == []


def test_the_mean_of_u_is_0_where_nobody_copies():
    """E[u] = 0 under p(k, l), summed over all labels that two annotators may give a row."""
    _, scores, _, matrices = crowd(1, 5, 2, 3, a_row=2)
    labels = np.array(np.meshgrid(np.arange(3), np.arange(3))).reshape(2, -1).T
    each = np.tile(labels, (5, 1))
    rows = np.repeat(np.arange(5), 9)
    table = statements(each, 3)

    first, second = module._label_pairs(table)
    p = softmax(scores[rows], axis=1)
    u, expected = module._excess(matrices, np.log(p), table, first, second)
    chance = np.einsum("ij,ji,ji->i", p, matrices[0][:, each[:, 0]], matrices[1][:, each[:, 1]])
    assert_allclose(np.bincount(rows, chance), 1)
    assert_allclose(np.bincount(rows, chance * u), 0, atol=1e-12)
    assert_allclose(np.bincount(rows, chance * (each[:, 0] == each[:, 1])), expected[::9])


def test_many_pairs_of_labels_are_sampled_by_rows(monkeypatch):
    said, *_ = crowd(0, 400, 6, a_row=4)
    first, second = module._label_pairs(said)
    assert len(first) == 400 * 6
    assert_array_equal(said.row[first], said.row[second])
    assert np.all(said.annotator[first] < said.annotator[second])
    monkeypatch.setattr(module, "MOST_PAIRS", 600)
    fewer, _ = module._label_pairs(said)
    assert len(fewer) == 600
    rows, counts = np.unique(said.row[fewer], return_counts=True)
    assert len(rows) == 100
    assert set(counts) == {6}


@given(st.integers(0, 1000), st.integers(2, 4))
@settings(max_examples=15, deadline=None)
def test_the_gain_is_the_expected_decrease_of_entropy(seed, n_classes):
    said, scores, *_ = crowd(seed, 60, 5, n_classes, a_row=2)
    noise = fitted(said, scores)
    q = noise.judged(scores, said)
    gain = module._information(noise, q, said, np.arange(5), np.arange(60))
    table = table_of(said)
    assert (gain[table >= 0] == 0).all()
    assert (gain >= 0).all()
    for row in range(0, 60, 17):
        m = noise.is_informed[table[row] >= 0].sum()
        adds = (m + 1) / (1 + 0.35 * m) - m / (1 + 0.35 * max(m - 1, 0))
        for a in np.flatnonzero(table[row] < 0):
            joint = q[row][:, None] * noise.matrices[a]
            left = [total * entr(column / total).sum()
                    for column, total in zip(joint.T, joint.sum(axis=0), strict=True)]  # fmt: skip
            expected = (entr(q[row]).sum() - sum(left)) / np.log(2) * adds
            assert_allclose(gain[row, a], expected, atol=1e-9)


def test_questions_are_of_different_rows_and_within_bounds():
    said, scores, *_ = crowd(0, 200, 10, 3)
    noise = fitted(said, scores)
    q, rows = noise.judged(scores, said), np.arange(0, 200, 2)
    asked = np.array([1, 4, 7])
    found = next_questions(noise, q, said, 30, asked, rows, 12)
    assert len(found.row) == len(set(found.row)) == 30
    assert set(found.row) <= set(rows)
    assert set(found.annotator) <= set(asked)
    assert np.bincount(found.annotator).max() <= 12
    assert np.all(np.diff(found.gain) <= 0)
    table = table_of(said)
    assert (table[found.row, found.annotator] < 0).all()
    one = next_questions(noise, q, said, 1, asked, rows, 1)
    everything = module._information(noise, q, said, asked, rows)
    assert_allclose(one.gain, everything.max())


def test_who_has_labelled_all_rows_is_asked_nothing():
    said, scores, *_ = crowd(0, 50, 4, a_row=4)
    noise = fitted(said, scores)
    q = noise.judged(scores, said)
    found = next_questions(noise, q, said, 5, np.arange(4), np.arange(50), 5)
    assert len(found.row) == len(found.annotator) == len(found.gain) == 0


def test_answers_to_these_questions_help_more_than_others():
    gained = []
    for seed in range(6):
        said, scores, y, matrices = crowd(seed, 600, 12, a_row=2, right=(0.6, 0.95))
        scores = 0.3 * scores
        noise, table = fitted(said, scores), table_of(said)
        q = noise.judged(scores, said)
        random = np.random.RandomState(seed)
        drawn = (random.uniform(size=table.shape) < matrices[:, y, 1].T).astype(int)
        chosen = next_questions(noise, q, said, 150, np.arange(12), np.arange(600), 150)
        free = np.flatnonzero(table.ravel() < 0)
        others = np.unravel_index(random.choice(free, len(chosen.row), replace=False), table.shape)
        right = []
        for place in ((chosen.row, chosen.annotator), others):
            more = table.copy()
            more[place] = drawn[place]
            now = statements(more)
            right.append(np.mean(fit_annotators(now, scores).posterior.argmax(axis=1) == y))
        gained.append(right[0] - right[1])
    assert np.mean(gained) > 0.02


@pytest.mark.parametrize("n_classes", [2, 4])
def test_accuracy_by_labels_is_that_of_crowds_with_as_many(n_classes):
    """Errors of these annotators are independent, so their correlation is taken to be 0."""
    said, scores, _, matrices = crowd(0, 3000, 20, n_classes, a_row=6)
    noise = fitted(said, scores)
    found = accuracy_by_labels(noise, scores, said, 5, correlation=0.0)
    assert np.all(np.diff(found) >= 0)
    for m in (1, 2, 3, 5):
        own, scores, y, _ = _of(matrices, m, n_classes)
        logs = noise.offsets + noise.slope * log_softmax(scores, axis=1)
        best = (logs + own.log_likelihood(matrices)).argmax(axis=1)
        assert_allclose(found[m - 1], np.mean(best == y), atol=0.025)
    correlated = accuracy_by_labels(noise, scores, said, 10)
    assert_allclose(correlated[0], found[0])
    assert np.all(correlated[1:5] < found[1:])


def _of(matrices, a_row, n_classes):
    """A crowd of the same annotators, whose first draw is that of ``crowd(0, ...)``."""
    _, scores, y, same = crowd(0, 3000, len(matrices), n_classes, a_row=6)
    assert_allclose(same, matrices)
    random = np.random.RandomState(a_row)
    drawn = [random.choice(len(matrices), a_row, replace=False) for _ in range(3000)]
    row, annotator = np.repeat(np.arange(3000), a_row), np.concatenate(drawn)
    level = random.uniform(size=len(row))[:, None]
    stated = (np.cumsum(matrices[annotator, y[row]], axis=1) < level).sum(axis=1)
    own = Statements(row, annotator, np.minimum(stated, n_classes - 1), 3000, len(matrices),
                     n_classes)  # fmt: skip
    return own, scores, y, matrices
