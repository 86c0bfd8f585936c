"""Without the native core everything works, and agrees with it."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost import native

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

# Fits and predicts several times in each way, in children of one process that has imported what
# takes long; what comes out, and the warnings, are a line of standard output.
FITS = """
    import json, os, sys, warnings
    import numpy as np
    import sklearn.ensemble, sklearn.linear_model

    def fits(way):
        if way == "switched off":
            os.environ["RBOOST_NATIVE"] = "0"
        if way == "unimportable":
            sys.modules["rboost.native._native"] = None
        from rboost import AdaRBoostClassifier, RBoostClassifier, RobustLogisticRegression, native
        from rboost.datasets import make_banana

        X, y = make_banana(150, random_state=0)
        exact = RobustLogisticRegression(noise_matrix=np.eye(2), tol=1e-9)
        linear = AdaRBoostClassifier(
            exact, n_estimators=8, learning_rate=0.3, random_state=0, votes="probability",
            sampling="uniform", max_samples=0.5,
        )
        default = RBoostClassifier(max_iter=8, random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = {
                "native": native.compiled() is not None,
                "single": exact.fit(X, y).decision_function(X).tolist(),
                "scores": linear.fit(X, y).decision_function(X).tolist(),
                "probabilities": linear.predict_proba(X)[:, 1].tolist(),
                "steps": linear.estimator_weights_.tolist(),
                "default": default.fit(X, y).predict_proba(X)[:, 1].tolist(),
                "right": float((default.predict(X) == y).mean()),
            }
            linear.fit(X, y)
            default.fit(X, y)
        found["warnings"] = [str(warning.message) for warning in caught]
        return found

    for way in sys.argv[1:]:
        child = os.fork()
        if child == 0:
            print(json.dumps(fits(way)), flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
"""
WAYS = ("with native", "switched off", "unimportable")


@pytest.fixture(scope="module")
def found():
    """What new processes find, by the way."""
    environment = {name: value for name, value in os.environ.items() if name != "RBOOST_NATIVE"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FITS), *WAYS],
        env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(WAYS, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.fixture(scope="module")
def with_native(found):
    if native.compiled() is None:
        pytest.skip("the native module was not built")
    return found["with native"]


@pytest.fixture(scope="module")
def switched_off(found):
    return found["switched off"]


@pytest.fixture(scope="module")
def unimportable(found):
    return found["unimportable"]


def test_with_the_native_core_nothing_is_said(with_native):
    assert with_native["native"]
    assert with_native["warnings"] == []


def test_switched_off_nothing_is_said(switched_off):
    assert not switched_off["native"]
    assert switched_off["warnings"] == []
    assert switched_off["right"] > 0.8


def test_missing_it_is_said_once(unimportable):
    assert not unimportable["native"]
    assert len(unimportable["warnings"]) == 1
    assert "without its native core" in unimportable["warnings"][0]


def test_both_ways_without_it_are_the_same(switched_off, unimportable):
    for name in ("single", "scores", "probabilities", "steps", "default"):
        assert switched_off[name] == unimportable[name]


def test_with_and_without_it_convex_learners_agree(with_native, switched_off):
    assert_allclose(with_native["single"], switched_off["single"], rtol=1e-4, atol=1e-5)
    assert_allclose(with_native["steps"], switched_off["steps"], rtol=1e-3)
    assert_allclose(with_native["scores"], switched_off["scores"], atol=1e-3)
    assert_allclose(with_native["probabilities"], switched_off["probabilities"], atol=0.02)


def test_with_and_without_it_the_default_agrees(with_native, switched_off):
    difference = np.abs(np.subtract(with_native["default"], switched_off["default"]))
    assert difference.mean() < 0.02
    assert abs(with_native["right"] - switched_off["right"]) < 0.05


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake")
def test_without_a_compiler_it_installs_without_the_native_core(tmp_path):
    cmake = shutil.which("cmake")
    tools = tmp_path / "bin"  # a generator, but no compiler
    tools.mkdir()
    for tool in ("make", "ninja"):
        if found := shutil.which(tool):
            (tools / tool).symlink_to(found)
    environment = {"PATH": str(tools), "HOME": str(tmp_path), "CXX": "/nonexistent/c++"}

    def run(*arguments):
        done = subprocess.run(
            [cmake, *arguments],
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    said = run("-S", str(ROOT), "-B", str(tmp_path / "build"), f"-DCMAKE_INSTALL_PREFIX={tmp_path}")
    assert "will run on its slower NumPy reference" in " ".join(said.split())
    run("--build", str(tmp_path / "build"))
    run("--install", str(tmp_path / "build"))
    assert not list(tmp_path.rglob("_native*"))
