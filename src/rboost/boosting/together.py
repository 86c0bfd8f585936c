"""What processes that each hold some of the rows do together: add numbers up, collect, report.

Every statistic of training is a sum over rows. One process that holds them all is the simplest
case.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from rboost._typing import Floats

Value = TypeVar("Value")


class Together(Protocol):
    """The processes of a fit. All of them must call each method in the same order.

    ``n_threads`` is how many threads this one has.
    """

    n_threads: int

    def sum(self, numbers: Floats) -> Floats:
        """The sum of the arrays of all processes, the same in each of them."""

    def gather(self, value: Value) -> list[Value]:
        """The values of all processes, small ones, in the same order everywhere."""

    def tell(self, message: dict[str, Any]) -> None:
        """Have one of the processes tell whoever waits for the fit how far it has come."""


class Alone:
    """One process that holds all rows."""

    n_threads = 1

    def sum(self, numbers: Floats) -> Floats:
        """The numbers themselves."""
        return numbers

    def gather(self, value: Value) -> list[Value]:
        """The value alone."""
        return [value]

    def tell(self, message: dict[str, Any]) -> None:
        """Nobody waits elsewhere."""
