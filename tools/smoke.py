"""Use an installed rboost as people do: ``python tools/smoke.py native``, or ``pure``.

The argument says whether the native core must be there. Everything happens in a folder that is
removed; the first thing that is not as it should be ends the script.
"""

import re
import subprocess
import sys
import sysconfig
import warnings
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import ProxyHandler, build_opener

import numpy as np
import pandas as pd
from sklearn.datasets import make_moons

import rboost
from rboost import RBoostClassifier, native
from rboost.noise import asymmetric, flip_labels

COMMAND = Path(sysconfig.get_path("scripts")) / "rboost"


def run(*arguments: object) -> str:
    """What a command prints; the command must succeed."""
    command = [str(COMMAND), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def expect(is_so: object, what: str) -> None:
    """End the script unless something is so."""
    if not is_so:
        raise SystemExit(f"smoke test: {what}")
    print(f"ok: {what}", flush=True)


def check_installation(kind: str) -> None:
    """The package is the installed one, of its version, with the core or without."""
    package = Path(rboost.__file__).parent
    expect(Path(__file__).parents[1] not in package.parents, f"rboost lies in {package}")
    expect(run("--version") == f"rboost {version('rboost')}\n", f"version {rboost.__version__}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no native core
        expect((native.compiled() is not None) == (kind == "native"), f"native core: {kind}")


def check_classifier(X: np.ndarray, y: np.ndarray, noisy: np.ndarray) -> None:
    """A classifier sees through wrong labels."""
    model = RBoostClassifier(random_state=0).fit(X, noisy)
    expect(np.mean(model.predict(X) == y) > 0.93, "labels flipped on purpose are predicted right")


def check_commands(table: pd.DataFrame, flipped: np.ndarray, folder: Path) -> None:
    """Audit, clean and predict a file."""
    data, audit = folder / "points.csv", folder / "audit"
    table.to_csv(data, index=False)
    named = ("--label", "side", "--id", "point", "--budget", flipped.sum())
    run("audit", data, *named, "--out", audit)
    suspects = pd.read_csv(audit / "suspects.csv")["point"]
    expect(flipped[suspects].mean() > 0.7, "most suspects of an audit are wrong labels")
    expect("<html" in (audit / "report.html").read_text(encoding="utf-8"), "the report is a page")
    cleaned, predicted = folder / "cleaned.csv", folder / "predicted.csv"
    run("clean", audit, "--out", cleaned)
    run("predict", audit, data, "--out", predicted)
    expect(len(pd.read_csv(cleaned)) == len(pd.read_csv(predicted)) == len(table), "all rows again")


def check_review(audit: Path) -> None:
    """The page of a review is served."""
    command = [str(COMMAND), "review", str(audit)]
    browser = build_opener(ProxyHandler({}))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            line = server.stdout.readline() if server.stdout else ""
            address = re.search(r"http://127\.0\.0\.1:\d+/#\S+", line)
            page = browser.open(address[0]).read() if address else b""
            expect(b"<html" in page.lower(), "the page of a review is served")
        finally:
            server.terminate()


def main() -> None:
    """Check all of it."""
    check_installation(sys.argv[1])
    X, y = make_moons(600, noise=0.15, random_state=0)
    noisy, flipped = flip_labels(y, asymmetric(0.3, from_class=0), random_state=0)
    check_classifier(X, y, noisy)
    table = pd.DataFrame(X, columns=["width", "height"])
    table.insert(0, "point", np.arange(len(X)))
    table["side"] = np.where(noisy == 1, "left", "right")
    with TemporaryDirectory() as folder:
        check_commands(table, flipped, Path(folder))
        check_review(Path(folder) / "audit")


if __name__ == "__main__":
    main()
