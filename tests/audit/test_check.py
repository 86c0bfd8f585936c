"""check_table: each check against planted defects, and what it is written as."""

import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rboost.audit import check_table
from rboost.audit.check import NAMES, _equal_rows
from rboost.audit.fit import learn_features

N_ROWS = 240
ONLY = {name: [other for other in NAMES if other != name] for name in NAMES}


def make_table(n_rows=N_ROWS, wrong=0.0, seed=0):
    random = np.random.RandomState(seed)
    X = pd.DataFrame(random.standard_normal((n_rows, 3)).round(6), columns=["a", "b", "c"])
    true = X["a"] + X["b"] > 0
    y = pd.Series(np.where(true ^ (random.uniform(size=n_rows) < wrong), "yes", "no"), name="label")
    return X, y


def check(name, *tables, **options):
    return check_table(*tables, skip=ONLY[name], **options)[name]


@pytest.mark.slow
def test_the_share_of_wrong_labels_passes_or_fails_by_its_interval():
    X, y = make_table(wrong=0.2)
    first = check("wrong-labels", X, y, model="linear")
    low, high = first.figures["low"], first.figures["high"]
    assert 0 < low < 0.2 < high < 1
    for limit, strict, status in (
        (low - 0.01, False, "fail"),
        (low - 0.01, True, "fail"),
        ((low + high) / 2, False, "cannot tell"),
        ((low + high) / 2, True, "fail"),
        (high + 0.01, False, "ok"),
        (high + 0.01, True, "ok"),
    ):
        found = check_table(
            X, y, fail_above=limit, strict=strict, skip=ONLY["wrong-labels"], model="linear"
        )
        assert found.checks[0].status == status
        assert found.passed == (status != "fail")
        remedy = found.checks[0].remedy
        assert remedy.startswith("List and correct") == (limit < low)
        assert remedy.startswith("Check 30 random labels") == (low < limit < high)
        assert found.checks[0].figures["low"] == low  # the same seed, the same figures


def test_labels_that_people_corrected_are_wrong_labels_of_the_table():
    X, y = make_table()
    flipped = y.copy()
    flipped[:24] = flipped[:24].map({"yes": "no", "no": "yes"})
    answers = y.where(y.index < 24)
    found = check("wrong-labels", X, flipped, y_checked=answers, model="linear", fail_above=0.09)
    assert found.status == "fail"
    assert found.figures["low"] >= 24 / N_ROWS


@pytest.mark.parametrize("n_unchecked", [0, 1, 19])
def test_where_people_checked_nearly_all_labels_their_share_counts(n_unchecked):
    X, y = make_table()
    flipped = y.copy()
    flipped[:12] = flipped[:12].map({"yes": "no", "no": "yes"})
    answers = y.where(y.index < N_ROWS - n_unchecked)
    found = check("wrong-labels", X, flipped, y_checked=answers, fail_above=0.13)
    ends = [12 / N_ROWS, (12 + n_unchecked) / N_ROWS]
    assert [found.figures["low"], found.figures["high"]] == pytest.approx(ends)
    assert found.status == "ok"
    assert ("all but" in found.found) == (n_unchecked > 0)
    found = check("wrong-labels", X, flipped, y_checked=answers, fail_above=0.04)
    assert found.status == "fail"
    with pytest.raises(ValueError, match="Only 19 rows have a label that nobody checked"):
        check("wrong-labels", X, y.where(y.index < 19))


@pytest.mark.slow
def test_a_recoded_label_is_found_and_wrong_labels_are_measured_without_it():
    X, y = make_table(wrong=0.15)
    leaky = X.assign(code=y.map({"yes": 7, "no": 3}))
    found = check_table(leaky, y, skip=NAMES[2:], model="linear")
    assert found["label-copies"].status == "fail"
    assert "“code”" in found["label-copies"].found
    assert [one["column"] for one in found["label-copies"].figures["columns"]] == ["code"]
    without = check_table(X, y, skip=NAMES[2:], model="linear")
    assert without["label-copies"].status == "ok"
    assert found["wrong-labels"].figures == without["wrong-labels"].figures


def test_few_rows_cannot_tell_a_copy_of_the_label():
    assert check("label-copies", *make_table(60)).status == "cannot tell"


def test_a_table_of_which_nothing_is_left_cannot_be_judged():
    y = make_table(60)[1]
    nothing = pd.DataFrame({"constant": np.ones(60)})
    assert check("wrong-labels", nothing, y).status == "cannot tell"
    assert check("wrong-labels", nothing, y, strict=True).status == "fail"


CELLS = st.one_of(st.none(), st.integers(-1, 1), st.sampled_from([0.5, 1.0]))
WORDS = st.one_of(st.none(), st.sampled_from(["a", "b", " a"]))


