"""Answers count once, and each person has their own."""

from datetime import datetime
from types import SimpleNamespace

import pytest

from rboost.review.answers import BETWEEN, ConflictError
from tests.review.clients import key


def test_current_answers_are_the_last_that_hold(store):
    store.add(key(), 3, "keep", 1)
    store.add(key(), 5, "change", 0)
    unsure = store.add(key(), 4, "unsure", None)
    later = store.add(key(), 4, "keep", 1, expects=unsure.number)
    log = store.log()
    assert list(log.current) == [3, 5, 4]
    assert log.current[4] == later
    assert log.touched == {3, 4, 5}
    assert log.version == 4


def test_undo_takes_back_the_last_and_restores_what_was_before(store):
    first = store.add(key(), 4, "unsure", None)
    second = store.add(key(), 4, "keep", 1, expects=first.number)
    assert store.undo(key()) == [second]
    assert store.log().current == {4: first}
    assert store.undo(key()) == [first]
    assert store.log().current == {}
    assert store.log().touched == {4}
    with pytest.raises(ConflictError, match="no answer to take back"):
        store.undo(key())


def test_a_row_is_due_again_after_others_until_it_is_answered_twice(store):
    first = store.add(key(), 0, "keep", 1, reviewer="Ann")
    for row in range(1, BETWEEN + 1):
        assert store.log().due_again([0, 99], "Ann") == []
        store.add(key(), row, "keep", 1)
    assert store.log().due_again([0, 1, 99], "Ann") == [0]
    store.add(key(), 0, "keep", 1, expects=first.number, reviewer="Ann")
    assert store.log().unconfirmed([0, 1]) == [1]
    store.undo(key(), reviewer="Ann")
    assert store.log().due_again([0], "Ann") == [0]


def test_a_row_is_asked_of_others_although_one_person_has_answered_it_twice(store):
    first = store.add(key(), 0, "keep", 1, reviewer="Ann")
    second = store.add(key(), 0, "keep", 1, expects=first.number, reviewer="Ann")
    for row in range(1, BETWEEN + 1):
        store.add(key(), row, "keep", 1)
    assert store.log().due_again([0], "Ann") == []
    assert store.log().due_again([0], "Ben") == [0]
    store.add(key(), 0, "change", 0, reviewer="Ben")
    assert store.log().unconfirmed([0]) == [0]  # Ben has said it once
    for row in range(20, 20 + BETWEEN):
        store.add(key(), row, "keep", 1)
    assert store.log().due_again([0], "Ann") == []
    assert store.log().due_again([0], "Ben") == store.log().due_again([0], "Cy") == [0]
    assert second.label == 1


def test_what_most_people_say_stands_and_of_as_many_the_latest(store):
    store.add(key(), 0, "keep", 1, reviewer="Ann")
    store.add(key(), 0, "keep", 1, reviewer="Ben")
    store.add(key(), 0, "change", 0, reviewer="Cy")
    assert store.log().current[0].reviewer == "Ben"
    store.add(key(), 0, "change", 0, reviewer="Di")
    assert store.log().current[0].reviewer == "Di"


def test_a_certain_answer_is_taken_back_once(store):
    first, _ = store.add(key(), 1, "keep", 1), store.add(key(), 2, "keep", 1)
    assert store.undo(key(), first.number) == [first]
    assert list(store.log().current) == [2]
    with pytest.raises(ConflictError, match="already"):
        store.undo(key(), first.number)


def test_a_retried_request_counts_once(store):
    answer_key, undo_key = key(), key()
    first = store.add(answer_key, 1, "keep", 1)
    assert store.add(answer_key, 1, "keep", 1) == first
    store.add(key(), 2, "keep", 0)
    undone = store.undo(undo_key)
    assert store.undo(undo_key) == undone
    assert list(store.log().current) == [1]


def test_a_key_stands_for_one_thing(store):
    answer_key, undo_key = key(), key()
    store.add(answer_key, 1, "keep", 1)
    with pytest.raises(ConflictError, match="something else"):
        store.add(answer_key, 1, "change", 0)
    with pytest.raises(ConflictError, match="something else"):
        store.undo(answer_key)
    store.undo(undo_key)
    with pytest.raises(ConflictError, match="something else"):
        store.add(undo_key, 1, "keep", 1)


def test_of_two_answers_to_what_was_seen_the_first_counts(store):
    first = store.add(key(), 1, "keep", 1)
    with pytest.raises(ConflictError) as refused:
        store.add(key(), 1, "change", 0)
    assert refused.value.present == first
    with pytest.raises(ConflictError):
        store.add(key(), 2, "keep", 0, expects=first.number)
    assert store.log().current == {1: first}


def test_several_rows_are_answered_and_taken_back_together(store):
    before = store.add(key(), 9, "keep", 0, reviewer="Ann")
    batch, undo = key(), key()
    said = [(row, "change", 1) for row in (4, 2, 3)]
    saved = store.add_all(batch, said, "Ann", "all blurred")
    assert [answer.said for answer in saved] == said
    assert {answer.comment for answer in saved} == {"all blurred"}
    assert store.add_all(batch, said, "Ann", "all blurred") == saved
    with pytest.raises(ConflictError, match="something else"):
        store.add_all(batch, said[:2], "Ann", "all blurred")
    assert store.undo(undo, reviewer="Ann") == saved
    assert store.undo(undo, reviewer="Ann") == saved
    assert store.log().current == {9: before}


