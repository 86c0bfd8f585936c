"""Tables as numbers: one encoder for estimators, audits, predictions and clusters.

``encoder = learn_encoder(X)`` finds out what the columns of the training rows are, and
``encoder.features(X)`` are the rows of any such table, in the form that a learner takes:

    trees     numbers, categories as codes, dates with their parts, texts as a few directions
    dense     the same with categories as columns of zeros and ones: for the pool, for neighbours
    sparse    scaled numbers, categories as zeros and ones, TF-IDF of texts: for linear learners

A column is of one of five kinds (:func:`kind_of`):

========  =========================================================================
number    quantities, truth values, durations, amounts of money
date      days or times
category  words that rows share
text      sentences, in most rows another one or of five words and more; scripts without spaces
name      another word without spaces in nearly every row, such as an id: not used
========  =========================================================================

What a model learnt of a column (levels, how dates and amounts are written) stays with it; a later
table that contradicts it is refused with one sentence.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost.table.cells import (
    NEARLY_ALL,
    TRUTH,
    NumberStyle,
    date_format,
    example_of,
    found_unit,
    number_style,
    read_later_dates,
)
from rboost.table.columns import (
    CATEGORY,
    DATE,
    NAME,
    NUMBER,
    TEXT,
    Column,
    read_columns,
)
from rboost.table.delimited import reprs

# Fewer distinct words than this are categories.
FEWEST_NAMES = 40
# Levels of a category with a dense column of their own.
MOST_SHOWN = 30
# A category of more levels is also read by logistic regression.
MANY_LEVELS = 20
# What trees see of a date besides its seconds, as far as it differs among the training rows.
DATE_PARTS = "month", "day", "weekday", "hour"
DAY = 86_400.0
# How many directions stand for a text for trees.
N_DIRECTIONS = 8
# Terms of a text: words and pairs of words, where a sign is a word too, and parts of words. Each is
# in at least this many texts; the most frequent are kept.
WORDS: dict[str, Any] = {"ngram_range": (1, 2), "min_df": 2, "token_pattern": r"\w+|[^\w\s]"}
PARTS: dict[str, Any] = {"ngram_range": (2, 5), "min_df": 3, "analyzer": "char_wb"}
MOST_TERMS = 50_000
# Characters of a text that are read for words, and for parts of words.
LONGEST_TEXT, LONGEST_PARTS = 20_000, 2000
# Words a text has in the mean where many rows share one: shorter ones are categories.
SENTENCE = 5
# Signs of scripts without spaces between words (Thai, Lao, Burmese, Khmer, Japanese, Chinese); a
# text has at least this many.
UNSPACED, FEWEST_SIGNS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff]"), 6
# The fewest copies, and the least share of the table, that are worth a warning.
MANY_COPIES, LARGE_SHARE = 20, 0.05
# What of a column of numbers linear learners need.
SCALING = "center", "scale"
# Replaces a missing value where rows are compared.
UNUSUAL = -7654.321


@dataclass(frozen=True)
class Levels:
    """The levels of a category, the most frequent first, as found in the training rows.

    ``words`` are numbered 0, 1, … in this order; the code after the last stands for words that were
    not there. Tables over codes have one more entry, for rows where the word is missing.
    """

    words: tuple[str, ...]
    counts: Integers
    n_missing: int

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: code for code, word in enumerate(self.words)}

    def codes(self, column: Column) -> Floats:
        """The code of each row, NaN where it is missing."""
        unknown = len(self.words)
        known = [self._places.get(word, unknown) for word in column.words]
        return column.of_words(np.array(known, dtype=np.float64))

    @cached_property
    def slots(self) -> Integers:
        """The place of each code among the dense columns, −1 where it has none.

        Up to 30 levels of two rows and more, and missing ones, have a column each. The others share
        one, if there are any in the training rows.
        """
        n_shown = min(MOST_SHOWN, int(np.count_nonzero(self.counts > 1)))
        shows_missing = self.n_missing > 1
        n_others = self.counts[n_shown:].sum() + (0 if shows_missing else self.n_missing)
        slots = np.full(len(self.counts) + 2, n_shown + shows_missing if n_others else -1)
        slots[:n_shown] = np.arange(n_shown)
        slots[-1] = n_shown if shows_missing else slots[-1]
        return slots

    @cached_property
    def shares(self) -> Floats | None:
        """The share of the training rows of each code, where there are more levels than shown."""
        if len(self.counts) <= MOST_SHOWN:
            return None
        counts = np.append(self.counts, [0, self.n_missing])
        return counts / counts.sum()

    @property
    def width(self) -> int:
        """The number of dense columns."""
        return int(self.slots.max()) + 1 + (self.shares is not None)

    def dense(self, codes: Floats) -> Floats:
        """Columns of zeros and ones; of many levels also the share of the row's level."""
        place = np.where(np.isnan(codes), len(self.words) + 1, codes).astype(np.intp)
        columns = np.zeros((len(codes), self.width))
        slots = self.slots[place]
        rows = np.flatnonzero(slots >= 0)
        columns[rows, slots[rows]] = 1.0
        if self.shares is not None:
            columns[:, -1] = self.shares[place]
        return columns

    def sparse(self, codes: Floats) -> Any:
        """A column for each level of two rows and more, and for missing ones."""
        n_levels = int(np.count_nonzero(self.counts > 1))
        place = np.where(np.isnan(codes), n_levels, codes)
        rows = np.flatnonzero((place < n_levels) | np.isnan(codes))
        ones = np.ones(len(rows)), (rows, place[rows].astype(np.intp))
        return sparse.csr_matrix(ones, shape=(len(codes), n_levels + 1))


