"""The pages of the documentation as tests read them: blocks, commands, headings and links."""

import contextlib
import io
import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from rboost.cli import main as rboost
from tests.audit.reports import without_pictures

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^(```+)\{?([\w-]*)\}?.*?\n(.*?)^\1 *$", flags=re.M | re.S)
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def all_pages():
    """All pages that somebody wrote, or a benchmark; those that a build makes are left out."""
    made = (DOCS / "gallery", DOCS / "api" / "generated")
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    return sorted(page for page in pages if not set(made) & set(page.parents))


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page, *kinds):
    """The kind and the lines of all fenced blocks of these kinds."""
    return [(kind, text) for _, kind, text in FENCE.findall(page.read_text()) if kind in kinds]


def prose(page):
    """The text of a page without blocks of code and inline code."""
    return re.sub(r"``.+?``|`[^`\n]+`", "code", FENCE.sub("", page.read_text()))


def anchors(page):
    """What ``page#...`` can end with: the headings, as GitHub and the site spell them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), flags=re.M)
    kept = [re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in kept}


def links(page):
    """All relative links and images of a page."""
    return re.findall(r"\]\((?![a-z]+:)([^)\s]+)\)", prose(page))


def commands(block):
    """Each command of a block with the lines that are shown below it."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        yield shlex.split(command, comments=True), shown


def run_command(command, monkeypatch):
    """What a command prints; the page of a review is for people, and has its own tests."""
    program, *arguments = command
    ends = {"--export", "--import", "--tasks"} & {*arguments}  # without a page
    is_page = arguments[:1] == ["review"] and not ends
    if program == "make" or is_page or arguments[:1] == ["-m"]:
        return None
    without_pictures(monkeypatch)  # a report with pictures is a thing of tests of its own
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
    """Words must be those that were printed; numbers, as of rows beyond a cutoff, may differ."""
    printed = " ".join(printed.split())
    for piece in filter(str.strip, re.split(r"^…$", shown, flags=re.M)):
        words = " ".join(piece.split())
        alike = re.search(r"([\d.]+)".join(map(re.escape, NUMBER.split(words))), printed)
        assert alike, f"The page shows {words!r}, but this was printed: {printed}"
        for there, here in zip(NUMBER.findall(words), alike.groups(), strict=True):
            # Counts, percentages with a decimal, and shares.
            off = 2.5 if "." not in there else 0.6 if float(there) >= 1 else 0.02
            assert float(here) == pytest.approx(float(there), rel=0.1, abs=off), words


def run_page(page, folder, already=()):
    """Run the blocks of a page in a folder, one after the other, and check what they print."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        namespace = {"__name__": "page"}
        for kind, block in blocks(page, "console", "python"):
            if kind == "console":
                for command, shown in commands(block):
                    with monkeypatch.context() as only_here:
                        printed = None if command in already else run_command(command, only_here)
                    if printed is not None:
                        check_shown(shown, printed)
            else:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(block, page.name, "exec"), namespace)
                shown = re.findall(r"print\(.*\)\n((?:# .*\n)+)", block)
                check_shown("\n…\n".join(shown).replace("# ", ""), printed.getvalue())
