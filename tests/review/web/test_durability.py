"""A long review by keyboard, two browsers, and kills: nothing that was confirmed is lost."""

import contextlib
import threading
import uuid

import httpx
import numpy as np
import pandas as pd
import pytest

from rboost.audit import audit_labels
from rboost.review import Review
from tests.review.audits import model
from tests.review.clients import Page, enter, key, post
from tests.review.servers import Server

N_ANSWERS = 150


@pytest.fixture
def page(tmp_path):
    """The review of a table with a little more rows than are answered."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(N_ANSWERS + 100, 2))
    y = (X.sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    return Page(Review(audit_labels(X, y, model=model(), check_columns=False), tmp_path, None))


def answer_rows(client, n_answers, reviewer, confirmed):
    """Take the next rows and keep or leave open each, as a page does that fetches ahead."""
    held = []
    while len(confirmed) < n_answers:
        if len(held) < 3:
            query = {"count": 10, "order": "suspicious", "skip": ",".join(map(str, held))}
            held += [row["row"] for row in client.get("/api/next", params=query).json()["rows"]]
        row = held.pop(0)
        kind = "unsure" if row % 7 == 0 else "keep"
        content = {"row": row, "answer": kind, "key": key(), "reviewer": reviewer}
        reply = post(client, "/api/answer", content)
        assert reply.status_code == 200, reply.text
        confirmed[row] = kind


def check_files(review, confirmed):
    """The store and checked.csv hold exactly what was confirmed."""
    review.finish()
    current = review.store.log().current
    assert {row: answer.answer for row, answer in current.items()} == confirmed
    found = pd.read_csv(review.checked_csv, keep_default_na=False)
    assert dict(zip(found["row"] - 1, found["answer"], strict=True)) == confirmed
    assert review.snapshot.version == review.store.log().version


@pytest.mark.slow
def test_a_long_review_loses_no_answer(page):
    confirmed = {}
    answer_rows(page.open(), N_ANSWERS, "Ann", confirmed)
    assert len(confirmed) == N_ANSWERS
    check_files(page.review, confirmed)


@pytest.mark.slow
def test_two_browsers_end_in_one_file(page):
    clients = [page.open(), None]
    clients[1] = page.client()
    enter(clients[1], post(clients[0], "/api/link").json()["url"])
    confirmed = [{}, {}]
    threads = [
        threading.Thread(target=answer_rows, args=(clients[k], 40, "Ann", confirmed[k]))
        for k in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(each) for each in confirmed] == [40, 40]
    check_files(page.review, confirmed[0] | confirmed[1])


@pytest.mark.slow
def test_a_killed_server_loses_nothing_that_was_confirmed(tmp_path):
    server, confirmed, is_time = Server(tmp_path), set(), threading.Event()
    killer = threading.Thread(target=lambda: (is_time.wait(60), server.kill()))
    with httpx.Client(base_url=server.origin) as client:
        enter(client, server.url)
        killer.start()
        with contextlib.suppress(httpx.TransportError):
            for row in range(10, 150):
                content = {"row": row, "answer": "unsure", "key": str(uuid.uuid4())}
                assert client.post("/api/answer", json=content).status_code == 200
                confirmed.add(row)
                if len(confirmed) == 30:
                    is_time.set()
    killer.join()
    assert 30 <= len(confirmed) < 140
    found = set(server.answers())
    assert confirmed <= found
    assert len(found - confirmed) <= 1  # whose confirmation did not get out
    server = Server(tmp_path)  # checked.csv is written at the start
    httpx.get(server.origin)  # it listens, so that an end by Ctrl-C is an orderly one
    server.end()
    assert len(pd.read_csv(tmp_path / "checked.csv")) == len(server.answers())