@dataclass(frozen=True, eq=False)
class TextTerms:
    """What was learnt of a column of texts: its terms, and directions that stand for them.

    ``idf`` (n_terms,) is the inverse document frequency of the ``words``, then of the ``parts`` of
    words; ``components`` (n_directions, n_terms) are the first right singular vectors.
    """

    words: tuple[str, ...]
    parts: tuple[str, ...]
    idf: NDArray[np.float32]
    components: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.words) + len(self.parts)

    @cached_property
    def _counters(self) -> list[tuple[dict[str, Any], Any]]:
        return [
            (options, CountVectorizer(vocabulary=list(terms), dtype=np.float32, **options))
            for options, terms in ((WORDS, self.words), (PARTS, self.parts))
            if terms
        ]

    def count(self, texts: Sequence[str]) -> Any:
        """How often each text has each term, a CSR matrix, (n, n_terms)."""
        blocks = [sparse.csr_matrix((len(texts), 0), dtype=np.float32)]
        for options, counter in self._counters:
            blocks.append(counter.transform(_read_part(texts, options)))
        return sparse.hstack(blocks, format="csr", dtype=np.float32)

    def weigh_counts(self, counts: Any) -> Any:
        """TF-IDF of counts as a CSR matrix, (n, n_terms): words and parts of length 1 each."""
        counts = counts.astype(np.float32)
        np.log(counts.data, out=counts.data)
        counts.data += 1
        counts.data *= self.idf[counts.indices]
        if not self.words or not self.parts:
            return normalize(counts) if len(self) else counts
        n_words = len(self.words)
        blocks = normalize(counts[:, :n_words]), normalize(counts[:, n_words:])
        return sparse.hstack(blocks, format="csr", dtype=np.float32)

    def weigh(self, column: Column) -> Any:
        """TF-IDF of each row; nothing where the text is missing."""
        return self.weigh_counts(self.count((*column.words, "")))[column.codes]

    def transform(self, weighed: Any) -> Floats:
        """The texts in the first few directions, (n, n_directions)."""
        return np.asarray(weighed @ self.components.T, dtype=np.float64)


def learn_terms(column: Column) -> TextTerms:
    """The terms of a column of texts, and its directions."""
    (words, in_words), (parts, in_parts) = _frequent(column, WORDS), _frequent(column, PARTS)
    frequency = np.append(in_words, in_parts)
    idf = (np.log((1 + len(column.words)) / (1 + frequency)) + 1).astype(np.float32)
    found = TextTerms(words, parts, idf, np.zeros((1, len(idf)), np.float32))
    weighed = found.weigh(replace(column, codes=np.arange(len(column.words))))
    n_directions = min(N_DIRECTIONS, len(found) - 1, weighed.shape[0] - 1)
    if n_directions < 1:
        return found
    with np.errstate(divide="ignore", invalid="ignore"):  # of texts with the same terms all
        directions = TruncatedSVD(n_directions, random_state=0).fit(weighed)
    return replace(found, components=directions.components_.astype(np.float32))


