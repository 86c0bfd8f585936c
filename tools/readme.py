"""The README as a package index shows it, where links into the repository must be whole addresses.

``[tool.scikit-build.metadata.readme]`` of pyproject.toml names this module; the build calls it.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
IMAGES = (".png", ".svg", ".jpg", ".gif")
TARGET = re.compile(r"""(?<=\]\()(?![a-z]+:|#)[^)\s]+|(?<=src=")(?![a-z]+:)[^"]+""")


def dynamic_metadata(field: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """The field ``readme`` of the metadata: links lead to the files of this release."""
    if field != "readme" or settings:
        raise ValueError("This provides the field readme and has no settings.")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def whole(match: re.Match[str]) -> str:
        kind = "raw" if match[0].endswith(IMAGES) else "blob"
        return f"{project['urls']['Source']}/{kind}/v{project['version']}/{match[0]}"

    text = TARGET.sub(whole, (ROOT / "README.md").read_text(encoding="utf-8"))
    return {"content-type": "text/markdown", "text": text}
