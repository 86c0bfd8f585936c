"""Finding rows by what they hold, and by what they are like."""

import numpy as np
import pandas as pd
import pytest

from rboost.audit import audit_labels
from rboost.review import Review
from tests.review.audits import table, three_classes
from tests.review.clients import Page, key, post


def found(client, text):
    reply = client.get("/api/find", params={"text": text})
    assert reply.status_code == 200
    return reply.json()


def test_a_row_is_found_by_its_name_first(reader):
    reply = found(reader, "R12")
    assert [each["row"] for each in reply["found"]][:3] == [12, 121, 122]
    assert reply["found"][0]["column"] == "name"
    assert reply["found"][0]["id"] == reply["found"][0]["snippet"] == "r12"
    assert reply["total"] == len(reply["found"])


def test_cells_are_searched_whatever_their_case(reader):
    reply = found(reader, "RIGHT TO")
    assert reply["total"] == sum("right to left" in note for note in table()[0]["note"])
    assert len(reply["found"]) == 20
    first = reply["found"][0]
    assert (first["column"], first["row"]) == ("note", 10)
    assert "right to left" in first["snippet"]
    assert first["given"] in (0, 1)


def test_numbers_are_found_as_they_are_shown(reader):
    shown = reader.get("/api/rows/1").json()["row"]["values"][0]["text"]
    assert 1 in [each["row"] for each in found(reader, shown)["found"]]


def test_hostile_text_is_only_text(reader):
    assert found(reader, "<script>")["total"] > 0
    for text in ("%", "_", ".*", "' OR 1=1 --", "\\", "[", "\0"):
        assert found(reader, f"{text}nothing has this")["total"] == 0
    long = found(reader, "long long")["found"][0]
    assert len(long["snippet"]) < 120


@pytest.mark.parametrize("text", ["", "   ", "x" * 201])
def test_a_search_needs_some_words(reader, text):
    reply = reader.get("/api/find", params={"text": text})
    assert reply.status_code == 422
    assert reply.json()["error"].endswith(".")


def test_similar_rows_are_near_alike_and_open(tmp_path):
    review = Review(three_classes(), tmp_path)
    client = Page(review).open()
    audit = review.snapshot.live
    alike = np.flatnonzero(
        (audit.labels.given == audit.labels.given[3]) & (audit.suggested == audit.suggested[3])
    )
    alike = alike[alike != 3]
    points = audit.points.numbers
    nearest = alike[np.argsort(np.linalg.norm(points[alike] - points[3], axis=1))]
    rows = client.get("/api/similar?row=3&count=5&opinion=1").json()["rows"]
    assert [each["row"] for each in rows] == nearest[:5].tolist()
    assert set(rows[0]) == {"row", "id", "given", "values", "opinion"}
    answered = rows[0]["row"]
    post(client, "/api/answer", {"row": answered, "answer": "unsure", "key": key()})
    again = client.get("/api/similar?row=3&count=50&opinion=1").json()["rows"]
    assert answered not in [each["row"] for each in again]
    assert len(again) == min(50, len(alike) - 1)


def test_a_hidden_opinion_does_not_choose_similar_rows(tmp_path):
    review = Review(three_classes(), tmp_path)
    client = Page(review).open()
    audit = review.snapshot.live
    alike = np.flatnonzero(audit.labels.given == audit.labels.given[3])
    rows = client.get("/api/similar?row=3&count=50").json()["rows"]
    assert len(rows) == min(50, len(alike) - 1)
    assert len({int(audit.suggested[each["row"]]) for each in rows}) == 2
    assert set(rows[0]) == {"row", "id", "given", "values"}


def test_columns_that_do_not_matter_do_not_make_rows_similar(tmp_path):
    rng = np.random.RandomState(0)
    y = np.arange(200) % 2
    X = pd.DataFrame(rng.normal(size=(200, 9)), columns=[f"x{k}" for k in range(9)])
    X["x0"] += 4 * y
    audit = audit_labels(X, y, model="linear", check_columns=False)
    client = Page(Review(audit, tmp_path)).open()
    rows = [each["row"] for each in client.get("/api/similar?row=3&count=5").json()["rows"]]
    far = np.abs(X["x0"] - X["x0"][3])
    assert far[rows].max() < np.median(far[y == y[3]]) / 2


@pytest.mark.parametrize("query", ["row=3&count=0", "row=3&count=51", "row=3&count=x"])
def test_similar_rows_are_few(reader, query):
    assert reader.get(f"/api/similar?{query}").status_code == 422