def _frequent(column: Column, options: dict[str, Any]) -> tuple[tuple[str, ...], Integers]:
    """Terms of one sort, and in how many texts each is."""
    counter = CountVectorizer(binary=True, max_features=MOST_TERMS, **options)
    try:
        counts = counter.fit_transform(_read_part(column.words, options))
    except ValueError:  # no term is in enough texts
        return (), np.zeros(0, np.intp)
    terms = tuple(counter.get_feature_names_out().tolist())
    return terms, np.bincount(counts.indices, minlength=len(terms))


def _read_part(texts: Sequence[str], options: dict[str, Any]) -> Iterator[str]:
    """The beginning of each text that is read for terms of one sort."""
    longest = LONGEST_TEXT if options is WORDS else LONGEST_PARTS
    return (text[:longest] for text in texts)


@dataclass(frozen=True)
class ColumnEncoder:
    """What one column is, and what else was learnt of it.

    ``parts`` are those of a date that trees see, ``center`` and ``scale`` mean and standard
    deviation of numbers for linear learners. ``is_constant`` columns hold one value in every row,
    ``is_empty`` ones none at all.
    """

    name: str
    kind: str
    style: NumberStyle | None = None
    date_format: str | None = None
    is_truth: bool = False
    is_constant: bool = False
    is_empty: bool = False
    parts: tuple[str, ...] = ()
    center: float = 0.0
    scale: float = 1.0
    levels: Levels | None = None
    terms: TextTerms | None = None

    @property
    def is_idle(self) -> bool:
        """Whether the column tells no rows apart: empty, constant, or names of rows."""
        return self.kind == NAME or self.is_constant or self.is_empty

    @property
    def is_scaled(self) -> bool:
        """Whether linear learners get it as a number."""
        return self.terms is None and self.levels is None and not self.is_idle

    # ---- Cells to one number a row ----

    def read(self, column: Column) -> Floats:
        """One number a row: the number, the seconds of a date, the code of a category.

        0 for a text, and always NaN in a column of names.
        """
        if self.kind == NAME or self.is_empty:
            return np.full(len(column), np.nan)
        if self.kind == TEXT:
            words = column.as_words()
            return words.of_words(np.zeros(len(words.words)))
        if self.levels is not None:
            if column.holds == DATE:
                raise ValueError(self._contradiction("words", "dates"))
            return self.levels.codes(column.as_words())
        values = self._numbers(column)
        if np.isinf(values).any():
            raise ValueError(
                f"column {self.name!r} holds infinite values; replace them by a large number or a "
                "missing value."
            )
        return values

    def _numbers(self, column: Column) -> Floats:
        if column.numbers is not None:
            if column.holds != self.kind and not column.is_empty:
                raise ValueError(self._contradiction(f"{self.kind}s", f"{column.holds}s"))
            return column.numbers
        if self.kind == DATE:
            found = read_later_dates(column.words, self.date_format or "")
        elif self.is_truth:
            found = np.array([TRUTH.get(word.lower(), np.nan) for word in column.words])
        else:
            found = (self.style or NumberStyle()).read(column.words)
        self._check_read(column, np.isnan(found))
        return column.of_words(found)

    def _check_read(self, column: Column, unread: Any) -> None:
        """Fail where many words are not what the column held before, warn where a few are not."""
        n_unread, n_all = int(column.counts[unread].sum()), int(column.counts.sum())
        if not n_unread:
            return
        example = column.words[int(np.argmax(unread))][:40]
        if n_unread > (1 - NEARLY_ALL) * n_all:
            raise ValueError(self._contradicted_by(column, example))
        warnings.warn(
            f"{n_unread} cells of the column {self.name!r} are no {self.kind}s, such as "
            f"{example!r}; they count as missing.",
            stacklevel=2,
        )

    def _contradicted_by(self, column: Column, example: str) -> str:
        if self.kind == DATE and self.date_format is not None:
            return (
                f"The column {self.name!r} has dates such as {example!r}, which were written like "
                f"{example_of(self.date_format)} when the model was fitted; write them like that."
            )
        unit = found_unit([example])
        if self.style is not None and unit not in ("", self.style.unit):
            return (
                f"column {self.name!r} held amounts in {self.style.unit or 'no unit'!r} when the "
                f"model was fitted, but now has {example!r}; convert them."
            )
        return self._contradiction(f"{self.kind}s", f"words such as {example!r}")

    def _contradiction(self, before: str, now: str) -> str:
        return (
            f"column {self.name!r} held {before} when the model was fitted, but now holds {now}; "
            f"pass {before} or missing values."
        )

    # ---- One number a row to columns for learners ----

    @property
    def n_levels(self) -> int:
        """How many levels the column has for trees; 0 if it is no category."""
        return 0 if self.levels is None else len(self.levels.words)

    def for_trees(self, values: Floats, text: Any) -> Floats:
        """Columns for trees, (n, width): unknown and missing levels are NaN."""
        if self.kind == NAME:
            return np.empty((len(values), 0))
        if self.terms is not None:
            return self.terms.transform(text)
        if self.levels is not None:
            return np.where(values < self.n_levels, values, np.nan)[:, np.newaxis]
        return np.column_stack([values, *(date_part(values, part) for part in self.parts)])

    def for_dense(self, values: Floats, text: Any) -> Floats:
        """Columns for learners of numbers, (n, width)."""
        return self.for_trees(values, text) if self.levels is None else self.levels.dense(values)

    def for_sparse(self, values: Floats, text: Any) -> Any:
        """Columns for linear learners, sparse, (n, width)."""
        if self.terms is not None:
            return text
        if self.levels is not None:
            return self.levels.sparse(values)
        if self.is_idle:
            return sparse.csr_matrix((len(values), 0))
        return _scaled(values[:, np.newaxis], self.center, self.scale)


