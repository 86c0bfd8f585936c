"""LightGBM where it, or its OpenMP library, is missing: the pool alone runs, and says why."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import lightgbm
import pytest

pytestmark = pytest.mark.slow
# A fit with what there is of LightGBM, and a second one; says what it saw in a line of JSON.
SCRIPT = """
    import json, sys, warnings
    import rboost
    from rboost.native import boosters as module

    early = "lightgbm" in sys.modules
    if sys.argv[1:] == ["not installed"]:
        sys.modules["lightgbm"] = None
    import numpy as np

    X = np.random.RandomState(0).normal(size=(1000, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            model = rboost.RBoostClassifier(max_iter=3, random_state=0).fit(X, X[:, 0] > 0)
    seen = {
        "early": early,
        "path": getattr(module.lightgbm(), "__file__", None),
        "engines": list(model.engine_weights_),
        "score": model.score(X, X[:, 0] > 0),
        "said": [str(warning.message) for warning in caught],
    }
    print(json.dumps(seen))
"""


def seen(*arguments, path=""):
    """What a new process sees that looks for LightGBM in this folder first."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), *arguments],
        env={**os.environ, "PYTHONPATH": str(path)}, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_is_imported_when_trees_are_grown():
    result = seen()
    assert not result["early"]
    assert result["path"] == lightgbm.__file__
    assert result["said"] == []
    assert result["score"] > 0.8


def check_the_pool_ran(result, *parts):
    """One warning for two fits, with what it must say."""
    assert result["path"] is None
    assert "trees" not in result["engines"]
    assert result["score"] > 0.8
    (said,) = result["said"]
    for part in ("pool of learners alone", *parts):
        assert part in said


def test_where_it_is_not_installed_the_pool_runs():
    check_the_pool_ran(seen("not installed"), "need LightGBM: install it with: pip install")


@pytest.mark.skipif(sys.platform != "linux", reason="wheels differ elsewhere")
def test_where_its_openmp_library_is_missing_the_pool_runs(tmp_path):
    """A copy of the package that needs a library that no machine has."""
    shutil.copytree(Path(lightgbm.__file__).parent, tmp_path / "lightgbm")
    library = next(tmp_path.rglob("lib_lightgbm.so"))
    content = library.read_bytes()
    if b"libgomp.so.1\0" not in content:
        pytest.skip("this LightGBM does not need libgomp.so.1")
    library.write_bytes(content.replace(b"libgomp.so.1\0", b"libgomp.so.9\0"))
    check_the_pool_ran(
        seen(path=tmp_path), "libgomp.so.9", "Debian and Ubuntu: apt install libgomp1"
    )
