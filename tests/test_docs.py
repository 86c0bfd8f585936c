"""The pages of the documentation: links lead somewhere, examples run, public names are there."""

import contextlib
import importlib
import io
import pkgutil
import re

import pytest
import yaml

import rboost
from benchmarks.paper.__main__ import main as paper
from rboost.cli import main
from tests.pages import (
    DOCS,
    ROOT,
    all_pages,
    anchors,
    blocks,
    commands,
    links,
    name_of,
    run_command,
    run_page,
)

PAGES = all_pages()
# Their examples run in tests of their own.
ELSEWHERE = ("README.md", "ten_minutes.md", "large_tables.md")
WITH_EXAMPLES = [
    page for page in PAGES if blocks(page, "python", "console") and page.name not in ELSEWHERE
]
# What pages about the command line find: a table, an audit of it, and answers.
AUDITED = (
    "python examples/customers.py",
    "rboost audit customers.csv --label churn --id customer",
    "python examples/customers.py --answer audit",
)
EXPORT = "rboost review audit --export"  # shown on one page, needed on another
# What a stranger comes for, and where it must be said.
TASKS = {
    "find the wrong labels of a CSV file": "how_to/audit.md#find-the-wrong-labels-of-a-table",
    "check suspects in a browser": "how_to/review.md#the-page",
    "fail a pipeline": "how_to/check.md#check-a-table-in-a-pipeline",
    "check rows in Label Studio": "how_to/label_tools.md#send-rows-to-a-tool",
    "give trusted rows to a model": "how_to/trusted_rows.md#give-trusted-rows-to-a-model",
    "say who labelled a row": "how_to/context_columns.md#say-who-labelled-a-row-context-columns",
    "use several labels a row": "how_to/annotators.md#several-labels-a-row-annotators",
    "audit with my own model's probabilities": "how_to/any_model.md#on-the-command-line",
    "audit a table larger than memory": (
        "how_to/large_tables.md#a-data-set-that-is-larger-than-memory-on-one-machine"
    ),
    "train on a GPU": "how_to/large_tables.md#on-a-gpu",
    "choose an estimator": "how_to/estimator.md#choose-an-estimator",
    "make my own classifier noise-aware": "how_to/estimator.md#any-classifier-made-noise-aware",
    "estimate how noisy labels are": "how_to/noise.md#say-how-noisy-labels-are",
    "write the table with better labels": (
        "how_to/clean.md#write-the-table-with-better-labels-and-predict"
    ),
    "reproduce the paper": "experiments.md#the-papers-experiments-run-again",
    "install it": "install.md#what-it-needs",
    "serve predictions": "how_to/save.md#serve-predictions",
    "explain a prediction": "how_to/explain.md#why-one-row-gets-its-class",
    "choose between rboost and cleanlab": "compare.md#rboost-and-cleanlab",
    "see how it compares": "benchmarks.md#benchmarks",
}


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """A folder in which the commands that pages presuppose have run."""
    folder = tmp_path_factory.mktemp("audited")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        for line in (*AUDITED, EXPORT):
            run_command(line.split(), monkeypatch)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name_of)
def test_examples_run(page, request, tmp_path):
    """Blocks of a page build on each other."""
    has_commands = any(block for kind, block in blocks(page, "console"))
    folder = request.getfixturevalue("audited") if has_commands else tmp_path
    run_page(page, folder, already=[line.split() for line in AUDITED])


@pytest.mark.slow
def test_the_first_example_shows_what_it_prints():
    """README prints a noise matrix as a comment; it must be the one the code gives."""
    ((_, example),) = blocks(ROOT / "README.md", "python", "console")
    code, shown = example.rsplit("\n# [[", 1)
    body, expression = code.rsplit("\n", 1)
    namespace = {}
    exec(body, namespace)
    expected = ("[[" + shown).replace("#", "").split()
    assert str(eval(expression, namespace)).split() == expected


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for target in links(page):
        path, _, fragment = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), target
        if fragment:
            assert fragment in anchors(linked), target


