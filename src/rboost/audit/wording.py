"""Values and numbers as text: short, alike wherever an audit is shown, and harmless there."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import numpy as np

from rboost._validation import is_missing

LONGEST_VALUE = 80
MOST_NAMED = 12

# Characters that turn the direction of what follows, or end a line, without being seen.
_UNSEEN = frozenset(
    "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)
_FIRST_STRONG, _END = "\u2068", "\u2069"


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


def shortened(value: Any, longest: int = LONGEST_VALUE) -> str:
    """A value as text of bounded length."""
    if is_missing(value):
        return "missing"
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def end_at_word(text: str, longest: int) -> int:
    """Where to cut a text so that it is not longer: between two words, if one ends near there.

    >>> end_at_word("to be or not", 11), end_at_word("to be", 5), end_at_word("a tobeornot", 5)
    (8, 5, 5)
    """
    if len(text) <= longest:
        return len(text)
    ends = [word.end() for word in re.finditer(r"\S+(?=\s)", text[: longest + 1])]
    return ends[-1] if ends and ends[-1] > longest / 2 else longest


def visible(text: str) -> str:
    r"""Text in which control characters are spelt out, so that none of them does anything.

    Line breaks and tabs stay.

    >>> print(visible("\x1b[31mred"))
    \x1b[31mred
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if character in "\n\t" or not _is_unseen(character) else _spelt_out(character)
        for character in text
    )


def one_line(value: Any, longest: int = LONGEST_VALUE) -> str:
    """A value as a single line of bounded length without control characters."""
    return " ".join(visible(shortened(value, longest)).split())


def quoted(name: Any, longest: int = 40) -> str:
    """A name inside a sentence; one that is written from right to left stays where it is."""
    text = one_line(name, longest)
    if any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in text):
        text = f"{_FIRST_STRONG}{text}{_END}"
    return f"“{text}”"


def with_noun(number: int, one: str, several: str | None = None) -> str:
    """A number with its noun: 1 row, 2 rows."""
    return f"{format_count(number)} {one if number == 1 else several or one + 's'}"


def listed(words: list[str]) -> str:
    """Words as a list in a sentence; of very many the first."""
    if len(words) > MOST_NAMED:
        words = [*words[:MOST_NAMED], f"{len(words) - MOST_NAMED} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _is_unseen(character: str) -> bool:
    return character in _UNSEEN or unicodedata.category(character) in ("Cc", "Cs")


def _spelt_out(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
