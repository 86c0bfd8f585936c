"""Rows are one reviewer's at a time, second opinions another person's, and nothing is lost."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rboost.review import Review
from rboost.review.answers import BETWEEN, Answer, Log
from rboost.review.leases import MOST_LEASED, MOST_REVIEWERS, Leases, Team
from tests.review.audits import N_ROWS, two_classes
from tests.review.clients import key

NAMES = ("ann", "bob", "carl")


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["take", "renew", "release"]),
            st.sampled_from(NAMES),
            st.lists(st.integers(0, 8), max_size=5),
            st.floats(0, 400),
        ),
        max_size=30,
    )
)
def test_a_row_is_one_reviewers_until_its_lease_ends(steps):
    clock, expected = Clock(), {}
    leases = Leases(600, clock)
    for what, who, rows, pause in steps:
        clock.now += pause
        expected = {row: lease for row, lease in expected.items() if lease[1] > clock.now}
        if what == "take":
            free = [row for row in rows if expected.get(row, (who,))[0] == who]
            assert leases.take(who, rows) == free
            expected.update(dict.fromkeys(free, (who, clock.now + 600)))
        elif what == "renew":
            leases.renew(who, rows)
            own = {row for row in rows if expected.get(row, ("",))[0] == who}
            expected.update(dict.fromkeys(own, (who, clock.now + 600)))
        else:
            leases.release(who, rows)
            expected = {r: held for r, held in expected.items() if r not in rows or held[0] != who}
        for each in NAMES:
            others = {row for row, (owner, _) in expected.items() if owner != each}
            assert leases.of_others(each) == others


def test_nobody_holds_the_whole_table():
    leases = Leases(600, Clock())
    for first in range(0, 1000, 10):
        leases.take("ann", range(first, first + 10))
    leases.renew("ann", range(1000))
    assert leases.of_others("bob") == set(range(1000 - MOST_LEASED, 1000))


def test_of_rows_taken_again_the_others_are_lost_first():
    leases = Leases(600, Clock())
    leases.take("ann", range(MOST_LEASED))
    leases.renew("ann", [0])
    leases.take("ann", [99])
    assert leases.of_others("bob") == {0, *range(2, MOST_LEASED), 99}


def after(log, who, row):
    number = log.version + 1
    return log.after([(Answer(number, row, "keep", 0, "", who), None)])


@given(st.data())
def test_every_row_is_answered_once_and_those_drawn_twice_by_different_people(data):
    """Reviewers ask for rows, answer some, and close their tabs; one leaves for good."""
    n_rows = data.draw(st.integers(1, 25))
    clock, log, pages = Clock(), Log(0, {}, frozenset()), {who: [] for who in NAMES}
    team = Team(NAMES, n_rows, data.draw(st.sampled_from([0, 0.1, 0.5, 1])), Leases(600, clock))
    answered = Counter()

    def fill(who, count):
        first, last = team.first_and_last(log, [], who)
        assert last == []
        rows = [*first, *(row for row in range(n_rows) if row not in log.current)]
        rows = [row for row in rows if row not in pages[who]]
        pages[who] += team.hand_out(who, rows, count, pages[who])

    def answer(who):
        nonlocal log
        row = pages[who].pop(0)
        answered[row] += 1
        assert row not in log.own(who)
        log = after(log, who, row)
        team.release(who, [row])

    for _ in range(data.draw(st.integers(0, 60))):
        who = data.draw(st.sampled_from(NAMES))
        if data.draw(st.booleans()):
            fill(who, data.draw(st.integers(1, 4)))
        elif pages[who]:
            answer(who)
        shown = Counter(row for rows in pages.values() for row in rows)
        assert max(shown.values(), default=0) <= 1
        clock.now += 0.5
    for rows in pages.values():
        rows.clear()  # all close their tabs, and carl is gone
    clock.now += 600
    for _ in range(2 * n_rows):
        for who in ("ann", "bob"):
            fill(who, 1)
            if pages[who]:
                answer(who)
            clock.now += 1
    assert all(answered[row] == 1 + (row in team.asked_twice) for row in range(n_rows))


def test_second_opinions_are_the_share_that_was_asked_for_and_the_same_at_every_start():
    team = Team(NAMES, 10_000)
    assert 900 < len(team.asked_twice) < 1100
    assert team.asked_twice == Team(["dora"], 10_000).asked_twice
    assert Team(NAMES, 1000, 0).asked_twice == frozenset()
    assert len(Team(NAMES, 1000, 1).asked_twice) == 1000


def test_a_doubtful_answer_is_asked_of_somebody_else_first():
    team = Team(NAMES, 100, 0)
    log = after(Log(0, {}, frozenset()), "ann", 5)
    assert team.first_and_last(log, [5], "bob") == ([5], [])
    assert team.first_and_last(log, [5], "ann") == ([], [5])
    log = after(log, "bob", 5)  # two people are enough, whatever the model says
    assert [team.first_and_last(log, [5], name) for name in NAMES] == [([], [])] * 3


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ([], "1 to 20"),
        ([""], "no name"),
        (["ann", "  "], "no name"),
        (["a\x1b[31m"], "no name"),
        (["ann\u202e"], "no name"),
        (["x" * 101], "no name"),
        (["ann", "Ann"], "same name"),
        (["ann b", " ann   b "], "same name"),
        ([str(k) for k in range(MOST_REVIEWERS + 1)], "1 to 20"),
    ],
)
def test_reviewers_that_cannot_be_told_apart_are_refused(names, problem):
    with pytest.raises(ValueError, match=problem):
        Team(names, 10)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def shared(tmp_path, clock):
    team = Team(NAMES, N_ROWS, 0, Leases(600, clock))
    review = Review(two_classes(), tmp_path, team=team)
    yield review
    review.finish()


def test_reviewers_of_a_review_get_different_rows(shared, clock):
    got = {who: shared.next_rows(count=5, reviewer=who) for who in NAMES}
    assert len({row for rows in got.values() for row in rows}) == 15
    assert shared.next_rows(count=5, reviewer="ann") == got["ann"]  # after a reload
    clock.now += 599
    later = shared.next_rows(count=1, reviewer="ann", skipped=got["ann"])
    clock.now += 2  # the leases of the others have ended
    returned = shared.next_rows(count=20, reviewer="bob")
    assert not {*got["ann"], *later} & {*returned}
    assert {*got["carl"], *got["bob"]} <= {*returned}


def test_an_answer_ends_the_lease_and_undo_brings_it_back(shared):
    [row] = shared.next_rows(reviewer="ann")
    saved = shared.answer(key(), row, "keep", None, reviewer="ann")
    assert shared.team.of_others("bob") == set()
    shared.undo(key(), saved.number, "ann")
    assert shared.team.of_others("bob") == {row}
    assert row not in shared.next_rows(count=20, reviewer="bob")
    assert row in shared.next_rows(count=20, reviewer="ann")


def test_in_a_review_a_doubtful_answer_goes_to_others_and_to_its_own_person_in_the_end(shared):
    shared.answer(key(), 2, "keep", None, reviewer="ann")
    for row in range(10, 10 + BETWEEN):
        shared.answer(key(), row, "keep", None, reviewer="ann")
    shared.updating.wait()
    shared.snapshot = replace(shared.snapshot, doubtful=[2])
    assert shared.next_rows(reviewer="bob") == [2]
    assert 2 not in shared.next_rows(count=10, reviewer="carl")  # bob has it
    everything = np.arange(N_ROWS)
    others = everything[everything != 2].tolist()
    assert shared.next_rows(reviewer="ann", skipped=others) == []  # bob still has it
    shared.team.release("bob", [2])
    assert shared.next_rows(reviewer="ann")[0] != 2
    assert shared.next_rows(reviewer="ann", skipped=others) == [2]
