"""Several people, several rows at once, and which rows are asked for."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rboost.review import Review
from rboost.review.answers import BETWEEN
from tests.review.audits import three_classes
from tests.review.clients import Page, key, post


def answer(client, row, kind="keep", **more):
    return post(client, "/api/answer", {"row": row, "answer": kind, "key": key(), **more})


def rows_of(client, **query):
    reply = client.get("/api/next", params=query)
    assert reply.status_code == 200, reply.text
    return [row["row"] for row in reply.json()["rows"]]


@pytest.fixture
def three(tmp_path):
    page = Page(Review(three_classes(), tmp_path))
    page.client_ = page.open()
    return page


def test_an_answer_says_who_and_why(client):
    saved = answer(client, 1, reviewer="  Ann   B. ", comment=" too dark\n").json()["saved"]
    assert set(saved) == {
        "number", "row", "answer", "label", "time", "reviewer", "comment", "id", "given"
    }  # fmt: skip
    assert (saved["reviewer"], saved["comment"]) == ("Ann B.", "too dark")
    row = client.get("/api/rows/1?reviewer=Ann B.").json()["row"]
    assert row["present"] == saved
    assert [each["name"] for each in client.get("/api/progress").json()["reviewers"]] == ["Ann B."]


def test_text_that_no_file_can_hold_is_mended(client):
    body = json.dumps({"row": 1, "answer": "keep", "key": key(), "comment": "a\ud800\0b"})
    headers = {"Content-Type": "application/json"}
    reply = client.post("/api/answer", content=body, headers=headers)
    assert reply.json()["saved"]["comment"] == "a? b"


def test_others_are_shown_once_a_person_has_answered(client):
    first = answer(client, 1, reviewer="Ann").json()["saved"]
    before = client.get("/api/rows/1?reviewer=Ben").json()["row"]
    assert (before["present"], before["others"]) == (None, [])
    second = answer(client, 1, "unsure", reviewer="Ben").json()["saved"]
    after = client.get("/api/rows/1?reviewer=Ben").json()["row"]
    assert (after["present"], after["others"]) == (second, [first])


def test_the_second_order_asks_for_what_others_have_answered(client):
    for row in (5, 3, 4):
        answer(client, row, reviewer="Ann")
    assert rows_of(client, order="second", reviewer="Ann") == []
    assert rows_of(client, order="second", reviewer="Ben", count=10) == [5, 3, 4]
    answer(client, 3, reviewer="Ben")
    assert rows_of(client, order="second", reviewer="Ben", skip="5", count=10) == [4]


def test_agreement_is_told(client):
    assert client.get("/api/progress").json()["agreement"] is None
    given = [client.get(f"/api/rows/{row}").json()["row"]["given"] for row in range(4)]
    for row in range(4):
        answer(client, row, reviewer="Ann")
        kind = {"kind": "change", "label": 1 - given[row]} if row == 2 else {}
        answer(client, row, reviewer="Ben", **kind)
    progress = client.get("/api/progress").json()
    assert progress["reviewers"] == [
        {"name": "Ann", "answered": 4}, {"name": "Ben", "answered": 4}
    ]  # fmt: skip
    found = progress["agreement"]
    assert (found["rows"], found["agreed"]) == (4, 3)
    assert -1 <= found["kappa"] <= 1
    (disputed,) = found["disagreements"]
    assert (disputed["row"], disputed["id"]) == (2, "r2")
    assert [each["reviewer"] for each in disputed["answers"]] == ["Ann", "Ben"]
    assert progress["answered"] == 4


def test_a_doubtful_answer_is_listed_until_somebody_answers_again(client, page):
    saved = answer(client, 2, reviewer="Ann").json()["saved"]
    for row in range(10, 10 + BETWEEN):
        answer(client, row, reviewer="Ann")
    page.review.updating.wait()
    page.review.snapshot = replace(page.review.snapshot, doubtful=[2])
    (listed,) = client.get("/api/progress").json()["doubtful"]
    assert listed == {"row": 2, "id": "r2", "suggested": 0, "answers": [saved]}
    (row,) = client.get("/api/next?reviewer=Ann").json()["rows"]
    assert (row["row"], row["present"]) == (2, saved)
    assert "look again" in row["sentence"]
    answer(client, 2, reviewer="Ann", expects=saved["number"])
    assert client.get("/api/progress").json()["doubtful"] == []
    assert "sentence" not in client.get("/api/rows/2").json()["row"]


def test_a_second_tab_with_the_same_answer_is_told_that_it_is_saved(client):
    first = answer(client, 1, reviewer="Ann").json()["saved"]
    again = answer(client, 1, reviewer="Ann")
    assert (again.status_code, again.json()["saved"]) == (200, first)
    other = answer(client, 1, "unsure", reviewer="Ann")
    assert (other.status_code, other.json()["present"]) == (409, first)


def test_several_rows_are_answered_and_undone_as_one(client):
    content = {"rows": [1, 2, 4], "answer": "unsure", "key": key(), "reviewer": "Ann"}
    saved = post(client, "/api/answers", {**content, "comment": "blurred"}).json()["saved"]
    assert [each["row"] for each in saved] == [1, 2, 4]
    assert {each["comment"] for each in saved} == {"blurred"}
    assert len(client.get("/api/answers").json()["answers"]) == 3
    undone = post(client, "/api/undo", {"key": key(), "reviewer": "Ann"}).json()["undone"]
    assert undone == saved
    assert client.get("/api/answers").json()["answers"] == []


def test_a_row_that_is_looked_at_again_is_answered_with_others(client):
    first = answer(client, 1, "unsure").json()["saved"]
    content = {"rows": [1, 2], "answer": "keep"}
    assert post(client, "/api/answers", {**content, "key": key()}).status_code == 409
    seen = {**content, "key": key(), "expects": first["number"]}
    assert post(client, "/api/answers", seen).status_code == 200
    assert client.get("/api/progress").json()["confirmed"] == 2


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"rows": []}, 422),
        ({"expects": "x"}, 422),
        ({"rows": None}, 422),
        ({"rows": "12"}, 422),
        ({"rows": {"1": 2}}, 422),
        ({"rows": [1, "2"]}, 422),
        ({"rows": [1, 2.0]}, 422),
        ({"rows": [1, True]}, 422),
        ({"rows": [1, [2]]}, 422),
        ({"rows": [1, 2, 1]}, 422),
        ({"rows": [1, 10**30]}, 422),
        ({"rows": list(range(51))}, 422),
        ({"rows": [1, 150]}, 404),
        ({"rows": [1, 7]}, 422),  # it has no label to keep
        ({"rows": [1, 2], "answer": "change", "label": 1}, 422),  # they have it already
        ({"answer": None}, 422),
        ({"answer": "undo"}, 422),
        ({"key": "x"}, 422),
        ({"reviewer": ["Ann"]}, 422),
        ({"comment": 1}, 422),
    ],
)
def test_of_rows_that_make_no_sense_none_is_answered(unanswered, reader, change, status):
    content = {"rows": [1, 2], "answer": "keep", "key": key(), **change}
    reply = post(reader, "/api/answers", content)
    assert reply.status_code == status
    sentence = reply.json()["error"]
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert unanswered.review.store.log().version == 0


def test_rows_can_be_asked_for_by_class(three):
    live = three.review.snapshot.live
    for given in range(3):
        for suggested in {0, 1, 2} - {given}:
            alike = (live.labels.given == given) & (live.suggested == suggested)
            reply = three.client_.get(
                "/api/next",
                params={"order": "suspicious", "given": given, "suggested": suggested, "count": 10},
            ).json()
            rows = [row["row"] for row in reply["rows"]]
            assert alike[rows].all()
            assert len(rows) == min(10, alike.sum())
            doubt = live.issue_probability
            np.testing.assert_allclose(doubt[rows], np.sort(doubt[alike])[::-1][: len(rows)])


def test_several_rows_come_in_their_order(three):
    ten = rows_of(three.client_, order="informative", count=10)
    assert len(set(ten)) == 10
    assert rows_of(three.client_, order="informative", count=3, skip=f"{ten[0]},{ten[2]}") == [
        ten[1], ten[3], ten[4]
    ]  # fmt: skip


@pytest.mark.parametrize(
    "query",
    ["count=0", "count=11", "count=x", "count=-1", "given=2", "given=x", "suggested=-1",
     "suggested=9", "order=third", "reviewer=" + "x" * 101],
)  # fmt: skip
def test_questions_that_make_no_sense_get_one_sentence(reader, query):
    reply = reader.get(f"/api/next?{query}")
    assert reply.status_code == 422
    assert reply.json()["error"].endswith(".")
