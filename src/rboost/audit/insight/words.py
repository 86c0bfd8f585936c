"""Which words of a text speak for the suggested class, and which for the given one.

The contribution of a word is how far the log-odds of the suggested against the given class fall, by
the scores of the model, when the word is left out wherever it stands (occlusion). Any model can be
asked for that; the other columns stay as they are. Of a long text stretches of neighbouring words
are left out first, then the words of those stretches that matter most.

What a text counts without a word is what it counts with it, less the terms of the passages that
change, plus those of what is left of them. Parts of words end where the word does, and pairs reach
the next word, so that a passage needs one more word on either side. Thus a text is read once,
however many words are left out of it.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.naive_bayes import MultinomialNB
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost.progress import track
from rboost.table.features import LONGEST_PARTS, UNSPACED, Features, TextTerms

# Words that are left out of a text one after the other, and stretches of a longer text.
MOST_WORDS = 40
# Texts that are read at a time, and scored with words left out.
BLOCK_TEXTS = 50
# Words of a smaller contribution, in nats and as a share of the largest, say nothing.
WEAKEST, LEAST_SHARE = 0.05, 0.3
# Pseudo-count of each term in each class, where naive Bayes stands in for an unknown model.
PSEUDO_COUNT = 0.1
# Words that are named in a sentence.
MOST_NAMED = 3
# Signs with marks above or below them, of scripts without spaces between words: two are a word.
_SIGN = rf"(?=\w){UNSPACED.pattern}(?:(?!\w){UNSPACED.pattern})*"
_PIECE = re.compile(rf"(?:{_SIGN}){{1,2}}|(?:(?!{_SIGN}).)+")
_CHUNK = re.compile(r"\S+")

Span = tuple[int, int]
# How far the suggested class is ahead of the given one, for rows of which each is one of those that
# are explained.
Lead = Callable[[Features, Integers], Floats]


@dataclass(frozen=True)
class Word:
    """A word of a text, ``text[start:end]``, that speaks for one of two classes.

    Its contribution, in nats, is positive where it speaks for the suggested class and negative
    where it speaks for the given one. It is that of all places where the word stands.
    """

    start: int
    end: int
    contribution: float


@dataclass(frozen=True)
class ReadText:
    """The text of a row in one column, and its words that speak for one of two classes."""

    column: str
    text: str
    words: tuple[Word, ...] = ()

    def parts(self, end: int | None = None) -> list[tuple[str, str]]:
        """The text up to ``end`` in parts, each with whether it speaks for the "suggested" class.

        For the others that is "given", or nothing.
        """
        text, found, done = self.text[:end], [], 0
        for word in self.words:
            if word.end > len(text):
                break
            side = "suggested" if word.contribution > 0 else "given"
            found += [(text[done : word.start], ""), (text[word.start : word.end], side)]
            done = word.end
        return [part for part in (*found, (text[done:], "")) if part[0]]


def strongest_words(texts: Sequence[ReadText]) -> list[str]:
    """The few words that speak most for the suggested class, the strongest first."""
    found: dict[str, tuple[float, str]] = {}
    for one in texts:
        for word in one.words:
            written = one.text[word.start : word.end]
            found.setdefault(written.casefold(), (word.contribution, written))
    ordered = sorted(found.values(), key=lambda each: -each[0])[:MOST_NAMED]
    return [written for contribution, written in ordered if contribution > 0]


def find_words(text: str) -> list[Span]:
    """Where words stand: without signs around them, or signs alone.

    In scripts without spaces two signs are a word.
    """
    found = []
    for chunk in _CHUNK.finditer(text):
        for piece in _PIECE.finditer(chunk.group()):
            written = piece.group()
            is_sign = [unicodedata.category(character)[0] == "P" for character in written]
            if all(is_sign):
                first, last = 0, len(written)
            else:
                first, last = is_sign.index(False), len(written) - is_sign[::-1].index(False)
            start = chunk.start() + piece.start()
            found.append((start + first, start + last))
    return found


def read_texts(
    features: Features, place: int, texts: Sequence[str], lead: Lead, verbose: bool = False
) -> list[tuple[Word, ...]]:
    """The words of texts, of which ``features`` are the rows, that speak for one of two classes.

    ``place`` is the column of the texts.
    """
    occlusion = _Occlusion(features, place, texts, lead)
    named = [_by_name(text) for text in texts]
    stretches = [_stretches(words) for words in named]
    of_stretches = occlusion.contributions(stretches)
    chosen = [
        _within(words, parts, np.abs(found)) if parts else list(words.values())
        for words, parts, found in zip(named, stretches, of_stretches, strict=True)
    ]
    contributions = occlusion.contributions(chosen, verbose)
    return [_clear(*each) for each in zip(chosen, contributions, strict=True)]


def _by_name(text: str) -> dict[str, list[Span]]:
    """Where each word stands, in as much of a text as is read for all its terms.

    A word that is read in part is left out.
    """
    found: dict[str, list[Span]] = {}
    words = find_words(text[:LONGEST_PARTS])
    is_cut = re.fullmatch(r"\S\S", text[LONGEST_PARTS - 1 : LONGEST_PARTS + 1])
    for start, end in words[:-1] if is_cut else words:
        found.setdefault(text[start:end].casefold(), []).append((start, end))
    return found


def _stretches(words: dict[str, list[Span]]) -> list[list[Span]]:
    """Neighbouring words together, if there are too many to leave out each."""
    if len(words) <= MOST_WORDS:
        return []
    spans = sorted(span for each in words.values() for span in each)
    edges = np.linspace(0, len(spans), MOST_WORDS + 1).astype(int)
    return [spans[i:k] for i, k in pairwise(edges)]


def _within(
    words: dict[str, list[Span]], stretches: list[list[Span]], strength: Floats
) -> list[list[Span]]:
    """The words of the strongest stretches, as many as are left out one by one."""
    name_of = {span: name for name, spans in words.items() for span in spans}
    order = np.argsort(-strength, kind="stable")
    names = dict.fromkeys(name_of[span] for k in order for span in stretches[k])
    return [words[name] for name in list(names)[:MOST_WORDS]]


def _clear(words: list[list[Span]], contributions: Floats) -> tuple[Word, ...]:
    """Words that matter, in the order in which they are read."""
    least = max(WEAKEST, LEAST_SHARE * np.abs(contributions).max(initial=0.0))
    found = [
        Word(*span, float(contribution))
        for spans, contribution in zip(words, contributions, strict=True)
        for span in spans
        if abs(contribution) >= least
    ]
    return tuple(sorted(found, key=lambda word: word.start))


def bayes_weights(weighed: Any, label: Integers, n_classes: int) -> Floats:
    """Weights of terms by naive Bayes, (n_terms, n_classes), which stands in for an unknown model.

    ``weighed`` is the TF-IDF of all texts, ``label`` the class of rows that are probably labelled
    rightly, −1 of others. Where there are no terms or no such rows, all weights are 0.
    """
    right = np.flatnonzero(label >= 0)
    if not len(right) or not weighed.shape[1]:
        return np.zeros((weighed.shape[1], n_classes))
    model = MultinomialNB(alpha=PSEUDO_COUNT)
    model.partial_fit(weighed[right], label[right], np.arange(n_classes))
    return np.asarray(model.feature_log_prob_.T)


class _Occlusion:
    """Scores texts with some words left out."""

    def __init__(self, features: Features, place: int, texts: Sequence[str], lead: Lead) -> None:
        terms = features.encoder.columns[place].terms
        assert terms is not None
        self._features, self._place, self._terms = features, place, terms
        self._texts, self._lead = texts, lead
        self._counts = terms.count(texts)
        self._whole = self._score(np.arange(len(texts)), terms.weigh_counts(self._counts))

    def contributions(
        self, groups: Sequence[Sequence[list[Span]]], verbose: bool = False
    ) -> list[Floats]:
        """For each text how much each of these groups of words contributes."""
        found: list[Floats] = []
        blocks = list(gen_batches(len(self._texts), BLOCK_TEXTS))
        for block in track(blocks, len(blocks), "Looking for words", enabled=verbose):
            sizes = [len(own) for own in groups[block]]
            each = np.repeat(np.arange(len(self._texts))[block], sizes)
            falls = np.zeros(0)
            if len(each):
                change = change_of_counts(self._terms, self._texts[block], groups[block])
                counts = (self._counts[each] + change).maximum(0)
                counts.eliminate_zeros()  # of which there is no logarithm
                falls = self._whole[each] - self._score(each, self._terms.weigh_counts(counts))
            found += np.split(falls, np.cumsum(sizes)[:-1])
        return found

    def _score(self, each: Integers, weighed: Any) -> Floats:
        rows = self._features[each]
        return self._lead(replace(rows, texts={**rows.texts, self._place: weighed}), each)


def change_of_counts(
    terms: TextTerms, texts: Sequence[str], groups: Sequence[Sequence[list[Span]]]
) -> Any:
    """What a text counts without a group of words, less what it counts, (n_groups, n_terms).

    Spans are in the order in which they stand. Exact where the passages that change are read whole:
    what moves up into the beginning that is read does not count, and in a passage that goes beyond
    it, as scripts without spaces have, terms at its end are counted that the text does not have.
    """
    numbers: dict[str, int] = {}
    entries: list[tuple[float, int, int]] = []
    row = 0
    for text, own in zip(texts, groups, strict=True):
        chunks = [chunk.span() for chunk in _CHUNK.finditer(text)]
        for spans in own:
            for whole, rest in _passages(text, chunks, spans):
                entries.append((-1.0, row, numbers.setdefault(whole, len(numbers))))
                entries.append((1.0, row, numbers.setdefault(rest, len(numbers))))
            row += 1
    signs, rows, passages = zip(*entries, strict=True)
    changes = sparse.csr_matrix(
        (np.array(signs, np.float32), (rows, passages)), shape=(row, len(numbers))
    )
    return changes @ terms.count(list(numbers))


def _passages(text: str, chunks: list[Span], spans: list[Span]) -> Iterator[tuple[str, str]]:
    """Passages that change, with a chunk more on either side: as they are, and what is left."""
    starts = [start for start, _ in chunks]
    touched = np.array([bisect_right(starts, start) - 1 for start, _ in spans])
    for run in np.split(np.arange(len(spans)), np.flatnonzero(np.diff(touched) > 1) + 1):
        first, last = max(touched[run[0]] - 1, 0), min(touched[run[-1]] + 1, len(chunks) - 1)
        start, end = chunks[first][0], chunks[last][1]
        edges = [start, *(edge for k in run for edge in spans[k]), end]
        rest = "".join(text[i:k] for i, k in zip(edges[::2], edges[1::2], strict=True))
        yield text[start:end], rest
