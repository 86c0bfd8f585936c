import numpy as np
import pandas as pd
import pytest

from rboost.audit import audit_labels
from rboost.audit.fit import learn_features
from rboost.audit.insight.columns import read_columns
from rboost.model import RBoostClassifier
from tests.audit.conftest import quick
from tests.audit.reports import without_pictures


def a_table(n_rows=200):
    random = np.random.RandomState(0)
    y = random.randint(0, 2, n_rows)
    table = pd.DataFrame(
        {
            "noise": random.randn(n_rows),
            "decides": y + 0.3 * random.randn(n_rows),
            "site": random.choice(["north", "south"], n_rows),
            "day": pd.date_range("2020", periods=n_rows),
            "story": [f"once {k} upon {k * k} a time" for k in range(n_rows)],
            "key": [f"k{k}" for k in range(n_rows)],
            "empty": np.nan,
            "same": 1,
            "flag": random.rand(n_rows) < 0.5,
        }
    )
    return table, y


@pytest.mark.slow
def test_each_column_says_what_it_was_taken_for_and_the_one_that_decides_comes_first():
    table, y = a_table()
    audit = audit_labels(table, y, model="forest", check_columns=False)
    found = {one.name: one for one in audit.columns}
    assert [(name, found[name].kind) for name in table.columns[:5]] == [
        ("noise", "number"), ("decides", "number"), ("site", "category"), ("day", "date"),
        ("story", "text"),
    ]  # fmt: skip
    assert found["flag"].kind == "category"
    assert audit.columns[0].name == "decides"
    assert found["decides"].importance > 0.2 > 0.1 > found["noise"].importance
    assert {one.name: one.why for one in audit.columns[-3:]} == {
        "key": "another word in nearly every row, like a name",
        "empty": "empty",
        "same": "the same in every row",
    }
    assert all(one.importance is None for one in audit.columns[-3:])


@pytest.mark.parametrize("model", ["linear", RBoostClassifier(max_iter=20)], ids=str)
def test_of_a_wide_table_the_columns_that_matter_are_measured_and_no_others(monkeypatch, model):
    without_pictures(monkeypatch)
    table, y = a_table()
    monkeypatch.setattr("rboost.audit.insight.columns.MOST_MEASURED", 2 * table.shape[1])
    audit = quick(table, y, model=model)
    first, _, *others = audit.columns
    assert first.name == "decides"
    assert [one.importance is None for one in audit.columns] == [False] * 2 + [True] * 7
    assert [bool(one.why) for one in others] == [False] * 4 + [True] * 3
    assert audit.to_html().count("not measured") == 4


def test_without_a_model_nothing_is_known_to_matter():
    table, _ = a_table()
    found = read_columns(learn_features(table), None)
    kinds = {one.name: one.kind for one in found}
    assert [kinds[name] for name in table.columns[:4]] == ["number", "number", "category", "date"]
    assert all(one.importance is None for one in found)


def test_a_column_of_words_for_nothing_is_empty():
    table, _ = a_table()
    table["nothing"] = np.where(table["flag"], "N/A", "?")
    table["hardly"] = np.where(table["flag"], "N/A", None)
    why = {one.name: one.why for one in read_columns(learn_features(table), None)}
    left_aside = {"nothing": "empty", "hardly": "empty", "empty": "empty"}
    assert left_aside.items() <= why.items()
    assert why["key"] == "another word in nearly every row, like a name"
    useless = learn_features(table[[*left_aside, "key", "same"]])
    assert {one.name: one.why for one in read_columns(useless, None)} == {
        name: why[name] for name in useless.encoder.names
    }
