"""Columns of any kind as numbers: numbers, categories, dates, missing values and short texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.impute import SimpleImputer

from rboost._typing import Floats, Integers
from rboost.audit.dates import find_dates, with_times
from rboost.columns import kind_of
from rboost.encoding import find_copies
from rboost.io.packages import package

# How many numbers stand for a text.
TEXT_COMPONENTS = 8
# A column with more words than this, another one in every row, holds names, not categories.
MANY_NAMES = 40
# Characters of a text that are read.
LONGEST_TEXT = 2000
# Cells of a sparse matrix that are made dense at most.
MOST_CELLS = 200_000_000


def as_frame(X: Any) -> Any:
    """A pandas frame of X: a frame of pandas or polars, or a matrix whose columns are numbered."""
    pandas = package("pandas")
    if issparse(X):
        X = _dense(X)
    if isinstance(X, pandas.DataFrame):
        frame = X.reset_index(drop=True)
    elif hasattr(X, "to_pandas"):
        frame = X.to_pandas()
    else:
        try:
            values = np.asarray(X)
        except ValueError:  # rows of different lengths
            values = np.empty(0)
        if values.ndim != 2:
            raise ValueError(
                "X must be a data frame or a matrix of rows and columns, not "
                f"{type(X).__name__} of {values.ndim} dimensions; pass one entry a row and column."
            )
        frame = pandas.DataFrame(values, columns=[f"x{k}" for k in range(values.shape[1])])
    sparse = [name for name, kind in frame.dtypes.items() if isinstance(kind, pandas.SparseDtype)]
    if sparse:
        frame = frame.assign(**{str(name): frame[name].sparse.to_dense() for name in sparse})
    if not len(frame):
        raise ValueError("X has no rows; pass at least 20.")
    frame = frame.set_axis([_name(column) for column in frame.columns], axis=1)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"X has more than one column {twice!r}; give each another name.")
    return frame


def _name(column: Any) -> str:
    """What a column is called; of several levels, all of them."""
    return " ".join(map(str, column)) if isinstance(column, tuple) else str(column)


def _dense(X: Any) -> Any:
    n_cells = int(X.shape[0]) * int(np.prod(X.shape[1:]))
    if n_cells > MOST_CELLS:
        raise ValueError(
            f"X is sparse and would have {n_cells} cells; pass fewer columns, for instance by "
            "TruncatedSVD, or the probabilities of a model of your own."
        )
    return X.toarray()


def vectorize(table: Any, instead: Floats | None = None) -> tuple[Any, dict[str, str], Floats]:
    """What turns the table into numbers, its columns of dates, and the numbers.

    Where no column says anything, the numbers are those of ``instead``, without a vectorizer.
    """
    dates: dict[str, str] = {}
    if table.shape[1]:
        _check_kinds(table)
        dates = find_dates(table)
        table = cut_texts(with_times(table, dates))
        vectorizer = make_vectorizer(table)
        features = as_features(vectorizer.fit_transform, table)
        if features.shape[1]:
            return vectorizer, dates, features
    if instead is None:
        raise ValueError(
            "No column says anything: all are empty, constant or different in every row; add "
            "columns that describe the rows."
        )
    return None, dates, instead.reshape(len(table), -1)


def _check_kinds(table: Any) -> None:
    """Fail where cells are neither numbers nor words nor dates."""
    for name in table.select_dtypes(include="object").columns:
        kind = kind_of(table[name])
        if kind not in ("number", "time", "word"):
            raise ValueError(
                f"The column {name!r} holds values of the kind {kind}; make columns of numbers, "
                "words or dates of it, or leave it out."
            )


def merged_copies(features: Floats, given: Integers, n_extra: int) -> Integers | None:
    """For each row the first that it is a copy of, label and all; None where there are few.

    Rows without a label are themselves, as are trusted rows at the end, which may well repeat rows
    of the table.
    """
    labelled = np.flatnonzero(given[: len(given) - n_extra] >= 0)
    first = find_copies(features[labelled], given[labelled])
    if first is None:
        return None
    copy_of = np.arange(len(given))
    copy_of[labelled] = labelled[first]
    return copy_of


def make_vectorizer(table: Any) -> Any:
    """What turns a frame into numbers: categories one-hot, dates in parts, texts in a few numbers.

    Columns that are empty or constant say nothing, and neither do names of rows.
    """
    skrub = package("skrub")
    names = names_of_rows(table)
    return skrub.TableVectorizer(
        high_cardinality=skrub.StringEncoder(n_components=TEXT_COMPONENTS, random_state=0),
        drop_if_constant=True,
        specific_transformers=[("drop", names)] if names else (),
    )


def names_of_rows(table: Any) -> list[str]:
    """Columns of single words, another one in every row: ids, keys, mail addresses."""
    found = []
    for column in table.select_dtypes(include=["object", "string", "category"]).columns:
        words = table[column].dropna().astype(str)
        if len(words) > MANY_NAMES and words.is_unique and not words.str.contains(" ").any():
            found.append(str(column))
    return found


def cut_texts(table: Any) -> Any:
    """The frame with only the beginning of very long texts, which costs little and saves much."""
    long = {}
    for column in table.select_dtypes(include=["object", "string"]).columns:
        if (table[column].astype(str).str.len() > LONGEST_TEXT).any():
            long[column] = table[column].map(_beginning)
    return table.assign(**long) if long else table


def _beginning(value: Any) -> Any:
    return value[:LONGEST_TEXT] if isinstance(value, str) else value


def as_features(transform: Callable[[Any], Any], table: Any) -> Floats:
    """The numbers that a vectorizer makes of a frame; infinite values count as missing."""
    with np.errstate(over="ignore"):  # numbers too large for float32 become infinite
        try:
            features = np.array(transform(table).to_numpy(dtype=np.float32), order="C")
        except OverflowError as error:
            raise ValueError(
                "X holds whole numbers of more than 300 digits; make words of them, or leave their "
                "column out."
            ) from error
    np.nan_to_num(features, copy=False, nan=np.nan, posinf=np.nan, neginf=np.nan)
    return features


def column_of_feature(vectorizer: Any, table: Any) -> Integers:
    """The position in the table of the column that each feature comes from; none without any."""
    if vectorizer is None:
        return np.empty(0, dtype=np.intp)
    place = {
        output: position
        for position, column in enumerate(table.columns)
        for output in vectorizer.input_to_outputs_.get(column, ())
    }
    return np.array([place[output] for output in vectorizer.all_outputs_], dtype=np.intp)


def standardized(features: Floats) -> Floats:
    """Columns of mean 0 and variance 1, in which missing values are 0 and nothing is far away."""
    # In float64, as the square of a large float32 overflows.
    filled = SimpleImputer(keep_empty_features=True).fit_transform(features.astype(np.float64))
    filled -= filled.mean(axis=0)
    deviation = filled.std(axis=0)
    filled /= np.where(deviation > 0, deviation, 1)
    return np.clip(filled, -5, 5, out=filled)
