"""Install what lies in dist/ where there is no compiler, and use it: ``make smoke``.

Each wheel, and the sdist, goes into a new environment of its own. Commands run there with nothing
but that environment on the path.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
KEPT = ("HOME", "LANG", "TMPDIR", "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy")


def try_one(python: str, package: str, kind: str) -> None:
    """Install one file of dist/ for one Python, and use it."""
    (found,) = (ROOT / "dist").glob(package)
    print(f"\n{found.name} ({kind}) with {python}", flush=True)
    with TemporaryDirectory() as folder:
        home = Path(folder) / "venv"
        subprocess.run([python, "-m", "venv", home], check=True)
        kept = {key: os.environ[key] for key in os.environ if key in KEPT or key.startswith("PIP_")}
        # CMake, which builds the sdist, knows where compilers lie without a path.
        alone = {**kept, "PATH": str(home / "bin"), "CXX": "no-compiler"}

        def run(*arguments: str | Path) -> None:
            command = [home / "bin" / "python", *arguments]
            subprocess.run(command, check=True, cwd=folder, env=alone)

        run("-m", "pip", "install", "--quiet", f"{found}[review]")
        run("-m", "pip", "check")
        run(ROOT / "tools" / "smoke.py", kind)
        run(ROOT / "examples" / "find_planted_errors.py")


def main() -> None:
    """Three Pythons are named: one without the stable ABI of wheels, its first and the newest."""
    if len(sys.argv) != 4:
        sys.exit("usage: python tools/try_wheels.py PYTHON_OLDEST PYTHON_ABI3 PYTHON_NEWEST")
    before, first, newest = sys.argv[1:]
    try_one(first, "*-abi3-*.whl", "native")
    try_one(newest, "*-abi3-*.whl", "native")
    try_one(newest, "*-none-any.whl", "pure")
    try_one(before, "*.tar.gz", "pure")


if __name__ == "__main__":
    main()
