"""One table gives one result, wherever it is read from and whoever fits the model."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

import rboost
from rboost import RBoostClassifier
from rboost.audit import audit_labels
from rboost.table.reading import read_table
from rboost.table.writing import write_table

N_ROWS = 240
SOURCES = Path(rboost.__file__).parent


@pytest.fixture(scope="module")
def table():
    """Numbers, whole numbers, truth values, words, dates and amounts; some cells are missing."""
    random = np.random.RandomState(0)
    y = random.randint(0, 2, N_ROWS)
    number = np.round(y + random.standard_normal(N_ROWS), 3)
    number[random.uniform(size=N_ROWS) < 0.1] = np.nan
    city = np.where(random.uniform(size=N_ROWS) < 0.5 + 0.3 * y, "Bern", "Rome").astype(object)
    city[random.uniform(size=N_ROWS) < 0.1] = None
    day = pd.Series(
        pd.Timestamp("2024-01-01") + pd.to_timedelta(random.randint(0, 300, N_ROWS), "D")
    )
    day[random.uniform(size=N_ROWS) < 0.1] = pd.NaT
    frame = pd.DataFrame(
        {
            "number": number,
            "count": random.randint(0, 9, N_ROWS),
            "is_new": random.uniform(size=N_ROWS) < 0.5,
            "city": city,
            "day": day,
            "price": [f"${1000 * x:,.2f}" for x in random.uniform(1, 9, N_ROWS)],
        }
    )
    wrong = random.uniform(size=N_ROWS) < 0.15
    return frame, np.where(wrong, 1 - y, y)


def model():
    return RBoostClassifier(max_iter=20, random_state=0)


def of_file(name, write):
    def read(frame, folder):
        path = folder / name
        write(frame, path)
        return read_table(path)

    return read


LIBRARIES = {
    "CSV": of_file("table.csv", lambda frame, path: frame.to_csv(path, index=False)),
    "JSONL": of_file("table.jsonl", write_table),
    "Excel": of_file("table.xlsx", lambda frame, path: frame.to_excel(path, index=False)),
    "Parquet": of_file("table.parquet", lambda frame, path: frame.to_parquet(path, index=False)),
    "polars": lambda frame, folder: pl.from_pandas(frame),
    "pyarrow": lambda frame, folder: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.fixture(scope="module")
def of_pandas(table):
    frame, y = table
    return model().fit(frame, y).label_issue_probability_


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gives_the_same_probabilities(library, table, of_pandas, tmp_path):
    frame, y = table
    found = model().fit(LIBRARIES[library](frame, tmp_path), y)
    assert_allclose(found.label_issue_probability_, of_pandas, rtol=0, atol=1e-9)


@pytest.mark.parametrize("library", ["CSV", "polars"])
def test_every_library_gives_the_same_audit(library, table, of_pandas, tmp_path):
    frame, y = table
    X = LIBRARIES[library](frame, tmp_path)
    audit = audit_labels(X, y, model=model(), check_columns=False)
    assert_allclose(audit.issue_probability, of_pandas, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_classifier_and_audit_agree(table):
    frame, y = table
    fitted = RBoostClassifier(random_state=0).fit(frame, y)
    audit = audit_labels(frame, y, random_state=0, check_columns=False)
    assert_allclose(audit.issue_probability, fitted.label_issue_probability_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["table", "numbers"])
def test_columns_that_tell_no_rows_apart_change_nothing(kind, table):
    frame, y = table
    frame = frame if kind == "table" else frame[["number", "count"]]
    idle = {"empty": np.full(N_ROWS, np.nan), "constant": np.full(N_ROWS, 3.0)}
    idle |= {"town": ["Rome"] * N_ROWS} if kind == "table" else {}
    more = pd.concat([pd.DataFrame(idle), frame], axis=1)
    X, wider = frame, more
    one, other = model().fit(X, y), model().fit(wider, y)
    assert_allclose(other.label_issue_probability_, one.label_issue_probability_, rtol=0, atol=0)
    assert_allclose(other.predict_proba(wider), one.predict_proba(X), rtol=0, atol=0)
    assert other.n_features_in_ == len(more.columns)
    assert_allclose(
        other.feature_importances_, [0.0] * len(idle) + one.feature_importances_.tolist()
    )
    audit = audit_labels(wider, y, model=model(), check_columns=False)
    assert_allclose(audit.issue_probability, one.label_issue_probability_, rtol=0, atol=1e-9)


def test_no_type_of_words_is_asked_for():
    """Words are ``object`` in pandas 2 and ``str`` in pandas 3: no code may ask for either."""
    asks = re.compile(r"dtypes? *== *(object|\"O\"|'O')|select_dtypes|is_object_dtype")
    asking = [path for path in SOURCES.rglob("*.py") if asks.search(path.read_text("utf-8"))]
    assert not asking
