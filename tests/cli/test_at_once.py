"""Two commands at once, folders that may not be written to, files that may not grow."""

import itertools
import json
import os
import resource
import shutil
import subprocess
import sys

import pytest

from rboost.cli import main
from rboost.files import file_digest
from tests.cli.tables import COMMAND, make_table, refused

# All that a command imports comes before the user changes, who may not read the packages.
AS_NOBODY = """
import os, sys, pandas, pyarrow.csv, openpyxl, rboost.audit.disk.folder, rboost.review.folder
from rboost.cli import main
if not os.geteuid():
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
sys.exit(main(sys.argv[1:]))
"""


def started(*arguments, script=COMMAND, **options):
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, **options)


def ended(process):
    """The exit code and the sentence on standard error."""
    said = process.communicate(timeout=600)[1].decode()
    assert "Traceback" not in said
    assert said.count("\n") == (process.returncode != 0)
    return process.returncode, said


@pytest.mark.slow
def test_two_audits_into_one_folder_leave_one_of_them(tmp_path):
    out, options = tmp_path / "out", ("--label", "churn", "--model", "linear", "--quiet")
    processes = []
    for seed in range(2):
        make_table(60 + 20 * seed, seed).to_csv(tmp_path / f"{seed}.csv", index=False)
        processes.append(started("audit", tmp_path / f"{seed}.csv", *options, "--out", out))
    codes = [ended(process)[0] for process in processes]
    assert 0 in codes
    record = json.loads((out / "audit.json").read_text())
    assert all(file_digest(out / name) == own for name, own in record["files"].items())
    assert not [path.name for path in out.iterdir() if path.name.startswith(".")]


@pytest.mark.slow
def test_a_folder_that_may_not_be_written_to_is_named(audited, data, tmp_path):
    for path in (data, *audited.iterdir()):
        shutil.copy(path, tmp_path / path.name)
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    above = itertools.takewhile(lambda place: "pytest" in str(place), tmp_path.parents)
    for place in (tmp_path, *above, *tmp_path.glob("*.*")):
        place.chmod(0o755)
    table = tmp_path / data.name
    for arguments in (
        ("audit", table, "--label", "churn", "--out", closed),
        ("audit", table, "--label", "churn", "--out", closed / "new"),
        ("predict", tmp_path / "model.rboost", table, "--out", closed / "out.csv"),
        ("predict", tmp_path / "model.rboost", table, "--out", closed / "new" / "out.xlsx"),
    ):
        code, said = ended(started(*arguments, script=AS_NOBODY))
        assert code == 2
        assert "Nothing can be written to the folder" in said
    assert os.listdir(closed) == []


@pytest.mark.slow
@pytest.mark.parametrize("answers", [(), ("--import", "answers.csv")])
def test_a_review_in_a_folder_that_may_not_be_written_to_names_the_remedy(
    audited, data, tmp_path, answers
):
    table = tmp_path / "answers.csv"
    table.write_text("key,label\nk0001,yes\n")
    folder = shutil.copytree(audited, tmp_path / "audit")
    if answers:  # the folder may be written to, the answers of somebody else may not
        assert main(["review", str(folder), "--import", str(table)]) == 0
    above = itertools.takewhile(lambda place: "pytest" in str(place), tmp_path.parents)
    for place in (tmp_path, data.parent, *above, *tmp_path.rglob("*")):
        place.chmod(0o755 if place.is_dir() else 0o444)
    folder.chmod(0o777 if answers else 0o555)
    before = sorted(os.listdir(folder))
    imported = "import rboost.audit.disk.folder as kept; from pathlib import Path\n"
    script = f"{imported}kept.read_audit(Path({str(folder)!r}))\n{AS_NOBODY}"  # imports more
    process = started("review", folder, *answers, script=script, cwd=tmp_path)
    said = process.communicate(timeout=600)[1].decode()
    assert process.returncode == 2
    assert "Traceback" not in said
    sentence = said.splitlines()[-1]
    assert sentence.endswith(
        f"saved in the folder {folder}, which may not be written to; make it and its files "
        "writable, or copy it and use the copy."
    )
    assert sorted(os.listdir(folder)) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet", "out.xlsx"])
def test_a_file_that_may_not_grow_leaves_nothing_behind(audited, data, tmp_path, name):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    out = tmp_path / "new" / "deep" / name
    code, said = ended(started("predict", audited, data, "--out", out, preexec_fn=limit))
    assert code == 2
    assert "files there may not be so large" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["suspects.csv", "../audit/suspects.csv", "checked.csv", "link.csv", "issues/a.parquet"]
)
def test_predictions_replace_no_file_of_an_audit(folder, data, name, capsys):
    (folder / "link.csv").symlink_to(folder / "suspects.csv")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    model = folder.parent / "model.rboost"
    shutil.copy(folder / "model.rboost", model)
    said = refused(capsys, "predict", model, data, "--out", folder / name)
    assert "belongs to the audit; choose another file" in said
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
