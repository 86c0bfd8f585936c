"""From columns of text to columns of numbers, truth values and text, with what is missing.

A column is numbers if every cell is, or nearly every one, with a warning; amounts and percentages
are numbers too (:mod:`rboost.io.amounts`). Whole numbers stay whole
where some are missing; numbers with leading zeros, or with more digits than 64 bits hold, are names
rather than quantities and stay text. Dates stay text too.
"""

from __future__ import annotations

from typing import Any

from rboost.io.amounts import amounts
from rboost.io.packages import package

# Cells that stand for a missing value, in small letters.
MISSING_WORDS = ("", "na", "n/a", "#n/a", "<na>", "#na", "nan", "-nan", "null", "none")
WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
NUMBER = r"(?i)^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity)$"
DECIMAL_COMMA = r"^[+-]?[0-9]+(,[0-9]+)?$"
NAME = r"^[+-]?(0[0-9]|[0-9]{19,}$)"
TRUTH = r"(?i)^(true|false)$"
# A column in which this share of the cells are numbers is one of numbers.
NEARLY_ALL = 0.95


def typed(text: Any, decimal_comma: bool) -> Any:
    """A pandas series of the type that all cells of a column of text have."""
    compute, arrow = package("pyarrow.compute"), package("pyarrow")
    cells = without_missing(text)
    if _all(cells, WHOLE):
        return to_series(cells.cast(arrow.int64()))
    if _all(cells, NUMBER) and not _any(cells, NAME):
        return to_series(_floats(cells))
    if decimal_comma and _all(cells, DECIMAL_COMMA) and not _any(cells, NAME):
        return to_series(_floats(compute.replace_substring(cells, ",", ".")))
    if _all(cells, TRUTH):
        return to_series(compute.equal(compute.utf8_lower(cells), "true"))
    return as_text(text)


def numbers_with_exceptions(text: Any) -> tuple[Any, int, str] | None:
    """The numbers of a column of text in which nearly all cells are, how many are not, and one.

    Amounts are numbers, too.
    """
    compute = package("pyarrow.compute")
    cells = without_missing(text)
    n_there = len(cells) - cells.null_count
    if not n_there:
        return None
    is_number = compute.and_(
        compute.match_substring_regex(cells, NUMBER),
        compute.invert(compute.match_substring_regex(cells, NAME)),
    )
    numbers = _floats(compute.if_else(is_number, cells, None))
    other = amounts(cells)
    if other is not None and other.null_count < numbers.null_count:
        numbers = other
    if len(cells) - numbers.null_count < NEARLY_ALL * n_there:
        return None
    others = compute.drop_null(compute.if_else(compute.is_null(numbers), cells, None))
    return to_series(numbers), len(others), others[0].as_py() if len(others) else ""


def as_text(text: Any) -> Any:
    """A pandas series of the cells as they are, apart from missing ones."""
    compute = package("pyarrow.compute")
    return to_series(compute.if_else(compute.is_null(without_missing(text)), None, text))


def without_missing(text: Any) -> Any:
    """Cells without the white space around them, null where they say that nothing is there."""
    compute, arrow = package("pyarrow.compute"), package("pyarrow")
    cells = compute.utf8_trim_whitespace(text)
    # Only short cells can be one of the words; lowering the case of long text takes long.
    is_short = compute.less_equal(compute.binary_length(cells), max(map(len, MISSING_WORDS)))
    words = compute.utf8_lower(compute.if_else(is_short, cells, "-"))
    is_missing = compute.is_in(words, value_set=arrow.array(MISSING_WORDS))
    return compute.if_else(is_missing, None, cells)


def with_plain_numbers(column: Any) -> Any:
    """A pandas series of text as numbers, if every cell is a plain one or empty."""
    pandas = package("pandas")
    there = column[column != ""].dropna() if column.dtype == object else column[:0]
    if len(there) and there.str.match(NUMBER).all() and not there.str.match(NAME).any():
        return pandas.to_numeric(column.where(column != ""))
    return column


def to_series(column: Any) -> Any:
    """A pandas series; whole numbers and truth values stay so where some are missing."""
    arrow, pandas = package("pyarrow"), package("pandas")
    nullable = None
    if column.null_count and column.null_count < len(column):
        if arrow.types.is_integer(column.type):
            is_unsigned = arrow.types.is_unsigned_integer(column.type)
            nullable = pandas.UInt64Dtype() if is_unsigned else pandas.Int64Dtype()
        elif arrow.types.is_boolean(column.type):
            nullable = pandas.BooleanDtype()
    if nullable is None:
        return column.to_pandas()
    return column.to_pandas(types_mapper=lambda _: nullable)


def _floats(cells: Any) -> Any:
    compute, arrow = package("pyarrow.compute"), package("pyarrow")
    return compute.utf8_ltrim(cells, "+").cast(arrow.float64())


def _all(cells: Any, pattern: str) -> bool:
    """Whether every cell that is there fits a pattern, and some are."""
    compute = package("pyarrow.compute")
    few = compute.drop_null(cells.slice(0, 100))
    if not compute.all(compute.match_substring_regex(few, pattern), min_count=0).as_py():
        return False  # without a look at the other cells
    return compute.all(compute.match_substring_regex(cells, pattern)).as_py() is True


def _any(cells: Any, pattern: str) -> bool:
    compute = package("pyarrow.compute")
    return compute.any(compute.match_substring_regex(cells, pattern)).as_py() is True
