"""What is written twice about the package, because others read it there, says the same."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest
import yaml

from tools.readme import dynamic_metadata

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
EXTRA = re.compile(r"rboost\[([\w,]+)\]|pip install \"?'?\.\[([\w,]+)\]")


def read_yaml(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def supported_pythons():
    start = "Programming Language :: Python :: 3."
    return [one.removeprefix(start) for one in PROJECT["classifiers"] if one.startswith(start)]


def test_one_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[([\d.]+)\] - ([-\d]+)$", changelog, flags=re.MULTILINE)
    citation = read_yaml("CITATION.cff")
    assert released[0] == (PROJECT["version"], citation["date-released"])
    assert [date.fromisoformat(day) for _, day in released] == sorted(
        (date.fromisoformat(day) for _, day in released), reverse=True
    )
    assert citation["version"] == PROJECT["version"] == importlib.metadata.version("rboost")
    links = dict(re.findall(r"^\[([\w.]+)\]: (\S+)$", changelog, flags=re.MULTILINE))
    assert links.keys() == {"unreleased", *(version for version, _ in released)}
    source = PROJECT["urls"]["Source"]
    assert citation["repository-code"] == source
    assert all(link.startswith(source) for link in links.values())


def test_promised_pythons_are_tested():
    numbers = supported_pythons()
    pythons = [f"3.{number}" for number in numbers]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    assert read_yaml(".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"] == {
        "python": pythons
    }
    assert PYPROJECT["tool"]["cibuildwheel"]["build"] == [f"cp3{number}-*" for number in numbers]
    for variable, python in (("OLDEST", pythons[0]), ("NEWEST", pythons[-1])):
        assert f"PYTHON_{variable} ?= python{python}\n" in MAKEFILE
    abi3 = PYPROJECT["tool"]["scikit-build"]["wheel"]["py-api"].replace("cp3", "python3.")
    assert f"PYTHON_ABI3 ?= {abi3}\n" in MAKEFILE


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_what_exists(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    targets = set(re.findall(r"^([\w-]+):", MAKEFILE, flags=re.MULTILINE))
    for step in steps(workflow):
        command = step.get("run", "")
        assert set(re.findall(r"make ([\w-]+)", command)) <= targets
        for file in re.findall(r"(?:tools|examples|\.ci)/[\w./]+", command):
            assert (ROOT / file).exists()
        assert re.search(r"@(v\d|release/v\d)", step.get("uses", "@v0"))
    assert workflow["permissions"] == {"contents": "read"}


def test_only_a_tag_is_published_and_without_a_password():
    publish = read_yaml(".github/workflows/wheels.yml")["jobs"]["publish"]
    assert publish["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert publish["permissions"] == {"id-token": "write"}
    assert "with" not in publish["steps"][-1]


def test_hooks_run_what_make_runs():
    hooks = [
        hook for repo in read_yaml(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]
    ]
    entries = {hook["entry"].removeprefix(".venv/bin/").split(" --")[0] for hook in hooks}
    for target in ("lint", "types"):
        commands = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, flags=re.MULTILINE)[1]
        for command in commands.split("$(BIN)/")[1:]:
            assert re.split(r" \.| --|\n", command)[0] in entries


def test_extras_that_are_named_exist():
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py")]
    texts = [MAKEFILE, *(page.read_text(encoding="utf-8") for page in pages)]
    named = {"".join(found) for text in texts for found in EXTRA.findall(text)}
    assert {name for names in named for name in names.split(",")} <= set(
        PROJECT["optional-dependencies"]
    )
    assert named


def test_the_page_of_installation_names_what_is_needed():
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    extras = PROJECT["optional-dependencies"]
    needed = PROJECT["dependencies"] + [
        one for name in ("audit", "review", "plots", "gpu", "dask") for one in extras[name]
    ]
    named = [one for one in needed if not one.startswith("rboost[")]
    assert [one for one in named if f"`{one}`" not in page] == []
    assert ", ".join(f"3.{number}" for number in supported_pythons()) in page


def test_the_oldest_versions_are_those_that_are_promised():
    command = [sys.executable, "tools/oldest.py", "review"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    oldest = dict(line.split("==") for line in done.stdout.splitlines())
    assert {"numpy", "scipy", "scikit-learn", "lightgbm", "pandas", "starlette"} <= oldest.keys()
    assert "numpy>=" + oldest["numpy"] in PROJECT["dependencies"]
    assert all(re.fullmatch(r"[\d.]+", version) for version in oldest.values())


def test_links_of_the_readme_are_whole_on_a_package_index():
    readme = dynamic_metadata("readme", {})
    assert readme["content-type"] == "text/markdown"
    targets = re.findall(r"""\]\(([^)\s]+)\)|src="([^"]+)""", readme["text"])
    start, tag = f"{PROJECT['urls']['Source']}/", f"v{PROJECT['version']}"
    ours = [link.removeprefix(start) for link in map("".join, targets) if link.startswith(start)]
    assert ours
    assert all(re.match("https?://|#", "".join(link)) for link in targets)
    for link in ours:
        kind, found_tag, path = link.partition("#")[0].split("/", 2)
        assert kind == ("raw" if path.endswith(".png") else "blob")
        assert found_tag == tag