def _scaled(values: Floats, center: Any, scale: Any) -> Any:
    """Numbers as linear learners take them; a missing one is the mean."""
    return sparse.csr_matrix(np.clip(np.nan_to_num((values - center) / scale, nan=0.0), -5, 5))


def date_part(seconds: Floats, part: str) -> Floats:
    """The month, day of the month, weekday or hour of times in seconds since 1970."""
    found = np.full(len(seconds), np.nan)
    known = np.abs(seconds) < 2**53  # NumPy has a time for each of them
    times = seconds[known].astype(np.int64).astype("M8[s]")
    days = times.astype("M8[D]")
    if part == "month":
        values = days.astype("M8[M]").astype(np.int64) % 12 + 1
    elif part == "day":
        values = (days - days.astype("M8[M]")).astype(np.int64) + 1
    elif part == "weekday":
        values = (days.astype(np.int64) + 3) % 7  # 1970 began on a Thursday
    else:
        values = (times - days).astype(np.int64) // 3600
    found[known] = values
    return found


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """What the columns of a table are, as :func:`learn_encoder` found out."""

    columns: tuple[ColumnEncoder, ...]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def used(self) -> list[int]:
        """The positions of the columns that tell rows apart."""
        return [place for place, own in enumerate(self.columns) if not own.is_idle]

    @property
    def only_used(self) -> TableEncoder:
        """The encoder of the columns that tell rows apart; of all where none does."""
        if len(self.used) in (0, len(self.columns)):
            return self
        return TableEncoder(tuple(self.columns[place] for place in self.used))

    @property
    def kinds(self) -> list[str]:
        """The kinds of the columns."""
        return [column.kind for column in self.columns]

    def source(self, form: str) -> Integers:
        """The position in the table of each column of a form: "trees", "dense" or "sparse"."""
        texts = {
            place: sparse.csr_matrix((0, len(own.terms)), dtype=np.float32)
            for place, own in enumerate(self.columns)
            if own.terms is not None
        }
        no_rows = Features(np.empty((0, len(self.columns))), texts, self)
        widths = [column.shape[1] for column in no_rows.columns(form)]
        return np.repeat(np.arange(len(widths)), widths)

    @property
    def tree_levels(self) -> list[int]:
        """How many levels each column for trees has, 0 if it is no category."""
        return [self.columns[place].n_levels for place in self.source("trees")]

    def features(self, X: Any) -> Features:
        """The rows of a table with the same columns, in any order."""
        return self.features_of(self.matched(read_columns(X)))

    def matched(self, columns: Sequence[Column]) -> list[Column]:
        """Columns with the names of these, in this order."""
        place = {column.name: k for k, column in enumerate(columns)}
        absent = [name for name in self.names if name not in place]
        if absent:
            raise ValueError(
                f"The table lacks the column {absent[0]!r} that the model was fitted to; pass one "
                "with the same columns."
            )
        return [columns[place[name]] for name in self.names]

    def features_of(self, columns: Sequence[Column]) -> Features:
        """The rows of columns that were read."""
        values = np.empty((len(columns[0]), len(self.columns)))
        texts = {}
        for place, (own, column) in enumerate(zip(self.columns, columns, strict=True)):
            values[:, place] = own.read(column)
            if own.terms is not None:
                texts[place] = own.terms.weigh(column.as_words())
        return Features(values, texts, self)


