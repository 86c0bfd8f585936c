"""Columns of dates: every way of writing them is the same time, and no other way goes unnoticed."""

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rboost.table.cells import ISO, date_format
from rboost.table.columns import read_column, read_columns
from rboost.table.features import date_part, kind_of, learn_encoder

TIMES = pd.date_range("2013-01-01 10:00", periods=200, freq="7h")
SECONDS = TIMES.astype("datetime64[s]").astype(np.int64).to_numpy()
FORMATS = {
    ISO: "%Y-%m-%dT%H:%M:%S",
    "%d/%m/%Y %H:%M:%S": "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M:%S": "%m/%d/%Y %H:%M:%S",
    "%d.%m.%Y %H:%M:%S": "%d.%m.%Y %H:%M:%S",
    "%b %d, %Y %H:%M:%S": "%b %d, %Y %H:%M:%S",
    "%d %B %Y %I:%M:%S %p": "%d %B %Y %I:%M:%S %p",
}
ZONED = {
    "Z": TIMES.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "offsets": [
        t.tz_localize("UTC").tz_convert(zone).isoformat()
        for t, zone in zip(TIMES, ["Asia/Kolkata", "UTC"] * 100, strict=True)
    ],
    "zone": TIMES.tz_localize("UTC").tz_convert("Europe/Paris"),
    "another zone": TIMES.tz_localize("UTC").tz_convert("America/St_Johns"),
    "objects": list(TIMES.tz_localize("UTC").tz_convert("Asia/Tokyo").to_pydatetime()),
}


def learn(values):
    return learn_encoder(read_columns(pd.DataFrame({"when": values})))


def seconds_of(values):
    table = pd.DataFrame({"when": values})
    return learn(values).features(table).values[:, 0]


def later(encoder, values):
    return encoder.features(pd.DataFrame({"when": values})).values[:, 0]


@pytest.mark.parametrize("how", FORMATS)
def test_the_format_is_found_and_read(how):
    written = TIMES.strftime(FORMATS[how])
    (own,) = learn(written).columns
    assert (own.kind, own.date_format) == ("date", how)
    np.testing.assert_array_equal(seconds_of(written), SECONDS)


def test_days_first_are_seen_although_the_table_is_sorted():
    hours = pd.date_range("2013-01-01", periods=2000, freq="h")
    assert learn(hours.strftime("%d/%m/%Y %H:%M")).columns[0].date_format == "%d/%m/%Y %H:%M"


def test_where_day_or_month_may_come_first_it_is_said():
    column = read_column(["01/02/2013", "03/04/2014", "05/06/2015"] * 20, "when")
    with pytest.warns(UserWarning, match="may have the month or the day first; the month is taken"):
        assert kind_of(column).date_format == "%m/%d/%Y"


@pytest.mark.parametrize("how", ZONED)
def test_zones_make_no_difference(how):
    np.testing.assert_array_equal(seconds_of(ZONED[how]), SECONDS)


@given(st.lists(st.datetimes(pd.Timestamp(1900, 1, 1), pd.Timestamp(2100, 1, 1)), min_size=20))
def test_iso_is_read_back_whatever_its_digits(moments):
    expected = [(one - datetime.datetime(1970, 1, 1)).total_seconds() for one in moments]
    np.testing.assert_array_equal(seconds_of([one.isoformat() for one in moments]), expected)


@pytest.mark.parametrize(
    "words", [["a b", "c"], ["12", "13.5"], ["1-2", "3-4"], ["10:30", "11:45"], ["may", "june 12"]]
)
def test_other_words_are_no_dates(words):
    assert date_format(words, np.ones(len(words), dtype=int), "x") is None


def test_words_for_nothing_are_missing_and_a_few_strangers_too():
    dates = list(TIMES.strftime(FORMATS[ISO]))
    dates[3], dates[5] = "?", "NA"
    assert np.isnan(seconds_of(dates)).sum() == 2
    dates[7] = "unknown"
    with pytest.warns(UserWarning, match="1 cells of the column 'when' are no dates"):
        assert np.isnan(seconds_of(dates)).sum() == 3


def test_another_format_later_is_refused_unless_it_is_plain():
    encoder = learn(TIMES.strftime("%d/%m/%Y %H:%M:%S"))
    np.testing.assert_array_equal(later(encoder, TIMES.strftime(FORMATS[ISO])), SECONDS)
    with pytest.raises(ValueError, match="written like '31/12/2024 00:00:00' when the model"):
        later(encoder, TIMES.strftime("%d.%m.%y"))
    with pytest.raises(ValueError, match=r"held dates .* but now holds numbers; pass dates"):
        later(encoder, [7] * 3)
    assert np.isnan(later(encoder, [np.nan] * 3)).all()


@given(st.lists(st.datetimes(pd.Timestamp(1900, 1, 1), pd.Timestamp(2100, 1, 1)), min_size=1))
def test_parts_are_those_of_the_calendar(moments):
    seconds = np.array([(m - datetime.datetime(1970, 1, 1)).total_seconds() // 1 for m in moments])
    for part, expected in {
        "month": [m.month for m in moments],
        "day": [m.day for m in moments],
        "weekday": [m.weekday() for m in moments],
        "hour": [m.hour for m in moments],
    }.items():
        np.testing.assert_array_equal(date_part(seconds, part), expected)


def test_trees_see_the_parts_that_differ():
    days = pd.date_range("2020-01-01", periods=100, freq="D")
    encoder = learn(days)
    assert encoder.columns[0].parts == ("month", "day", "weekday")  # all at midnight
    trees = encoder.features(pd.DataFrame({"when": days})).trees
    np.testing.assert_array_equal(trees[:, 1], days.month)
