"""``rboost review`` from the folder of an audit: answers, a kill, a refit, and the way back."""

import re
import signal
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager

import httpx
import numpy as np
import pandas as pd
import pytest

from rboost.audit.disk.folder import read_audit
from rboost.cli import _images_root, main
from tests.browser import complaints
from tests.cli.tables import COMMAND, N_ROWS
from tests.review.clients import enter
from tests.review.web.pages import Page


@contextmanager
def started(folder):
    """The address that opens the page of a running server once, and its process."""
    command = [sys.executable, "-c", COMMAND, "review", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield re.search(r"http://\S+", process.stdout.readline()).group(), process
        finally:
            process.kill()


@contextmanager
def served(folder):
    """A client with the secret of a running server, and its process."""
    with started(folder) as (url, process):
        base = url.partition("/#")[0]
        with httpx.Client(base_url=base, headers={"Origin": base}, timeout=60) as client:
            assert enter(client, url).status_code == 200
            yield client, process


def next_row(client):
    return client.get("/api/next", params={"order": "suspicious", "opinion": "1"}).json()["rows"][0]


def answer(client, row, kind, label=None):
    content = {"key": str(uuid.uuid4()), "row": row, "answer": kind, "label": label}
    reply = client.post("/api/answer", json=content)
    assert reply.status_code == 200, reply.text


def until(look, condition):
    """What is seen once it is as wanted."""
    end = time.monotonic() + 60
    while not condition(seen := look()):
        assert time.monotonic() < end, seen
        time.sleep(0.05)
    return seen


def check_strangers(client):
    """Nothing is told to those who lack the secret, nor to other sites."""
    stranger = {"timeout": 10, "headers": {"X-Rboost": "1"}}
    for path in ("/api/next", "/api/checked.csv", "/review.sqlite"):
        assert httpx.get(f"{client.base_url}{path}", **stranger).status_code in (403, 404)
    assert client.get("/api/next", headers={"Host": "evil.example"}).status_code in (400, 421)
    other = {"Origin": "http://evil.example"}
    assert client.post("/api/refit", json={}, headers=other).status_code == 403


@pytest.mark.slow
def test_answers_survive_a_kill_and_a_refit_learns_from_them(data, folder):
    with served(folder) as (client, process):
        kept = next_row(client)["row"]
        answer(client, kept, "keep")
        changed = next_row(client)["row"]
        assert changed != kept
        labels = read_audit(folder).labels
        answer(client, changed, "change", int(1 - labels.given[changed]))
        process.kill()

    with served(folder) as (client, _):

        def look():
            return client.get("/api/progress").json()

        progress = until(look, lambda progress: progress["is_current"])
        assert (progress["confirmed"], progress["corrected"]) == (1, 1)
        assert client.post("/api/refit", json={}).status_code == 200
        done = until(look, lambda progress: progress["refit"]["state"] != "running")
        assert done["refit"]["state"] == "done", done["refit"]
        exported = client.get("/api/checked.csv").content

    again = read_audit(folder)
    assert set(again.labels.is_checked.nonzero()[0]) == {kept, changed}
    assert again.labels.checked[kept] == labels.given[kept]
    assert again.labels.checked[changed] == 1 - labels.given[changed]
    keys = pd.read_csv(data)["key"]
    assert {keys[kept], keys[changed]}.isdisjoint(pd.read_csv(folder / "suspects.csv")["key"])

    (folder.parent / "checked.csv").write_bytes(exported)
    other = folder.parent / "other"
    options = ["--label", "churn", "--id", "key", "--model", "linear", "--quiet"]
    options += ["--trusted", str(folder.parent / "checked.csv"), "--out", str(other)]
    assert main(["audit", str(data), *options]) == 0
    assert (read_audit(other).labels.checked == again.labels.checked).all()


def change_two_keep_one(page):
    """Give three answers and fit again; return the titles of these rows and whether it changed."""
    answers = {}
    for pressed in "cck":
        answers[page.text("row-title")] = pressed == "c"
        page.answer(pressed)
    page.click("#refit")
    page.until(lambda: page.text("refit-state").startswith("The model has learnt"), seconds=60)
    return answers


def test_clean_tells_answers_that_a_new_fit_learnt_from_given_labels(
    data, folder, browser, tmp_path, capsys
):
    with started(folder) as (url, process):
        page = Page(browser, url)
        answers = change_two_keep_one(page)
        assert complaints(browser) == []
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    out, other = tmp_path / "clean.csv", {"yes": "no", "no": "yes"}
    assert main(["clean", str(folder), "--out", str(out), "--threshold", "1"]) == 0
    assert f"{N_ROWS - 3} as given, 3 by answers, 0 suggested" in capsys.readouterr().out
    before, after = pd.read_csv(data), pd.read_csv(out)
    assert after["given_label"].tolist() == before["churn"].tolist()
    is_answered = after["label_source"] == "answer"
    assert set(after["label_source"]) == {"answer", "given"}
    assert np.count_nonzero(is_answered) == 3
    for name, given, label in after.loc[is_answered, ["key", "given_label", "churn"]].to_numpy():
        (is_changed,) = (change for title, change in answers.items() if name in title)
        assert label == (other[given] if is_changed else given)
    assert (after["churn"] == after["given_label"])[~is_answered].all()


@pytest.mark.slow
def test_answers_are_in_the_file_at_once_and_strangers_are_turned_away(folder, capsys, tmp_path):
    assert main(["review", str(folder), "--export"]) == 2
    assert "has no answers yet; give some with: rboost review" in capsys.readouterr().err
    with served(folder) as (client, process):
        row = next_row(client)["row"]
        content = {"key": str(uuid.uuid4()), "row": row, "answer": "keep", "comment": "=1+1"}
        assert client.post("/api/answer", json={**content, "reviewer": "@x"}).status_code == 200
        check_strangers(client)
        checked = folder / "checked.csv"
        said = until(
            lambda: checked.read_text() if checked.exists() else "", lambda said: "=1+1" in said
        )
        assert ",keep," in said
        process.kill()
    (folder / "checked.csv").unlink()
    for options in ([], [str(tmp_path / "x.csv")]):
        path = options[0] if options else folder / "checked.csv"
        assert main(["review", str(folder), "--export", *options]) == 0
        assert capsys.readouterr().out.strip() == str(path)
        found = pd.read_csv(path, keep_default_na=False)
        assert found["reviewer"].tolist() == ["'@x"]
        assert found["comment"].tolist() == ["'=1+1"]
    assert main(["review", str(folder), "--export", str(folder)]) == 2
    assert "must end with .csv" in capsys.readouterr().err


def test_images_are_those_of_the_folder_of_the_table(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    one, other = (str(tmp_path / name / "table.csv") for name in ("a", "b"))
    assert _images_root([one]) == tmp_path / "a"
    assert _images_root([one, other]) == tmp_path
    assert _images_root([]) is None
    assert _images_root(["-"]) is None
    assert _images_root(["-", one]) == tmp_path / "a"
    assert _images_root(["relative/table.csv", one]) is None


def test_a_review_says_at_once_what_it_does_and_refuses_widths_that_are_none(folder, capsys):
    for wrong in ("0", "-1", "50", "nan"):
        assert main(["review", str(folder), "--until", wrong]) == 2
        assert "--until must be between 0 and 50 points" in capsys.readouterr().err
    assert main(["review", str(folder / "none")]) == 2
    first, *_ = capsys.readouterr().err.splitlines()
    assert first == f"rboost: Opening {folder / 'none'} …"