@dataclass(frozen=True, eq=False)
class Features:
    """Rows of a table as numbers, indexed like an array.

    ``values`` (n, n_columns) has one number a row and column, as :meth:`ColumnEncoder.read` gives
    it; ``texts`` has the TF-IDF of texts by the position of their column.
    """

    values: Floats
    texts: dict[int, Any]
    encoder: TableEncoder

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns of the table."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Features:
        texts = {place: text[rows] for place, text in self.texts.items()}
        return Features(self.values[rows], texts, self.encoder)

    def columns(self, form: str) -> list[Any]:
        """What each column of the table is in a form: "trees", "dense" or "sparse"."""
        return [
            getattr(own, f"for_{form}")(self.values[:, place], self.texts.get(place))
            for place, own in enumerate(self.encoder.columns)
        ]

    @cached_property
    def trees(self) -> Floats:
        """The rows as trees take them, (n, n_tree_columns)."""
        return self._joined("trees")

    @cached_property
    def dense(self) -> Floats:
        """The rows as learners of numbers take them, (n, n_dense_columns)."""
        return self._joined("dense")

    def _joined(self, form: str) -> Floats:
        if all(own.kind == NUMBER for own in self.encoder.columns):
            return self.values
        return np.concatenate(self.columns(form), axis=1)

    @cached_property
    def sparse(self) -> Any:
        """The rows as linear learners take them: a CSR matrix without missing values."""
        blocks, columns = [], self.encoder.columns
        for is_scaled, run in groupby(range(len(columns)), lambda place: columns[place].is_scaled):
            places = list(run)
            if is_scaled:  # wide tables have thousands of numbers
                center, scale = ([getattr(columns[p], own) for p in places] for own in SCALING)
                blocks.append(_scaled(self.values[:, places], np.array(center), np.array(scale)))
            else:
                blocks += [
                    columns[p].for_sparse(self.values[:, p], self.texts.get(p)) for p in places
                ]
        return sparse.hstack(blocks, format="csr")

    def only(self, columns: Sequence[int]) -> Features:
        """The same rows with some of the columns."""
        kept = [int(place) for place in columns]
        encoder = TableEncoder(tuple(self.encoder.columns[place] for place in kept))
        texts = {new: self.texts[old] for new, old in enumerate(kept) if old in self.texts}
        return Features(self.values[:, kept], texts, encoder)

    def exchanged(self, rows: Integers, others: Integers, columns: Integers) -> Features:
        """Rows, each with one column taken from another row."""
        values = self.values[rows]
        values[np.arange(len(rows)), columns] = self.values[others, columns]
        texts = {
            place: text[np.where(columns == place, others, rows)]
            for place, text in self.texts.items()
        }
        return Features(values, texts, self.encoder)

    def followed_by(self, others: Features) -> Features:
        """These rows, then others of a table with the same columns."""
        texts = {
            place: sparse.vstack([text, others.texts[place]], format="csr")
            for place, text in self.texts.items()
        }
        return Features(np.concatenate([self.values, others.values]), texts, self.encoder)

    def check_complete(self) -> None:
        """Fail with one sentence where a number is missing, which linear learners do not take."""
        missing = np.isnan(self.dense).any(axis=0)
        if missing.any():
            name = self.encoder.names[self.encoder.source("dense")[missing.argmax()]]
            raise ValueError(
                f"column {name!r} has missing values, which linear learners do not take; fill them "
                "in, or use other engines."
            )


def learn_encoder(columns: Sequence[Column]) -> TableEncoder:
    """Find out what the columns of the training rows are."""
    return TableEncoder(tuple(_learn(column) for column in columns))


