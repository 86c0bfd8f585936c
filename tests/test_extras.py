"""What is optional stays so: nothing of it is needed, or imported, before it is asked for."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rboost

OPTIONAL = ("dask", "distributed", "xgboost", "cupy", "cudf")
TABLES = ("pandas", "polars", "pyarrow", "narwhals", "openpyxl")
PAGES = ("matplotlib", "jinja2", "starlette", "uvicorn", "http.server")
HEAVY = (*OPTIONAL, *TABLES, *PAGES, "sklearn", "scipy", "lightgbm")
PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def run(code):
    """What a new interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


HELP = """import rboost.cli, contextlib, os, sys
try:
    with contextlib.redirect_stdout(open(os.devnull, "w")):
        rboost.cli.main(["audit", "--help"])
except SystemExit as end:
    assert end.code == 0"""


def test_importing_the_package_and_asking_for_help_are_cheap():
    assert run(f"{HELP}\nprint(sorted(sys.modules.keys() & {set(HEAVY)}))") == "[]"


ASKED = f"""
import sys, rboost
shown = dir(rboost)
print(*(name for name in shown if name[0] != "_"))
import sklearn, sklearn.preprocessing
before = set(sys.modules)
from rboost import *
print(sorted((sys.modules.keys() - before) & {set(HEAVY)}))
public = (*rboost.__all__, *rboost._PARTS)
print(hasattr(rboost, "nothing"), *(getattr(rboost, name).__name__ for name in public))
import rboost.audit, rboost.cli, rboost.review
import numpy as np
X = np.random.RandomState(0).standard_normal((150, 2))
RBoostClassifier(max_iter=3).fit(X, X[:, 0] > 0)
print(sorted(sys.modules.keys() & {set(OPTIONAL)}))
"""


@pytest.mark.slow
def test_what_is_imported_when_it_is_asked_for():
    """The estimators need nothing heavy that scikit-learn does not, a fit on a CPU no extra."""
    shown, heavy, found, optional = run(ASKED).splitlines()
    assert rboost.__all__ == sorted(rboost._MODULE_OF)
    assert shown.split() == sorted({*rboost.__all__, *rboost._PARTS})
    assert heavy == "[]"
    modules = {f"rboost.{name}" for name in rboost._PARTS}
    assert found.split()[0] == "False"
    assert set(found.split()[1:]) == {*rboost.__all__, *modules}
    assert optional == "[]"


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
