"""Numbers in words, the same wherever an audit is shown."""

from __future__ import annotations

import numpy as np


def percent(share: float) -> str:
    """A share in percent, with a decimal where it is close to 0 or 1.

    >>> percent(0.1821), percent(0.042), percent(0.9998)
    ('18 %', '4.2 %', '>99.9 %')
    """
    if np.isnan(share):
        return "unknown"
    if not 0 < share < 1:  # sums of probabilities may lie a little outside
        return "0 %" if share < 0.5 else "100 %"
    if share < 0.0005:
        return "<0.1 %"
    if share >= 0.9995:
        return ">99.9 %"
    return f"{100 * share:.0f} %" if 0.0995 <= share < 0.985 else f"{100 * share:.1f} %"


def format_count(number: float) -> str:
    r"""A number of rows; one that is expected rather than counted keeps a decimal while small.

    >>> format_count(12345), format_count(3.25), format_count(99.7)
    ('12\u202f345', '3.2', '100')
    """
    if float(number).is_integer() or number >= 9.95:
        return f"{number:,.0f}".replace(",", "\u202f")
    return f"{number:.1f}"


def format_value(number: float) -> str:
    """A measurement in four digits, or as many as a large one has before the point.

    >>> format_value(0.123456), format_value(20260131), format_value(float("inf"))
    ('0.1235', '20260131', 'inf')
    """
    return f"{number:.0f}" if 1e4 <= abs(number) < 1e12 else f"{number:.4g}"
