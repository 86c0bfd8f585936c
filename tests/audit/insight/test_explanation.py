from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rboost.audit import audit_labels
from rboost.audit.insight import explanation as module
from rboost.audit.insight.explanation import MOST_COLUMNS
from rboost.audit.insight.likeness import N_NEIGHBOURS

N_ROWS = 300


def planted(n_noise_columns=4, n_missing=0, seed=0):
    """One column decides, others are noise; some labels are flipped. Frame, labels, flipped."""
    random = np.random.RandomState(seed)
    table = pd.DataFrame(
        {f"noise {k}": random.uniform(size=N_ROWS) for k in range(n_noise_columns)}
    )
    table.insert(min(2, n_noise_columns), "weight", random.uniform(-1, 1, N_ROWS))
    true = np.where(table["weight"] > 0, "heavy", "light")
    flipped = random.uniform(size=N_ROWS) < 0.1
    y = np.where(flipped, np.where(true == "heavy", "light", "heavy"), true).astype(object)
    y[N_ROWS - n_missing :] = None
    return table, y, flipped & (np.arange(N_ROWS) < N_ROWS - n_missing)


@cache
def audited(model):
    table, y, _ = planted(n_missing=10)
    return audit_labels(table, y, model=model, check_columns=False)


@pytest.fixture
def audit():
    return audited("forest")


@pytest.fixture(scope="module")
def planted_errors():
    table, _, flipped = planted(n_missing=10)
    clear = np.abs(table["weight"].to_numpy()) > 0.2
    return np.flatnonzero(flipped & clear)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", ["forest", "linear", pytest.param("rboost", marks=pytest.mark.slow)]
)
def test_the_column_that_decides_is_the_first_reason_for_planted_errors(model, planted_errors):
    table, y, _ = planted(n_missing=10)
    found = audited(model).explain_all(planted_errors)
    assert len(found) >= 15
    first = [one.reasons[0].column if one.reasons else "" for one in found]
    assert np.mean([column == "weight" for column in first]) >= 0.95
    for one in found:
        assert one.given == y[one.row]
        assert one.suggested == ("heavy" if y[one.row] == "light" else "light")
        strengths = [reason.strength for reason in one.reasons]
        assert strengths == sorted(strengths, reverse=True)
        assert all(reason.value == table[reason.column][one.row] for reason in one.reasons)
        assert len(one.reasons) <= 3


def test_what_is_typical_of_the_given_label_is_its_middle_half(audit, planted_errors):
    for one in audit.explain_all(planted_errors):
        reason = next(r for r in one.reasons if r.column == "weight")
        low, high = (float(word) for word in reason.typical.split(" to "))
        assert -1 <= low < high <= 1
        assert (low > 0) == (one.given == "heavy")


@pytest.mark.slow
def test_a_category_that_decides_is_a_reason_and_its_frequent_value_is_typical():
    random = np.random.RandomState(0)
    color = random.choice(["red", "blue"], N_ROWS)
    table = pd.DataFrame({"noise": random.uniform(size=N_ROWS), "color": color})
    y = np.where(color == "red", 1, 0)
    y[:10] = 1 - y[:10]
    audit = audit_labels(table, y, model="forest", check_columns=False)
    for one in audit.explain_all(np.arange(10)):
        assert one.reasons[0].column == "color"
        assert one.reasons[0].value == color[one.row]
        other = "blue" if color[one.row] == "red" else "red"
        assert one.reasons[0].typical == f"{other} (100 %)"
        assert one.reasons[0].typical_suggested == f"{color[one.row]} (100 %)"


def nearest_by_hand(audit, row, wanted):
    """The nearest rows that carry a label and are probably right, one distance after another."""
    points = audit.points.numbers
    current, wrong = audit.labels.current, audit.issue_probability
    members = [
        (float(np.sqrt(((points[k] - points[row]) ** 2).sum())), k)
        for k in range(len(audit))
        if k != row and current[k] == wanted and wrong[k] < 0.5
    ]
    return sorted(members)[:N_NEIGHBOURS]


def test_neighbours_are_the_nearest_with_their_label_by_brute_force(audit):
    for one in audit.explain_all(np.arange(0, N_ROWS, 7)):
        suggested = audit.suggested[one.row]
        for wanted, rows, distances in (
            (suggested, one.agreeing, one.agreeing_distance),
            (audit.labels.given[one.row], one.opposing, one.opposing_distance),
        ):
            expected = nearest_by_hand(audit, one.row, wanted)
            assert list(rows) == [k for _, k in expected]
            assert_allclose(distances, [distance for distance, _ in expected], atol=1e-6)
            assert one.row not in rows
        assert set(audit.labels.names(audit.labels.current[list(one.agreeing)])) == {one.suggested}


