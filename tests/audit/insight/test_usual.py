"""A reason never refutes itself: what the row has is not what rows with its label usually have."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from rboost.audit import LabelAudit, audit_labels
from rboost.audit.fit import Inference, learn_features
from rboost.audit.insight.usual import usual_values
from rboost.audit.labels import table_labels
from rboost.audit.wording import measured
from rboost.noise import flip_labels, symmetric


def ends(text):
    """The numbers or days that a range in words begins and ends with."""
    low, _, high = text.split(", ")[0].partition(" to ")
    return low, high or low


def is_missing(value):
    """Infinite numbers are missing too."""
    return pd.isna(value) or value in (np.inf, -np.inf)


def assert_speaks(reason, rows_of_given, rows_of_suggested):
    """The reason tells the two classes apart, as people read it."""
    value, usual, instead = reason.value, reason.typical, reason.typical_suggested
    if is_missing(value):
        assert not usual.startswith("missing (")
        assert "missing" in instead
        assert rows_of_suggested.map(is_missing).mean() > rows_of_given.map(is_missing).mean()
    elif isinstance(value, str):
        assert not usual.startswith(f"{value} (")
        assert f"{value} (" in instead
        assert (rows_of_suggested == value).mean() > (rows_of_given == value).mean()
    elif isinstance(value, pd.Timestamp):
        if not usual.startswith("missing"):
            low, high = ends(usual)
            assert not low <= str(value.date()) <= high
    elif " (" in usual:  # few numbers are categories
        assert usual.startswith("missing (") or float(usual.split(" (")[0]) != value
    else:
        (low, high), (other_low, other_high) = (map(float, ends(x)) for x in (usual, instead))
        shown = float(measured(value))
        assert not low <= shown <= high
        assert other_high > high if shown > high else other_low < low


def assert_all_speak(audit, rows):
    right = np.nan_to_num(audit.issue_probability, nan=1.0) < 0.5
    n_reasons = 0
    for one in audit.explain_all(rows):
        given_, suggested = audit.labels.given[one.row], audit.suggested[one.row]
        for reason in one.reasons:
            n_reasons += 1
            column = audit.table[reason.column]
            assert_speaks(
                reason,
                column[right & (audit.labels.current == given_)],
                column[right & (audit.labels.current == suggested)],
            )
    return n_reasons


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_digits])
def test_no_reason_of_a_real_table_refutes_itself(load):
    X, y = load(return_X_y=True, as_frame=True)
    X, y = X[:150], y[:150]
    noisy, _ = flip_labels(y, symmetric(0.2, len(np.unique(y))), random_state=0)
    audit = audit_labels(X, noisy, model="forest", check_columns=False)
    assert assert_all_speak(audit, np.arange(len(X))) > len(X) / 3


def mixed_table(n_rows=300, seed=0):
    random = np.random.RandomState(seed)
    true = random.randint(0, 2, n_rows)
    days = pd.to_timedelta(random.randint(0, 90, n_rows) + 80 * true, unit="D")
    table = pd.DataFrame(
        {
            "age": random.normal(30, 8, n_rows) + 20 * true,
            "site": random.choice(["north", "south"], n_rows),
            "notes": np.where(random.rand(n_rows) < 0.9, None, "seen"),
            "day": pd.Timestamp("2020-01-01") + days,
            "count": random.poisson(0.3 + true, n_rows),
        }
    )
    table.loc[random.rand(n_rows) < 0.1 + 0.5 * true, "age"] = np.nan
    table.loc[true == 1, "site"] = random.choice(["north", "west", None], (true == 1).sum())
    given_ = np.where(random.rand(n_rows) < 0.15, 1 - true, true)
    return table, np.array(["no", "yes"])[given_]


@pytest.mark.slow
def test_no_reason_of_a_mixed_table_refutes_itself_and_empty_columns_are_none():
    table, y = mixed_table()
    audit = audit_labels(table, y, model="forest", check_columns=False)
    assert assert_all_speak(audit, np.arange(len(table))) > len(table) / 4
    named = {r.column for one in audit.explain_all(audit.suspects().rows) for r in one.reasons}
    assert "age" in named
    assert "notes" not in named  # nine tenths of either class have none


numbers = st.one_of(
    st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, np.inf, -np.inf]), st.just(np.nan)
)
cells = {
    "numbers": numbers,
    "few": st.sampled_from([0.0, 1.0, 2.0, np.nan]),
    "words": st.sampled_from(["a", "b", "c", None]),
    "days": st.sampled_from([*pd.date_range("2020", periods=9, freq="53h"), pd.NaT]),
}


@st.composite
def explained(draw):
    """A made-up table without a model, and doubts about all of its labels."""
    n_rows = draw(st.integers(10, 60))
    table = pd.DataFrame(
        {
            name: draw(st.lists(cell, min_size=n_rows, max_size=n_rows))
            for name, cell in cells.items()
        }
    )
    table["days"] = pd.to_datetime(table["days"])
    random = np.random.RandomState(draw(st.integers(0, 99)))
    label, nobody = random.randint(0, 2, n_rows), np.full(n_rows, -1)
    labels = table_labels(np.array(["no", "yes"]), label, nobody)
    wrong = np.where(random.rand(n_rows) < 0.3, 0.9, 0.1)
    posterior = np.empty((n_rows, 2))
    posterior[np.arange(n_rows), label], posterior[np.arange(n_rows), 1 - label] = 1 - wrong, wrong
    found = Inference(None, posterior, posterior, wrong_share=(0.0, 1.0))
    audit = LabelAudit(
        table, labels, np.arange(n_rows), "row", learn_features(table), random.randn(n_rows), found,
        model=None,
    )  # fmt: skip
    return audit, wrong < 0.5


@pytest.mark.slow
@settings(max_examples=30)
@given(explained())
def test_no_reason_of_any_table_refutes_itself(made_up):
    audit, right = made_up
    given_ = audit.labels.given
    for one in audit.explain_all(np.arange(len(right))):
        k = given_[one.row]
        for reason in one.reasons:
            column = audit.table[reason.column]
            assert_speaks(reason, column[right & (given_ == k)], column[right & (given_ != k)])
            assert reason.strength >= np.log(1.5)


def of_column(first, second, value):
    """What a value says where the two classes have these values."""
    features = learn_features(pd.DataFrame({"column": [*first, *second]}))
    own = features.encoder.columns[0]
    members = [np.arange(len(first)), np.arange(len(first), len(features))]
    usual = usual_values(own, features.values[:, 0], members)
    code = features.encoder.features(pd.DataFrame({"column": [value]})).values[:, 0]
    strength = usual.evidence(code, np.array([0]), np.array([1]))[0]
    return strength, usual.in_words(float(code[0]), 0, 1)


def test_numbers_in_words():
    strength, words = of_column(range(20, 40), range(60, 80), 71)
    assert strength > 1
    assert words == ("24 to 34", "64 to 74")
    assert of_column(range(20, 40), range(60, 80), 30)[0] == 0  # usual for the given label
    assert of_column(range(20, 40), range(60, 80), 5)[0] == 0  # further away from the other


def test_words_and_missing_values_in_words():
    strength, words = of_column(["a"] * 15 + ["b"] * 5, ["b"] * 18 + [None] * 2, "b")
    assert strength > 0.5
    assert words == ("a (75 %)", "b (90 %)")
    strength, words = of_column([*range(20)], [None] * 15 + [*range(5)], None)
    assert strength > 0.5
    assert words == ("4 to 14, missing in 0 %", "missing (75 %)")
    nearly_empty = [None] * 18 + ["seen"] * 2
    assert of_column(nearly_empty, [None] * 20, None)[0] == 0


def test_names_are_no_reason():
    names = [f"name {k}" for k in range(60)]
    assert of_column(names[:30], names[30:], "name 41")[0] == 0
