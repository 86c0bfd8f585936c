from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.paper.claims import verdicts
from benchmarks.paper.datasets import BENCHMARKS
from benchmarks.paper.methods import METHODS
from benchmarks.paper.report import rendered
from benchmarks.paper.run import (
    BOUNDARY_METHODS,
    CURVE_DATASETS,
    CURVE_METHODS,
    TABLE_SETTINGS,
    TRUSTED_DATASETS,
    Job,
    methods_of,
)
from benchmarks.paper.tables import (
    error_table,
    published,
    significantly_lower,
)


def invented(fixed_rlr=10.0, others=20.0):
    """Results in which one column is better than all the others."""
    random = np.random.RandomState(0)
    measured = {}
    for repeat in range(10):
        for setting in TABLE_SETTINGS:
            for dataset in BENCHMARKS:
                for method in methods_of(setting):
                    error = fixed_rlr if method == "rBoost-fixed rLR" else others
                    if method == "rBoost-fixed LR":
                        error = (fixed_rlr + others) / 2
                    error += random.uniform(-1, 1)
                    job = Job("tables", dataset, setting, repeat, method)
                    measured[job] = {"error": error, "rates": [0.01, 0.0]}
        for dataset in CURVE_DATASETS:
            for method in CURVE_METHODS:
                start = 30.0 if method == "AdaBoost LR" else 12.0
                curve = list(np.linspace(start, 10, 50))
                measured[Job("curves", dataset, "asym30", repeat, method)] = {
                    "train": curve,
                    "test": curve,
                }
        for method in BOUNDARY_METHODS:
            length = 100 if method == "rBoost-fixed rLR" else 200
            job = Job("boundaries", "Banana", "asym30", repeat, method)
            measured[job] = {"length": length, "error": 1.0, "grid": ""}
        for dataset in TRUSTED_DATASETS:
            for size, error in [(0, 25.0), (20, 15.0)]:
                job = Job("trusted", dataset, "asym30", repeat, "rBoost rLR", size)
                measured[job] = {"error": error}
    return measured


def test_published_tables_are_complete():
    tables = published()
    paper_methods = [name for name, method in METHODS.items() if not method.ours]
    assert len(paper_methods) == 8
    for table in (2, 3, 4, 5):
        for dataset in [*BENCHMARKS, "All"]:
            for method in paper_methods:
                assert (table, dataset, method) in tables
    assert tables[5, "All", "AdaBoost LR"] == (27.31, 3.9, False)
    assert tables[5, "Banana", "rBoost-fixed rLR"] == (14.27, 1.0, True)


def test_means_deviations_and_marks():
    table = error_table(invented(), "asym30")
    row = table.cells["Heart"]
    assert [name for name, cell in row.items() if cell.best] == ["rBoost-fixed rLR"]
    assert_allclose(row["rBoost-fixed rLR"].mean, 10, atol=1)
    assert row["rBoost-fixed rLR"].published == 24.30
    means = [table.cells[name]["AdaBoost LR"].mean for name in BENCHMARKS]
    assert_allclose(table.cells["All"]["AdaBoost LR"].mean, np.mean(means))
    deviations = [table.cells[name]["AdaBoost LR"].std for name in BENCHMARKS]
    assert_allclose(table.cells["All"]["AdaBoost LR"].std, np.mean(deviations))


def test_markdown_has_what_was_published_in_brackets_and_escapes_bars():
    table = error_table(invented(), "asym30")
    claim = {"claim": "a|b", "verdict": "yes", "evidence": "c"}
    context = {"tables": [("Five", table)], "claims": [claim], "characteristics": [{"set": "x"}]}
    lines = rendered("report.md.jinja", context).splitlines()
    (heart,) = [line for line in lines if line.startswith("| Heart |")]
    assert "[27.60 ± 5.5]" in heart
    assert "** [**24.30 ± 3.8**]" in heart
    assert "| a\\|b | **yes** | c |" in lines
    assert heart.count("|") == lines[lines.index(heart) - 2].count("|")


def test_unfinished_sets_are_left_out():
    measured = invented()
    unfinished = {job: r for job, r in measured.items() if job.dataset == "Heart"}
    table = error_table(unfinished, "sym10")
    assert list(table.cells) == ["Heart", "All"]
    assert table.cells["All"]["AdaBoost LR"].published == 21.20  # of the sets that are there
    assert error_table({}, "sym10") is None
    for job in [job for job in measured if job.repeat == 9 and job.dataset == "Image"]:
        del measured[job]
    assert "Image" not in error_table(measured, "sym10").cells
    assert verdicts(measured)


