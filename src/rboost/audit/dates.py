"""Columns of dates, however they are written, as times in UTC without a zone.

A model remembers how the dates of each column were written when it was fitted. Later ones must be
written alike, or as ISO 8601 has it, which can be read in one way only: dates in yet another format
would silently count as missing.
"""

from __future__ import annotations

import datetime
import warnings
from typing import Any

from rboost.io.packages import package

ISO = "ISO8601"
LOOKS_LIKE_ISO = r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}"
# A column of which this share are dates is one of dates.
NEARLY_ALL = 0.95


def find_dates(table: Any) -> dict[str, str]:
    """The columns of dates, each with the format in which they are written."""
    found = {}
    for column in table.columns:
        how = _format_of(table[column])
        if how is not None:
            found[str(column)] = how
    return found


def with_times(table: Any, dates: dict[str, str]) -> Any:
    """The frame with dates as times in UTC; ``dates`` is what :func:`find_dates` found."""
    changed = {name: _as_times(table[name], how) for name, how in dates.items()}
    return table.assign(**changed) if changed else table


def times_of(column: Any, how: str) -> Any:
    """The column as times, missing where it holds none."""
    is_time = package("pandas").api.types.is_datetime64_any_dtype(column.dtype)
    return _without_zone(column) if is_time else _parsed(column, how)


def _format_of(column: Any) -> str | None:
    """How the dates of a column are written; None if it holds none."""
    types = package("pandas").api.types
    if types.is_datetime64_any_dtype(column.dtype):
        return ISO
    if not _is_text(column):
        return None
    values = _without_missing(column)
    if not len(values):
        return None
    few = values.iloc[:: len(values) // 100 + 1]  # from everywhere, as tables are sorted by date
    if few.map(lambda value: isinstance(value, datetime.date)).mean() >= NEARLY_ALL:
        return ISO
    if few.map(type).ne(str).any():
        return None
    is_iso = few.str.match(LOOKS_LIKE_ISO).mean() >= NEARLY_ALL
    ways = [ISO] if is_iso else _guessed_formats(few)
    read = {how: float(_parsed(values, how).notna().mean()) for how in ways}
    best = max(read, key=lambda how: read[how], default=ISO)
    if read.get(best, 0.0) < NEARLY_ALL:
        return None
    if len(ways) > 1 and len(set(read.values())) == 1:
        warnings.warn(
            f"The dates of the column {column.name!r}, such as {few.iloc[0]!r}, may have the month "
            "or the day first; the month is taken to be. Write them like '2024-12-31' to be sure.",
            stacklevel=2,
        )
    return best


def _guessed_formats(few: Any) -> list[str]:
    """How dates may be written; where day and month may be meant either way, both ways."""
    skrub = package("skrub")
    try:
        how = str(skrub.ToDatetime().fit(few.reset_index(drop=True)).format_)
    except ValueError:  # it is no column of dates
        return []
    months_first, days_first = ("%m/%d", "%m-%d", "%m.%d"), ("%d/%m", "%d-%m", "%d.%m")
    for one, other in zip(months_first, days_first, strict=True):
        if how.startswith((one, other)):
            return [one + how[len(one) :], other + how[len(other) :]]
    return [how]


def _as_times(column: Any, how: str) -> Any:
    """The column as times; fails where most of its values are written in another way."""
    is_time = package("pandas").api.types.is_datetime64_any_dtype(column.dtype)
    if not (is_time or _is_text(column) or column.isna().all()):
        raise ValueError(
            f"The column {column.name!r} held dates when the model was fitted, but now holds "
            f"{column.dtype} such as {column.dropna().iloc[0]}; pass dates."
        )
    times = times_of(column, how)
    unread = _without_missing(column[times.isna()])
    if len(unread) and how != ISO:
        is_iso = unread.astype(str).str.match(LOOKS_LIKE_ISO)
        times = times.fillna(_parsed(unread[is_iso], ISO).reindex(times.index))
        unread = _without_missing(column[times.isna()])
    if len(unread):
        _report(unread, len(_without_missing(column)), how)
    return times


def _report(unread: Any, n_values: int, how: str) -> None:
    """Say that cells are no dates, or written in another way than they were."""
    example = str(unread.iloc[0])[:40]
    iso = "like '2024-12-31' or '2024-12-31T10:00:00Z'"
    wanted = iso if how == ISO else f"like {datetime.datetime(2024, 12, 31).strftime(how)!r}"
    if len(unread) > (1 - NEARLY_ALL) * n_values:
        raise ValueError(
            f"The column {unread.name!r} has dates such as {example!r}, which were written "
            f"{wanted} when the model was fitted; write them like that."
        )
    warnings.warn(
        f"{len(unread)} cells in the column {unread.name!r} of dates are none, such as "
        f"{example!r}; they count as missing.",
        stacklevel=2,
    )


def _parsed(values: Any, how: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what cannot be parsed is missing
        times = package("pandas").to_datetime(values, format=how, utc=True, errors="coerce")
    return _without_zone(times)


def _without_zone(times: Any) -> Any:
    zone = getattr(times.dtype, "tz", None)
    return times if zone is None else times.dt.tz_convert("UTC").dt.tz_localize(None)


def _without_missing(column: Any) -> Any:
    """The values that are there: words such as NA and ? say that nothing is."""
    words = package("skrub._clean_null_strings").STR_NA_VALUES
    there = column.dropna()
    return there[~there.isin(words)]


def _is_text(column: Any) -> bool:
    types = package("pandas").api.types
    return bool(types.is_object_dtype(column.dtype) or types.is_string_dtype(column.dtype))