def warn_of_names(encoder: TableEncoder) -> None:
    """Warn where columns are names of rows, which a model leaves out."""
    names = [own.name for own in encoder.columns if own.kind == NAME]
    if names:
        warnings.warn(
            "X has columns with another word in nearly every row, like a name, which are left out: "
            f"{reprs(names)}; drop them, or make words of them that rows share.",
            stacklevel=4,
        )


def varying_features(X: Floats, names: Sequence[str]) -> Features | None:
    """Rows of numbers without columns that are empty or the same in every row.

    None where there are no such columns, or no others, so that the array is as good.
    """
    is_same = ((X[0] == X) | (np.isnan(X) & np.isnan(X[0]))).all(axis=0)
    if not is_same.any() or is_same.all():
        return None
    columns = [Column(name, NUMBER, X[:, k].astype(float)) for k, name in enumerate(names)]
    return learn_encoder(columns).features_of(columns)


def kind_of(column: Column) -> ColumnEncoder:
    """The kind of a column of the training rows, and how its numbers or dates are written."""
    name = column.name
    if column.numbers is not None:
        return ColumnEncoder(name, column.holds, is_truth=column.is_truth)
    if column.is_empty:
        return ColumnEncoder(name, NUMBER)
    if column.is_category:
        return ColumnEncoder(name, CATEGORY)
    if all(word.lower() in TRUTH for word in column.words):
        return ColumnEncoder(name, NUMBER, is_truth=True)
    style = number_style(column.words, column.counts)
    if style is not None:
        return ColumnEncoder(name, NUMBER, style)
    how = date_format(column.words, column.counts, name)
    if how is not None:
        return ColumnEncoder(name, DATE, date_format=how)
    return ColumnEncoder(name, _kind_of_words(column))


def _kind_of_words(column: Column) -> str:
    n_words, n_rows = len(column.words), int(column.counts.sum())
    if n_words <= FEWEST_NAMES:
        return CATEGORY
    n_spaced = sum(any(map(str.isspace, word)) for word in column.words)
    n_unspaced = sum(len(UNSPACED.findall(word)) >= FEWEST_SIGNS for word in column.words)
    n_once = np.count_nonzero(column.counts == 1)
    if n_once >= NEARLY_ALL * n_rows and not n_spaced and not n_unspaced:
        return NAME
    if n_spaced + n_unspaced <= n_words / 2:
        return CATEGORY
    if n_words > n_rows / 2 or n_unspaced > n_words / 2:
        return TEXT
    mean_length = sum(len(word.split()) for word in column.words) / n_words
    return TEXT if mean_length >= SENTENCE else CATEGORY


def _learn(column: Column) -> ColumnEncoder:
    own = kind_of(column)
    if own.kind in (NUMBER, DATE):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # given when the rows are read
            values = own.read(column)
        return _with_scale(own, values)
    if own.kind == TEXT:
        return replace(own, terms=learn_terms(column))
    is_constant = len(column.words) < 2 and column.counts.sum() == len(column)
    levels = _levels(column) if own.kind == CATEGORY else None
    return replace(own, levels=levels, is_constant=is_constant)


def _with_scale(own: ColumnEncoder, values: Floats) -> ColumnEncoder:
    known = values[~np.isnan(values)]
    if not len(known):
        return replace(own, is_empty=True)
    with np.errstate(over="ignore"):
        center, scale = float(known.mean()), float(known.std())
    is_usable = np.isfinite(center) and np.isfinite(scale) and scale > 0
    parts: tuple[str, ...] = ()
    if own.kind == DATE:
        parts = tuple(part for part in DATE_PARTS if len(np.unique(date_part(known, part))) > 1)
    is_constant = len(known) == len(values) and bool((known == known[0]).all())
    if not is_usable:
        center, scale = 0.0, 1.0
    return replace(own, parts=parts, center=center, scale=scale, is_constant=is_constant)


def _levels(column: Column) -> Levels:
    assert column.codes is not None
    words, counts = column.words, column.counts
    order = np.array(sorted(range(len(words)), key=words.__getitem__), dtype=np.intp)
    order = order[np.argsort(-counts[order], kind="stable")]
    n_missing = int(np.count_nonzero(column.codes < 0))
    return Levels(tuple(words[k] for k in order), counts[order], n_missing)


# ---- Forms of rows that may be features, or arrays as they are ----


def for_dense(X: Any) -> Any:
    """Rows as learners of numbers take them."""
    return X.dense if isinstance(X, Features) else X


