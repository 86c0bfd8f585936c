"""Columns of dates: every way of writing them is the same time, and no other way goes unnoticed."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rboost.audit import audit_labels
from rboost.audit.dates import find_dates, with_times
from rboost.saving import load, save

TIMES = pd.date_range("2013-01-01 10:00", periods=200, freq="7h")
FORMATS = {
    "ISO8601": lambda t: t.strftime("%Y-%m-%dT%H:%M:%S"),
    "%d/%m/%Y %H:%M:%S": lambda t: t.strftime("%d/%m/%Y %H:%M:%S"),
    "%m/%d/%Y %H:%M:%S": lambda t: t.strftime("%m/%d/%Y %H:%M:%S"),
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


def times_of(values):
    table = pd.DataFrame({"when": values})
    return with_times(table, find_dates(table))["when"]


@pytest.mark.parametrize("how", FORMATS)
def test_the_format_is_found_and_read(how):
    table = pd.DataFrame({"when": FORMATS[how](TIMES)})
    assert find_dates(table) == {"when": how}
    assert times_of(table["when"]).tolist() == TIMES.tolist()


def test_days_first_are_seen_although_the_table_is_sorted():
    hours = pd.date_range("2013-01-01", periods=2000, freq="h")
    table = pd.DataFrame({"when": hours.strftime("%d/%m/%Y %H:%M")})
    assert find_dates(table) == {"when": "%d/%m/%Y %H:%M"}


def test_where_day_or_month_may_come_first_it_is_said():
    table = pd.DataFrame({"when": ["01/02/2013", "03/04/2014", "05/06/2015"] * 20})
    with pytest.warns(UserWarning, match="may have the month or the day first; the month is taken"):
        assert find_dates(table) == {"when": "%m/%d/%Y"}


@pytest.mark.parametrize("how", ZONED)
def test_zones_make_no_difference(how):
    times = times_of(ZONED[how])
    assert times.dtype.kind == "M"  # without a zone, which no model file could hold
    assert times.tolist() == TIMES.tolist()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.datetimes(pd.Timestamp(1900, 1, 1), pd.Timestamp(2100, 1, 1)), min_size=20))
def test_iso_is_read_back_whatever_its_digits(moments):
    times = times_of([moment.isoformat() for moment in moments])
    assert times.tolist() == [pd.Timestamp(moment) for moment in moments]


@pytest.mark.parametrize(
    "values", [["a b", "c"] * 100, ["12", "13.5"] * 100, [None] * 200, ["1-2", "3-4"] * 100]
)
def test_other_columns_are_none(values):
    assert find_dates(pd.DataFrame({"x": values})) == {}


def test_words_for_nothing_are_missing_and_a_few_strangers_too():
    dates = list(FORMATS["ISO8601"](TIMES))
    dates[3], dates[5] = "?", "NA"
    assert times_of(dates).isna().sum() == 2
    dates[7] = "unknown"
    with pytest.warns(UserWarning, match="1 cells in the column 'when' of dates are none"):
        assert times_of(dates).isna().sum() == 3


def test_another_format_later_is_refused_unless_it_is_plain():
    dates = find_dates(pd.DataFrame({"when": FORMATS["%d/%m/%Y %H:%M:%S"](TIMES)}))
    assert with_times(pd.DataFrame({"when": FORMATS["ISO8601"](TIMES)}), dates)[
        "when"
    ].tolist() == list(TIMES)
    with pytest.raises(ValueError, match="written like '31/12/2024 00:00:00' when the model"):
        with_times(pd.DataFrame({"when": TIMES.strftime("%d.%m.%y")}), dates)
    with pytest.raises(ValueError, match="now holds int64 such as 7; pass dates"):
        with_times(pd.DataFrame({"when": [7] * 3}), dates)
    assert with_times(pd.DataFrame({"when": [np.nan] * 3}), dates)["when"].isna().all()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["Z", "another zone", "objects"])
def test_a_model_of_zoned_times_is_kept_and_predicts_the_same(how, tmp_path):
    random = np.random.RandomState(0)
    late = np.arange(200) > 100
    y = np.where(late ^ (random.rand(200) < 0.1), "late", "early")
    table = pd.DataFrame({"when": ZONED[how], "x": random.randn(200)})
    audit = audit_labels(table, y, model="linear", check_columns=False)
    save(audit.model, tmp_path / "model.rboost")
    model = load(tmp_path / "model.rboost")
    naive = table.assign(when=TIMES)
    np.testing.assert_allclose(model.predict_proba(naive), audit.model.predict_proba(table))
