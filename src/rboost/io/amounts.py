"""Amounts of money, percentages and numbers with thousands set apart: columns of them as numbers.

``$1,234.56``, ``1.234,56 €``, ``(12.50)`` for −12.5, ``12 %`` for 12. Whether the point or the
comma is the decimal sign is settled by all cells of a column together; where both would do, as in
a column of ``1,234`` alone, it stays text. But not of ``$1,234``: money hardly ever has three
decimals, so these are thousands. A column of two currencies stays text, and one in which only some
cells are percentages: their numbers cannot be compared.
"""

from __future__ import annotations

from typing import Any

from rboost.io.packages import package

CODES = (
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KRW MXN "
    "MYR NOK NZD PEN PHP PLN RMB RON RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR"
).replace(" ", "|")
UNIT = rf"(?:[A-Z]{{0,3}}\p{{Sc}}|{CODES}|kr\.?|zł|Kč|Ft|Fr\.|%)"
BLANKS = " \u00a0\u2009\u202f"
BLANK = f"[{BLANKS}]"
# What sets thousands apart, besides the one of point and comma that is not the decimal sign.
GROUPS = f"'’{BLANKS}"
SIGN = r"[-+−]?"
# A sign may stand before or behind a unit that comes first; the number itself follows.
AMOUNT = (
    rf"^(?P<open>\(?)(?P<sign>{SIGN}){BLANK}?(?P<before>{UNIT}?){BLANK}?(?P<inner>{SIGN})"
    rf"(?P<number>[0-9.,{GROUPS}]*[0-9][0-9.,]*){BLANK}?(?P<behind>{UNIT}?)(?P<close>\)?)$"
)
SAMPLE_CELLS = 200
NEGATIVE = ("-", "−")
# The thousands of a number in one way, as often as there are; Indian numbers set hundreds apart.
WHOLE_PART = r"(?:0|[1-9][0-9]{{0,17}}|[1-9][0-9]{{0,2}}(?:{0}[0-9]{{3}})+)"
# The sign of decimals, what may set thousands apart, and other ways to write the whole part.
STYLES = {
    ".": (",", r"|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"),
    ",": (r"\.", ""),
}


def amounts(cells: Any) -> Any:
    """The numbers of a column of text, missing where a cell is no amount; None if it has none.

    ``cells`` have no white space around them and are null where nothing is there, but not all.
    """
    compute = package("pyarrow.compute")
    there = compute.drop_null(cells)
    few = there.take(list(range(0, len(there), 1 + len(there) // SAMPLE_CELLS)))
    if compute.mean(compute.match_substring_regex(few, AMOUNT)).as_py() == 0:
        return None  # without a look at the other cells
    parts = compute.extract_regex(cells, AMOUNT)
    field = {name: compute.struct_field(parts, name) for name in
             ("open", "sign", "before", "inner", "number", "behind", "close")}  # fmt: skip
    is_amount = _written_once(field)
    units = _units(field, is_amount)
    if len(units - {""}) > 1 or ("%" in units and len(units) > 1):
        return None  # some may lack the unit, unless it is per cent
    fits = {sign: compute.and_(is_amount, compute.match_substring_regex(field["number"], pattern))
            for sign, pattern in _patterns().items()}  # fmt: skip
    sign = _decimal_sign(field["number"], fits, is_money=bool(units - {"", "%"}))
    if sign is None:
        return None
    number = compute.replace_substring_regex(field["number"], rf"[^0-9{sign}]", "")
    number = compute.replace_substring(number, ",", ".")
    value = compute.if_else(fits[sign], number, None).cast(package("pyarrow").float64())
    return compute.if_else(_is_negative(field), compute.negate(value), value)


def _patterns() -> dict[str, str]:
    """For each sign of decimals what numbers look like."""
    patterns = {}
    for sign, (groups, others) in STYLES.items():
        ways = "|".join(WHOLE_PART.format(way) for way in (groups, *GROUPS))
        patterns[sign] = rf"^(?:(?:{ways}{others})(?:\{sign}[0-9]+)?|\{sign}[0-9]+)$"
    return patterns


def _written_once(field: dict[str, Any]) -> Any:
    """Whether there is one sign at most, one unit at most, and no bracket without the other."""
    compute = package("pyarrow.compute")
    is_there = {name: compute.not_equal(part, "") for name, part in field.items()}
    signs = _count(is_there["open"], is_there["sign"], is_there["inner"])
    units = _count(is_there["before"], is_there["behind"])
    once = compute.and_(compute.less_equal(signs, 1), compute.less_equal(units, 1))
    paired = compute.equal(is_there["open"], is_there["close"])
    return compute.fill_null(compute.and_(once, paired), False)


def _count(*conditions: Any) -> Any:
    """How many of the conditions hold in each row."""
    compute = package("pyarrow.compute")
    first, *others = (condition.cast("int8") for condition in conditions)
    for other in others:
        first = compute.add(first, other)
    return first


def _units(field: dict[str, Any], is_amount: Any) -> set[str]:
    """The units of all amounts, "" of those that have none."""
    compute = package("pyarrow.compute")
    unit = compute.binary_join_element_wise(field["before"], field["behind"], "")
    return set(compute.unique(compute.filter(unit, is_amount)).to_pylist())


def _decimal_sign(number: Any, fits: dict[str, Any], is_money: bool) -> str | None:
    """The sign with which more numbers make sense; None if it is as likely the one as the other."""
    compute = package("pyarrow.compute")
    point, comma = (compute.sum(fits[sign]).as_py() or 0 for sign in (".", ","))
    if point != comma:
        return "." if point > comma else ","
    there = compute.filter(number, fits["."])
    found = [sign for sign in ".," if compute.any(compute.match_substring(there, sign)).as_py()]
    if not found:
        return "."
    # What makes sense either way has three digits behind its only sign.
    is_thousands = is_money and len(found) == 1 and fits["."].equals(fits[","])
    return {".": ",", ",": "."}[found[0]] if is_thousands else None


def _is_negative(field: dict[str, Any]) -> Any:
    compute, arrow = package("pyarrow.compute"), package("pyarrow")
    signs = arrow.array(NEGATIVE)
    return compute.or_(
        compute.not_equal(field["open"], ""),
        compute.or_(
            compute.is_in(field["sign"], value_set=signs),
            compute.is_in(field["inner"], value_set=signs),
        ),
    )
