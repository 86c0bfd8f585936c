"""What is answered, also to questions that make no sense."""

import json
import threading

import pytest

from rboost.review import Review
from rboost.review.queue import ORDERS
from rboost.review.web.guard import LARGEST_BODY
from tests.review.audits import HOSTILE, saved_after, three_classes, two_classes
from tests.review.clients import Page, key, post


def first(client, **query):
    return client.get("/api/next", params=query).json()["rows"][0]


def test_a_large_body_is_refused(page, client):
    for content in ({"row": 1, "x": "y" * LARGEST_BODY}, {"row": 1, "x": "y" * 5_000_000}):
        assert post(client, "/api/answer", content).status_code == 413

    async def pieces():
        for _ in range(100):
            yield b"x" * 1000

    headers = {"Content-Type": "application/json"}
    assert client.post("/api/answer", content=pieces(), headers=headers).status_code == 413
    headers["Content-Length"] = "-1"
    assert client.post("/api/answer", content=b"{}", headers=headers).status_code == 413
    assert page.review.store.log().version == 0


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"row": 150}, 404),
        ({"row": -1}, 404),
        ({"row": 2**62}, 404),
        ({"row": 10**30}, 422),
        ({"row": "1"}, 422),
        ({"row": 1.5}, 422),
        ({"row": True}, 422),
        ({"row": None}, 422),
        ({"answer": "delete"}, 422),
        ({"answer": None}, 422),
        ({"answer": ["keep"]}, 422),
        ({"answer": "change", "label": 2}, 422),
        ({"answer": "change", "label": -1}, 422),
        ({"answer": "change", "label": "cat"}, 422),
        ({"answer": "change"}, 422),
        ({"key": "x"}, 422),
        ({"key": None}, 422),
        ({"key": 5}, 422),
        ({"expects": "x"}, 422),
        ({"expects": 99}, 409),
        ({"reviewer": 5}, 422),
        ({"reviewer": "x" * 101}, 422),
        ({"comment": ["a"]}, 422),
        ({"comment": {}}, 422),
        ({"comment": "x" * 2001}, 422),
    ],
)
def test_answers_that_make_no_sense_get_one_sentence(unanswered, reader, change, status):
    content = {"row": 1, "answer": "keep", "key": key(), **change}
    reply = post(reader, "/api/answer", content)
    assert reply.status_code == status
    sentence = reply.json()["error"]
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert unanswered.review.store.log().version == 0


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"1", b"null", b"\xff\xfe", b"[" * 10_000])
def test_malformed_json_gets_one_sentence(reader, body):
    headers = {"Content-Type": "application/json"}
    reply = reader.post("/api/answer", content=body, headers=headers)
    assert reply.status_code == 400
    assert "JSON" in reply.json()["error"]


@pytest.mark.parametrize("row", ["x", "-1", "1.5", "150", "9" * 5000, "1;2", "１"])
def test_rows_that_do_not_exist(reader, row):
    assert reader.get(f"/api/rows/{row}").status_code == 404


def test_answers_and_undo(page, client):
    row = first(client)
    content = {"row": row["row"], "answer": "keep", "key": key()}
    before = post(client, "/api/answer", content).json()
    assert before["saved"]["answer"] == "keep"
    assert 0 <= before["opinion"]["probability_wrong"] <= 1
    assert post(client, "/api/answer", content).json()["saved"] == before["saved"]
    refused = post(client, "/api/answer", {**content, "key": key(), "answer": "unsure"})
    assert refused.status_code == 409
    assert refused.json()["present"]["number"] == before["saved"]["number"]
    assert first(client)["row"] != row["row"]
    assert client.get("/api/answers").json()["answers"] == [before["saved"]]
    assert post(client, "/api/undo", {"key": key()}).json()["undone"] == [before["saved"]]
    assert post(client, "/api/undo", {"key": key()}).status_code == 409
    page.review.updating.wait()
    assert first(client)["row"] == row["row"]


def test_an_answer_can_be_replaced_by_who_has_seen_it(client):
    first = post(client, "/api/answer", {"row": 4, "answer": "unsure", "key": key()}).json()[
        "saved"
    ]
    assert client.get("/api/rows/4").json()["row"]["present"] == first
    assert [each["row"] for each in client.get("/api/answers").json()["unsure"]] == [4]
    content = {"row": 4, "answer": "keep", "key": key(), "expects": first["number"]}
    assert post(client, "/api/answer", content).status_code == 200
    assert client.get("/api/answers").json()["unsure"] == []


def test_orders_and_skips(client):
    firsts = {order: first(client, order=order)["row"] for order in ORDERS}
    assert len(set(firsts.values())) == len(ORDERS)
    skipped = client.get(f"/api/next?order=suspicious&skip={firsts['suspicious']},7").json()
    assert skipped["rows"][0]["row"] not in (firsts["suspicious"], 7)
    everything = ",".join(map(str, range(150)))
    assert client.get(f"/api/next?skip={everything}").json() == {"rows": []}
    for bad in ("order=none", "skip=x", "skip=1,,2", "skip=" + "1," * 2000):
        assert client.get(f"/api/next?{bad}").status_code == 422


