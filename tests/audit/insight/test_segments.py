import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rboost.audit.fit import learn_features
from rboost.audit.insight import columns
from rboost.audit.insight.columns import FEWEST_ROWS, MOST_VALUES

N_ROWS = 1000


def table_of(seed, n_rows=N_ROWS):
    random = np.random.RandomState(seed)
    return pd.DataFrame(
        {
            "age": random.normal(40, 10, n_rows),
            "site": random.choice(["north", "south", "east", "west"], n_rows),
            "shift": random.randint(0, 3, n_rows),
            "urgent": random.uniform(size=n_rows) < 0.3,
            "dose": random.gamma(2.0, size=n_rows),
        }
    )


def find_segments(table, wrong, **options):
    return columns.find_segments(learn_features(table), wrong, **options)


def doubts(where, seed=0, low=0.05, high=0.5):
    """Probabilities that labels are wrong, larger where something is the case."""
    random = np.random.RandomState(seed + 100)
    rate = np.where(where, high, low)
    return random.beta(2 * rate, 2 * (1 - rate))


@pytest.mark.parametrize("seed", range(5))
def test_a_category_with_many_wrong_labels_is_named_first(seed):
    table = table_of(seed)
    where = (table["site"] == "east").to_numpy()
    wrong = doubts(where, seed)
    first = find_segments(table, wrong)[0]
    assert (first.column, first.values, first.n_rows) == ("site", "east", where.sum())
    assert_allclose(first.expected_wrong, wrong[where].sum())
    assert_allclose(first.other_rate, wrong[~where].mean())
    assert_allclose(first.rate, wrong[where].mean())
    assert first.rate > 0.4 > 0.1 > first.other_rate


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("part", [0, 2, 4], ids=["lowest", "middle", "highest"])
def test_a_range_with_many_wrong_labels_is_named_first(seed, part):
    table = table_of(seed)
    age = table["age"].to_numpy()
    edges = np.sort(age)[[0, 200, 400, 600, 800, 999]]
    where = (age >= edges[part]) & (age <= edges[part + 1])
    first = find_segments(table, doubts(where, seed))[0]
    low, high = (float(word) for word in first.values.split(" to "))
    assert first.column == "age"
    assert_allclose([low, high], edges[part : part + 2], rtol=0.01)
    assert abs(first.n_rows - N_ROWS / 5) <= 2


def test_ranges_are_called_what_occurs_in_them_and_no_value_is_in_two():
    day = 20_260_101 + np.arange(N_ROWS) // 100  # ten days, of which edges are five
    for first_day, last_day, values in (
        (20_260_101, 20_260_101, "20260101"),
        (20_260_102, 20_260_103, "20260102 to 20260103"),
        (20_260_108, 20_260_110, "20260108 to 20260110"),
    ):
        where = (day >= first_day) & (day <= last_day)
        first = find_segments(pd.DataFrame({"day": day}), doubts(where))[0]
        assert (first.values, first.n_rows) == (values, where.sum())


@pytest.mark.parametrize("column", ["shift", "urgent"])
def test_few_numbers_and_truth_values_are_categories(column):
    table = table_of(0)
    value = table[column].max()
    where = (table[column] == value).to_numpy()
    first = find_segments(table, doubts(where))[0]
    assert (first.column, first.values, first.n_rows) == (column, str(value), where.sum())


def test_without_a_concentration_nothing_is_named():
    """Of some 22 segments each, 3.5 standard errors are hardly ever exceeded by chance."""
    nowhere = np.zeros(N_ROWS, dtype=bool)
    found = [find_segments(table_of(seed), doubts(nowhere, seed, low=0.2)) for seed in range(20)]
    assert sum(len(segments) for segments in found) <= 1
    assert find_segments(table_of(0), np.full(N_ROWS, 0.1)) == ()


def test_fewer_wrong_labels_than_elsewhere_are_no_segment():
    table = table_of(0)
    where = (table["urgent"]).to_numpy()
    found = find_segments(table, doubts(where, low=0.5, high=0.05))
    assert ("urgent", "True") not in {(s.column, s.values) for s in found}
    assert (found[0].column, found[0].values) == ("urgent", "False")


