"""Audits of labels by several annotators."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

from rboost.audit import audit_labels
from tests.model.test_annotators import crowd, with_names


@pytest.fixture(scope="module")
def audited():
    X, y, said = crowd(500, 3, share=0.35)
    X = pd.DataFrame(X).add_prefix("c")
    Y = pd.DataFrame(with_names(said), columns=[f"ann {a}" for a in range(9)])
    Y.iloc[:, 1] = Y.iloc[:, 1].replace("ham", "Ham ")
    with pytest.warns(UserWarning, match="differ only by case or spaces"):
        audit = audit_labels(X, Y, check_columns=False, label_name="kind")
    return audit, np.array(["eggs", "ham", "spam"])[y], Y


def test_the_consensus_is_better_than_the_majority_and_disputes_come_first(audited):
    audit, y, Y = audited
    found = audit.consensus()
    assert found.columns.tolist() == ["row", "consensus", "probability", "kind", "votes"]
    assert np.all(np.diff(found["probability"]) >= 0)
    found = found.set_index("row").sort_index()
    spoken = Y.notna().any(axis=1).to_numpy()
    names = np.char.lower(np.char.strip(found["consensus"].to_numpy(str)))
    majority = np.char.lower(np.char.strip(found["kind"].to_numpy(str)))
    assert np.mean(names[spoken] == y[spoken]) > np.mean(majority[spoken] == y[spoken]) + 0.05
    assert (found["votes"][~spoken] == "").all()
    assert_array_equal(majority == "", ~spoken)
    n_votes = found["votes"].str.findall(r"\d+").map(lambda counts: sum(map(int, counts)))
    assert_array_equal(n_votes, Y.notna().sum(axis=1))


def test_wrong_majorities_are_suspected(audited):
    audit, y, _ = audited
    given = np.char.lower(np.char.strip(np.array(audit.labels.names(audit.labels.given))))
    wrong = (given != y) & (given != "")
    rows = audit.suspects(n=20).rows
    assert wrong[rows].mean() > 2 * wrong.mean()
    summary = audit.summary()
    assert summary.share_low <= wrong.sum() / (given != "").sum() <= summary.share_high


def test_annotators_are_in_summary_terminal_and_report(audited):
    audit, *_ = audited
    annotators = audit.summary().annotators
    assert {one.name for one in annotators[:3]} == {"ann 6", "ann 7", "ann 8"}
    assert all(one.low <= one.accuracy <= one.high for one in annotators)
    text = " ".join(audit.to_text().split())
    worst = annotators[0]
    assert f"Labels of “{worst.name}”: " in text
    assert f"{worst.n_labels} labels; guesses)" in text
    page = audit.to_html()
    assert "those most often wrong first" in page
    assert all(one.name in page for one in annotators)
    assert audit.summary().as_dict()["annotators"][0]["kind"] == "guesses"


def test_a_picture_shows_how_often_each_is_right(audited):
    audit, *_ = audited
    display = audit.plot_annotators(Figure().subplots())
    annotators = audit.summary().annotators
    assert display.names == [one.name for one in annotators]
    assert_allclose(display.accuracy, [one.accuracy for one in annotators])
    assert_allclose(
        display.interval, [[one.low for one in annotators], [one.high for one in annotators]]
    )
    assert min(display.accuracy) < display.overall < max(display.accuracy)
    drawn = [bar.get_width() for bar in display.ax_.patches]
    assert_allclose(drawn, display.accuracy)
    assert "How often annotators are right" in audit.to_html()
    alone = audit_labels(
        None, [0, 1] * 20, probabilities=np.tile([[0.7, 0.3], [0.3, 0.7]], (20, 1))
    )
    with pytest.raises(ValueError, match="Each row has one label"):
        alone.plot_annotators()


def test_answers_are_believed_and_move_the_rest(audited):
    audit, y, _ = audited
    place = {"eggs": "eggs", "ham": audit.classes[1], "spam": "spam"}
    refitted = audit.refit({row + 1: place[y[row]] for row in range(60)})
    assert_allclose(refitted.inference.posterior[:60].max(axis=1), 1)
    assert refitted.summary().n_checked == 60
    assert len(refitted.summary().annotators) == 9


def test_probabilities_of_another_model():
    _, y, said = crowd(300)
    sure = np.random.RandomState(0).beta(4, 2, size=300)
    probabilities = np.where(y[:, None] == [0, 1], sure[:, None], 1 - sure[:, None])
    audit = audit_labels(None, said, probabilities=probabilities)
    assert audit.model is None
    best = audit.inference.posterior.argmax(axis=1)
    assert np.mean(best == y) > np.mean(probabilities.argmax(axis=1) == y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"context": np.arange(60) % 2}, "context is for one label a row"),
        ({"y_checked": ["no"] * 60}, "y_checked has 'no', which no row of y has"),
    ],
)
def test_what_does_not_go_together(options, message):
    X, _, said = crowd(60)
    with pytest.raises(ValueError, match=message):
        audit_labels(X, with_names(said), **options)


def test_a_silent_annotator_is_refused():
    X, _, said = crowd(60)
    said[:, 2] = np.nan
    with pytest.raises(ValueError, match="'annotator 3' has labelled no row"):
        audit_labels(X, said)


@pytest.fixture(scope="module")
def copying():
    X, _, said = crowd(500, 3, share=0.35)
    said[:, 8] = np.where(np.isnan(said[:, 5]), said[:, 8], said[:, 5])
    Y = pd.DataFrame(with_names(said), columns=[f"ann {a}" for a in range(9)])
    ids = [f"no {row}" for row in range(500)]
    return audit_labels(pd.DataFrame(X).add_prefix("c"), Y, ids=ids, check_columns=False)


def test_who_copies_is_said_everywhere(copying):
    [found] = copying.summary().copies
    assert (found.first, found.second) == ("ann 5", "ann 8")
    assert found.n_same == found.n_rows > found.expected_same
    assert found.copied_share > 0.9
    text = " ".join(copying.to_text().split())
    assert f"“ann 5” and “ann 8” gave the same label to {found.n_same} of the" in text
    assert "they copy from each other or from one source" in copying.to_html()
    assert copying.summary().as_dict()["copies"][0]["second"] == "ann 8"


def test_whom_to_ask_next(copying, audited):
    found = copying.ask_next(40, annotators=["ann 0", "ann 1", "ann 2"], most_each=15)
    assert found.columns.tolist() == ["row", "annotator", "consensus", "probability", "gain"]
    assert len(found) == 40
    assert found["annotator"].value_counts().max() <= 15
    assert set(found["annotator"]) == {"ann 0", "ann 1", "ann 2"}
    rows = [int(name.removeprefix("no ")) for name in found["row"]]
    votes = copying.labels.votes[rows]
    best = copying.inference.posterior[rows].argmax(axis=1)
    assert found["consensus"].tolist() == copying.labels.names(best)
    assert np.median(votes.sum(axis=1)) < np.median(copying.labels.votes.sum(axis=1))
    first = copying.summary().questions[0]
    best = copying.ask_next(1).iloc[0]
    assert (first.row, first.annotator) == (best["row"], best["annotator"])
    assert f"Ask “{first.annotator}” about row “{first.row}”" in copying.to_text()
    assert "Whom to ask next" in copying.to_html()
    answered = copying.refit({best["row"]: best["consensus"]})
    assert best["row"] not in answered.ask_next(400)["row"].tolist()


def test_how_many_labels_a_row_are_enough(copying):
    summary = copying.summary()
    shares = [one.accuracy for one in summary.labels_a_row]
    assert [one.n_labels for one in summary.labels_a_row] == list(range(1, 11))
    assert np.all(np.diff(shares) >= 0)
    n_labels = copying.labels.votes.sum(axis=1)
    assert_allclose(summary.mean_labels, n_labels[n_labels > 0].mean())
    sentence = "of the rows with one label each, "
    assert sentence in " ".join(copying.to_text().split())
    assert sentence in copying.to_html()


def test_the_estimate_of_labels_needed_is_near_the_truth():
    """Of 2 labels a row, by annotators of whom all labels are known."""
    X, y, said = crowd(1500, 2, share=0.5)
    estimate = audit_labels(X, said, check_columns=False).summary().labels_a_row
    random = np.random.RandomState(1)
    late = np.where(np.isnan(said), 2.0, random.uniform(size=said.shape)).argsort(axis=1)
    said[late.argsort(axis=1) >= 2] = np.nan
    fewer = audit_labels(X, said, check_columns=False)
    right = np.mean(fewer.inference.posterior.argmax(axis=1) == y)
    assert_allclose(estimate[1].accuracy, right, atol=0.04)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be an integer of at least 1, not 0"),
        ({"most_each": 1.5}, "most_each must be an integer of at least 1"),
        ({"annotators": ["zoe"]}, "annotators must name some of"),
        ({"annotators": []}, "annotators must name some of"),
    ],
)
def test_questions_that_cannot_be_asked(copying, options, message):
    with pytest.raises(ValueError, match=message):
        copying.ask_next(**options)


def test_one_label_a_row_asks_nobody():
    X, y, _ = crowd(60)
    audit = audit_labels(X, y, check_columns=False)
    assert audit.summary().copies == audit.summary().labels_a_row == ()
    with pytest.raises(ValueError, match="Each row has one label; ask_next is for"):
        audit.ask_next()


def test_an_answer_against_agreeing_annotators_is_doubted():
    X, y, said = crowd(300, share=0.8)
    n_same = np.stack([(said == k).sum(axis=1) for k in (0, 1)], axis=1)
    against = np.flatnonzero(
        (n_same[np.arange(300), y] >= 4) & (n_same[np.arange(300), 1 - y] == 0)
    )
    checked = np.full(300, np.nan)
    checked[:40] = y[:40]
    checked[against[:2]] = 1 - y[against[:2]]
    audit = audit_labels(pd.DataFrame(X), said, y_checked=checked, check_columns=False)
    assert set(against[:2]) <= set(audit.doubtful_answers)
    assert len(audit.doubtful_answers) < 8


def test_rows_in_dispute_are_a_table_of_the_report(audited):
    audit, *_ = audited
    page = audit.to_html()
    table = page[page.index('aria-label="Rows in dispute"') :]
    table = table[: table.index("</table>")]
    assert '<table class="paged">' in table
    consensus = audit.consensus()
    disputed = consensus[consensus["votes"].str.contains(",")]
    names = re.findall(r'<th scope="row"><bdi>(\w+)</bdi>', table)
    assert names == disputed["row"].astype(str).tolist()[:200]
    first = disputed.iloc[0]
    said = ", ".join(
        "<bdi>{}</bdi>&nbsp;{}".format(*one.rsplit(" ", 1)) for one in first["votes"].split(", ")
    )
    assert said in table


def test_names_in_the_table_of_disputes_are_escaped():
    X, _, said = crowd(200, share=0.8)
    names = np.array(["<script>alert(1)</script>", "ham"], dtype=object)
    Y = np.full(said.shape, None, dtype=object)
    spoken = ~np.isnan(said)
    Y[spoken] = names[said[spoken].astype(int)]
    page = audit_labels(pd.DataFrame(X), Y, check_columns=False).to_html()
    assert "Rows in dispute" in page
    assert "<script>alert" not in page
