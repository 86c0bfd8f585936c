"""The command line: arguments in, a library call, its result rendered."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from rboost.cli.audit import add_audit_command
from rboost.cli.clean import add_clean_command
from rboost.cli.predict import add_predict_command
from rboost.cli.review import add_review_command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; mistakes of the user end in one sentence."""
    parser = argparse.ArgumentParser(
        prog="rboost", description="Classification when some labels are wrong."
    )
    parser.add_argument("--version", action="version", version=f"rboost {version('rboost')}")
    commands = parser.add_subparsers(dest="command", required=True)
    for add in (add_audit_command, add_review_command, add_clean_command, add_predict_command):
        add(commands)
    options = parser.parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of other packages, for programmers
            warnings.simplefilter("always", category=UserWarning)
            warnings.showwarning = _show_warning
            _clean_up_when_killed()
            code = int(options.run(options))
            sys.stdout.flush()  # here, where a reader that has gone is no mistake
            return code
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _failed("the table does not fit into memory; audit a sample of its rows")
    except OSError as error:
        is_raw = error.strerror and error.filename  # errors of this package are sentences already
        return _failed(f"{error.filename}: {error.strerror}." if is_raw else str(error))
    except (ValueError, ImportError) as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        print(f"rboost: {getattr(options, 'stopped', 'stopped')}", file=sys.stderr)
        return 130


def _failed(problem: str) -> int:
    print(f"rboost: {' '.join(problem.split())}", file=sys.stderr)
    return 2


def _clean_up_when_killed() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, interrupt)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print(f"rboost: {' '.join(str(message).split())}", file=sys.stderr)
