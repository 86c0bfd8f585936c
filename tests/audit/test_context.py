"""Audits with context columns: who labelled a row, where it comes from, when."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from rboost.audit import GroupNoiseDisplay, audit_labels
from rboost.audit.labels import table_labels
from tests.audit.conftest import HOSTILE, make_table
from tests.model.test_groups import careless_table


def small_table(groups, n_rows=300):
    X, true, given = make_table(n_rows, 2)
    table = pd.DataFrame({"height": X[:, 0], "girth": X[:, 1]})
    table["who"] = [groups[k % len(groups)] for k in range(n_rows)]
    given = np.where((table["who"] == groups[0]) & (np.arange(n_rows) % 5 == 0), 1 - true, given)
    return table, given, true


@pytest.fixture(scope="module")
def audit(small_model):
    table, given, _ = small_table(["ann", "bob", None])
    return audit_labels(table, given, context="who", model=small_model, check_columns=False)


def shares(audit):
    return {one.name: one.wrong_share for one in audit.summary().groups}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["rboost", "linear"])
def test_careless_annotator(model):
    X, given, annotator, wrong = careless_table(1)
    table = pd.DataFrame(X).assign(annotator=annotator)
    audit = audit_labels(table, given, context="annotator", model=model, check_columns=False)
    suspects = np.argsort(-audit.issue_probability)[: wrong.sum()]
    if model == "rboost":
        assert wrong[suspects].mean() >= 0.8
        assert wrong[audit.suspects().rows].sum() >= 0.8 * wrong.sum()
        for name, share in shares(audit).items():
            assert share == pytest.approx(wrong[annotator == name].mean(), abs=0.05)
    assert max(shares(audit), key=shares(audit).get) == "c"
    assert "annotator" not in audit.table.columns


@pytest.mark.slow
@pytest.mark.parametrize("is_informative", [False, True])
def test_flipped_category(is_informative):
    X, given, _, wrong = careless_table(0)
    true = np.where(wrong, 1 - given, given)
    random = np.random.RandomState(0)
    kind = random.choice(5, size=len(X))
    if is_informative:
        kind = np.where(random.uniform(size=len(X)) < 0.4, 1 + 2 * true, kind)
    wrong = (kind == 1) & (random.uniform(size=len(X)) < 0.4)
    table = pd.DataFrame(X).assign(kind=np.array(list("abcde"))[kind])
    audit = audit_labels(
        table, np.where(wrong, 1 - true, true), context=["kind"], check_columns=False
    )
    assert wrong[audit.suspects().rows].sum() >= 0.8 * wrong.sum()
    for name, share in shares(audit).items():
        assert share == pytest.approx(wrong[table["kind"] == name].mean(), abs=0.05)


@pytest.mark.slow
def test_names_of_columns_arrays_and_frames_are_the_same(audit, small_model):
    table, given, _ = small_table(["ann", "bob", None])
    features = table.drop(columns="who")
    for context in (table["who"], table["who"].tolist(), table[["who"]]):
        other = audit_labels(
            features, given, context=context, model=small_model, check_columns=False
        )
        assert shares(other) == shares(audit)
        np.testing.assert_array_equal(other.issue_probability, audit.issue_probability)
    assert list(shares(audit)) == ["ann", "bob", "(missing)"]


def test_checked_rows_and_extra_rows_keep_groups(audit, small_model):
    table, given, true = small_table(["ann", "bob", None])
    checked = np.where((table["who"] == "ann") & (np.arange(300) < 150), true, -1)
    after = audit.with_checked(checked)
    worst = [one.summary().groups[0] for one in (audit, after)]
    assert worst[1].n_unchecked == worst[0].n_unchecked - np.count_nonzero(checked >= 0)
    truth = np.mean(true[table["who"] == "ann"] != given[table["who"] == "ann"])
    rates = [
        1 - np.mean(one.inference.by_group.noise_matrix[0].diagonal()) for one in (audit, after)
    ]
    assert abs(rates[1] - truth) < abs(rates[0] - truth) + 0.02
    more = audit_labels(
        table, given, X_trusted=table[["girth", "height"]][:10], y_trusted=true[:10],
        context="who", model=small_model, check_columns=False,
    )  # fmt: skip
    assert more.groups.position[-10:].tolist() == [-1] * 10
    assert np.isfinite(more.issue_probability).all()


@pytest.mark.slow
def test_words_of_all_groups_are_harmless(small_model):
    names = list(HOSTILE[:6])
    table, given, _ = small_table(names)
    table = table.rename(columns={"who": "<i>who</i>\x1b[2J"})
    audit = audit_labels(
        table, given, context=table.columns[-1], model=small_model, check_columns=False
    )
    page = audit.to_html()
    for bad in ("<script>window.pwned", "<img src=x", "<i>who"):
        assert bad not in page
    assert "&lt;script&gt;window.pwned" in page
    text = audit.to_text()
    assert "\x1b" not in text
    assert "% wrong" in text


def test_without_context_nothing_is_said_of_groups(small_audit):
    assert small_audit.summary().groups == ()
    assert 'id="groups"' not in small_audit.to_html()


def test_picture_has_a_bar_for_each_group(audit):
    display = GroupNoiseDisplay.from_audit(audit).plot(Figure().subplots())
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels == ["ann", "bob", "(missing)"]
    assert len(display.ax_.patches) == 3
    many = GroupNoiseDisplay(
        np.linspace(0, 1, 4), np.array([[0, 0, 0, 1], [1, 1, 1, 1.0]]), ["$a^$"] * 4, 0.2
    )
    many.plot(Figure().subplots()).figure_.draw_without_rendering()


def test_a_column_that_is_not_there():
    table, given, _ = small_table(["ann", "bob"])
    with pytest.raises(ValueError, match="'whom', which X does not have"):
        audit_labels(table, given, context="whom")


def test_groups_belong_to_the_audit(audit):
    given, checked = audit.labels.given, audit.labels.checked
    labels = table_labels(audit.classes, given, checked)
    without = replace(audit, groups=None, labels=labels).with_checked(checked)
    assert without.inference.by_group is None
