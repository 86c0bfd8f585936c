"""The pages: means of what was measured."""

from benchmarks.measure import ESTIMATORS, Job
from benchmarks.report import render
from benchmarks.suites import SETTINGS, SUITES

PAPER = SUITES["paper"]


def test_the_report_holds_means_of_what_was_measured(tmp_path):
    errors = {"random forest": (10.0, 20.0), "rBoost": (4.0, 6.0), "SVC": (30.0, 30.0)}
    results = {
        Job("paper", dataset, setting, 0, method): {
            "error": error,
            "seconds": 0.5,
            "calibration": 0.1,
        }
        for method, pair in errors.items()
        for dataset, error in zip(("Titanic", "Heart"), pair, strict=True)
        for setting in SETTINGS
    }
    for job, record in results.items():
        if job.method == "rBoost":
            record |= {"noise error": 0.01, "covered": 0.5}
    text, figure = render(results, PAPER, "two tables")
    assert figure.startswith(b"\x89PNG")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    table = [row for row in rows if row.endswith("| 0.50 |")]
    assert [row.split(" | ")[0] for row in table] == ["| **rBoost**", "| random forest", "| SVC"]
    assert table[0] == "| **rBoost** |" + " 5.0 |" * 7 + " 0.50 |"
    assert table[1] == "| random forest |" + " 15.0 |" * 7 + " 0.50 |"
    assert "| rBoost |" + " 0.010 |" * 7 + " 50% |" in rows
    assert "| Heart |" + " 6.0 |" * 6 in rows
    assert "| Titanic |" + " 4.0 |" * 6 in rows
    assert text.count("two tables") == 1
    assert "nan" not in text


def test_one_method_alone_is_reported(tmp_path):
    results = {
        Job("paper", "Heart", setting, 0, "SVC"): {"error": 12.0, "seconds": 0.1}
        for setting in SETTINGS
    }
    text = render(results, PAPER, "one table")[0]
    assert text.count("| SVC |") == 1
    assert "table by table" not in text


def test_estimators_of_noise_alone_are_reported(tmp_path):
    ranking = {"average precision": 0.5, "ROC-AUC": 0.75}
    results = {
        Job("paper", "Heart", setting, 0, ESTIMATORS): {
            "noise": {"anchor points": {"noise error": 0.05}},
            "rankings": {"self-confidence": {} if setting == "clean" else ranking},
        }
        for setting in SETTINGS
    }
    text = render(results, PAPER, "one table")[0]
    assert "| anchor points (forest) |" + " 0.050 |" * 7 + " – |" in text
    assert "| self-confidence (forest) |" + " 0.750 |" * 6 in text
