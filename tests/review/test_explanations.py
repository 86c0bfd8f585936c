"""Explanations that are made ahead, and people who come first."""

import threading
import time

from rboost.review import open_review
from rboost.review.explanations import Explanations
from tests.review.audits import three_classes


class Slow:
    """An audit that explains a row when it is let to, and remembers in which order."""

    def __init__(self):
        self.gate, self.rows = threading.Semaphore(0), []

    def explain(self, row):
        self.rows.append(row)
        assert self.gate.acquire(timeout=30)
        return f"row {row}"


def until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_who_waits_comes_before_what_is_made_ahead():
    audit, explanations, found = Slow(), Explanations(), []
    ahead = threading.Thread(target=explanations.make_ahead, args=(audit, [1, 2, 3]))
    ahead.start()
    until(lambda: audit.rows == [1])
    person = threading.Thread(target=lambda: found.append(explanations.of(audit, 9)))
    person.start()
    until(lambda: explanations._n_waiting == 1)
    for _ in range(4):
        audit.gate.release()
    person.join()
    ahead.join()
    assert audit.rows == [1, 9, 2, 3]
    assert found == ["row 9"]
    assert explanations.of(audit, 2) == "row 2"  # nobody is asked again
    assert len(audit.rows) == 4


def test_a_person_need_not_wait_longer_than_they_want():
    audit, explanations = Slow(), Explanations()
    ahead = threading.Thread(target=explanations.make_ahead, args=(audit, [1]))
    ahead.start()
    until(lambda: audit.rows == [1])
    assert explanations.of(audit, 9, 0.01) is None
    assert explanations.of(audit, 9, 0.0) is None
    audit.gate.release()
    ahead.join()
    assert explanations.of(audit, 1, 0.0) == "row 1"


def test_another_audit_has_other_explanations():
    one, other, explanations = Slow(), Slow(), Explanations()
    for audit in (one, other, one):
        audit.gate.release()
        assert explanations.of(audit, 1) == "row 1"
    assert (one.rows, other.rows) == ([1, 1], [1])


def test_the_rows_that_come_next_are_explained_before_they_are_asked_for(tmp_path):
    review = open_review(three_classes(), tmp_path)
    review.finish()
    row = review.snapshot.rankings["mixed"][0]
    review.answer("5" * 32, int(row), "unsure", None)
    review.finish()
    for row in review.snapshot.rankings["mixed"][:10].tolist():
        assert review.explain(row, 0.0) is not None
