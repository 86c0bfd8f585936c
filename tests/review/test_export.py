"""checked.csv: there at once, for people and for the next audit."""

import time

import pandas as pd
import pytest

from rboost.review import Review
from rboost.review.folder import export_answers
from rboost.table.writing import unguarded, write_table
from tests.review.audits import two_classes
from tests.review.clients import key


def read(review):
    review.exporting.wait()
    assert review.exporting.error is None
    return pd.read_csv(review.checked_csv, keep_default_na=False)


def test_the_file_is_there_before_any_answer_and_follows_each(review):
    assert len(read(review)) == 0
    review.answer(key(), 1, "keep", None)
    assert read(review)["name"].tolist() == ["r1"]
    review.answer_all(key(), [2, 4], "unsure", None)
    assert read(review)["name"].tolist() == ["r1", "r2", "r4"]
    review.undo(key())
    assert read(review)["name"].tolist() == ["r1"]


def test_nobody_has_to_ask_for_the_file(review):
    review.exporting.wait()
    review.answer(key(), 1, "keep", None)
    end = time.monotonic() + 20
    while "r1" not in review.checked_csv.read_text() and time.monotonic() < end:
        time.sleep(0.05)
    assert "r1" in review.checked_csv.read_text()


@pytest.mark.slow
def test_an_answer_does_not_wait_for_the_file(review, monkeypatch):
    """Many answers in a row make few files, and the last is in it."""
    review.exporting.wait()
    written = []
    real = review.export
    monkeypatch.setattr(review.exporting, "_work", lambda: (written.append(1), real()))
    for row in range(10, 40):
        review.answer(key(), row, "unsure", None)
    assert len(read(review)) == 30
    assert len(written) <= 10


def test_a_file_that_cannot_be_written_is_said_and_written_later(review):
    review.exporting.wait()
    review.checked_csv.unlink()
    review.checked_csv.mkdir()
    review.answer(key(), 1, "keep", None)
    review.exporting.wait()
    assert "checked.csv is a folder" in review.exporting.error
    review.checked_csv.rmdir()
    review.answer(key(), 2, "keep", None)
    assert len(read(review)) == 2


TEXTS = ["=1+1", "@x", "+a;=2", "-cmd|' /C calc'!A0", "'quoted", "a\n=1", "\t=1", 'a"b,c']


def test_names_and_comments_hold_no_formulas(review):
    for row, text in enumerate(TEXTS):
        review.answer(key(), 20 + row, "keep", None, reviewer=text, comment=text)
    found = read(review)
    for column in ("reviewer", "comment"):
        assert [unguarded(cell) for cell in found[column]] == TEXTS
        for cell in found[column]:
            for part in cell.replace("\t", "\n").replace(";", "\n").split("\n"):
                assert not part.lstrip().startswith(("=", "@", "+", "-"))


def test_a_disagreement_says_who_says_what(review):
    names = ["<i>dog</i>", "cat"]
    given = int(review.snapshot.fitted.labels.given[1])
    review.answer(key(), 1, "keep", None, reviewer="Ann")
    review.answer(key(), 2, "keep", None, reviewer="Ann")
    review.answer(key(), 2, "keep", None, reviewer="Ben")
    review.answer(key(), 1, "change", 1 - given)
    found = read(review)
    assert found["name"].tolist() == ["r1", "r2", "r2", "r1"]
    assert found["reviewer"].tolist() == ["Ann", "Ann", "Ben", ""]
    assert found["checked_label"].iloc[[0, 3]].tolist() == [names[given], names[1 - given]]
    said = f"Ann: {names[given]}, (no name): {names[1 - given]}"
    assert found["disagreement"].tolist() == [said, "", "", said]


def test_an_answer_is_exported_although_another_is_unsure(review):
    given = int(review.snapshot.fitted.labels.given[1])
    review.answer(key(), 1, "change", 1 - given, reviewer="Ann")
    review.answer(key(), 1, "unsure", None, reviewer="Ben")
    found = read(review)
    assert found["checked_label"].tolist() == [["<i>dog</i>", "cat"][1 - given], ""]
    assert found["reviewer"].tolist() == ["Ann", "Ben"]
    review.updating.wait()
    assert review.snapshot.live.labels.checked[1] == 1 - given


def test_an_answer_during_the_export_without_a_page_is_in_the_file(review, tmp_path, monkeypatch):
    review.answer(key(), 1, "keep", None)
    review.finish()
    meanwhile = [2, 4]

    def slow_write(frame, path, **options):
        write_table(frame, path, **options)
        if meanwhile:
            review.store.add(key(), meanwhile.pop(), "unsure", None)

    monkeypatch.setattr("rboost.review.folder.write_table", slow_write)
    path = export_answers(two_classes(), tmp_path)
    assert pd.read_csv(path)["name"].tolist() == ["r1", "r4", "r2"]


def test_another_process_that_answers_is_not_overwritten(review, tmp_path):
    other = Review(two_classes(), tmp_path)
    for row in range(10, 30):
        (review, other)[row % 2].answer(key(), row, "unsure", None)
    read(other)
    assert len(read(review)) == 20