@given(st.lists(st.tuples(CELLS, WORDS, st.booleans()), min_size=2, max_size=30), st.integers(1))
def test_rows_are_equal_where_all_their_cells_are(rows, cut):
    """Compared with tuples of Python; a column may be of another type in the second table."""
    frame = pd.DataFrame(rows, columns=["n", "w", "t"]).astype({"n": float, "w": object})
    cut = 1 + cut % (len(frame) - 1)
    tables = [frame[:cut], frame[cut:].reset_index(drop=True)]
    if tables[1]["n"].notna().all() and (tables[1]["n"] % 1 == 0).all():
        tables[1] = tables[1].astype({"n": int})
    found = _equal_rows(tables, learn_features(tables[0]))
    number = found.number
    assert found.aside == []
    plain = [
        (None if pd.isna(n) else float(n), None if w is None else w.strip(), t) for n, w, t in rows
    ]
    for i in range(len(rows)):
        for j in range(i):
            assert (number[i] == number[j]) == (plain[i] == plain[j])


def test_equal_rows_with_different_labels_are_named():
    X, y = make_table()
    X.iloc[5], X.iloc[8] = X.iloc[4], X.iloc[7]
    y[4], y[5] = "yes", "no"
    y[7], y[8] = "no", "no"  # a copy, but no contradiction
    ids = [f"r{k}" for k in range(N_ROWS)]
    found = check("contradictions", X, y, ids=ids)
    assert (found.status, found.figures["rows"]) == ("fail", 2)
    assert found.figures["first"] == ["r4", "r5"]
    assert "“r4” and “r5”" in found.remedy
    assert check("contradictions", X.drop([4, 8]), y.drop([4, 8])).status == "ok"


def test_rows_that_coincide_as_columns_have_few_values_prove_nothing():
    X, y = make_table()
    assert check("contradictions", (X > 0).astype(int), y).status == "cannot tell"
    assert (
        check("shared-rows", (X > 0).astype(int), y, (X > 0).astype(int), y).status == "cannot tell"
    )


def test_copies_among_rows_that_may_coincide_are_told_from_chance():
    random = np.random.RandomState(0)
    X = pd.DataFrame(random.choice(3, (N_ROWS, 8))).add_prefix("c")
    y = pd.Series(random.choice(["no", "yes"], N_ROWS))
    assert check("contradictions", X, y).status in ("ok", "cannot tell")
    X[:40], y[:40] = X[40:80].to_numpy(), y[40:80].map({"no": "yes", "yes": "no"}).to_numpy()
    assert check("contradictions", X, y).status == "fail"


WORDY = pd.Series([f"order {k} came {k % 7} days late" for k in range(1000)])
FEW_COLUMNS = {
    "text": pd.DataFrame({"text": WORDY}),
    "partly empty": pd.DataFrame({"text": WORDY.where(WORDY.index % 10 > 0, "")}),
    "language": pd.DataFrame({"text": WORDY, "language": ["de", "en", "fr", "nl"] * 250}),
    "region": pd.DataFrame(
        {
            "amount": np.random.RandomState(0).uniform(0, 1000, 1000).round(2),
            "region": ["north", "south", "east", "west", "here"] * 200,
        }
    ),
}


@pytest.mark.parametrize("kind", FEW_COLUMNS)
def test_a_test_table_that_is_the_table_fails_with_few_columns_too(kind):
    X, y = FEW_COLUMNS[kind], pd.Series(["no", "yes"] * 500)
    found = check("shared-rows", X, y, X, y)
    assert (found.status, found.figures["rows"]) == ("fail", 1000)
    found = check("shared-rows", X[:700], y[:700], X[500:], y[500:])
    assert found.status == "fail"


@pytest.mark.parametrize("kind", FEW_COLUMNS)
def test_a_table_that_is_repeated_with_the_other_labels_contradicts_itself(kind):
    X, y = FEW_COLUMNS[kind], pd.Series(["no", "yes"] * 500)
    other = y.map({"no": "yes", "yes": "no"})
    found = check("contradictions", pd.concat([X, X]), pd.concat([y, other]))
    assert (found.status, found.figures["rows"]) == ("fail", 2000)


