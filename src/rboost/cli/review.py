"""``rboost review``: check labels in a browser."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_review_command(commands: Any) -> None:
    """Add ``review``."""
    review = commands.add_parser(
        "review",
        help="check the rows of an audit in a browser",
        description="Serve a page on this machine alone, on which a person keeps or changes labels "
        "row by row. Answers are saved at once, in the folder of the audit.",
    )
    review.add_argument("folder", type=Path, help="folder of an audit")
    review.add_argument("--port", type=int, default=0, help="(any free one)")
    review.add_argument("--open", action="store_true", help="open the page in a browser")
    review.set_defaults(run=_review)


def _review(options: argparse.Namespace) -> int:
    raise NotImplementedError