@pytest.mark.parametrize(
    ("audit", "hides_neighbours"), [(two_classes, False), (three_classes, True)]
)
def test_a_hidden_opinion_is_not_sent(tmp_path, audit, hides_neighbours):
    client = Page(Review(audit(), tmp_path)).open()
    for row in (client.get("/api/rows/1").json()["row"], first(client), first(client, opinion=0)):
        assert "opinion" not in row
        assert "suggest" not in json.dumps(row)
        assert ("neighbours" not in row) == hides_neighbours
    shown = client.get("/api/rows/1?opinion=1").json()["row"]
    assert set(shown["opinion"]) == {
        "suggested", "is_suggested", "is_answered", "probability_if_wrong", "probability_wrong",
        "reasons", "probable", "words", "texts",
    }  # fmt: skip
    assert shown["opinion"]["probable"][0] == shown["opinion"]["suggested"]
    n_classes = 3 if hides_neighbours else 2
    assert sorted([shown["given"], *shown["opinion"]["probable"]]) == list(range(n_classes))
    assert shown["neighbours"]


def test_a_row_without_a_label_hides_its_neighbours_with_the_opinion(client):
    assert "neighbours" not in client.get("/api/rows/7").json()["row"]
    shown = client.get("/api/rows/7?opinion=1").json()["row"]
    assert shown["given"] is None
    assert shown["opinion"]["probability_wrong"] is None
    assert shown["neighbours"]
    assert client.get("/api/rows/8?opinion=1").status_code == 200
    assert (
        post(client, "/api/answer", {"row": 7, "answer": "keep", "key": key()}).status_code == 422
    )
    chosen = {"row": 7, "answer": "change", "label": 0, "key": key()}
    assert post(client, "/api/answer", chosen).status_code == 200


def test_hostile_cells_arrive_unchanged_as_json(client):
    for row in range(14):
        reply = client.get(f"/api/rows/{row}?opinion=1")
        assert reply.headers["content-type"] == "application/json"
        text = reply.json()["row"]["values"][2]["text"]
        if row != 3:
            assert text == HOSTILE[row % len(HOSTILE)]


def test_long_cells_are_cut_and_counted(client):
    assert client.get("/api/rows/3").json()["row"]["values"][2] == {
        "text": ("long " * 1000)[:2000],
        "length": 5000,
    }


def test_progress_and_a_new_fit(tmp_path):
    may_fit = threading.Event()
    page = Page(Review(two_classes(), tmp_path, saved_after(may_fit)))
    client = page.open()
    assert post(client, "/api/refit").status_code == 422
    for row, answer in ((1, "keep"), (2, "change"), (3, "unsure")):
        label = 1 - client.get(f"/api/rows/{row}").json()["row"]["given"]
        post(client, "/api/answer", {"row": row, "answer": answer, "label": label, "key": key()})
    page.review.updating.wait()
    progress = client.get("/api/progress").json()
    counts = [progress[name] for name in ("answered", "confirmed", "corrected", "unsure", "open")]
    assert counts == [3, 1, 1, 1, 147]
    assert progress["is_current"]
    assert progress["now"]["noise"] != progress["start"]["noise"]
    assert post(client, "/api/refit").json() == {"state": "running"}
    assert post(client, "/api/refit").status_code == 409
    may_fit.set()
    page.review.refit_job.wait()
    done = client.get("/api/progress").json()["refit"]
    assert done["state"] == "done"
    assert set(done["changes"]) >= {"before", "after", "now_probable", "no_longer_probable"}


def test_the_export_is_sent_and_written(page, client):
    post(client, "/api/answer", {"row": 1, "answer": "keep", "key": key()})
    reply = client.get("/api/checked.csv")
    assert reply.headers["content-disposition"] == 'attachment; filename="checked.csv"'
    assert reply.content == page.review.checked_csv.read_bytes()
    assert reply.text.splitlines()[1].startswith("r1,")


def test_a_disk_that_fails_is_said(page, client):
    page.review.store.close()
    reply = post(client, "/api/answer", {"row": 1, "answer": "keep", "key": key()})
    assert reply.status_code == 503
    assert reply.json()["error"].startswith("Nothing was saved")
    reply = client.get("/api/progress")  # who asks has nothing to save
    assert reply.status_code == 503
    assert reply.json()["error"].startswith("This cannot be shown: ")


def test_a_file_that_cannot_be_written_is_no_trouble_of_the_estimate(page, client):
    page.review.exporting.wait()
    page.review.checked_csv.unlink()
    page.review.checked_csv.mkdir()
    post(client, "/api/answer", {"row": 1, "answer": "keep", "key": key()})
    page.review.finish()
    progress = client.get("/api/progress").json()
    assert progress["update_error"] is None
    assert "checked.csv is a folder" in progress["export_error"]
