"""What words mean: missing values, numbers, amounts of money, truth values, dates.

A column of words is read as a whole, and only its distinct words are looked at. ``1.234`` may be a
decimal or thousands, ``03/04/2024`` April or March: all cells of the column together decide, and
what was decided is kept (:class:`NumberStyle`, a format of dates) for the tables that follow.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers

# Cells that stand for a missing value, in small letters.
MISSING_WORDS = frozenset(
    ("", "na", "n/a", "#n/a", "<na>", "#na", "nan", "-nan", "null", "none", "nat", "?")
)
LONGEST_MISSING_WORD = max(map(len, MISSING_WORDS))
# A column in which this share of the cells are numbers, or dates, is one of numbers, or dates.
NEARLY_ALL = 0.95
NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE)
# Leading zeros, or more digits than 64 bits hold: a name rather than a quantity.
IDENTIFIER = re.compile(r"[+-]?(0[0-9]|[0-9]{19,}$)")
TRUTH = {"true": 1.0, "false": 0.0}


def is_missing_word(word: str) -> bool:
    """Whether a word without white space around it stands for a missing value."""
    return len(word) <= LONGEST_MISSING_WORD and word.lower() in MISSING_WORDS


# ---- Numbers and amounts ----

CODES = (
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KRW MXN "
    "MYR NOK NZD PEN PHP PLN RMB RON RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR"
).replace(" ", "|")
UNIT = rf"(?:[A-Z]{{0,3}}[$¢£¤¥৳฿₠-⃀﷼＄￠￡￥￦]|{CODES}|kr\.?|zł|Kč|Ft|Fr\.|%)"
BLANKS = " \u00a0\u2009\u202f"
# What sets thousands apart, besides the one of point and comma that is not the decimal sign.
GROUPS = f"'’{BLANKS}"
# A sign stands before a unit that comes first, or behind it; brackets make a number negative.
AMOUNT = re.compile(
    rf"(?P<open>\(?)(?P<sign>[-+−]?)[{BLANKS}]?(?P<before>{UNIT}?)[{BLANKS}]?(?P<inner>[-+−]?)"
    rf"(?P<number>[0-9.,{GROUPS}]*[0-9][0-9.,]*)[{BLANKS}]?(?P<behind>{UNIT}?)(?P<close>\)?)"
)
# The whole part of a number whose thousands are set apart in one way, or not at all.
WHOLE_PART = r"(?:0|[1-9][0-9]{{0,17}}|[1-9][0-9]{{0,2}}(?:{0}[0-9]{{3}})+)"
# The decimal sign, what may set thousands apart besides GROUPS, and the hundreds of Indian numbers.
STYLES = {".": (",", r"|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"), ",": (r"\.", "")}


def _pattern(decimal: str) -> re.Pattern[str]:
    groups, others = STYLES[decimal]
    ways = "|".join(WHOLE_PART.format(way) for way in (groups, *GROUPS))
    return re.compile(rf"(?:(?:{ways}{others})(?:\{decimal}[0-9]+)?|\{decimal}[0-9]+)")


PATTERNS = {decimal: _pattern(decimal) for decimal in STYLES}


@dataclass(frozen=True)
class NumberStyle:
    """How the numbers of a column are written: the decimal sign, and a unit such as "$" or "%".

    Without a decimal sign all are plain numbers, as programs write them.
    """

    decimal: str = ""
    unit: str = ""

    def read(self, words: Sequence[str]) -> Floats:
        """The number of each word, NaN of those that are none, or are amounts in another unit.

        Learners compute in single precision, where larger numbers are infinite: they are none.
        """
        found = np.array([self._number(word) for word in words], dtype=np.float64)
        return np.where(np.abs(found) <= np.finfo(np.float32).max, found, np.nan)

    def _number(self, word: str) -> float:
        found = _amount(word) if self.decimal else None
        if found is not None and found.fits(self.decimal):
            return found.value(self.decimal) if found.unit in ("", self.unit) else np.nan
        return float(word) if is_number(word) else np.nan


@dataclass(frozen=True)
class _Amount:
    digits: str
    unit: str
    is_negative: bool

    def fits(self, decimal: str) -> bool:
        return PATTERNS[decimal].fullmatch(self.digits) is not None

    def value(self, decimal: str) -> float:
        number = float(re.sub(rf"[^0-9{decimal}]", "", self.digits).replace(",", "."))
        return -number if self.is_negative else number


def is_number(word: str) -> bool:
    """Whether a word is a plain number, and no identifier such as 007."""
    return NUMBER.fullmatch(word) is not None and IDENTIFIER.match(word) is None


def _amount(word: str) -> _Amount | None:
    """The parts of an amount; None unless it has at most one sign, one unit, and two brackets."""
    found = AMOUNT.fullmatch(word)
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    signs, units = found["open"] + found["sign"] + found["inner"], found["before"] + found["behind"]
    if len(signs) > 1 or (found["before"] and found["behind"]):
        return None
    return _Amount(found["number"], units, signs in ("(", "-", "−"))


def number_style(words: Sequence[str], counts: Integers) -> NumberStyle | None:
    """How the numbers of a column are written; None where fewer than 95 % of the cells are numbers.

    ``counts`` is how many rows have each word. Whether point or comma is the decimal sign is
    settled by all amounts. Where both would do, as in ``1,234`` alone, the column holds words; but
    ``$1,234`` is thousands, as money seldom has three decimals. Amounts in two currencies, or of
    which only some are percentages, are words too: they cannot be compared.
    """
    plain = np.array([is_number(word) for word in words], dtype=bool)
    enough = NEARLY_ALL * counts.sum()
    if counts[plain].sum() == counts.sum():
        return NumberStyle()
    amounts = [_amount(word) for word in words]
    is_amount = np.array([one is not None for one in amounts], dtype=bool)
    style = None
    if counts[plain | is_amount].sum() >= enough:
        style = _amount_style([one for one in amounts if one is not None], counts[is_amount])
    candidates = [NumberStyle()] + ([style] if style is not None else [])
    shares = [counts[~np.isnan(one.read(words))].sum() for one in candidates]
    best = candidates[-1] if shares[-1] > shares[0] else candidates[0]
    return best if max(shares) >= enough else None


def _amount_style(amounts: Sequence[_Amount], counts: Integers) -> NumberStyle | None:
    units = {one.unit for one in amounts}
    if len(units - {""}) > 1 or ("%" in units and len(units) > 1):
        return None
    unit = next(iter(units - {""}), "")
    fits = {sign: np.array([one.fits(sign) for one in amounts], dtype=bool) for sign in STYLES}
    point, comma = (int(counts[fits[sign]].sum()) for sign in STYLES)
    if point != comma:
        return NumberStyle("." if point > comma else ",", unit)
    signs = {sign for one, ok in zip(amounts, fits["."], strict=True) if ok for sign in one.digits}
    found = signs & set(STYLES)
    if not found:
        return NumberStyle(".", unit)
    # A word that fits both ways has three digits behind its only sign.
    is_thousands = (
        unit not in ("", "%") and len(found) == 1 and np.array_equal(fits["."], fits[","])
    )
    return NumberStyle({".": ",", ",": "."}[found.pop()], unit) if is_thousands else None


def found_unit(words: Sequence[str]) -> str:
    """The unit of the first word that is an amount with one."""
    amounts = (_amount(word) for word in words if not is_number(word))
    return next((one.unit for one in amounts if one is not None and one.unit), "")


# ---- Dates ----

ISO = "ISO 8601"
LOOKS_LIKE_ISO = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
LOOKS_LIKE_DATE = re.compile("(?=.*[0-9])[0-9A-Za-z].{4,38}", re.DOTALL)
MONTH_FIRST, DAY_FIRST = ("%m/%d", "%m-%d", "%m.%d"), ("%d/%m", "%d-%m", "%d.%m")
DAYS = [
    *(f"{start}{start[2]}{year}" for start in MONTH_FIRST + DAY_FIRST for year in ("%Y", "%y")),
    *("%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y"),
    *("%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d. %B %Y", "%a, %d %b %Y", "%A, %B %d, %Y"),
]
CLOCKS = ["", " %H:%M", " %H:%M:%S", "T%H:%M:%S", ", %H:%M", " %I:%M %p", " %I:%M:%S %p"]
FORMATS = [day + clock for day, clock in product(DAYS, CLOCKS)]
# Words that decide which formats are tried on all others.
N_TRIED = 3


def date_format(words: Sequence[str], counts: Integers, name: str) -> str | None:
    """The format in which nearly all words are dates; None if there is none.

    Where every cell fits both a format with the day first and one with the month first, the month
    is taken to be first, with a warning.
    """
    some = [words[k] for k in np.linspace(0, len(words) - 1, N_TRIED).astype(int)]
    if sum(LOOKS_LIKE_DATE.fullmatch(word) is not None for word in some) < 2:
        return None
    tried = [how for how in (ISO, *FORMATS) if np.isfinite(read_dates(some, how)).sum() >= 2]
    shares = {how: counts[np.isfinite(read_dates(words, how))].sum() for how in tried}
    best = max(shares, key=lambda how: shares[how], default=None)
    if best is None or shares[best] < NEARLY_ALL * counts.sum():
        return None
    if best.startswith(MONTH_FIRST) and shares.get(_day_first(best)) == shares[best]:
        warnings.warn(
            f"The dates of the column {name!r}, such as {words[0]!r}, may have the month or the "
            "day first; the month is taken to be. Write them like '2024-12-31' to be sure.",
            stacklevel=2,
        )
    return best


def _day_first(how: str) -> str:
    return f"%d{how[2]}%m{how[5:]}"


def read_dates(words: Sequence[str], how: str) -> Floats:
    """Seconds since 1970 of each word, NaN of those that are no dates in this format."""
    return np.array([_seconds_of(word, how) for word in words], dtype=np.float64)


def _seconds_of(word: str, how: str) -> float:
    try:
        if how != ISO:
            found = datetime.strptime(word, how)
        elif LOOKS_LIKE_ISO.match(word):
            found = datetime.fromisoformat(word.replace(" UTC", "+00:00"))
        else:
            return np.nan
    except ValueError:
        return np.nan
    return seconds_since_1970(found)


def seconds_since_1970(time: datetime) -> float:
    """A time in seconds; without a zone it is taken to be in UTC."""
    zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (zoned - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()


def read_later_dates(words: Sequence[str], how: str) -> Floats:
    """Dates in the format that was learnt, or in ISO 8601, which can be read in one way only."""
    found = read_dates(words, how)
    missing: NDArray[np.intp] = np.flatnonzero(np.isnan(found)) if how != ISO else np.empty(0, int)
    found[missing] = read_dates([words[k] for k in missing], ISO)
    return found


def example_of(how: str) -> str:
    """The last day of 2024 as it is written in this format."""
    if how == ISO:
        return "'2024-12-31' or '2024-12-31T10:00:00Z'"
    return repr(datetime(2024, 12, 31).strftime(how))
