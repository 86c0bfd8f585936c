"""The command line: arguments in, a library call, its result rendered."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rboost.cli.paper import add_paper_commands


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; mistakes of the user end in one sentence."""
    parser = argparse.ArgumentParser(
        prog="rboost", description="Classification when some labels are wrong."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    add_paper_commands(commands)
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except (ValueError, ImportError, OSError) as error:
        print(f"rboost: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("rboost: stopped; the same command goes on from here", file=sys.stderr)
        return 130
