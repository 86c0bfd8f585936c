"""``rboost review``: check labels in a browser."""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import Any

from rboost.io.inputs import STANDARD_INPUT


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
    review.add_argument(
        "--export", nargs="?", const="", metavar="FILE",
        help="write the answers to FILE (checked.csv in the folder) and end, without a browser",
    )  # fmt: skip
    review.set_defaults(run=_review, stopped="stopped; every answer is saved")


def _review(options: argparse.Namespace) -> int:
    from rboost.audit.disk.folder import check_output, read_audit, write_refitted
    from rboost.audit.disk.record import read_record, read_request
    from rboost.review.session import export_answers, open_review
    from rboost.review.web.server import serve

    folder: Path = options.folder
    if not 0 <= options.port < 65536:
        raise ValueError(f"--port must be between 0 and 65535, not {options.port}.")
    opened = read_record(folder)
    if options.export is not None:
        if options.export:
            check_output(Path(options.export), read_request(folder), folder)
        print(export_answers(read_audit(folder), folder, options.export or None))
        return 0
    review = open_review(
        read_audit(folder),
        folder,
        save=partial(write_refitted, folder, opened),
        images_root=_images_root(opened["request"]["data"]),
    )
    serve(review, port=options.port, open_browser=options.open)
    return 0


def _images_root(data: str | list[str]) -> Path | None:
    """The folder of the table, which may be of several files; none if they have none in common."""
    files = map(Path, [data] if isinstance(data, str) else data)
    folders = [file.parent for file in files if file != STANDARD_INPUT]
    try:
        common = Path(os.path.commonpath(folders))
    except ValueError:  # there is none, or they are on several drives
        return None
    return None if common == common.parent else common  # never the whole disk
