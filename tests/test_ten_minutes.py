"""docs/ten_minutes.md: its commands run one after the other, and print what the page shows."""

import contextlib
import io
import re
import runpy
import shlex
import sys
from pathlib import Path

import pandas as pd
import pytest

from rboost.cli import main as rboost

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "ten_minutes.md"
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def blocks():
    """The kind and the lines of all blocks of the page."""
    return re.findall(r"^```(console|python)\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S)


def commands(block):
    """Each command of a block with the lines that are shown below it."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        yield shlex.split(command), shown


def run(command, monkeypatch):
    """What a command prints; the page of a review is for people, and has its own tests."""
    program, *arguments = command
    if arguments[:1] == ["review"] and "--export" not in arguments:
        return None
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        if program == "rboost":
            assert rboost(arguments) == 0, said.getvalue()
        else:
            script = str(ROOT / arguments[0])
            monkeypatch.setattr(sys, "argv", [script, *arguments[1:]])
            runpy.run_path(script, run_name="__main__")
    return printed.getvalue()


def check_shown(shown, printed):
    """Words must be those that were printed; numbers may differ a little between machines."""
    printed = " ".join(printed.split())
    for piece in filter(str.strip, re.split(r"^…$", shown, flags=re.M)):
        words = " ".join(piece.split())
        alike = re.search(r"([\d.]+)".join(map(re.escape, NUMBER.split(words))), printed)
        assert alike, f"The page shows {words!r}, but this was printed: {printed}"
        for there, here in zip(NUMBER.findall(words), alike.groups(), strict=True):
            assert float(here) == pytest.approx(float(there), rel=0.1, abs=1.5), words


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where all commands of the page have run; what they print is checked on the way."""
    folder = tmp_path_factory.mktemp("ten_minutes")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        namespace = {}
        for kind, block in blocks():
            if kind == "console":
                for command, shown in commands(block):
                    printed = run(command, monkeypatch)
                    if printed is not None:
                        check_shown(shown, printed)
            else:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(block, PAGE.name, "exec"), namespace)
                check_shown("\n…\n".join(re.findall(r"^# (.*)", block, re.M)), printed.getvalue())
    return folder


def test_the_page_leads_to_a_better_table(folder):
    truth = runpy.run_path(str(ROOT / "examples" / "customers.py"))["make_customers"]()[1]
    given, clean = (
        pd.read_csv(folder / name, index_col="customer")["churn"]
        for name in ("customers.csv", "clean.csv")
    )
    truth = truth[given.index]
    assert 0.07 < (given != truth).mean() < 0.1  # as the page says
    assert (clean != truth).sum() < (given != truth).sum() / 3


def test_python_says_what_the_command_says(folder):
    by_command = pd.read_csv(folder / "clean.csv")
    in_python = pd.read_csv(folder / "clean_too.csv")
    assert (by_command["churn"] == in_python["churn"]).mean() > 0.99
    assert (folder / "report.html").stat().st_size > 100_000
