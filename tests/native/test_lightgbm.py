"""LightGBM where its OpenMP library is missing: a copy of the package that needs another one."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import lightgbm
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="wheels differ elsewhere")
SCRIPT = """
    import json, sys, warnings
    import rboost
    from rboost.native import lightgbm as module

    early = "lightgbm" in sys.modules
    {before}
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier

    X = np.random.RandomState(0).normal(size=(5000, 3))
    y = X[:, 0] * X[:, 1] > 0
    def neighbour():
        return HistGradientBoostingClassifier(max_iter=5).fit(X, y).score(X, y)
    rights = [neighbour()]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found, again = module.lightgbm(), module.lightgbm()
    assert found is again
    if found is not None:
        options = {{"objective": "binary", "verbose": -1, "num_threads": 2}}
        booster = found.train(options, found.Dataset(X, y), 20)
        rights += [((booster.predict(X) > 0.5) == y).mean(), neighbour()]
    print(json.dumps({{
        "early": early,
        "path": getattr(found, "__file__", None),
        "rights": rights,
        "said": [str(warning.message) for warning in caught],
        "from memory": any("memfd" in line for line in open("/proc/self/maps")),
    }}))
"""


def seen(before="", path=None):
    """What a new interpreter sees that looks for LightGBM in this folder first."""
    environment = {**os.environ, "PYTHONPATH": str(path or ""), "OMP_NUM_THREADS": "2"}
    code = textwrap.dedent(SCRIPT).format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def lacking(tmp_path_factory):
    """A folder with a LightGBM that needs a library that no machine has."""
    folder = tmp_path_factory.mktemp("packages")
    shutil.copytree(Path(lightgbm.__file__).parent, folder / "lightgbm")
    library = next(folder.rglob("lib_lightgbm.so"))
    content = library.read_bytes()
    if b"libgomp.so.1\0" not in content:
        pytest.skip("this LightGBM does not need libgomp.so.1")
    library.write_bytes(content.replace(b"libgomp.so.1\0", b"libgomp.so.9\0"))
    return folder


def test_it_is_imported_when_asked_for_and_works():
    result = seen()
    assert not result["early"]
    assert result["said"] == []
    assert result["path"] == lightgbm.__file__
    assert min(result["rights"]) > 0.8


@pytest.mark.parametrize("before", ["", "del module.os.memfd_create"], ids=["in memory", "on disk"])
def test_the_library_of_scikit_learn_is_used(lacking, before):
    result = seen(before, lacking)
    assert result["said"] == []
    assert Path(result["path"]).is_relative_to(lacking)
    assert min(result["rights"]) > 0.8
    assert result["from memory"] == (not before)


@pytest.mark.parametrize(
    "before",
    [
        "module.metadata.files = lambda name: None",
        "module.metadata.files = lambda name: []",
        "module._openmp_of_scikit_learn = lambda: module.Path('/nonexistent/libgomp-0.so.1')",
        "module._openmp_of_scikit_learn = lambda: module.Path(rboost.__file__)",
    ],
    ids=["no record", "no copy", "no file", "no library"],
)
def test_without_any_it_is_said_once_what_to_install(lacking, before):
    result = seen(before, lacking)
    assert result["path"] is None
    assert len(result["said"]) == 1
    for part in ("pool of learners alone", "libgomp.so.9", "Debian and Ubuntu: libgomp1"):
        assert part in result["said"][0]


def test_not_installed_it_is_said_once_how_to():
    result = seen("sys.modules['lightgbm'] = None")
    assert result["path"] is None
    assert len(result["said"]) == 1
    assert result["said"][0].endswith("need LightGBM: install it with: pip install lightgbm")