def in_the_site(page="index.md"):
    """All pages that can be reached from one by tables of contents, itself among them."""
    yield page
    for _, block in blocks(DOCS / page, "toctree"):
        for entry in re.findall(r"^(?:[\w ]+<)?([\w/.]+)>?$", block, flags=re.M):
            below = ((DOCS / page).parent / f"{entry}.md").resolve()
            if below.exists():  # the gallery is made by the build
                yield from in_the_site(below.relative_to(DOCS).as_posix())


@pytest.mark.parametrize("target", TASKS.values(), ids=TASKS.keys())
def test_a_stranger_finds(target):
    page, _, fragment = target.partition("#")
    assert fragment in anchors(DOCS / page)
    assert page in in_the_site()


def test_the_readme_leads_to_the_site():
    assert "docs/index.md" in links(ROOT / "README.md")


def test_every_page_is_in_the_site():
    pages = [page.relative_to(DOCS).as_posix() for page in PAGES if DOCS in page.parents]
    assert sorted(in_the_site()) == sorted(pages)


def public_names():
    """Names in the ``__all__`` of a module, each object by its shortest address."""
    modules = [rboost.__name__]
    modules += [found.name for found in pkgutil.walk_packages(rboost.__path__, "rboost.")]
    shortest = {}
    for name in sorted(modules, key=lambda name: (name.count("."), name)):
        if not any(part.startswith("_") for part in name.split(".")):
            module = importlib.import_module(name)
            for public in getattr(module, "__all__", ()):
                shortest.setdefault(id(getattr(module, public)), f"{name}.{public}")
    return sorted(shortest.values())


@pytest.mark.peers  # as it imports every module
def test_every_public_name_is_in_the_reference():
    listed = []
    for page in (DOCS / "api").glob("*.md"):
        for _, block in blocks(page, "eval-rst"):
            (module,) = re.findall(r"currentmodule:: ([\w.]+)", block)
            names = re.findall(r"^   (\w+)$|^\.\. data:: (\w+)$", block, flags=re.M)
            listed += [f"{module}.{first or second}" for first, second in names]
    assert sorted(listed) == public_names()


def help_of(*words, run=main):
    with contextlib.redirect_stdout(io.StringIO()) as printed, pytest.raises(SystemExit):
        run([*words, "--help"])
    return printed.getvalue()


def test_every_command_is_in_the_reference():
    (names,) = set(re.findall(r"\{(.*?)\}", help_of()))
    page = (DOCS / "command_line.md").read_text()
    for name in names.split(","):
        assert f"{{command-help}} {name}\n" in page


def test_options_on_pages_exist():
    """Also where commands take too long to be run."""
    for page in PAGES:
        for _, block in blocks(page, "console"):
            for (program, *words), _ in commands(block):
                if program == "rboost" or words[:2] == ["-m", "benchmarks.paper"]:
                    known = help_of(words[0]) if program == "rboost" else help_of(run=paper)
                    assert all(word in known for word in words if word.startswith("--")), words


def test_workflows_on_pages_use_options_that_exist():
    """Entries for a GitHub action and for pre-commit."""
    entries = []
    for _, block in blocks(DOCS / "how_to" / "check.md", "yaml"):
        for entry in yaml.safe_load(block):
            parts = [entry, *entry.get("hooks", [])]
            entries += [part[name] for part in parts for name in ("run", "entry") if name in part]
    checks = [entry.split() for entry in entries if entry.startswith("rboost check")]
    assert len(checks) == 2
    known = help_of("check")
    assert all(word in known for words in checks for word in words if word.startswith("--"))


def test_every_name_in_the_notation_exists():
    """The last column of notation.md names modules and objects of the package."""
    for row in (DOCS / "notation.md").read_text().splitlines():
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


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "compare.md"], ids=name_of)
def test_figures_are_those_of_the_pages(page):
    """Every row of figures stands, as it is, on a page that is linked to."""
    text = page.read_text(encoding="utf-8")
    linked = re.findall(r"\]\(((?:docs/)?\w+/\w+\.md)\)", text)
    pages = "\n".join((page.parent / one).read_text(encoding="utf-8") for one in linked)
    rows = re.findall(r"^\|.*\| [\d.]+ \|$", text, flags=re.M)
    assert len(rows) >= 15
    assert [row for row in rows if row not in pages.splitlines()] == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 120
