"""Print the oldest versions that pyproject.toml promises, as constraints for pip.

``python tools/oldest.py review`` names those of the core and of one extra; what these packages need
in turn, pip chooses.
"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def requirements(extras: list[str]) -> list[str]:
    """What the core and these extras need, and the extras that they name."""
    found = list(PROJECT["dependencies"])
    for extra in extras:
        for one in PROJECT["optional-dependencies"][extra]:
            inner = re.fullmatch(r"rboost\[([\w,]+)\]", one)
            found += requirements(inner[1].split(",")) if inner else [one]
    return found


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(PROJECT["optional-dependencies"])
    if unknown:
        extras = ", ".join(PROJECT["optional-dependencies"])
        sys.exit(f"there is no extra {min(unknown)!r}; choose from: {extras}")
    for one in sorted(set(requirements(sys.argv[1:]))):
        print(re.sub(r">=([\d.]+).*", r"==\1", one))
