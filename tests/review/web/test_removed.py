"""A folder that is moved or removed during a review: nothing is made there, nothing is lost."""

import shutil

import pytest

from rboost.review import serve as serve_review
from tests.browser import complaints
from tests.review.clients import key, post

GONE = "was moved, removed or replaced during the review"


@pytest.fixture
def answered(page, client):
    """A review with an answer, in a folder that may be removed."""
    content = {"row": 1, "answer": "keep", "key": key()}
    assert post(client, "/api/answer", content).status_code == 200
    page.review.exporting.wait()
    page.review.updating.wait()
    return page


def remove(folder, how):
    if how == "moved":
        folder.rename(folder.with_name(f"{folder.name}-elsewhere"))
    else:
        shutil.rmtree(folder)
    if how == "replaced":
        folder.mkdir()
        (folder / "review.sqlite").write_bytes(b"")


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_no_answer_is_taken_and_nothing_is_written(answered, client, tmp_path, how):
    remove(tmp_path, how)
    before = sorted(tmp_path.iterdir()) if tmp_path.exists() else None
    reply = post(client, "/api/answer", {"row": 2, "answer": "keep", "key": key()})
    assert reply.status_code == 503
    assert reply.json()["error"].startswith("Nothing was saved: ")
    assert GONE in reply.json()["error"]
    answered.review.exporting.ask()
    answered.review.finish()
    assert GONE in answered.review.exporting.error
    assert (sorted(tmp_path.iterdir()) if tmp_path.exists() else None) == before
    # What was saved can still be had.
    assert [line[:3] for line in client.get("/api/checked.csv").text.splitlines()[1:]] == ["r1,"]
    if how == "replaced":
        (tmp_path / "review.sqlite").unlink()


def test_the_review_goes_on_when_the_folder_is_back(answered, client, tmp_path):
    remove(tmp_path, "moved")
    content = {"row": 2, "answer": "keep", "key": key()}
    assert post(client, "/api/answer", content).status_code == 503
    tmp_path.with_name(f"{tmp_path.name}-elsewhere").rename(tmp_path)
    assert post(client, "/api/answer", content).status_code == 200
    answered.review.finish()
    assert len(answered.review.checked_csv.read_text().splitlines()) == 3


def test_the_end_of_the_review_says_so(answered, tmp_path, monkeypatch):
    monkeypatch.setattr("rboost.review.web.server._run", lambda *_: shutil.rmtree(tmp_path))
    with pytest.raises(FileNotFoundError, match=GONE):
        serve_review(answered.review)
    assert not tmp_path.exists()


@pytest.mark.browser
def test_the_page_keeps_answers_until_the_folder_is_back(visit, browser, tmp_path):
    page = visit()
    page.answer("k")
    page.expect_counts(1, 0, 0)
    page.server.review.finish()
    remove(tmp_path, "moved")
    page.press("c", "u")
    page.until(lambda: GONE in page.text("banner-text"))
    assert page.text("banner-text").startswith("Not saved: ")
    assert page.text("saving") == "2 being saved"
    assert not tmp_path.exists()
    tmp_path.with_name(f"{tmp_path.name}-elsewhere").rename(tmp_path)
    page.click("#retry")
    page.saved()
    page.expect_counts(1, 1, 1)
    assert [answer.answer for answer in page.server.answers()] == ["keep", "change", "unsure"]
    assert all("503" in line for line in complaints(browser))
