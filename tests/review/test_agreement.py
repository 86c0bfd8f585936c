"""Agreement of people, against scikit-learn's."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from rboost.review.answers import Answer, Log, agreement

LABELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


def make_log(answers):
    """A log of (reviewer, row, label)."""
    held = {
        number: Answer(number, row, "unsure" if label is None else "change", label, "", reviewer)
        for number, (reviewer, row, label) in enumerate(answers)
    }
    return Log(len(held), held, frozenset(row for _, row, _ in answers))


def reference(pairs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where all labels are the same it divides by zero
        return cohen_kappa_score(*zip(*pairs, strict=True))


@given(LABELS)
def test_two_people(pairs):
    log = make_log(
        [("Ann", row, one) for row, (one, _) in enumerate(pairs)]
        + [("Ben", row, other) for row, (_, other) in enumerate(pairs)]
    )
    found = agreement(log)
    assert found.n_rows == len(pairs)
    assert found.n_agreed == sum(one == other for one, other in pairs)
    kappa = np.nan if found.kappa is None else found.kappa
    assert kappa == pytest.approx(reference(pairs), abs=1e-12, nan_ok=True)
    assert list(found.disagreements) == [
        row for row, (one, other) in enumerate(pairs) if one != other
    ]


def test_three_people_count_by_pairs():
    rng = np.random.RandomState(0)
    truth = rng.randint(3, size=60)
    said = {name: np.where(rng.rand(60) < 0.8, truth, 0) for name in ("Ann", "Ben", "Cy")}
    rows = {"Ann": range(60), "Ben": range(40), "Cy": range(30, 60)}
    log = make_log([(name, row, int(said[name][row])) for name in rows for row in rows[name]])
    weighted = [
        (cohen_kappa_score(said[one][common], said[other][common]), len(common))
        for one, other in (("Ann", "Ben"), ("Ann", "Cy"), ("Ben", "Cy"))
        for common in [np.intersect1d(rows[one], rows[other])]
    ]
    found = agreement(log)
    assert found.n_rows == 60
    assert found.kappa == pytest.approx(
        np.average([kappa for kappa, _ in weighted], weights=[count for _, count in weighted])
    )


def test_who_is_unsure_or_alone_contradicts_nobody():
    assert agreement(make_log([])) is None
    assert agreement(make_log([("Ann", 1, 0), ("Ben", 2, 0)])) is None
    assert agreement(make_log([("Ann", 1, 0), ("Ben", 1, None)])) is None
    both = agreement(make_log([("Ann", 1, 0), ("Ben", 1, 0), ("Ann", 2, 0), ("Ben", 2, None)]))
    assert (both.n_rows, both.n_agreed, both.kappa) == (1, 1, None)


def test_a_changed_mind_is_no_disagreement():
    found = agreement(make_log([("Ann", 1, 0), ("Ann", 1, 1), ("Ben", 1, 1)]))
    assert (found.n_rows, found.n_agreed, found.disagreements) == (1, 1, {})
