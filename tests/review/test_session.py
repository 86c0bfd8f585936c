"""What follows from answers, at once and after a new fit."""

import sqlite3
import threading
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from rboost.audit import audit_labels
from rboost.audit.labels import NO_LABEL
from rboost.review import Review, fingerprint
from rboost.review.answers import ConflictError
from rboost.review.folder import export_answers, with_saved_answers
from rboost.review.queue import ORDERS, random_draws, random_order
from tests.review.audits import make_audit, three_classes, two_classes
from tests.review.clients import key


def first(review, order, skipped=()):
    rows = review.next_rows(order, skipped=skipped)
    return rows[0] if rows else None


def exported(review):
    review.exporting.wait()
    assert review.exporting.error is None
    return review.checked_csv


def settle(review):
    review.updating.wait()
    assert review.updating.error is None


@pytest.mark.parametrize("make", [two_classes, three_classes])
def test_the_estimate_follows_the_answers_and_undo_restores_it(make, tmp_path):
    review = Review(make(), tmp_path)
    start = review.snapshot.estimate
    for _ in range(5):
        row = first(review, "suspicious")
        review.answer(key(), row, "change", int(review.snapshot.live.suggested[row]))
    settle(review)
    now = review.snapshot.estimate
    assert now["expected_wrong"] != start["expected_wrong"]
    answered = list(review.store.log().current)
    assert not set(review.snapshot.live.suspects().rows) & set(answered)
    for _ in range(5):
        review.undo(key())
    settle(review)
    assert review.snapshot.estimate == start


@pytest.mark.slow
def test_an_answered_row_is_not_offered_again(review):
    seen = []
    for answer in ("keep", "unsure", "change") * 3:
        row = first(review, "informative")
        review.answer(key(), row, answer, 1 - int(review.snapshot.fitted.labels.given[row]))
        seen.append(row)
        settle(review)
    assert len(set(seen)) == len(seen)
    assert first(review, "informative", range(len(review.snapshot.fitted))) is None


@pytest.mark.slow
def test_a_doubtful_answer_is_asked_for_again_once(tmp_path):
    random = np.random.RandomState(0)
    X = random.normal(size=(300, 3))
    true = (X[:, 0] > 0).astype(int)
    sure = int(np.argmax(np.abs(X[:, 0])))
    review = Review(audit_labels(X, true, model="linear", check_columns=False), tmp_path)
    review.answer(key(), sure, "change", 1 - int(true[sure]), reviewer="Ann")
    for row in np.setdiff1d(np.arange(40), [sure])[:30].tolist():
        review.answer(key(), row, "keep", None, reviewer="Ann")
    settle(review)
    assert review.snapshot.doubtful == [sure]
    for order in ORDERS:
        assert first(review, order) == sure
        assert first(review, order, skipped=[sure]) != sure
    present = review.store.log().current[sure]
    confirmed = dict(answer="change", label=1 - int(true[sure]), reviewer="Ann")
    review.answer(key(), sure, **confirmed, expects=present.number)
    assert first(review, "mixed") != sure
    review.undo(key(), reviewer="Ann")
    assert first(review, "mixed") == sure
    review.answer(key(), sure, "keep", None, reviewer="Ben")
    settle(review)
    assert first(review, "mixed") != sure
    assert review.snapshot.doubtful == []


def test_skipped_rows_are_left_out(review):
    seen = first(review, "informative")
    assert first(review, "informative", {seen}) not in (seen, None)


def test_a_row_without_a_label_takes_a_label_but_cannot_keep_one(review):
    with pytest.raises(ValueError, match="no label to keep"):
        review.answer(key(), 7, "keep", None)
    assert review.explain([7])[0].suggested in ("cat", "<i>dog</i>")
    assert review.answer(key(), 7, "change", 0).label == 0


@pytest.mark.parametrize(
    ("row", "answer", "label", "sentence"),
    [
        (150, "keep", None, "no row 150"),
        (-1, "keep", None, "no row -1"),
        (0, "change", None, "number of a class"),
        (0, "change", 2, "number of a class"),
        (0, "change", -1, "number of a class"),
        (0, "delete", None, "keep, change or unsure"),
        (0, "undo", None, "keep, change or unsure"),
    ],
)
def test_answers_that_make_no_sense_are_refused(review, row, answer, label, sentence):
    with pytest.raises((ValueError, LookupError), match=sentence):
        review.answer(key(), row, answer, label)


def test_a_change_to_the_given_label_is_refused(review):
    given = int(review.snapshot.fitted.labels.given[0])
    with pytest.raises(ValueError, match="keep it instead"):
        review.answer(key(), 0, "change", given)


