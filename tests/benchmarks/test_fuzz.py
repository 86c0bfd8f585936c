"""A sample of the mutated inputs, and whether the checks notice what they are there to notice."""

import json
import os
import sys

import numpy as np
import pytest

from benchmarks.fuzz import files, models, outcome, run
from benchmarks.fuzz.run import KINDS, Case, cases, run_case, where_of
from benchmarks.fuzz.tables import LABEL, TABLES, base_table, cells_of
from rboost.audit.fit import make_scorer
from tests.pages import ROOT

# 80 cases, of what takes long only a few, and forged model files, which take none.
SAMPLE = {
    "model": 250,
    "read": 34, "trusted": 20, "folder": 6, "python": 6, "parquet": 4, "predict": 3, "options": 3,
    "audit": 2, "answers": 2,
}  # fmt: skip


@pytest.mark.parametrize("kind", SAMPLE)
def test_mutated_inputs_end_in_a_result_or_a_sentence(kind):
    failures = [run_case(case) for case in cases(SAMPLE[kind], 0, kind)]
    assert not [failure.details for failure in failures if failure]


def test_every_kind_is_sampled():
    assert SAMPLE.keys() == KINDS.keys()
    assert sum(share for _, share in KINDS.values()) == 10_000


def test_there_are_twenty_tables_of_all_kinds():
    assert len(TABLES) == 20
    assert {dress for _, dresses in TABLES.values() for dress in dresses} >= {
        "dates", "zones", "offsets", "amounts", "texts", "missing", "ids",
    }  # fmt: skip
    for name in TABLES:
        frame = base_table(name)
        assert 60 <= len(frame) <= 200
        assert frame[LABEL].nunique() > 1
        assert len(cells_of(name)) == len(frame) + 1
    assert max(base_table(name)[LABEL].nunique() for name in TABLES) > 9


def test_cases_are_reproducible_and_begin_with_whole_tables():
    assert cases(50, 3) == cases(50, 3) == cases(60, 3)[:50]
    assert [case.table for case in cases(run.MANY, 0)[:20]] == list(TABLES)
    assert {case.kind for case in cases(500, 0)} == KINDS.keys()


def test_an_error_that_is_no_sentence_is_a_failure_with_its_input(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "read_inputs", lambda request: {}["no such key"])
    failure = run_case(Case(0, 5, "read"), tmp_path)
    assert failure.where.startswith("KeyError")
    (kept,) = tmp_path.iterdir()
    assert "Case(seed=0, number=5" in (kept / "failure.txt").read_text()
    assert any(path.name.startswith("table") for path in kept.iterdir())


def test_errors_alike_have_one_place():
    places = set()
    for word in ("x", "y"):
        with pytest.raises(ValueError, match="no model") as caught:
            make_scorer(word, 0, None, 0)
        places.add(where_of(caught.value).rpartition(":")[0])
    assert places == {"ValueError at audit/fit.py"}


@pytest.mark.parametrize(
    ("code", "errors"),
    [
        (1, "rboost: a sentence."),
        (2, "Traceback (most recent call last):"),
        (2, ""),
        (2, "two\nlines"),
        (0, "rboost: invalid value encountered in divide"),
    ],
)
def test_endings_that_are_failures(monkeypatch, code, errors):
    def ends(arguments):
        print(errors, file=sys.stderr)
        return code

    monkeypatch.setattr(outcome, "main", ends)
    with pytest.raises(outcome.Failed):
        outcome.command("audit")


def test_memory_that_a_file_may_not_take_is_a_failure(tmp_path):
    (tmp_path / "model.rboost").write_bytes(b"x" * 1000)
    if not models.IS_MEASURED:
        pytest.skip("memory is measured on Linux, without sanitizers")
    with models.bounded(tmp_path / "model.rboost"):
        np.ones(2**20)
    with (
        pytest.raises(outcome.Failed, match="a file of 1000 bytes took"),
        models.bounded(tmp_path / "model.rboost"),
    ):
        np.ones(2**26)


def test_a_process_that_dies_is_a_failure(monkeypatch):
    monkeypatch.setattr(run, "_Task", Dies)
    (failure,) = run.run(cases(3, 0, "read"), jobs=1 + 1)
    assert "kind='read'" in failure.details


class Dies(run._Task):
    def __call__(self, case):
        (self.running / "1").write_text(repr(case))
        os._exit(1)


def test_a_half_written_folder_is_a_failure(tmp_path):
    before = outcome.contents(tmp_path)
    (tmp_path / "audit").mkdir()
    with pytest.raises(outcome.Failed, match="audit"):
        outcome.check_untouched(before, tmp_path)
    files_of = {"model.rboost": "0" * 64}
    (tmp_path / "audit" / "model.rboost").write_text("half")
    (tmp_path / "audit" / "audit.json").write_text(json.dumps({"files": files_of}))
    with pytest.raises(outcome.Failed, match="not the file"):
        outcome.check_audit(tmp_path / "audit")


def test_what_numpy_says_is_no_sentence():
    with pytest.raises(outcome.Failed, match="no sentence"):
        outcome.said(lambda: int("x"))


def test_the_memory_that_is_promised_is_what_is_tested():
    sentence = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())
    assert models.MOST_TIMES == 10
    spared = f"{models.SPARE_BYTES // 2**20} MiB"
    assert f"reading takes at most ten times its length of memory and {spared};" in sentence
