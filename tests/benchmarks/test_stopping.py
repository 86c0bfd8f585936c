"""A reviewer who follows the page until it says enough: what is asked, measured and said."""

import numpy as np
import pytest

from benchmarks import stopping
from benchmarks.honesty import FLIPS, REAL, Job
from benchmarks.pages import read_origin
from benchmarks.stopping import (
    COMPARED,
    ERROR,
    MOST_ANSWERS,
    OURS,
    RANDOM,
    STAGES,
    Reviewer,
    at_random,
    curve,
    follow_page,
    main,
    measure,
    needed,
    page,
    state,
    stop,
    up_to_enough,
)
from rboost.audit import audit_labels
from rboost.audit.labels import NO_LABEL
from rboost.review.precision import FEWEST_ANSWERS, points
from tests.benchmarks.test_honesty import made_up, rows_of


def audit_of(rows):
    return audit_labels(None, rows.given, probabilities=rows.probabilities)


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stopping, "COMPARED", FEWEST_ANSWERS)
        return measure(Job(FLIPS, "made up", made_up(2, 0.2)), until=20.0)


def test_the_reviewer_errs_as_often_as_is_said_and_not_always_alike():
    rows = rows_of(3, n_rows=2000)
    reviewer = Reviewer(rows, 0)
    said = np.array([[reviewer.says(row) for row in range(2000)] for _ in range(2)])
    errs = said != rows.true
    assert errs.mean(axis=1) == pytest.approx([ERROR, ERROR], abs=0.02)
    assert (errs[0] & errs[1]).mean() < ERROR / 2
    assert set(said.ravel()) == {0, 1, 2}


def test_a_state_is_the_interval_beside_the_truth_of_what_nobody_checked():
    rows = rows_of()
    checked = np.where(np.arange(300) < 40, rows.true, NO_LABEL)
    live = audit_of(rows).with_checked(checked, checked != NO_LABEL)
    found = state(live, 40, rows)
    assert found["true"] == np.mean(rows.given[40:] != rows.true[40:])
    assert (found["low"], found["high"], found["source"]) == live.wrong_share_interval()
    right = live.inference.probability[np.arange(300), rows.true]
    assert found["log loss"] == pytest.approx(-np.log(right.clip(0.001)).mean())


@pytest.mark.parametrize("follow", [follow_page, at_random])
def test_answers_go_on_until_it_is_enough_and_no_row_is_lost(follow):
    rows = rows_of(n_rows=80)
    looks = list(follow(audit_of(rows), rows, 12.0))
    answers = [look["answers"] for look in looks]
    assert answers[0] == 0
    assert answers == sorted(answers)
    assert answers[-1] >= 70
    for look in looks[:-1]:
        enough = look["answers"] >= FEWEST_ANSWERS and points(look["low"], look["high"]) <= 12
        if follow is at_random:
            assert look["enough"] == enough
        else:
            assert enough or not look["enough"]
    assert any(look["enough"] for look in looks)


def test_looks_end_once_it_was_enough_and_orders_can_be_compared():
    each = [{"answers": n, "enough": n == 30} for n in range(0, 1000, 10)]
    assert up_to_enough(iter(each))[-1]["answers"] == COMPARED
    each = [{"answers": n, "enough": n >= 200} for n in range(0, 1000, 10)]
    assert up_to_enough(iter(each))[-1]["answers"] == 200
    each = [{"answers": n, "enough": False} for n in range(0, 1000, 10)]
    assert up_to_enough(iter(each))[-1]["answers"] == MOST_ANSWERS
    assert stop(each) is None


def test_the_answers_needed_are_those_for_the_loss_of_random_order():
    def looks(every, slope):
        return [{"answers": n, "log loss": 1 - slope * n} for n in range(0, COMPARED + 1, every)]

    faster = {OURS: looks(5, 0.004), RANDOM: looks(10, 0.002)}
    ours, random, n_answers = needed([faster, faster])
    assert len(ours) == len(STAGES)
    assert random[-1] == pytest.approx(0.8)
    assert n_answers == pytest.approx(COMPARED / 2)
    assert curve(faster[RANDOM])[1] == pytest.approx(0.99)
    slower = {OURS: looks(5, 0.001), RANDOM: looks(10, 0.002)}
    assert needed([slower])[2] == np.inf


def test_a_page_says_what_was_found(result):
    first = stop(result[OURS])
    assert first["answers"] >= FEWEST_ANSWERS
    text = page({Job(FLIPS, "made up", made_up(2, 0.2)): result})
    assert "enough on 1 of 1 tables" in text
    assert f"| {FLIPS} (1) | {first['answers']} |" in text
    never = result | {OURS: [look | {"enough": False} for look in result[OURS]]}
    text = page({Job(REAL.format("defects"), "never", made_up(2, 0.2)): never})
    assert "enough on 0 of 1 tables" in text
    assert f"> {MOST_ANSWERS}" in text


def test_the_command_writes_a_page_that_says_where_it_comes_from(tmp_path, monkeypatch, result):
    job = Job(FLIPS, "made up", made_up(2, 0.2))
    monkeypatch.setattr(stopping, "run", lambda *_: {job: result})
    main(["--data", str(tmp_path), "--page", str(tmp_path)])
    origin = read_origin((tmp_path / "stopping.md").read_text(encoding="utf-8"))
    assert origin.module == "benchmarks.stopping"
    assert origin.is_current


def test_missing_data_ends_with_one_sentence(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--data", str(tmp_path), "--out", str(tmp_path), "--page", str(tmp_path)])
    assert "has no .npz file" in capsys.readouterr().err
