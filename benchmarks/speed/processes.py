"""Measurements in processes of their own, where nothing that was done before counts.

    python -m benchmarks.speed.processes MODULE FUNCTION ARGUMENTS

calls a function with a list of arguments and prints what it returns, both as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of a module returns in a new process; all of it in terms of JSON."""
    called = [function.__module__, function.__name__, json.dumps(arguments)]
    command = [sys.executable, "-m", "benchmarks.speed.processes", *called]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])  # behind what packages print


if __name__ == "__main__":
    module, name, arguments = sys.argv[1:]
    print(json.dumps(getattr(import_module(module), name)(*json.loads(arguments))))
