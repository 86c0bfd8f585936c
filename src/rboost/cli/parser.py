"""A parser of one command that need not know its options before somebody asks for the command."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any


class CommandParser(argparse.ArgumentParser):
    """Calls ``add_options`` with itself before it parses.

    Options that tell defaults of the library import it, which takes a second that the help of other
    commands can do without.
    """

    def __init__(
        self, *, add_options: Callable[[CommandParser], None] | None = None, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._add_options = add_options

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Add the options that were left out so far, then parse."""
        if self._add_options is not None:
            self._add_options(self)
            self._add_options = None
        return super().parse_known_args(args, namespace)