@pytest.mark.parametrize(
    "values",
    [
        {"a": 3},
        {"a": 90},
        {"a": 3, "b": 1},
        {"a": 2, "b": 2},
        {"a": 90, "b": 2},
        {"a": 500, "b": 4},
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_tables_of_few_possible_rows_prove_nothing(values, seed):
    random = np.random.RandomState(seed)
    X = pd.DataFrame({name: random.choice(n, 1000) for name, n in values.items()})
    X["a again"], X["half"] = X["a"].astype(str), X["a"] // 2  # which another one determines
    y = random.choice(["no", "yes"], 1000)
    for columns in (X, X[[*values]]):
        assert check("contradictions", columns, y).status == "cannot tell"
        tables = columns[:800], y[:800], columns[800:], y[800:]
        assert check("shared-rows", *tables).status == "cannot tell"


@pytest.mark.parametrize("name", ["contradictions", "shared-rows"])
def test_without_a_column_to_compare_no_row_repeats_another(name):
    y = make_table()[1]
    X = pd.DataFrame({"key": [f"k{k}" for k in range(N_ROWS)], "number": range(N_ROWS)})
    found = check(name, X, y, X, y)
    assert (found.status, found.figures) == ("cannot tell", {})
    assert found.found.startswith("Every column names or counts the rows")


def test_names_and_numbers_of_rows_do_not_tell_equal_rows_apart():
    X, y = make_table()
    X.iloc[5] = X.iloc[4]
    y[4], y[5] = "yes", "no"
    named = X.assign(key=[f"k{k}" for k in range(N_ROWS)], number=range(N_ROWS))
    found = check("contradictions", named, y)
    assert found.figures["rows"] == 2
    assert "“key” and “number” not compared" in found.found


def test_rows_of_the_test_table_that_the_table_has():
    X, y = make_table()
    X_test, y_test = make_table(50, seed=1)
    none = check("shared-rows", X, y, X_test, y_test)
    assert (none.status, none.figures["rows"]) == ("ok", 0)
    X_test.iloc[:4], y_test[:4] = X.iloc[:4].to_numpy(), y[:4]
    y_test[3] = {"yes": "no", "no": "yes"}[y[3]]
    found = check("shared-rows", X, y, X_test[["c", "b", "a"]], y_test)
    assert found.status == "fail"
    assert found.figures == {"rows": 4, "first": ["1", "2", "3", "4"], "with_another_label": 1}
    without_labels = check("shared-rows", X, y, X_test)
    assert without_labels.figures["with_another_label"] == 0


def test_classes_of_one_table_alone():
    X, y = make_table()
    X_test, y_test = make_table(50, seed=1)
    assert check("classes", X, y, X_test, y_test.str.upper() + " ").status == "ok"
    y_test[0], y[:6] = "Perhaps", "never"
    found = check("classes", X, y, X_test, y_test)
    assert found.status == "fail"
    assert found.figures == {"table": ["never"], "test": ["Perhaps"]}
    assert found.found == "Only the table has “never”; only the test has “Perhaps”."


def test_rows_without_a_label_are_counted():
    X, y = make_table()
    assert check("missing-labels", X, y).status == "ok"
    y[[3, 9]] = None
    found = check("missing-labels", X, y)
    assert (found.status, found.found) == ("fail", f"2 rows of {N_ROWS} have no label.")
    assert found.figures == {"rows": 2, "first": ["4", "10"]}


def test_of_several_annotators_the_majority_counts():
    X, y = make_table(60)
    Y = np.column_stack([y, y, y]).astype(object)
    Y[3] = None
    found = check("missing-labels", X, Y)
    assert found.figures == {"rows": 1, "first": ["4"]}
    with pytest.raises(ValueError, match="y_test must have one entry a row"):
        check("classes", X, y, X, Y)


def test_what_is_written_is_read_by_others():
    X, y = make_table(60)
    y[0] = None
    found = check_table(
        X, y, skip=["wrong-labels"], ids=[f"<&\x1b{k}" for k in range(60)], source="a<b\x00.csv"
    )
    record = json.loads(found.to_json())
    assert record["passed"] is found.passed is False
    assert [one["name"] for one in record["checks"]] == [one.name for one in found.checks]
    suite = ElementTree.fromstring(found.to_junit())
    counts = {name: int(suite.get(name)) for name in ("tests", "failures", "skipped", "errors")}
    assert counts == {"tests": 3, "failures": 1, "skipped": 1, "errors": 0}
    assert [case.get("name") for case in suite] == [one.name for one in found.checks]
    assert suite.find("testcase/failure").get("message") == "1 row of 60 has no label."
    said = str(found)
    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) <= 100


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"skip": ["typos"]}, "There is no check 'typos'"),
        ({"fail_above": 2}, "fail_above must be a share"),
        ({"random_state": -1}, "random_state must be"),
        ({"y_test": ["a"]}, "pass X_test too"),
        ({"X_test": pd.DataFrame({"a": [1.0]})}, "X_test lacks the column 'b'"),
        ({"X_test": make_table(3)[0], "y_test": ["yes"]}, "X_test has 3 rows but y_test has 1"),
    ],
)
def test_what_does_not_fit_is_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_table(*make_table(60), **options)