def test_a_new_fit_learns_all_answers_and_says_what_changed(review):
    asked = []

    def save(audit):
        rows = np.flatnonzero(audit.labels.is_checked)
        asked.append(dict(zip(rows.tolist(), audit.labels.checked[rows].tolist(), strict=True)))
        review.answer(key(), 20, "keep", None)  # before the fit is done

    review._save = save
    with pytest.raises(ValueError, match="nothing to learn"):
        review.refit()
    given = review.snapshot.fitted.labels.given
    for row in (1, 2, 3):
        review.answer(key(), row, "change", 1 - int(given[row]))
    review.answer(key(), 4, "unsure", None)
    before = review.snapshot.fitted
    review.refit()
    review.refit_job.wait()
    settle(review)
    assert asked == [{row: 1 - int(given[row]) for row in (1, 2, 3)}]
    changes = review.refit_job.result
    assert changes["n_now_probable"] == len(changes["now_probable"])
    assert changes["before"]["noise"] != changes["after"]["noise"]
    assert review.snapshot.fitted is not before
    assert sorted(review.store.log().current) == [1, 2, 3, 4, 20]
    live = review.snapshot.live.labels.checked
    assert np.flatnonzero(live != NO_LABEL).tolist() == [1, 2, 3, 20]


@pytest.mark.slow
def test_an_answer_that_was_learnt_can_be_taken_back(review, tmp_path):
    saved = review.answer(key(), 1, "keep", None)
    review.refit()
    review.refit_job.wait()
    assert review.snapshot.fitted.labels.is_checked[1]
    review.undo(key(), saved.number)
    settle(review)
    assert not review.snapshot.live.labels.is_checked[1]
    review.store.close()
    again = Review(review.snapshot.fitted, tmp_path)
    assert not again.snapshot.live.labels.is_checked[1]
    assert again.start == review.start


def test_a_fit_that_fails_changes_nothing(review):
    def fail(audit):
        raise ValueError("The disk\nis full.")

    review._save = fail
    review.answer(key(), 1, "keep", None)
    settle(review)
    before = review.snapshot
    review.refit()
    review.refit_job.wait()
    assert (review.refit_job.status, review.refit_job.error) == ("failed", "The disk is full.")
    assert review.snapshot is before


@pytest.mark.parametrize("change", ["row = 150", "label = 2"])
def test_answers_to_rows_that_do_not_exist_are_damage(review, tmp_path, change):
    review.answer(key(), 1, "keep", None)
    review.finish()
    review.store.close()
    with closing(sqlite3.connect(tmp_path / "review.sqlite")) as file:
        file.execute(f"UPDATE events SET {change}")
        file.commit()
    audit = two_classes()
    for use in (Review, export_answers, with_saved_answers):
        with pytest.raises(ValueError, match="is damaged or no file of answers"):
            use(audit, tmp_path)


@pytest.mark.slow
def test_one_fit_at_a_time(review):
    gate = threading.Event()
    review._save = lambda audit: gate.wait(30)
    review.answer(key(), 1, "keep", None)
    review.refit()
    with pytest.raises(ConflictError, match="already"):
        review.refit()
    gate.set()
    review.refit_job.wait()
    assert review.refit_job.status == "done"


@pytest.mark.slow
def test_labels_that_were_checked_beforehand_are_kept(tmp_path):
    checked = [None] * 150
    checked[5] = "cat"
    review = Review(make_audit(checked, without=(7, 8)), tmp_path)
    with pytest.raises(ConflictError, match="came with a checked label"):
        review.answer(key(), 5, "keep", None)
    review.answer(key(), 6, "keep", None)
    settle(review)
    assert np.flatnonzero(review.snapshot.live.labels.is_checked).tolist() == [5, 6]
    review.refit()
    review.refit_job.wait()
    assert np.flatnonzero(review.snapshot.fitted.labels.is_checked).tolist() == [5, 6]


@pytest.mark.slow
def test_the_fingerprint_knows_rows_labels_and_classes_but_not_checks(review):
    audit = review.snapshot.fitted
    checked = np.full(len(audit), NO_LABEL)
    checked[0] = 1
    assert fingerprint(audit.with_checked(checked)) == fingerprint(audit)
    assert fingerprint(make_audit(without=(7,))) != fingerprint(audit)


@pytest.mark.slow
def test_its_own_draws_are_counted_kept_by_a_fit_and_exported(review):
    """One in five answers is drawn at random; rows that a person is unsure of count for nothing."""
    order = random_order(review.snapshot.fitted.labels)
    asked = []
    for number in range(40):
        asked.append(first(review, "mixed"))
        kind = "unsure" if asked[-1] == order[1] else "keep"
        if review.snapshot.fitted.labels.given[asked[-1]] == NO_LABEL:
            kind = "unsure"
        review.answer(key(), asked[-1], kind, None)
        settle(review)
        if number == 23:
            assert review.snapshot.estimate["random_checks"] is None
    expected = set(order[:8].tolist()) - {order[1]}
    assert set(order[:8].tolist()) <= set(asked)
    drawn = review.snapshot.live.labels.at_random
    assert set(np.flatnonzero(drawn).tolist()) == expected
    assert review.snapshot.estimate["random_checks"]["n_checked"] == 7
    assert review.snapshot.estimate["random_checks"]["n_wrong"] == 0
    found = pd.read_csv(exported(review), keep_default_na=False)
    assert np.count_nonzero(found["drawn_at_random"] == "yes") == 7
    review.refit()
    review.refit_job.wait()
    assert review.refit_job.status == "done"
    np.testing.assert_array_equal(review.snapshot.fitted.labels.at_random, drawn)


