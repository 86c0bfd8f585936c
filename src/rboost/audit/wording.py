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

    >>> percent(0.1821), percent(0.042), percent(0.09), percent(0.9998)
    ('18 %', '4.2 %', '9 %', '>99.9 %')
    """
    if np.isnan(share):
        return "unknown"
    if not 0 < share < 1:  # sums of probabilities may lie a little outside
        return "0 %" if share < 0.5 else "100 %"
    if share < 0.0005:
        return "<0.1 %"
    if share >= 0.9995:
        return ">99.9 %"
    digits = 0 if 0.0995 <= share < 0.985 else 1
    return f"{100 * share:.{digits}f} %".replace(".0 %", " %")


def format_count(number: float) -> str:
    r"""A number of rows, whole also where it is expected rather than counted.

    >>> format_count(12345), format_count(3.25), format_count(0.3)
    ('12\u202f345', '3', '<1')
    """
    if 0 < number < 0.5:
        return "<1"
    return f"{number:,.0f}".replace(",", "\u202f")


def format_estimate(number: float, most: float = np.inf) -> str:
    r"""An estimated number of rows as people say it, in two digits, and no more than there are.

    >>> format_estimate(521.6), format_estimate(1574), format_estimate(50.9), format_estimate(0.3)
    ('520', '1\u202f600', '51', '<1')
    >>> format_estimate(115.6), format_estimate(115.6, most=116)
    ('120', '116')
    """
    n_digits = len(str(int(number)))
    return format_count(min(round(number, 2 - n_digits) if n_digits > 2 else number, most))


def format_value(number: float) -> str:
    """A measurement in four digits, or as many as a large one has before the point.

    >>> format_value(0.123456), format_value(20260131), format_value(float("inf"))
    ('0.1235', '20260131', 'inf')
    """
    return f"{number:.0f}" if 1e4 <= abs(number) < 1e12 else f"{number:.4g}"


def format_range(low: float, high: float) -> tuple[str, str]:
    """The ends of a range in steps of at most a fifth of its width; both alike if they are one.

    >>> format_range(9.9, 17.7), format_range(-0.0412, 1.387), format_range(2, 2)
    (('10', '18'), ('0', '1.4'), ('2', '2'))
    """
    if not 0 < high - low < np.inf:
        return format_value(low), format_value(high)
    digits = -int(np.floor(np.log10((high - low) / 5)))
    first, last = (f"{round(end, digits) + 0.0:.12g}" for end in (low, high))
    return first, last


def measured(value: Any, longest: int = LONGEST_VALUE) -> str:
    """A value beside what is usual for it: numbers in four digits, dates without the time of day.

    >>> measured(4.50366), measured("2021-10-13T10:00:00+02:00"), measured("$1,234.50")
    ('4.504', '2021-10-13', '$1,234.50')
    """
    if isinstance(value, (float, np.floating)) and not is_missing(value):
        return format_value(float(value))
    text = one_line(value, longest)
    day = re.match(r"\d{4}-\d\d-\d\d(?=[T ]\d\d:)", text)
    return day[0] if day else text


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


def cut_middle(value: Any, longest: int) -> str:
    """A name as a single line, of a long one beginning and end: names differ at either.

    >>> cut_middle("transfer_not_received_by_recipient", 16)
    'transfer…cipient'
    """
    text = one_line(value, len(str(value)))
    head = longest // 2
    return text if len(text) <= longest else f"{text[:head]}…{text[1 + head - longest :]}"


def quoted(name: Any, longest: int = 40) -> str:
    """A name inside a sentence; one that is written from right to left stays where it is."""
    text = cut_middle(name, longest)
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