@pytest.mark.parametrize("column", ["age", "site", "urgent"])
def test_missing_values_are_a_segment(column):
    table = table_of(1)
    where = np.arange(N_ROWS) % 10 == 0
    table[column] = table[column].astype(object if column != "age" else float)
    table.loc[where, column] = np.nan if column == "age" else None
    first = find_segments(table, doubts(where))[0]
    assert (first.column, first.values, first.n_rows) == (column, "missing", 100)


def test_missing_values_of_nullable_columns_are_a_segment_too():
    where = np.arange(N_ROWS) % 10 == 0
    numbers = pd.Series(np.arange(N_ROWS) % 97, dtype="Int64").mask(where)
    flags = pd.Series(np.arange(N_ROWS) % 3 == 0, dtype="boolean").mask(where)
    for column in (numbers, flags, numbers.astype("category"), flags.astype("string")):
        first = find_segments(pd.DataFrame({"a": column}), doubts(where))[0]
        assert (first.values, first.n_rows) == ("missing", 100)


@pytest.mark.parametrize(("n_few", "is_found"), [(FEWEST_ROWS - 1, False), (FEWEST_ROWS, True)])
def test_few_rows_are_no_segment(n_few, is_found):
    kind = np.where(np.arange(N_ROWS) < n_few, "rare", "common")
    found = find_segments(pd.DataFrame({"kind": kind}), doubts(kind == "rare", high=0.9))
    assert [s.values for s in found] == (["rare"] if is_found else [])
    # Nor is what leaves too few others.
    found = find_segments(pd.DataFrame({"kind": kind}), doubts(kind == "common", high=0.9))
    assert [s.values for s in found] == (["common"] if is_found else [])


def test_only_frequent_values_of_many_are_looked_at():
    kind = np.repeat(np.arange(MOST_VALUES + 1), FEWEST_ROWS + 5 - np.arange(MOST_VALUES + 1) // 20)
    words = pd.Series([f"word {k}" for k in kind])
    for value, is_found in ((0, True), (MOST_VALUES, False)):
        found = find_segments(pd.DataFrame({"a": words}), doubts(kind == value, high=0.9))
        assert (f"word {value}" in [s.values for s in found]) is is_found


def test_rows_without_a_label_do_not_count():
    table = table_of(0)
    where = (table["site"] == "east").to_numpy()
    wrong = doubts(where)
    unlabelled = np.arange(N_ROWS) % 2 == 0
    with_gaps = np.where(unlabelled, np.nan, wrong)
    kept = table[~unlabelled].reset_index(drop=True)
    assert find_segments(table, with_gaps) == find_segments(kept, wrong[~unlabelled])
    assert find_segments(table, np.full(N_ROWS, np.nan)) == ()


def test_the_most_wrong_labels_come_first_and_no_more_than_asked_for():
    table = table_of(0)
    where = (table["site"] == "east").to_numpy()
    wrong = np.maximum(doubts(where), doubts(table["urgent"].to_numpy(), seed=1))
    found = find_segments(table, wrong)
    beyond = [s.expected_wrong - s.n_rows * s.other_rate for s in found]
    assert len(found) >= 2
    assert beyond == sorted(beyond, reverse=True)
    assert find_segments(table, wrong, most=1) == found[:1]


@pytest.mark.filterwarnings("error")
def test_infinite_empty_and_constant_columns_do_no_harm():
    values = np.random.RandomState(0).standard_normal(N_ROWS)
    infinite = values.copy()
    infinite[:300], infinite[300:500] = np.inf, -np.inf
    table = pd.DataFrame(
        {
            "infinite": infinite,
            "empty": np.full(N_ROWS, np.nan),
            "constant": 1.0,
            "dates": pd.date_range("2020", periods=N_ROWS),
            "nothing": np.full(N_ROWS, None),
        }
    )
    found = find_segments(table, doubts(np.arange(N_ROWS) < 300, high=0.9))
    assert (found[0].column, found[0].values) == ("infinite", "missing")


def test_parts_with_hardly_a_wrong_label_are_not_named():
    table = table_of(0)
    where = (table["site"] == "east").to_numpy()
    few = np.where(where, 5e-4, 1e-5)  # fifty times as many, of next to nothing
    assert find_segments(table, few) == ()
    assert find_segments(table, 20 * few)[0].rate == pytest.approx(0.01)
    clear_but_small = np.where(where, 0.1, 0.09)
    assert find_segments(table, clear_but_small) == ()
