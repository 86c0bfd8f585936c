"""A cleaned table: people first, then what is probable enough; every change is named."""

import numpy as np
import pandas as pd
import pytest

from rboost.audit import audit_labels
from rboost.audit.cleaning import WAYS, clean_labels
from tests.audit.conftest import make_table, quick


@pytest.mark.parametrize("how", WAYS)
def test_what_people_said_stands_in_every_way(small_audit, how):
    frame = small_audit.clean(how)
    checked = small_audit.labels.is_checked
    if how == "drop":
        assert (frame["label_source"] == "answer").sum() == checked.sum()
        return
    said = small_audit.labels.names(small_audit.labels.checked[checked])
    assert frame["tree"][checked].tolist() == said
    assert frame["label_source"][checked].eq("answer").all()
    assert frame["given_label"].tolist() == small_audit.labels.written.tolist()


def test_labels_are_changed_where_another_is_probable_enough(small_audit):
    for threshold in (0.5, 0.9, 1.0):
        frame = small_audit.clean("relabel", threshold)
        posterior = small_audit.inference.posterior
        is_open = ~small_audit.labels.is_checked
        likeliest = np.array(small_audit.labels.names(posterior.argmax(axis=1)))
        differs = likeliest != small_audit.labels.names(small_audit.labels.given)
        changed = is_open & (posterior.max(axis=1) >= threshold) & differs
        assert (frame["label_source"] == "suggested").tolist() == changed.tolist()
        assert frame["tree"][changed].tolist() == likeliest[changed].tolist()
        kept = is_open & ~changed
        assert frame["tree"][kept].fillna("").tolist() == frame["given_label"][kept].tolist()


def test_rows_are_dropped_by_their_doubt_and_others_are_untouched(small_audit):
    frame = small_audit.clean("drop", 0.7)
    doubted = np.nan_to_num(small_audit.issue_probability, nan=0) >= 0.7
    assert 0 < doubted.sum() == len(small_audit) - len(frame)
    assert frame["height"].tolist() == small_audit.table["height"][~doubted].tolist()


def test_weights_are_how_likely_the_label_is_right(small_audit):
    frame = small_audit.clean("weigh")
    wrong = small_audit.issue_probability
    expected = np.where(np.isnan(wrong), 0, 1 - np.nan_to_num(wrong))
    np.testing.assert_allclose(frame["weight"], expected, atol=1e-4)
    is_open = ~small_audit.labels.is_checked
    written = small_audit.labels.written[is_open].tolist()
    assert frame["tree"][is_open].fillna("").tolist() == written


def test_the_probability_is_of_the_given_label_and_a_person_settles_it(small_audit):
    frame, labels = small_audit.clean("drop", 1.0), small_audit.labels
    found = frame["probability_wrong"].to_numpy()
    is_open = ~labels.is_checked
    np.testing.assert_allclose(found[is_open], small_audit.issue_probability[is_open], atol=1e-4)
    refuted = labels.checked != labels.given
    assert refuted[labels.is_checked].any()
    assert found[labels.is_checked].tolist() == refuted[labels.is_checked].astype(float).tolist()


def test_columns_of_the_table_keep_their_names(small_audit):
    from dataclasses import replace

    table = small_audit.table.assign(given_label=1, label_source=2)
    frame = replace(small_audit, table=table).clean()
    assert frame["given_label"].eq(1).all()
    assert frame["label_source by rboost"].isin(["given", "answer", "suggested", "missing"]).all()


@pytest.mark.parametrize(
    ("how", "threshold", "message"),
    [("burn", 0.9, "how must be one of relabel, drop, weigh"), ("drop", 0.2, "threshold must be")],
)
def test_what_makes_no_sense_is_refused(small_audit, how, threshold, message):
    with pytest.raises(ValueError, match=message):
        clean_labels(small_audit.labels, small_audit.inference.posterior, how, threshold)


def test_an_answer_that_names_a_rare_class_stands():
    X, _, given = make_table(100, 2)
    y = np.array(["a", "b"], dtype=object)[given]
    y[:3], checked = "rare", np.full(100, None)
    checked[10] = "rare"
    with pytest.warns(UserWarning, match="fewer than 5 rows"):
        audit = audit_labels(X, y, y_checked=checked, model="linear", check_columns=False)
    for how in WAYS:
        frame = audit.clean(how)
        assert frame["label"][10] == "rare"
        assert frame["label_source"][10] == "answer"
        assert how != "weigh" or frame["weight"][10] == 1
        assert frame["label"][0] in ("rare", "a", "b")


def test_spellings_are_one_and_rows_can_be_told():
    X, _, given = make_table(100, 2)
    y = np.array(["no", "yes"], dtype=object)[given]
    y[::9] = [f" {label.upper()}" for label in y[::9]]
    with pytest.warns(UserWarning, match="differ only by case"):
        audit = audit_labels(
            X, y, ids=[f"r{k}" for k in range(100)], id_name="key", model="linear",
            check_columns=False,
        )  # fmt: skip
    frame = audit.clean("drop", 0.5)
    assert set(frame["label"]) == {"no", "yes"}
    assert frame["given_label"].tolist() == y[frame.index].tolist()
    assert frame["key"].tolist() == [f"r{k}" for k in frame.index]
    clash = audit_labels(
        pd.DataFrame(X, columns=["label", "x"]), given, model="linear", check_columns=False
    )
    with pytest.raises(ValueError, match="X has a column called 'label' too"):
        clash.clean()


def test_where_as_many_people_disagree_the_more_probable_class_counts():
    X, true, given = make_table(400, 3)
    audit, random = quick(X, given), np.random.RandomState(1)
    rows = audit.suspects(n=40).rows
    rows = np.append(rows, random.permutation(np.setdiff1d(np.arange(400), rows))[:40])
    bob = np.where(random.rand(80) < 0.45, (true[rows] + random.randint(1, 3, 80)) % 3, true[rows])
    lines = pd.DataFrame({
        "row": np.tile(rows + 1, 2),
        "reviewer": ["ann"] * 80 + ["bob"] * 80,
        "label": np.append(true[rows], bob),
    })  # fmt: skip
    for found in (audit.refit(lines), audit.with_checked(audit.refit(lines).labels.answers)):
        disputed = np.flatnonzero(found.labels.answers.is_disputed)
        assert len(disputed) > 20
        assert found.labels.checked[disputed].tolist() == true[disputed].tolist()
        assert [int(word) for word in found.labels.said[disputed]] == true[disputed].tolist()
        frame = found.clean().iloc[disputed]
        assert frame["label"].tolist() == true[disputed].tolist()
        wrong = frame["probability_wrong"].to_numpy()
        assert ((wrong > 0.5) == (given != true)[disputed]).all()
        assert ((wrong > 0) & (wrong < 1)).any()  # the posterior with both answers


def test_two_answers_to_a_row_without_a_label_are_settled_by_the_model():
    X, true, given = make_table(400, 2)
    sure = np.argsort(-np.abs(X[:, 0]))[:10]  # whose class the columns tell
    labels = given.astype(object)
    labels[sure] = None
    audit = quick(X, labels)
    lines = pd.DataFrame({
        "row": np.tile(sure + 1, 2),
        "reviewer": ["ann"] * 10 + ["bob"] * 10,
        "label": np.append(true[sure], 1 - true[sure]),
    })  # fmt: skip
    found = audit.refit(lines)
    assert found.labels.checked[sure].tolist() == true[sure].tolist()
    assert found.inference.posterior[sure].max(axis=1).max() < 1