def test_of_several_rows_all_are_written_or_none(store):
    own = store.add(key(), 3, "keep", 0, reviewer="Ann")
    with pytest.raises(ConflictError) as refused:
        store.add_all(key(), [(row, "change", 1) for row in (1, 2, 3)], "Ann")
    assert refused.value.present == own
    assert store.log().version == 1
    # The same answer as before stands in the way of nothing; Ben has none.
    store.add_all(key(), [(row, "keep", 0) for row in (1, 3)], "Ann")
    store.add_all(key(), [(row, "change", 1) for row in (1, 2, 3)], "Ben")
    assert [len(own) for own in store.log().by_reviewer.values()] == [2, 3]


def test_a_seen_answer_is_replaced_together_with_others(store):
    own = store.add(key(), 3, "keep", 0, reviewer="Ann")
    said = [(row, "change", 1) for row in (3, 1)]
    for rows, expects in ((said, None), (said, 99), (said[::-1], own.number)):
        with pytest.raises(ConflictError, match="in the meantime"):
            store.add_all(key(), rows, "Ann", expects=expects)
    saved = store.add_all(key(), said, "Ann", expects=own.number)
    assert list(store.log().current.values()) == saved
    assert store.undo(key(), reviewer="Ann") == saved
    assert store.log().current == {3: own}
    store.undo(key(), reviewer="Ann")
    with pytest.raises(ConflictError, match="in the meantime"):  # what was seen is gone
        store.add_all(key(), said, "Ann", expects=own.number)


def test_one_of_several_is_taken_back_by_its_number(store):
    saved = store.add_all(key(), [(row, "keep", 0) for row in (1, 2, 3)], "Ann")
    assert store.undo(key(), saved[1].number, "Ann") == [saved[1]]
    assert store.undo(key(), reviewer="Ann") == [saved[0], saved[2]]


def test_the_latest_answer_stands_and_each_person_keeps_their_own(store):
    ann = store.add(key(), 1, "keep", 0, reviewer="Ann")
    ben = store.add(key(), 1, "change", 1, reviewer="Ben", comment="see page 2")
    log = store.log()
    assert log.current == {1: ben}
    assert log.by_reviewer == {"Ann": {1: ann}, "Ben": {1: ben}}
    assert log.of_row(1) == [ann, ben]
    with pytest.raises(ConflictError, match="no answer to take back"):
        store.undo(key(), reviewer="Carl")
    assert store.undo(key(), reviewer="Ann") == [ann]
    assert store.log().current == {1: ben}
    with pytest.raises(ConflictError, match="another person's; only they can"):
        store.undo(key(), ben.number, "Ann")
    assert store.undo(key(), ben.number, "Ben") == [ben]


def test_who_is_unsure_leaves_the_answer_of_another(store):
    changed = store.add(key(), 1, "change", 1, reviewer="Ann")
    kept = store.add(key(), 2, "keep", 0, reviewer="Ann")
    unsure = store.add(key(), 1, "unsure", None, reviewer="Ben")
    log = store.log()
    assert log.current == {1: changed, 2: kept}
    assert list(log.current) == [1, 2]  # the oldest first
    assert log.of_row(1) == [changed, unsure]
    store.undo(key(), unsure.number, "Ben")
    assert store.log().current[1] == changed
    again = store.add(key(), 1, "unsure", None, reviewer="Ben")
    store.undo(key(), changed.number, "Ann")
    assert store.log().current == {1: again, 2: kept}
    # A person who becomes unsure takes back what they said themselves.
    own = store.add(key(), 2, "unsure", None, expects=kept.number, reviewer="Ann")
    assert store.log().current == {1: again, 2: own}


def test_the_same_answer_from_a_second_tab_is_no_conflict(store):
    first = store.add(key(), 1, "keep", 0, reviewer="Ann", comment="clear")
    assert store.add(key(), 1, "keep", 0, reviewer="Ann") == first
    assert store.add(key(), 1, "keep", 0, reviewer="Ann", comment="clear") == first
    for other in ({"comment": "unclear"}, {"answer": "unsure", "label": None}):
        said = {"row": 1, "answer": "keep", "label": 0, "reviewer": "Ann", **other}
        with pytest.raises(ConflictError, match="differently"):
            store.add(key(), **said)
    assert store.log().version == 1


def test_a_clock_that_is_set_back_changes_no_order(store, monkeypatch):
    """Answers stand in the order in which they were given, whatever time it says it is."""
    years, before = ("2030", "2020", "1970", "2025"), None
    for k, year in enumerate(years):
        clock = SimpleNamespace(now=lambda zone, year=year: datetime(int(year), 1, 1, tzinfo=zone))
        monkeypatch.setattr("rboost.review.store.datetime", clock)
        before = store.add(key(), 1, "change", k % 2, expects=before).number
        store.add(key(), 10 + k, "unsure", None)
    log = store.log()
    assert [answer.time[:4] for answer in log.held.values()] == [y for y in years for _ in "12"]
    assert (log.current[1].label, log.current[1].time[:4]) == (1, "2025")
    assert list(log.current) == [10, 11, 12, 1, 13]
    assert [answer.row for answer in store.undo(key())] == [13]
