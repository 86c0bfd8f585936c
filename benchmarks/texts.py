"""Texts with true labels, read from a folder of other people's data, and what users do with them.

The folder given by ``--data`` holds ``texts/banking77.csv.gz``, questions to a bank with 77 intents
(Casanueva et al. 2020), and ``crowd/sentiment.csv.gz`` and ``crowd/sentiment_test.csv.gz``,
sentences of film reviews (Pang and Lee 2005) with their polarity.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from rboost._typing import Floats, Integers

# Each table: its files, the column of its classes, and how many classes are taken, if not all.
TEXTS: dict[str, tuple[tuple[str, ...], str, int | None]] = {
    "20 intents": (("texts/banking77.csv.gz",), "label", 20),
    "77 intents": (("texts/banking77.csv.gz",), "label", None),
    "film sentences": (("crowd/sentiment.csv.gz", "crowd/sentiment_test.csv.gz"), "true", None),
}


def files_of(data: Path, name: str) -> list[Path]:
    """The files of a table; one sentence where they are not there."""
    files = TEXTS[name][0]
    absent = [file for file in files if not (data / file).is_file()]
    if absent:
        raise SystemExit(
            f"{data} does not hold {absent[0]}; --data is the folder that does (see the docstring "
            "of benchmarks/texts.py for where it comes from)."
        )
    return [data / file for file in files]


@cache
def data_fingerprint(data: Path, name: str) -> str:
    """A number that changes with the files of a table."""
    return f"{zlib.crc32(b''.join(file.read_bytes() for file in files_of(data, name))):08x}"


def load_texts(data: Path, name: str) -> tuple[pd.DataFrame, Integers]:
    """A frame with a column of texts, and classes."""
    _, column, n_classes = TEXTS[name]
    rows = pd.concat([pd.read_csv(file) for file in files_of(data, name)], ignore_index=True)
    classes = np.unique(rows[column])[:n_classes]
    rows = rows[rows[column].isin(classes)].reset_index(drop=True)
    return rows[["text"]], np.searchsorted(classes, rows[column])


def linear_pipeline() -> Any:
    """TF-IDF of the words, pairs of words and parts of words that rBoost reads, with LR."""
    options: dict[str, Any] = {"sublinear_tf": True, "dtype": np.float32}
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=r"\w+|[^\w\s]", **options)
    parts = TfidfVectorizer(ngram_range=(2, 5), min_df=3, analyzer="char_wb", **options)
    terms = ColumnTransformer([("words", words, "text"), ("parts", parts, "text")])
    return make_pipeline(terms, LogisticRegression(max_iter=1000))


class SelfConfident(ClassifierMixin, BaseEstimator):
    """The pipeline, and out of fold 1 − p(given label): plain self-confidence."""

    def fit(self, X: Any, y: Any) -> SelfConfident:
        """Fit, and rank the training rows."""
        self.model_ = linear_pipeline().fit(X, y)
        self.classes_ = self.model_.classes_
        held_out = cross_val_predict(linear_pipeline(), X, y, cv=5, method="predict_proba")
        own = np.searchsorted(self.classes_, y)
        self.label_issue_probability_ = 1 - held_out[np.arange(len(own)), own]
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class."""
        return np.asarray(self.model_.predict_proba(X))
