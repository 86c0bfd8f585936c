"""The runs themselves: quick ones, killed ones, and the report on them."""

import re
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

from benchmarks.pages import ROOT, read_origin
from benchmarks.paper.__main__ import main
from benchmarks.paper.report import write_report
from benchmarks.paper.run import Job, Options, jobs, load_run, run, run_job, unpack_grid

pytestmark = pytest.mark.peers

SMALL = Options(repeats=1, rounds=2, datasets=("Heart",), parts=("tables",))


def test_jobs_cover_the_paper():
    found = list(jobs(Options()))
    assert len(found) == len(set(found))
    tables = [job for job in found if job.part == "tables"]
    assert len(tables) == (2 * 8 + 2 * 10) * 7 * 10  # columns of the settings, sets, repeats
    assert {job.part for job in found} == {"tables", "curves", "boundaries", "trusted"}
    keys = {job.key(Options()) for job in found}
    assert len(keys) == len(found)
    assert not keys & {job.key(Options(rounds=3)) for job in found}


@pytest.mark.parametrize("part", ["curves", "boundaries", "trusted"])
def test_what_a_job_measures(part):
    options = Options(rounds=4)
    job = {
        "curves": Job("curves", "Banana", "asym30", 0, "AdaBoost rLR"),
        "boundaries": Job("boundaries", "Banana", "clean", 0, "AdaBoost rLR"),
        "trusted": Job("trusted", "Banana", "asym30", 0, "rBoost rLR", 20),
    }[part]
    result = run_job(job, options)
    assert result == run_job(job, options)
    if part == "curves":
        assert len(result["test"]) == len(result["train"]) <= 8  # twice the rounds
    elif part == "boundaries":
        grid = unpack_grid(result["grid"])
        steps = np.count_nonzero(np.diff(grid, axis=0)) + np.count_nonzero(np.diff(grid, axis=1))
        assert steps == result["length"] > 0
    else:
        assert 0 < result["error"] < 60
        assert len(result["rates"]) == 2


def test_the_protocol_of_the_prose():
    job = Job("tables", "Heart", "sym30", 0, "AdaBoost LR")
    one, other = (run_job(job, Options(rounds=3, protocol=name)) for name in ("ida", "text"))
    assert one != other


def test_trusted_rows_hold_both_classes_whatever_the_seed():
    for seed in range(20):
        options = Options(rounds=1, seed=seed)
        for dataset in ("Banana", "Twonorm"):
            run_job(Job("trusted", dataset, "asym30", 0, "rBoost rLR", 10), options)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a small run, which tests leave as it is."""
    folder = tmp_path_factory.mktemp("finished")
    run(SMALL, folder)
    return folder


def test_results_of_other_code_are_not_mixed_in(finished, monkeypatch):
    monkeypatch.setattr("benchmarks.paper.run.code_fingerprint", lambda: "other")
    with pytest.raises(ValueError, match="another version of the code; choose another folder"):
        run(SMALL, finished)


def test_an_unfinished_run_can_be_reported_on(tmp_path):
    options = Options(repeats=1, rounds=1, datasets=("Banana", "Heart"))
    run(options, tmp_path)
    path = tmp_path / "results.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    for kept in (0, len(lines) // 2):
        path.write_text("".join(lines[:kept]))
        write_report(*load_run(tmp_path), tmp_path)
        assert f"UNFINISHED, {kept} of {len(lines)}" in (tmp_path / "report.md").read_text()


def test_nothing_finished_is_run_again(finished, monkeypatch):
    before = (finished / "results.jsonl").read_bytes()
    monkeypatch.setattr("benchmarks.paper.run.run_job", None)  # would fail if it were called
    run(SMALL, finished)
    assert (finished / "results.jsonl").read_bytes() == before


@pytest.mark.slow
def test_killed_and_resumed_gives_the_same_tables(finished, tmp_path):
    """Killed in the middle, and resumed with another number of processes."""
    command = [sys.executable, "-m", "benchmarks.paper"]
    arguments = ["--repeats", "1", "--rounds", "2", "--parts", "tables"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    arguments += ["--datasets", "Heart", "--out", str(killed), "--jobs"]
    shutil.copytree(finished, whole)
    results = killed / "results.jsonl"
    process = subprocess.Popen([*command, *arguments, "2"], cwd=ROOT, stderr=subprocess.DEVNULL)
    while not results.exists() or results.read_bytes().count(b"\n") < 5:
        assert process.poll() is None, "it was done before it could be killed"
        time.sleep(0.01)
    process.kill()
    process.wait()
    main([*arguments, "1"])
    assert load_run(whole) == load_run(killed)  # which is all that a report is made of
    lines = [(out / "results.jsonl").read_text().splitlines() for out in (whole, killed)]
    assert sorted(lines[0]) == sorted(lines[1])  # no cell twice, none missing


@pytest.mark.slow
def test_the_quick_run_and_its_report(tmp_path, capsys):
    out, fewer = tmp_path / "quick", ["--rounds", "3", "--repeats", "1"]
    main(["--quick", *fewer, "--out", str(out)])
    assert "report.html" in capsys.readouterr().out
    page, text = (out / "report.html").read_text(), (out / "report.md").read_text()
    for number in (2, 3, 4, 5):
        assert f"Table {number}: test error" in page
        assert f"Table {number}: test error" in text
    assert page.count("data:image/png;base64,") == 4
    assert not re.search(r'(src|href)="(?!data:)', page)  # self-contained
    assert "AdaBoost" in text
    assert text.count("**a hint: ") == 8  # every claim is judged by what there is
    assert "not judged" not in text
    assert "UNFINISHED" not in page
    for name in ("figure1", "figure2", "figure3", "trusted"):
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_page_says_where_it_comes_from(tmp_path, capsys):
    out, page = tmp_path / "run", tmp_path / "page"
    size = ["--repeats", "1", "--rounds", "2", "--datasets", "Titanic"]
    main([*size, "--jobs", "1", "--out", str(out), "--page", str(page)])
    text = (page / "report.md").read_text()
    assert str(page / "report.md") in capsys.readouterr().out
    assert "1 repeats of 2 rounds" in text
    assert read_origin(text).is_current
    assert (page / "figures" / "figure1.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in page.iterdir()) == ["figures", "report.md"]


def test_a_report_alone_runs_nothing(finished, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.paper.run.run_job", None)  # would fail if it were called
    folder = tmp_path / "copied"
    shutil.copytree(finished, folder)
    (folder / "results.jsonl").unlink()
    main(["--report", "--out", str(folder)])
    assert "UNFINISHED, 0 of" in (folder / "report.md").read_text()
    assert "Results:" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "Iris"], "There is no set 'Iris'; choose from Banana"),
        (["--parts", "figures"], "There is no part 'figures'"),
        (["--repeats", "0"], "repeats and rounds must be at least 1"),
        (["--report"], "holds no run; make one with: python -m benchmarks.paper"),
    ],
)
def test_mistakes_end_in_one_sentence(arguments, message, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--out", str(tmp_path / "none")])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "none").exists()


def test_an_interrupted_run_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("benchmarks.paper.run.run", interrupted)
    with pytest.raises(SystemExit) as ended:
        main(["--out", str(tmp_path)])
    assert ended.value.code == 130
    assert "goes on from here" in capsys.readouterr().err