def test_rank_sum_marks():
    low, high = np.arange(10.0), np.arange(10.0) + 20
    assert significantly_lower(low, high)
    assert not significantly_lower(high, low)
    assert not significantly_lower(low, low + 0.1)
    assert not significantly_lower(low[:3], high[:3])


def named(measured, word):
    (verdict,) = [v.verdict for v in verdicts(measured) if word in v.claim]
    return verdict


CLAIMS = [
    "converges",
    "withstand",
    "true γ beats",
    "no better",
    "Table 5",
    "20 trusted",
    "smoother",
]


@pytest.mark.parametrize("word", CLAIMS)
def test_verdicts_are_good_on_numbers_like_the_papers(word):
    assert named(invented(), word) == "reproduced"


@pytest.mark.slow
@pytest.mark.parametrize("word", CLAIMS)
def test_verdicts_are_bad_on_the_opposite(word):
    def opposite(job, result):
        swapped = {
            "rBoost-fixed rLR": "AdaBoost rLR",
            "AdaBoost rLR": "rBoost-fixed rLR",
            "rBoost-fixed LR": "AdaBoost LR",
            "AdaBoost LR": "rBoost-fixed LR",
        }
        if job.part == "curves":
            swapped = {"AdaBoost LR": "AdaBoost rLR", "AdaBoost rLR": "AdaBoost LR"}
        method = swapped.get(job.method, job.method)
        if job.part == "tables" and job.method.startswith("rBoost "):
            result = {**result, "error": 5.0}
        return replace(job, method=method, trusted=20 - job.trusted), result

    measured = dict(opposite(job, result) for job, result in invented().items())
    assert named(measured, word) != "reproduced"


QUICK_SETS = ("Banana", "Heart", "Twonorm")


def test_a_few_repeats_of_a_few_sets_give_hints():
    """What ``python -m benchmarks.paper --quick`` measures."""
    few = {j: r for j, r in invented().items() if j.repeat < 2 and j.dataset in QUICK_SETS}
    assert named(few, "withstand") == "a hint: reproduced, on 2 repeats of 3 of 7 sets"
    assert named(few, "converges") == "a hint: reproduced, on 2 repeats of 2 of 4 sets"
    assert named(few, "20 trusted") == "a hint: reproduced, on 2 repeats of 2 of 3 sets"
    assert named(few, "smoother") == "a hint: reproduced, on 2 repeats of the only set"
    found = verdicts(few)
    assert all(verdict.verdict.startswith("a hint: ") for verdict in found)
    # Two repeats cannot be tested for significance, and nothing says that they were.
    assert not any("significantly" in verdict.evidence for verdict in found)
    assert not any(c.best for row in error_table(few, "sym10").cells.values() for c in row.values())


def test_all_sets_together_are_compared_on_average_where_repeats_are_few():
    """However much the sets differ: with all repeats it would have to be significant."""
    scale = {name: 4.0**k for k, name in enumerate(BENCHMARKS)}
    measured = {
        job: {**result, "error": scale[job.dataset] * result["error"]}
        for job, result in invented(18.0, 20.0).items()
        if job.part == "tables"
    }
    few = {job: result for job, result in measured.items() if job.repeat < 2}
    assert named(few, "Table 5") == "a hint: reproduced, on 2 repeats of 7 of 7 sets"
    assert named(measured, "Table 5") == "partly reproduced"


def test_hints_tell_the_opposite_too():
    few = {job: result for job, result in invented(25.0, 20.0).items() if job.repeat < 2}
    assert named(few, "true γ beats") == "a hint: not reproduced, on 2 repeats of 7 of 7 sets"
    assert named(few, "withstand").startswith("a hint: not reproduced")


def test_a_few_sets_with_all_repeats_are_named():
    some = {job: result for job, result in invented().items() if job.dataset in QUICK_SETS}
    assert named(some, "true γ beats") == "reproduced, on 10 repeats of 3 of 7 sets"


@pytest.mark.parametrize("part", ["tables", "curves", "boundaries", "trusted"])
def test_verdicts_need_only_the_parts_they_are_about(part):
    every = {verdict.claim: verdict for verdict in verdicts(invented())}
    only = {job: result for job, result in invented().items() if job.part == part}
    judged = [verdict for verdict in verdicts(only) if verdict.verdict != "not judged"]
    assert judged
    assert all(verdict == every[verdict.claim] for verdict in judged)
    for verdict in verdicts(only):
        assert verdict in judged or "lacks results: " in verdict.evidence
    assert {verdict.verdict for verdict in verdicts({})} == {"not judged"}
