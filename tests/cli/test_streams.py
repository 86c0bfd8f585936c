"""Closed and odd streams, odd surroundings: a result or one sentence, never a traceback."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from rboost.cli import main
from tests.cli.tables import COMMAND, make_table, refused

AUDIT = ["--label", "churn", "--id", "key", "--model", "linear", "--quiet"]


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["<&- >&- 2>&-", ">&-", "2>&-", "| head -c 0", "2>&1 | head -c 0"])
def test_closed_and_broken_streams_leave_the_files_whole(ends, data, tmp_path):
    out, said = tmp_path / "out", tmp_path / "said"
    surroundings = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "HOME": "/proc/0"}
    words = [sys.executable, "-c", COMMAND, "audit", str(data), *AUDIT, "--out", str(out)]
    piped = ends if "2>" in ends else f"2>{said} {ends}"
    script = f'"$@" {piped}; echo "${{PIPESTATUS[0]}}" > {tmp_path}/code'
    subprocess.run(["bash", "-c", script, "bash", *words], env=surroundings, check=False)
    assert (tmp_path / "code").read_text().strip() == "0"
    assert not said.exists() or said.read_text() == ""
    assert {"audit.json", "report.html", "suspects.csv"} <= set(os.listdir(out))


def test_without_standard_output_predictions_need_a_file(audited, data, tmp_path, capsys):
    with pytest.MonkeyPatch.context() as closed:
        closed.setattr(sys, "stdout", None)
        closed.setattr(sys, "stdin", None)
        assert main(["predict", str(audited), str(data)]) == 2
        out = tmp_path / "p.csv"
        assert main(["predict", str(audited), str(data), "--out", str(out)]) == 0
        assert main(["predict", str(audited), "-", "--out", str(out)]) == 2
        sys.stdout.close()
        sys.stdin.close()
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "Standard output is closed" in said[0]
    assert "is empty" in said[1]
    assert len(pd.read_csv(out)) == len(pd.read_csv(data))


def test_predictions_are_utf_8_where_the_terminal_has_only_ascii(data, tmp_path, capsys):
    table = tmp_path / "table.csv"
    make_table().replace({"churn": {"yes": "ja ☃", "no": "nein"}}).to_csv(table, index=False)
    folder, written = tmp_path / "audit", tmp_path / "p.csv"
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with pytest.MonkeyPatch.context() as change:
        change.setattr(sys, "stdout", ascii_only)
        assert main(["audit", str(table), *AUDIT, "--out", str(folder)]) == 0
        assert r"ja \u2603" in ascii_only.buffer.getvalue().decode("ascii")
        place = ascii_only.buffer.tell()
        assert main(["predict", str(folder), str(table)]) == 0
    assert main(["predict", str(folder), str(table), "--out", str(written)]) == 0
    sent = ascii_only.buffer.getvalue()[place:].decode()
    assert sent == written.read_text(encoding="utf-8-sig")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_said(audited, data, monkeypatch, capsys):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["predict", str(audited), str(data)]) == 2
    assert "Standard output: No space left on device." in capsys.readouterr().err


def test_who_reads_no_messages_gets_the_results(folder, tmp_path, monkeypatch):
    with open("/dev/full", "wb", buffering=0) as full:
        monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(full, write_through=True))
        assert main(["clean", str(folder), "--out", str(tmp_path / "c.csv")]) == 0
        assert main(["clean", str(folder)[:-1], "--out", str(tmp_path / "c.csv")]) == 2
        sys.stderr.detach()
        monkeypatch.undo()
    assert (tmp_path / "c.csv").exists()


@pytest.mark.slow
def test_without_docstrings_lightgbm_is_left_out_with_a_word(data, tmp_path):
    words = [sys.executable, "-OO", "-c", COMMAND, "audit", str(data), *AUDIT]
    done = subprocess.run([*words, "--out", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    full = [word for word in words if word not in ("--model", "linear")]
    done = subprocess.run([*full, "--out", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "unset PYTHONOPTIMIZE" in done.stderr
    assert "Traceback" not in done.stderr


# ---- What terminals take for commands ----

ATTACKS = [
    "\x1b[2Jgone",
    "\x1b]0;title\x07",
    "\x9b31mred",
    "a\rb",
    "\u202etxt.exe",
    "\x00nul",
]


def check_plain(said):
    assert not any(character in said for character in "\x1b\x07\x9b\r\u202e\x00"), repr(said)


def test_cells_names_and_labels_do_not_command_the_terminal(tmp_path, capsys):
    table = make_table()
    table["key"] = [f"{ATTACKS[k % len(ATTACKS)]} {k}" for k in range(len(table))]
    table["kind\x1b[31m"] = [ATTACKS[k % 5] for k in range(len(table))]
    table = table.rename(columns={"amount": "amount\x1b[5m"})
    table["churn"] = table["churn"].map({"yes": "y\x1b[32mes", "no": "no"})
    path = tmp_path / "table\x1b[1m.parquet"
    table.to_parquet(path)
    out = tmp_path / "out\x1b[7m"
    assert main(["audit", str(path), *AUDIT, "--out", str(out)]) == 0
    said = "".join(capsys.readouterr())
    assert r"y\x1b[32mes" in said
    assert r"amount\x1b[5m" in said
    check_plain(said)
    for command in (
        ["clean", out, "--out", tmp_path / "c\x1b[1m.csv"],
        ["predict", out, path, "--out", tmp_path / "p\x1b[1m.csv"],
    ):
        assert main([*map(str, command)]) == 0
        check_plain("".join(capsys.readouterr()))


@pytest.mark.parametrize("attack", ATTACKS[:5])
def test_refusals_that_quote_do_not_command_the_terminal(attack, data, audited, tmp_path, capsys):
    label = ["audit", data, "--label", attack, "--out", tmp_path / "out"]
    for command in (label, ["review", tmp_path / attack], ["predict", audited, attack]):
        check_plain(refused(capsys, *command))
    with pytest.raises(SystemExit):
        main(["clean", str(audited), attack])
    check_plain(capsys.readouterr().err)


def test_a_name_that_is_no_text_is_refused(audited, data, tmp_path, capsys):
    name = tmp_path / os.fsdecode(b"t\xff.csv")
    for command in (
        ["audit", name, *AUDIT, "--out", tmp_path / "out"],
        ["predict", audited, data, "--out", name],
        ["review", name],
    ):
        assert r"t\udcff.csv' is no text in UTF-8; use another name." in refused(capsys, *command)
    assert list(tmp_path.iterdir()) == []
