"""Audits of labels by several annotators."""

import numpy as np
import pandas as pd
import pytest
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
        ({"y_checked": ["no"] * 60}, "y_checked holds 'no', which y never is"),
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
