"""What is optional stays so: nothing of it is needed, or imported, before it is asked for."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rboost

OPTIONAL = ("dask", "distributed", "xgboost", "cupy", "cudf")
TABLES = ("pandas", "polars", "pyarrow", "skrub", "narwhals", "openpyxl")
PAGES = ("matplotlib", "jinja2", "starlette", "uvicorn", "http.server")
HEAVY = (*OPTIONAL, *TABLES, *PAGES, "sklearn", "scipy", "lightgbm", "skops")
PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def run(code):
    """What a new interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


HELP = """import rboost.cli, contextlib, os
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(open(os.devnull, "w")):
    rboost.cli.main(["audit", "--help"])"""


@pytest.mark.parametrize("code", ["import rboost", HELP])
def test_importing_the_package_and_asking_for_help_are_cheap(code):
    found = run(f"import sys\n{code}\nprint(sorted(sys.modules.keys() & {set(HEAVY)}))")
    assert found == "[]"


@pytest.mark.slow
def test_the_estimators_import_nothing_heavy_that_scikit_learn_does_not():
    code = (
        "import sys, sklearn, sklearn.preprocessing; before = set(sys.modules)\n"
        "from rboost import *\n"
        f"print(sorted((sys.modules.keys() - before) & {set(HEAVY)}))"
    )
    assert run(code) == "[]"


@pytest.mark.slow
def test_public_names_are_shown_before_they_are_imported():
    code = (
        "import rboost; shown = dir(rboost); print(*(name for name in shown if name[0] != '_'))\n"
        "print(hasattr(rboost, 'nothing'), *(getattr(rboost, name).__name__ for name in shown\n"
        "                                    if name in (*rboost.__all__, *rboost._PARTS)))"
    )
    shown, found = (line.split() for line in run(code).splitlines())
    assert rboost.__all__ == sorted(rboost._MODULE_OF)
    assert {*rboost.__all__, *rboost._PARTS} <= set(shown)
    modules = {f"rboost.{name}" for name in rboost._PARTS}
    assert found[0] == "False"
    assert set(found[1:]) == {*rboost.__all__, *modules}


@pytest.mark.slow
@pytest.mark.parametrize("modules", ["rboost", "rboost.audit", "rboost.cli, rboost.review"])
def test_nothing_optional_is_imported_unasked(modules):
    code = f"import sys, {modules}; print(sorted(sys.modules.keys() & {set(OPTIONAL)}))"
    assert run(code) == "[]"


@pytest.mark.slow
def test_a_fit_on_a_cpu_imports_nothing_of_it_either():
    code = (
        "import sys, numpy as np; from rboost import RBoostClassifier\n"
        "X = np.random.RandomState(0).standard_normal((150, 2))\n"
        "RBoostClassifier(n_estimators=3).fit(X, X[:, 0] > 0)\n"
        f"print(sorted(sys.modules.keys() & {set(OPTIONAL)}))"
    )
    assert run(code) == "[]"


def test_the_core_needs_no_extra():
    project = tomllib.loads(PROJECT.read_text())["project"]
    needed = {re.split(r"[^\w-]", one)[0] for one in project["dependencies"]}
    assert needed == {"numpy", "scipy", "scikit-learn", "lightgbm"}
    extras = project["optional-dependencies"]
    assert any(one.startswith("xgboost") for one in extras["gpu"])
    assert any(one.startswith("cupy") for one in extras["gpu"])
    for name in ("dask", "distributed", "xgboost"):
        assert any(one.startswith(name) for one in extras["dask"])
    for extra in ("audit", "review", "plots"):
        assert not any(one.startswith(OPTIONAL) for one in extras[extra])


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["dask", "distributed", "xgboost"])
def test_without_its_packages_rboost_dask_names_the_extra(missing):
    pytest.importorskip("distributed")
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "try:\n    import rboost.dask\nexcept ImportError as error:\n    print(error)"
    )
    assert run(code) == (
        f"This needs {missing}, which is not installed; run: pip install 'rboost[dask]'"
    )