def for_trees(X: Any) -> Any:
    """Rows as trees take them."""
    return X.trees if isinstance(X, Features) else X


def for_sparse(X: Any) -> Any:
    """Rows as linear learners take them."""
    return X.sparse if isinstance(X, Features) else X


def many_terms_in(X: Any) -> str:
    """Which columns have many terms, texts and categories of many levels: "no" or "some" columns.

    "only" where each used column is a text.
    """
    if not isinstance(X, Features):
        return "no"
    used = [own for own in X.encoder.columns if not own.is_idle]
    if used and all(own.kind == TEXT for own in used):
        return "only"
    return "some" if any(own.kind == TEXT or own.n_levels > MANY_LEVELS for own in used) else "no"


def source_of(X: Any, form: str) -> Integers | None:
    """The table column from which each column of a form is made; None for arrays, which stay."""
    return X.encoder.source(form) if isinstance(X, Features) else None


def by_table_column(importance: Floats, source: Integers | None, n_columns: int) -> Floats:
    """The importance of the columns of a table, from that of the columns of a form."""
    if source is None:
        return importance
    return np.bincount(source, importance, minlength=n_columns).astype(np.float64)


def level_counts(X: Any) -> list[int]:
    """How many levels each column of :func:`for_trees` has, 0 of numbers."""
    return X.encoder.tree_levels if isinstance(X, Features) else [0] * X.shape[1]


def standardized(columns: Floats) -> Floats:
    """Columns of mean 0 and variance 1, clipped at ±5, in which missing values are 0."""
    filled = SimpleImputer(keep_empty_features=True).fit_transform(columns)
    filled = filled - filled.mean(axis=0)
    deviation = filled.std(axis=0)
    filled /= np.where(deviation > 0, deviation, 1)
    return np.clip(filled, -5, 5, out=filled)


# ---- Rows that repeat others ----


def warn_of_copies(X: Any, labels: Any) -> None:
    """Warn where rows are repeated with their labels, so that no row is really left out."""
    first = find_copies(X, labels)
    if first is not None:
        n_copies = int(np.count_nonzero(first != np.arange(len(first))))
        warnings.warn(
            f"{n_copies} rows of X repeat others, always with the same label. If they are copies, "
            "a wrong label confirms itself and the noise is underestimated: pass each row once, "
            "with sample_weight.",
            stacklevel=3,
        )


def find_copies(X: Any, labels: Any) -> Integers | None:
    """For each row the first that it repeats, label and all; None where few do.

    Where columns have few values, rows coincide by chance, some with different labels; copies have
    the same label.
    """
    if sparse.issparse(X):
        return None
    try:
        values = np.asarray(for_trees(X))
        fewest = max(MANY_COPIES, LARGE_SHARE * len(values))
        # Few columns are compared first, which is enough for most tables.
        for columns in (values[:, :3], values):
            keys = _row_keys(columns)
            in_order = np.sort(keys)
            if np.count_nonzero(in_order[1:] == in_order[:-1]) < fewest:
                return None
    except (IndexError, TypeError, ValueError, OverflowError):
        return None  # text, categories and other shapes are the estimator's business
    _, place, group = np.unique(keys, return_index=True, return_inverse=True)
    first: Integers = place[group]
    for block in gen_batches(len(first), 4096):  # rows of one key may differ after all
        row, other = (values[rows].astype(np.float64) for rows in (block, first[block]))
        is_same = ((row == other) | (np.isnan(row) & np.isnan(other))).all(axis=1)
        first[block] = np.where(is_same, first[block], np.arange(len(first))[block])
    if np.count_nonzero(first != np.arange(len(first))) < fewest:
        return None
    labels = np.asarray(labels)
    return first if np.array_equal(labels, labels[first]) else None


def _row_keys(values: NDArray[Any]) -> Floats:
    """A weighted sum of each row: equal for equal rows, and for hardly any others."""
    factors = np.random.RandomState(0).uniform(0.5, 1.5, values.shape[1])
    keys = np.empty(len(values))
    with np.errstate(over="ignore", invalid="ignore"):
        for block in gen_batches(len(values), 4096):
            rows = np.nan_to_num(values[block].astype(np.float64), nan=UNUSUAL, posinf=0, neginf=0)
            keys[block] = np.einsum("ij,j", rows, factors)
    return np.nan_to_num(keys)
