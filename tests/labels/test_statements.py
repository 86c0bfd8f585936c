"""Labels as statements: views of one entry a row, patterns, and likelihoods of patterns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rboost.labels import NO_CLASS, Answers, Groups, Labels, Patterns, Source
from rboost.noise import symmetric

CLASSES = np.array(["a", "b", "c"])
NONE = NO_CLASS


def positions(n_classes=3, least=NONE):
    return st.lists(st.integers(least, n_classes - 1), min_size=1, max_size=12).map(np.array)


@given(positions())
def test_given_labels_are_what_was_given(position):
    labels = Labels.of(CLASSES, position)
    assert_array_equal(labels.given, position)
    assert_array_equal(labels.observed, position)
    assert (labels.checked == NONE).all()
    assert len(labels.row) == np.count_nonzero(position != NONE)
    assert not labels.has_answers


@given(positions(), st.data())
def test_some_rows_have_the_statements_of_all(position, data):
    answers = np.array(data.draw(st.lists(st.integers(NONE, 2), min_size=len(position),
                                          max_size=len(position))))  # fmt: skip
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(position),
                                         max_size=len(position))))  # fmt: skip
    labels = Labels.of(CLASSES, position).with_answers(answers, at_random=True)
    some = labels.take(chosen)
    assert len(some) == chosen.sum()
    for view in ("given", "checked", "known", "observed", "group", "at_random"):
        assert_array_equal(getattr(some, view), getattr(labels, view)[chosen], err_msg=view)


def test_answers_replace_earlier_answers_and_nothing_else():
    labels = Labels.of(CLASSES, np.array([0, 1, 2])).with_answers(np.array([1, NONE, NONE]))
    later = labels.with_answers(np.array([NONE, 2, NONE]), at_random=np.array([True, True, False]))
    assert_array_equal(later.checked, [NONE, 2, NONE])
    assert_array_equal(later.at_random, [False, True, False])
    assert_array_equal(later.given, [0, 1, 2])
    assert later.has_answers


def test_an_answer_about_a_row_without_a_label_makes_its_class_known():
    labels = Labels.of(CLASSES, np.array([0, NONE])).with_answers(np.array([NONE, 2]))
    assert_array_equal(labels.known, [NONE, 2])
    assert not labels.has_answers  # about rows that came with a label
    first = labels.patterns.first_likelihoods()
    assert_array_equal(first[:, labels.patterns.code[1]], [0, 0, 1])


def test_trusted_rows_come_last_and_are_certain():
    labels = Labels.of(CLASSES, np.array([0, 1])).followed_by_trusted(np.array([2, 0]))
    assert_array_equal(labels.observed, [0, 1, 2, 0])
    assert_array_equal(labels.known, [NONE, NONE, 2, 0])
    patterns = labels.patterns
    assert_array_equal(patterns.trusted[patterns.code], [False, False, True, True])
    found = patterns.likelihoods([symmetric(0.3, 3)] * 2)[:, patterns.code]
    assert_allclose(found[:, 0], symmetric(0.3, 3)[:, 0])
    assert_array_equal(found[:, 2], [0, 0, 1])


def test_every_group_is_a_source_with_its_own_noise():
    groups = Groups(np.array([0, 1, 1]), ("ann", "bob"))
    labels = Labels.of(CLASSES, np.array([0, 0, 1]), groups)
    assert labels.n_groups == 2
    assert [source.name for source in labels.sources] == ["ann", "bob"]
    careful, careless = symmetric(0.1, 3), symmetric(0.4, 3)
    found = labels.patterns.likelihoods([careful, careless])[:, labels.patterns.code]
    assert_allclose(found.T, [careful[:, 0], careless[:, 0], careless[:, 1]])
    assert Labels.of(CLASSES, np.array([0])).n_groups == 0


@given(positions(least=0), st.data())
def test_several_statements_multiply(position, data):
    more = np.array(data.draw(st.lists(st.integers(NONE, 2), min_size=len(position),
                                       max_size=len(position))))  # fmt: skip
    labels = Labels.of(CLASSES, position).with_statements(Source("annotator", "eve"), more)
    first, second = symmetric(0.2, 3), symmetric(0.3, 3)
    patterns = labels.patterns
    found = patterns.likelihoods([first, second])[:, patterns.code].T
    expected = first[:, position].T * np.where(more[:, np.newaxis] == NONE, 1, second.T[more])
    assert_allclose(found, expected)


def test_before_anything_is_inferred_one_label_is_certain_and_several_err_in_a_tenth():
    labels = Labels.of(CLASSES, np.array([0, 0, NONE]))
    labels = labels.with_statements(Source("annotator", "eve"), np.array([NONE, 1, NONE]))
    patterns = labels.patterns
    found = patterns.first_likelihoods()[:, patterns.code].T
    assert_array_equal(found[0], [1, 0, 0])
    assert_allclose(found[1], [0.9 * 0.05, 0.05 * 0.9, 0.05**2])
    assert_array_equal(found[2], [1, 1, 1])  # nothing was said


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=10))
def test_no_row_of_likelihoods_is_zero(rows):
    observed, trusted = map(np.array, zip(*rows, strict=True))
    patterns = Patterns.of_labels(observed, trusted, 3)
    impossible = np.eye(3)[:, [0, 0, 2]]  # nothing is ever called class 1
    for columns in (patterns.first_likelihoods(), patterns.likelihoods([impossible, impossible])):
        assert columns[:, patterns.code].any(axis=0).all()


def test_patterns_of_labels_are_those_of_statements():
    observed, trusted = np.array([0, 2, 1, 1]), np.array([False, False, True, False])
    short = Patterns.of_labels(observed, trusted, 3)
    given_labels = np.where(trusted, NONE, observed)
    labels = Labels.of(CLASSES, given_labels).with_statements(
        Source("trusted"), np.where(trusted, observed, NONE)
    )
    assert_array_equal(short.code, labels.patterns.code)
    noise = [symmetric(0.2, 3)] * 2
    assert_allclose(
        short.likelihoods(noise), labels.patterns.likelihoods(noise)[:, : len(short.statements)]
    )


@pytest.mark.parametrize("n_classes", [50, 200])
def test_many_classes_and_groups_have_codes_of_their_own(n_classes):
    rng = np.random.RandomState(0)
    groups = Groups(np.arange(400) % 100, tuple(map(str, range(100))))
    position = rng.randint(n_classes, size=400)
    labels = Labels.of(np.arange(n_classes), position, groups)
    patterns = labels.patterns
    assert_array_equal(patterns.label[patterns.code], position)
    assert_array_equal(patterns.group[patterns.code], groups.position)


def test_answers_of_every_refit_are_one_source():
    labels = Labels.of(CLASSES, np.array([0, 1])).followed_by_trusted(np.array([2]))
    for _ in range(3):
        labels = labels.with_answers(np.array([1, NONE, NONE]))
    assert [source.kind for source in labels.sources] == ["given", "trusted", "answer"]
    assert_array_equal(labels.known, [NONE, NONE, 2])
    assert_array_equal(labels.checked, [1, NONE, NONE])


def test_classes_that_statements_name_cannot_be_left_out():
    labels = Labels.of(CLASSES, np.array([0, 2])).with_answers(np.array([NONE, 1]))
    with pytest.raises(ValueError, match="all classes that statements name"):
        labels.of_classes(np.array([0, 2]))


def test_every_row_needs_a_statement():
    labels = Labels.of(CLASSES, np.array([0, NONE]))
    with pytest.raises(ValueError, match="Row 1 needs a label, an answer or a trusted class"):
        labels.check_rows(np.zeros((2, 1)))
    with pytest.raises(ValueError, match="X has 3 rows but labels are of 2"):
        labels.check_rows(np.zeros((3, 1)))


def test_answers_of_several_people_are_all_kept():
    said = Answers.by(3, [0, 0, 1, 0], ["ann", "bob", "ann", "ann"], [1, 2, 0, 2])
    labels = Labels.of(CLASSES, np.array([0, 1, NONE])).with_answers(said)
    assert labels.answers.said == {(0, "ann", 2), (0, "bob", 2), (1, "ann", 0)}
    np.testing.assert_array_equal(labels.checked, [2, 0, NONE])
    np.testing.assert_array_equal(labels.answers.columns, [[2, 2], [0, NONE], [NONE, NONE]])
    assert labels.take([1, 2]).answers.said == {(0, "ann", 0)}
    later = labels.answers.followed_by(Answers.by(3, [0, 1], ["bob", "cy"], [1, 1]))
    assert labels.with_answers(later).answers.said == {
        (0, "ann", 2), (0, "bob", 1), (1, "ann", 0), (1, "cy", 1),
    }  # fmt: skip


def test_most_answers_count_and_of_as_many_the_latest():
    names, stated = ["a", "b", "c", "d"], [1, 1, 0, 0]
    for n_people, expected in ((1, 1), (2, 1), (3, 1), (4, 0)):
        said = Answers.by(1, [0] * n_people, names[:n_people], stated[:n_people])
        assert said.majority.tolist() == [expected]


def test_a_row_without_a_label_is_known_by_what_most_people_say():
    said = Answers.by(2, [1, 1, 1], ["a", "b", "c"], [2, 1, 2])
    labels = Labels.of(CLASSES, np.array([0, NONE])).with_answers(said)
    assert labels.known.tolist() == [NONE, 2]
    patterns = labels.patterns
    assert patterns.label[patterns.code].tolist() == [0, 2]
    assert patterns.trusted[patterns.code].tolist() == [False, True]
