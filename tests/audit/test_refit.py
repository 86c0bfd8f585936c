"""LabelAudit.refit: what audit_labels gives with the same answers, from what is in memory."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rboost import RBoostClassifier
from rboost.audit import AnswersContradictWarning, audit_labels
from tests.audit.conftest import make_table, quick

NAMES = np.array(["ash", "birch", "cedar"], dtype=object)
SMALL = RBoostClassifier(engines="pool", max_iter=10, random_state=0)
MERGED = "ignore:.* rows repeat others"


def case(kind, n_classes):
    """A frame with words, labels as names, the true names, and options of the audit."""
    X, true, given = make_table(160, n_classes)
    table = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "word": [f"w{k % 4}" for k in range(160)]})
    given, true, options = NAMES[given], NAMES[true], {}
    if kind == "context":
        options["context"] = ["ann", "bob"] * 80
    if kind == "copies":
        repeated = np.tile(np.arange(160), 2)
        table, given, true = table.iloc[repeated], given[repeated], true[repeated]
    if kind == "trusted":
        options |= {"X_trusted": table[:9], "y_trusted": true[:9]}
    given[3] = None
    return table, given, true, options


def check_equal(found, expected):
    """The same labels, scores and noise, and a model that predicts the same."""
    for name in ("given", "checked", "at_random", "written", "said"):
        assert_array_equal(getattr(found.labels, name), getattr(expected.labels, name))
    assert_allclose(found.scores, expected.scores)
    assert_allclose(found.inference.posterior, expected.inference.posterior)
    assert_allclose(found.noise_matrix, expected.noise_matrix)
    assert_allclose(found.noise_interval, expected.noise_interval)
    if expected.groups is not None:
        assert_allclose(found.inference.wrong_share, expected.inference.wrong_share)
        shares = [[one.wrong_share for one in each.summary().groups] for each in (found, expected)]
        assert_allclose(*shares)
    assert_allclose(
        found.model.predict_proba(expected.table), expected.model.predict_proba(expected.table)
    )


@pytest.mark.slow
@pytest.mark.filterwarnings(MERGED)
@pytest.mark.parametrize("kind", ["plain", "context", "copies", "trusted"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_equals_an_audit_with_the_same_answers(kind, n_classes):
    table, given, true, options = case(kind, n_classes)
    options |= {"model": SMALL, "check_columns": False, "random_state": 3}
    checked = np.where(np.arange(len(given)) % 8 == 3, true, None)
    drawn = np.arange(len(given)) % 16 == 3
    first = np.where(np.arange(len(given)) < 40, checked, None)
    audit = audit_labels(table, given, y_checked=first, **options)
    found = audit.refit(np.where(np.arange(len(given)) < 40, None, checked), at_random=drawn)
    drawn &= np.arange(len(given)) >= 40  # earlier rows were not said to be drawn
    expected = audit_labels(table, given, y_checked=checked, checked_at_random=drawn, **options)
    check_equal(found, expected)
    assert np.any(found.scores != audit.scores)
    assert (audit.copy_of is not None) == (kind == "copies")
    assert_array_equal(audit.labels.checked[: len(given)] >= 0, first != None)  # noqa: E711


@pytest.mark.parametrize("model", ["linear", pytest.param("rboost", marks=pytest.mark.slow)])
def test_answers_by_names_of_rows_replace_earlier_ones_and_others_stay(model):
    table, given, true, _ = case("plain", 2)
    ids = [f"r{k}" for k in range(160)]
    first = [*true[:5], *[None] * 155]
    audit = quick(table, given, y_checked=first, checked_at_random=True, ids=ids, model=model)
    other = "ash" if true[2] == "birch" else "birch"
    found = audit.refit({"r2": other, "r8": true[8], "r9": f" {true[9].upper()}", "r10": None})
    checked = [*true[:2], other, *true[3:5], *[None] * 3, *true[8:10], *[None] * 150]
    expected = quick(
        table, given, y_checked=checked, ids=ids, model=model,
        checked_at_random=np.arange(160) < 5,
    )  # fmt: skip
    check_equal(found, expected)
    assert audit.labels.said[:5].tolist() == true[:5].tolist()  # the audit stays as it was


def test_numbers_of_rows_and_classes_may_be_text():
    X, _, given = make_table(120, 2)
    audit = quick(X, given)
    found = audit.refit({3: 1, "4": "0", np.int64(5): np.int64(1), 6: 1.0})
    assert found.labels.checked[2:6].tolist() == [1, 0, 1, 1]
    assert np.count_nonzero(found.labels.is_checked) == 4


def test_nothing_is_encoded_again(monkeypatch):
    table, given, true, _ = case("plain", 2)
    audit = quick(table, given)

    def fail(*_):
        raise AssertionError("the table was encoded again")

    monkeypatch.setattr("rboost.audit.fit.read_columns", fail)
    monkeypatch.setattr("rboost.audit.fit.learn_encoder", fail)
    assert audit.refit({1: true[0]}).features is audit.features


def test_a_generator_of_random_numbers_begins_anew():
    X, true, given = make_table(120, 2)
    model = RBoostClassifier(engines="pool", max_iter=5, random_state=np.random.RandomState(1))
    checked = [*true[:6].tolist(), *[None] * 114]
    found = quick(X, given, model=model).refit(checked)
    assert_allclose(found.scores, quick(X, given, model=model, y_checked=checked).scores)


def test_given_probabilities_are_never_fitted():
    _, true, given = make_table(120, 2)
    likely = np.where(np.arange(2) == true[:, None], 0.8, 0.2)
    likely += np.random.RandomState(0).uniform(-0.1, 0.1, (120, 1)) * [1, -1]
    audit = audit_labels(None, given, probabilities=likely)
    found = audit.refit(dict(enumerate(true[:30].tolist(), 1)), at_random=True)
    assert found.model is None
    assert found.scores is audit.scores
    expected = audit.with_checked(np.where(np.arange(120) < 30, true, -1), np.arange(120) < 30)
    assert_array_equal(found.inference.posterior, expected.inference.posterior)
    assert found.summary().random_checks.n_checked == 30


def test_answers_that_nobody_expected_are_told():
    X, _, _ = make_table(240, 2)
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += 3 * np.sign(X[:, 0])
    answers = [1 - label if k < 15 else label for k, label in enumerate(y[:80].tolist())]
    audit = quick(X, y)
    with pytest.warns(AnswersContradictWarning, match="15 were wrong where") as caught:
        audit.refit(dict(enumerate(answers, 1)))
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("answers", "options", "message"),
    [
        ({"r5": "ash"}, {}, "There is no row 'r5'; name rows as audit.ids does"),
        ({"trusted 1": "ash"}, {}, "There is no row 'trusted 1'"),
        ({1: "oak"}, {}, "'oak', which is no class of this audit; use one of 'ash', 'birch', or"),
        ({1: 0}, {}, "answers has 0, which is no class"),
        ({1: "ash", "1": "birch"}, {}, "has the row '1' twice; keep one"),
        ({"twin": "ash"}, {}, "2 rows are called 'twin'; pass one answer for each row"),
        (["ash"], {}, "answers has 1 entries but the table has 160 rows; pass one a row"),
        ("ash", {}, "answers must have one entry a row"),
        ({1: "ash"}, {"at_random": [True]}, "at_random must be True, False, or one of them"),
        (["ash", "birch"] * 80, {}, "Only 0 rows have a label that nobody checked"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_answer_is_refused_with_one_sentence(answers, options, message):
    table, given, true, _ = case("plain", 2)
    ids = [*range(1, 159), "twin", "twin"]
    audit = quick(table, given, ids=ids, X_trusted=table[:2], y_trusted=true[:2])
    with pytest.raises(ValueError, match=message) as caught:
        audit.refit(answers, **options)
    assert "\n" not in str(caught.value)


def test_answers_of_several_people_in_a_frame_all_reach_the_inference():
    X, true, given = make_table(160, 2)
    audit = quick(X, given)
    rows, second = np.arange(1, 41), true[20:40].copy()
    second[::3] = 1 - second[::3]
    lines = pd.DataFrame({
        "row": np.append(rows, rows[20:]),
        "reviewer": ["ann"] * 40 + ["bob"] * 20,
        "label": np.append(true[:40], second),
        "drawn_at_random": "yes",
    })  # fmt: skip
    found = audit.refit(lines)
    assert len(found.labels.answers) == 60
    assert found.labels.at_random.sum() == 40
    assert found.reviewer_errors["ann"] < found.reviewer_errors["bob"]
    again = audit.refit(lines[:40]).refit(lines[40:].rename(columns={"row": "id"}))
    assert_allclose(again.inference.posterior, found.inference.posterior)
    check_equal(quick(X, given, y_checked=lines), found)
    renamed = audit.refit(lines.replace({"ann": "cy"}))
    assert_allclose(renamed.inference.posterior, found.inference.posterior)
    shuffled = audit.refit(lines[:40].sample(frac=1, random_state=0))
    assert_allclose(shuffled.inference.posterior, audit.refit(lines[:40]).inference.posterior)
    alone = audit.refit(dict(zip(rows.tolist(), true[:40].tolist(), strict=True)), at_random=True)
    assert_allclose(shuffled.inference.posterior, alone.inference.posterior)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"row": [1], "reviewer": ["ann"]}, "answers has no column 'label' of classes; add it"),
        ({"label": [1], "reviewer": ["ann"]}, "no column 'row' that names the rows; add it"),
        ({"row": [999], "label": [1], "reviewer": ["ann"]}, "There is no row 999"),
    ],
)
def test_a_frame_of_answers_that_lacks_something_is_refused(columns, message):
    X, _, given = make_table(120, 2)
    with pytest.raises(ValueError, match=message):
        quick(X, given).refit(pd.DataFrame(columns))


@pytest.mark.parametrize("yes", [True, np.True_, 1, 1.0, "yes", "Yes ", "true", "1"], ids=repr)
def test_rows_drawn_at_random_are_marked_by_a_word_a_truth_value_or_a_number(yes):
    X, true, given = make_table(120, 2)
    no = {"yes": "no", "Yes ": None, "true": "false", "1": "0"}.get(yes, type(yes)(0))
    lines = pd.DataFrame({"row": range(1, 21), "reviewer": "ann", "label": true[:20]})
    lines["drawn_at_random"] = [yes] * 15 + [no] * 5
    assert np.flatnonzero(quick(X, given).refit(lines).labels.at_random).tolist() == [*range(15)]
    lines["drawn_at_random"] = "perhaps"
    with pytest.raises(ValueError, match="'perhaps' in the column 'drawn_at_random'; write yes or"):
        quick(X, given).refit(lines)


def test_an_answer_without_a_name_is_the_decision_and_replaces_those_of_reviewers():
    X, true, given = make_table(120, 2)
    wrong = 1 - int(true[30])
    lines = pd.DataFrame({"row": [31, 31, 32], "reviewer": ["ann", "bob", "ann"], "label": wrong})
    audit = quick(X, given).refit(lines)
    one_a_row = [None] * 120
    one_a_row[30] = int(true[30])
    for answers in ({31: int(true[30])}, one_a_row):
        found = audit.refit(answers)
        assert found.labels.checked[30:32].tolist() == [true[30], wrong]
        assert found.labels.answers.said == {(30, "", int(true[30])), (31, "ann", wrong)}
    again = found.refit(lines[:2].assign(reviewer=["cy", "dan"]))  # which add to it
    assert again.labels.checked[30] == wrong
