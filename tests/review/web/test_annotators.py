"""What annotators said, on the page; hidden with --blind until the reviewer has answered."""

import pytest

from rboost.review import Review
from tests.browser import complaints
from tests.review.audits import HOSTILE, annotators, two_classes
from tests.review.clients import Page, key, post


def votes_of(audit, row):
    labels = audit.labels
    return {
        labels.sources[a].name: int(k)
        for a, k, own in zip(labels.source, labels.stated, labels.row, strict=True)
        if own == row
    }


def in_reply(votes):
    return {vote["annotator"]["text"]: vote["label"] for vote in votes}


def test_the_page_is_told_who_said_what(tmp_path):
    audit = annotators()
    client = Page(Review(audit, tmp_path)).open()
    assert not client.get("/api/about").json()["is_blind"]
    for row in (0, 5, 70):
        found = client.get(f"/api/rows/{row}").json()["row"]
        assert in_reply(found["votes"]) == votes_of(audit, row)


def test_blind_each_reviewer_is_told_after_their_own_answer(tmp_path):
    audit = annotators()
    client = Page(Review(audit, tmp_path, blind=True)).open()
    assert client.get("/api/about").json()["is_blind"]
    row = next(row for row in range(150) if len(votes_of(audit, row)) == 3)
    assert "votes" not in client.get(f"/api/rows/{row}?reviewer=zoe").json()["row"]
    said = {"key": key(), "row": row, "answer": "keep", "label": None, "expects": None,
            "reviewer": "zoe", "comment": ""}  # fmt: skip
    reply = post(client, "/api/answer", said).json()
    assert in_reply(reply["votes"]) == votes_of(audit, row)
    assert "votes" in client.get(f"/api/rows/{row}?reviewer=zoe").json()["row"]
    assert "votes" not in client.get(f"/api/rows/{row}?reviewer=yan").json()["row"]
    others = client.get("/api/next?count=5&reviewer=zoe").json()["rows"]
    assert len(others) == 5
    assert all("votes" not in one for one in others)


def test_one_label_a_row_is_not_hidden(tmp_path):
    with pytest.raises(ValueError, match="nothing to hide from reviewers; leave --blind out"):
        Review(two_classes(), tmp_path, blind=True)


@pytest.mark.browser
def test_blind_the_page_shows_votes_with_the_saved_answer(visit, browser):
    page = visit(annotators(), blind=True)
    row = page.row()
    assert page.text("votes") == "What annotators said is shown once you have answered."
    page.answer("k")
    votes = votes_of(annotators(), row)
    page.until(lambda: all(name in page.text("status") for name in votes))
    assert page.text("votes") == "What annotators said is shown once you have answered."
    page.until(lambda: page.all("#answers li button"))
    page.click("#answers li button")
    page.until(lambda: all(name in page.text("votes") for name in votes))
    assert browser.execute_script("return document.body.dataset.hacked") is None
    assert complaints(browser) == []


@pytest.mark.browser
def test_the_page_shows_votes_at_once_otherwise(visit, browser):
    page = visit(annotators())
    for _ in range(3):
        votes = votes_of(annotators(), page.row())
        assert all(name in page.text("votes") for name in votes)
        assert len(votes) > 0
        page.answer("k")
    assert HOSTILE[0] in {name for row in range(20) for name in votes_of(annotators(), row)}
    assert complaints(browser) == []