@pytest.mark.slow
def test_several_answers_at_once_do_not_end_the_draws(review):
    def answer_mixed(n_rows):
        for _ in range(n_rows):
            review.answer(key(), first(review, "mixed"), "unsure", None)
            settle(review)

    def n_drawn():
        log = review.store.log()
        is_closed = np.isin(np.arange(150), list(log.current))
        return len(random_draws(review.snapshot.fitted.labels, len(log.current), is_closed))

    answer_mixed(26)
    assert n_drawn() == 5
    drawn = random_order(review.snapshot.fitted.labels)
    still = [row for row in drawn[50:] if row not in review.store.log().current]
    review.answer_all(key(), [int(row) for row in still[:50]], "unsure", None)
    settle(review)
    assert n_drawn() == 0
    answer_mixed(20)
    assert n_drawn() == (26 + 50 + 20) // 5


def test_other_orders_draw_nothing(review):
    for _ in range(30):
        review.answer(key(), first(review, "suspicious"), "keep", None)
    settle(review)
    assert review.snapshot.estimate["random_checks"] is None


def test_the_export_holds_the_answers_and_no_formulas(review):
    given = int(review.snapshot.fitted.labels.given[4])
    review.answer(key(), 4, "change", 1 - given)
    review.answer(key(), 7, "change", 1)
    review.answer(key(), 9, "unsure", None)
    path = exported(review)
    found = pd.read_csv(path, keep_default_na=False)
    names = [
        "name",
        "given_label",
        "checked_label",
        "answer",
        "time",
        "drawn_at_random",
        "reviewer",
        "comment",
        "disagreement",
    ]
    assert list(found.columns) == names
    assert found["answer"].tolist() == ["change", "change", "unsure"]
    assert found["given_label"].tolist()[1] == ""
    assert found["checked_label"].tolist() == [["<i>dog</i>", "cat"][1 - given], "cat", ""]
    assert path.stat().st_mode & 0o777 == 0o644
    assert [each.name for each in path.parent.iterdir() if each.name.startswith(".")] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_figures_while_people_answer_agree_with_those_of_a_new_fit(tmp_path, seed):
    """Two people, one of whom errs in 10 % of cases: they differ by less than their intervals."""
    random = np.random.RandomState(seed)
    X = random.normal(size=(500, 4))
    true = (X[:, 0] + 0.5 * X[:, 1] + random.normal(scale=0.4, size=500) > 0).astype(int)
    given = np.where(random.uniform(size=500) < 0.15, 1 - true, true)
    review = Review(audit_labels(X, given, check_columns=False, n_jobs=1), tmp_path)
    rows = random.permutation(500)[:70].tolist()
    for k, row in enumerate(rows):
        for name, error, asked in (("Ann", 0.0, k < 50), ("Ben", 0.1, k >= 30)):
            if asked:
                label = int(true[row] if random.uniform() >= error else 1 - true[row])
                kind = "keep" if label == given[row] else "change"
                review.answer(key(), row, kind, label, reviewer=name)
    settle(review)
    live, log = review.snapshot.live, review.store.log()
    fitted = review.snapshot.fitted.refitted(live.labels)
    assert fitted.labels.answers.said == live.labels.answers.said
    assert set(live.reviewer_errors) == {"Ann", "Ben"}
    one, other = live.summary(), fitted.summary()
    assert other.share_low <= one.expected_wrong / one.n_unchecked <= other.share_high
    assert one.share_low <= other.expected_wrong / other.n_unchecked <= one.share_high
    rates = [audit.inference.noise.interval() for audit in (live, fitted)]
    for audit, (low, high) in zip((fitted, live), rates, strict=True):
        matrix = audit.inference.noise.noise_matrix
        assert ((low - 1e-9 <= matrix) & (matrix <= high + 1e-9)).all()
    assert len(log.current) == len(rows)


def test_what_counts_of_a_row_is_the_same_in_log_and_labels(review):
    given = int(review.snapshot.fitted.labels.given[1])
    for name, label in (("Ann", given), ("Ben", given), ("Cy", 1 - given)):
        kind = "keep" if label == given else "change"
        review.answer(key(), 1, kind, label, reviewer=name)
        settle(review)
        labels = review.snapshot.live.labels
        assert labels.checked[1] == review.store.log().current[1].label
    assert len(labels.answers) == 3