def test_a_row_is_no_neighbour_of_its_own_even_among_copies():
    table, y, _ = planted()
    table.iloc[5:12] = table.iloc[5].to_numpy()
    y[5:12] = "heavy" if table["weight"][5] > 0 else "light"
    audit = audit_labels(table, y, model="linear", check_columns=False)
    for one in audit.explain_all(np.arange(5, 12)):
        assert one.row not in one.opposing + one.agreeing
        assert_allclose(one.opposing_distance, 0, atol=1e-6)
        assert len(set(one.opposing)) == N_NEIGHBOURS


def fresh(audit):
    """The same audit without what it remembers of explanations."""
    return audit.with_checked(audit.labels.checked)


def assert_same(one, other):
    for name in ("row", "given", "suggested", "agreeing", "opposing"):
        assert getattr(one, name) == getattr(other, name)
    assert_allclose(one.probability_wrong, other.probability_wrong)
    assert [r.column for r in one.reasons] == [r.column for r in other.reasons]
    assert [r.typical for r in one.reasons] == [r.typical for r in other.reasons]
    assert_allclose(
        [r.strength for r in one.reasons], [r.strength for r in other.reasons], rtol=1e-6
    )


@pytest.mark.parametrize("block_rows", [1, 20_000])
def test_rows_are_explained_alike_alone_and_together(audit, monkeypatch, block_rows):
    rows = np.array([40, 3, 299, 3, 17])
    monkeypatch.setattr(module, "BLOCK_ROWS", block_rows)
    together = fresh(audit).explain_all(rows)
    assert [one.row for one in together] == rows.tolist()
    for one in together:
        assert_same(one, fresh(audit).explain(one.row))
    for one, other in zip(together, fresh(audit).explain_all(rows[::-1])[::-1], strict=True):
        assert_same(one, other)


def test_what_was_explained_is_remembered(audit, monkeypatch):
    again = fresh(audit)
    before = again.explain_all(np.array([1, 2]))
    monkeypatch.setattr(module.Explainer, "_explain", lambda *_: pytest.fail("explained again"))
    assert again.explain_all(np.array([2, 1])) == before[::-1]
    assert again.explain(1) is before[0]


def test_rows_without_a_label_have_neighbours_but_no_reasons(audit):
    for one in audit.explain_all(audit.missing()):
        assert one.given == ""
        assert one.reasons == ()
        assert one.opposing == ()
        assert len(one.agreeing) == N_NEIGHBOURS
        assert np.isnan(one.probability_wrong)
        assert one.probability_suggested >= 0.5
    assert len(audit.missing()) == 10


def test_probabilities_are_those_of_the_audit(audit):
    for one in audit.explain_all(np.arange(20)):
        assert one.probability_wrong == audit.issue_probability[one.row]
        posterior = audit.inference.posterior[one.row]
        assert one.probability_suggested == posterior[audit.suggested[one.row]]
        assert_allclose(one.probability_suggested, one.probability_wrong, atol=1e-12)


def test_checked_rows_are_compared_with_the_other_class(audit):
    checked = np.full(N_ROWS, -1)
    checked[:4] = [0, 1, 0, 1]
    after = audit.with_checked(checked)
    for one in after.explain_all(np.arange(4)):
        given = audit.labels.given[one.row]
        assert one.suggested == audit.classes[1 - given]
        assert one.probability_wrong == 0
        assert one.probability_suggested == (checked[one.row] != given)
        assert set(one.agreeing).isdisjoint(one.opposing)


@pytest.mark.parametrize("row", [-1, N_ROWS, 10**9])
def test_positions_out_of_range_are_refused_with_one_sentence(audit, row):
    with pytest.raises(ValueError, match=f"row must be a position from 0 to {N_ROWS - 1}"):
        audit.explain(row)


def test_no_rows_need_no_explanation(audit):
    assert audit.explain_all(np.array([], dtype=int)) == []


@pytest.mark.slow
def test_of_very_many_columns_the_telling_ones_are_tried():
    table, y, flipped = planted(n_noise_columns=MOST_COLUMNS + 30)
    audit = audit_labels(table, y, model="forest", check_columns=False)
    tried = [table.columns[k] for k in audit._explainer._tried]
    assert len(tried) == MOST_COLUMNS
    assert "weight" in tried
    clear = np.flatnonzero(flipped & (np.abs(table["weight"].to_numpy()) > 0.3))
    clear = clear[audit.issue_probability[clear] > 0.5]
    assert len(clear) >= 3
    for one in audit.explain_all(clear):
        assert one.reasons[0].column == "weight"
