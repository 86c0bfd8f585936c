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

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="wheels differ elsewhere"),
    pytest.mark.slow,
]
# Everything is imported once; each line of code is run in a child of its own, which says what it
# saw in a line of JSON.
SCRIPT = """
    import json, os, sys, warnings
    import rboost
    from rboost.native import lightgbm as module

    early = "lightgbm" in sys.modules
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier

    X = np.random.RandomState(0).normal(size=(1000, 3))
    y = X[:, 0] * X[:, 1] > 0

    def neighbour():
        return HistGradientBoostingClassifier(max_iter=5).fit(X, y).score(X, y)

    def look(before):
        exec(before)
        rights = [neighbour()]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found, again = module.lightgbm(), module.lightgbm()
        assert found is again
        if found is not None:
            options = {"objective": "binary", "verbose": -1, "num_threads": 2}
            booster = found.train(options, found.Dataset(X, y), 20)
            rights += [((booster.predict(X) > 0.5) == y).mean(), neighbour()]
        return {
            "early": early,
            "path": getattr(found, "__file__", None),
            "rights": rights,
            "said": [str(warning.message) for warning in caught],
            "from memory": any("memfd" in line for line in open("/proc/self/maps")),
        }

    for before in sys.argv[1:]:
        child = os.fork()
        if child == 0:
            print(json.dumps(look(before)), flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
"""


def seen(*before, path=""):
    """What new processes see after this code that look for LightGBM in this folder first."""
    environment = {**os.environ, "PYTHONPATH": str(path), "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), *before],
        env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(before, map(json.loads, done.stdout.splitlines()), strict=True))


ON_DISK = "del module.os.memfd_create"
NOT_INSTALLED = "sys.modules['lightgbm'] = None"
WITHOUT_ANY = {
    "no record": "module.metadata.files = lambda name: None",
    "no copy": "module.metadata.files = lambda name: []",
    "no file": "module._openmp_of_scikit_learn = lambda: module.Path('/nonexistent/libgomp.so')",
    "no library": "module._openmp_of_scikit_learn = lambda: module.Path(rboost.__file__)",
}


@pytest.fixture(scope="module")
def lacking(tmp_path_factory):
    """A folder with a LightGBM that needs a library that no machine has, and what is seen there."""
    folder = tmp_path_factory.mktemp("packages")
    shutil.copytree(Path(lightgbm.__file__).parent, folder / "lightgbm")
    library = next(folder.rglob("lib_lightgbm.so"))
    content = library.read_bytes()
    if b"libgomp.so.1\0" not in content:
        pytest.skip("this LightGBM does not need libgomp.so.1")
    library.write_bytes(content.replace(b"libgomp.so.1\0", b"libgomp.so.9\0"))
    return folder, seen("", ON_DISK, *WITHOUT_ANY.values(), path=folder)


def test_it_is_imported_when_asked_for_and_works_or_it_is_said_how_to_install_it():
    result, missing = seen("", NOT_INSTALLED).values()
    assert not result["early"]
    assert result["said"] == []
    assert result["path"] == lightgbm.__file__
    assert min(result["rights"]) > 0.8
    assert missing["path"] is None
    assert len(missing["said"]) == 1
    assert missing["said"][0].endswith("need LightGBM: install it with: pip install lightgbm")


@pytest.mark.parametrize("before", ["", ON_DISK], ids=["in memory", "on disk"])
def test_the_library_of_scikit_learn_is_used(lacking, before):
    folder, results = lacking
    result = results[before]
    assert result["said"] == []
    assert Path(result["path"]).is_relative_to(folder)
    assert min(result["rights"]) > 0.8
    assert result["from memory"] == (not before)


@pytest.mark.parametrize("way", WITHOUT_ANY)
def test_without_any_it_is_said_once_what_to_install(lacking, way):
    result = lacking[1][WITHOUT_ANY[way]]
    assert result["path"] is None
    assert len(result["said"]) == 1
    for part in ("pool of learners alone", "libgomp.so.9", "Debian and Ubuntu: libgomp1"):
        assert part in result["said"][0]
