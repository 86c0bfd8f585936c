"""Values and numbers as text that is short, and harmless wherever it is shown."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

from rboost._validation import is_missing
from rboost.audit.numbers import format_count

LONGEST_VALUE = 80
MOST_NAMED = 12

# Characters that turn the direction of what follows, or end a line, without being seen.
_UNSEEN = frozenset(
    "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)
_FIRST_STRONG, _END = "\u2068", "\u2069"


def shortened(value: Any, longest: int = LONGEST_VALUE) -> str:
    """A value as text of bounded length."""
    if is_missing(value):
        return "missing"
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


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
