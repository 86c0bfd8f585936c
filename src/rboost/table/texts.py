"""Texts as numbers: TF-IDF of character n-grams, and the few directions that tell most of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from rboost._typing import Floats
from rboost.table.columns import Column

# How many directions stand for a text, and how many n-grams are counted at most.
N_DIRECTIONS, MOST_TERMS = 8, 20_000
# Characters of a text that are read.
LONGEST_TEXT = 2000


@dataclass(frozen=True, eq=False)
class TextDirections:
    """What was learnt of a column of texts.

    ``terms`` are character n-grams of two texts and more, ``idf`` (n_terms,) their inverse document
    frequency, ``components`` (n_directions, n_terms) the first right singular vectors.
    """

    terms: tuple[str, ...]
    idf: NDArray[np.float32]
    components: NDArray[np.float32]

    @cached_property
    def _counter(self) -> Any:
        counter = _counter()
        counter.vocabulary = {term: k for k, term in enumerate(self.terms)}
        return counter

    def weigh(self, column: Column) -> Any:
        """TF-IDF of each row, of unit length, as a CSR matrix; empty where there is no text."""
        if not self.terms:
            return sparse.csr_matrix((len(column), 0), dtype=np.float32)
        counts = self._counter.transform(word[:LONGEST_TEXT] for word in (*column.words, ""))
        weighed = normalize(counts.astype(np.float32) @ sparse.diags(self.idf), copy=False)
        return sparse.csr_matrix(weighed)[column.codes]

    def transform(self, weighed: Any) -> Floats:
        """The texts in the first few directions, (n, n_directions)."""
        return np.asarray(weighed @ self.components.T, dtype=np.float64)


def learn_directions(column: Column) -> TextDirections:
    """The terms of a column of texts, and its directions."""
    counter = _counter()
    try:
        counts = counter.fit_transform(word[:LONGEST_TEXT] for word in column.words)
    except ValueError:  # no term is in two texts
        return TextDirections((), np.empty(0, np.float32), np.empty((1, 0), np.float32))
    terms = tuple(counter.get_feature_names_out().tolist())
    n_texts = counts.shape[0]
    frequency = np.bincount(counts.indices, minlength=len(terms))
    idf = (np.log((1 + n_texts) / (1 + frequency)) + 1).astype(np.float32)
    nothing = np.empty((0, len(terms)), np.float32)
    weighed = TextDirections(terms, idf, nothing).weigh(column)
    n_directions = min(N_DIRECTIONS, len(terms) - 1, weighed.shape[0] - 1)
    if n_directions < 1:
        return TextDirections(terms, idf, np.ones((1, len(terms)), np.float32))
    with np.errstate(divide="ignore", invalid="ignore"):  # where all texts have the same terms
        found = TruncatedSVD(n_directions, random_state=0).fit(weighed)
    return TextDirections(terms, idf, found.components_.astype(np.float32))


def _counter() -> Any:
    return CountVectorizer(
        analyzer="char_wb", ngram_range=(3, 4), min_df=2, max_features=MOST_TERMS
    )
