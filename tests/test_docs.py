"""The examples in README and docs run, and the links between the pages lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ELSEWHERE = "ten_minutes.md"  # whose commands and examples run in test_ten_minutes.py


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


WITH_EXAMPLES = [p for p in PAGES if python_blocks(p) and p.name != ELSEWHERE]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda p: p.name)
def test_examples_run(page):
    namespace = {}
    for block in python_blocks(page):
        exec(compile(block, page.name, "exec"), namespace)  # blocks of a page build on each other


def test_the_first_example_shows_what_it_prints():
    """README prints a noise matrix as a comment; it must be the one the code gives."""
    *_, last = python_blocks(ROOT / "README.md")
    code, shown = last.rsplit("\n# [[", 1)
    body, expression = code.rsplit("\n", 1)
    namespace = {}
    exec(body, namespace)
    expected = ("[[" + shown).replace("#", "").split()
    assert str(eval(expression, namespace)).split() == expected


def anchor(heading):
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text()):
        path, _, fragment = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), target
        if fragment:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(), flags=re.MULTILINE)
            assert fragment in map(anchor, headings), target


def test_every_name_in_the_notation_exists():
    """The last column of notation.md names modules and objects of the package."""
    import importlib

    for row in (ROOT / "docs" / "notation.md").read_text().splitlines():
        cells = re.split(r"(?<!\\)\|", row)
        if len(cells) < 6 or "---" in row or "Symbol" in row:
            continue
        for name in re.findall(r"`([\w.]+)`", cells[4]):
            module, _, attribute = f"rboost.{name}".rpartition(".")
            try:
                importlib.import_module(f"rboost.{name}")
            except ModuleNotFoundError:
                found = importlib.import_module(module)
                methods = getattr(found, "NoisyLogisticObjective", found)
                assert hasattr(found, attribute) or hasattr(methods, attribute), name
