"""Why a label is doubted: columns with evidence against it, words of texts, and the nearest rows.

A column is a reason if its value is not typical of rows that carry the given label, probably
rightly, and clearly more frequent among those of the suggested one (``usual.py``). Its strength
is how far the log-odds of the suggested class fall when the row takes the
value of that column from rows of the given label, averaged over a few of them; without a model, the
logarithm of how many times as frequent the value is. The strength is in nats: e^strength times.
"""

from __future__ import annotations

from dataclasses import dataclass
from reprlib import repr as shorten
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost._validation import is_missing
from rboost.audit.fit import TableModel, used_columns
from rboost.audit.insight.likeness import Neighbours, comparable, relevance
from rboost.audit.insight.usual import Usual, usual_values
from rboost.audit.insight.words import ReadText, Word, bayes_weights, read_texts, strongest_words
from rboost.audit.labels import NO_LABEL, TableLabels
from rboost.native.threads import one_blas_thread
from rboost.progress import track
from rboost.table.columns import TEXT
from rboost.table.features import Features

# Rows whose values are borrowed, columns that are tried at most, and reasons that are given.
N_TYPICAL, MOST_COLUMNS, MOST_REASONS = 5, 60, 3
# Rows given to the model at a time, and the probability below which none counts, so that log-odds
# stay finite.
BLOCK_ROWS, SMALLEST = 20_000, 1e-12
# Weaker reasons are none.
WEAKEST = 0.05


@dataclass(frozen=True)
class Reason:
    """A column whose value is evidence against the given label and for the suggested one.

    ``typical`` says what rows with the given label have, ``typical_suggested`` those with the
    suggested one.
    """

    column: str
    value: Any
    strength: float
    typical: str
    typical_suggested: str = ""


@dataclass(frozen=True)
class Explanation:
    """Why the label of a row is doubted.

    ``agreeing`` are positions of the nearest rows that carry the suggested label, probably rightly.
    ``opposing`` are the nearest that carry the given one. Distances weight
    columns by their relevance for the labels. ``texts`` are those of the row, with the words that
    speak for one of the two labels.
    """

    row: int
    given: str
    suggested: str
    probability_wrong: float
    probability_suggested: float
    reasons: tuple[Reason, ...]
    agreeing: tuple[int, ...] = ()
    agreeing_distance: tuple[float, ...] = ()
    opposing: tuple[int, ...] = ()
    opposing_distance: tuple[float, ...] = ()
    texts: tuple[ReadText, ...] = ()

    @property
    def words(self) -> list[str]:
        """The few words of the texts that speak most for the suggested label."""
        return strongest_words(self.texts)

    def __repr__(self) -> str:
        reasons = "; ".join(
            [f"word {shorten(word)}" for word in self.words]
            + [
                f"{shorten(one.column)} = {shorten(one.value)} (usually {shorten(one.typical)})"
                for one in self.reasons
            ]
        )
        return (
            f"Explanation: row {self.row} is labelled {shorten(self.given)}, "
            f"{shorten(self.suggested)} is suggested, wrong with probability "
            f"{self.probability_wrong:.2f}; {reasons or 'no single column stands out'}"
        )


class Explainer:
    """Explains rows of a :class:`rboost.LabelAudit`; keeps what all explanations share."""

    def __init__(self, audit: Any) -> None:
        self.audit = audit
        self.labels: TableLabels = audit.labels
        self.features: Features = audit.features
        self.suggested: Integers = audit.suggested
        labels = self.labels
        wrong = np.nan_to_num(audit.issue_probability, nan=1.0)
        self._members = [
            np.flatnonzero((labels.current == k) & (wrong < 0.5))
            for k in range(len(labels.classes))
        ]
        # Without a column that is used, distances are those of scores.
        used, n_points = used_columns(self.features), audit.standardized.shape[1]
        self._source = self.features.encoder.source("dense") if used else np.arange(n_points)
        self._right = np.where(wrong < 0.5, labels.current, NO_LABEL)
        texts = self.features.texts
        points = comparable(audit.standardized, self._source, self._right, texts)
        self.neighbours = Neighbours(points, self._members)
        self._tried = self._columns_tried(used)
        self._known: dict[int, Explanation] = {}
        self._usual: dict[int, Usual] = {}
        self._bayes: dict[int, Floats] = {}

    def explain(self, rows: Integers, verbose: bool = False) -> list[Explanation]:
        """Explain all of these rows; those that were explained before are remembered."""
        rows = np.atleast_1d(np.asarray(rows))
        are_whole = not len(rows) or rows.dtype.kind in "iu"
        if not are_whole or not ((rows >= 0) & (rows < len(self.labels))).all():
            raise ValueError(f"row must be a position from 0 to {len(self.labels) - 1}.")
        new = [row for row in dict.fromkeys(rows.tolist()) if row not in self._known]
        if new:
            self._known.update(zip(new, self._explain(np.array(new), verbose), strict=True))
        return [self._known[row] for row in rows.tolist()]

    def without_reasons(self, rows: Integers) -> list[Explanation]:
        """What is suggested for each row, without the search for reasons and neighbours."""
        return [self._explanation(row) for row in rows.tolist()]

    def _explain(self, rows: Integers, verbose: bool) -> list[Explanation]:
        strengths = self._strengths(rows, verbose)
        agreeing = self.neighbours.nearest(rows, self.suggested[rows])
        opposing = self.neighbours.nearest(rows, self.labels.given[rows])
        texts = self._read_texts(rows, verbose)
        return [
            self._explanation(
                row, self._reasons(row, strengths[i]), *agreeing[i], *opposing[i], texts[i]
            )
            for i, row in enumerate(rows.tolist())
        ]

    def _explanation(self, row: int, reasons: tuple[Reason, ...] = (), *near: Any) -> Explanation:
        suggested = int(self.suggested[row])
        (suggested_name,) = self.labels.names([suggested])
        return Explanation(
            row,
            str(self.labels.written[row]),
            suggested_name,
            float(self.audit.issue_probability[row]),
            float(self.audit.inference.posterior[row, suggested]),
            reasons,
            *near,
        )

    def _reasons(self, row: int, strength: Floats) -> tuple[Reason, ...]:
        """The strongest reasons against the given label and for the suggested one."""
        given, suggested = int(self.labels.given[row]), int(self.suggested[row])
        table, found = self.audit.table, []
        for k in np.argsort(-strength, kind="stable")[:MOST_REASONS].tolist():
            if strength[k] > WEAKEST:
                value = float(self.features.values[row, k])
                typical = self._usual[k].in_words(value, given, suggested)
                column, cell = str(table.columns[k]), table.iloc[row, k]
                found.append(Reason(column, cell, float(strength[k]), *typical))
        return tuple(found)

    def _read_texts(self, rows: Integers, verbose: bool) -> list[tuple[ReadText, ...]]:
        """The texts of each row with the words that matter."""
        found: list[tuple[ReadText, ...]] = [()] * len(rows)
        for k in self.features.texts:
            cells = self.audit.table.iloc[rows, k].tolist()
            present = [i for i, cell in enumerate(cells) if not is_missing(cell)]
            texts = [str(cells[i]) for i in present]
            words = self._words(rows[present], k, texts, verbose)
            for i, text, marked in zip(present, texts, words, strict=True):
                found[i] += (ReadText(str(self.audit.table.columns[k]), text, marked),)
        return found

    def _words(
        self, rows: Integers, k: int, texts: list[str], verbose: bool
    ) -> list[tuple[Word, ...]]:
        """Words that speak for one of two labels; none without a given label."""
        words: list[tuple[Word, ...]] = [()] * len(rows)
        doubted = np.flatnonzero(self.labels.given[rows] != NO_LABEL)
        if not len(doubted):
            return words
        found = read_texts(
            self.features[rows[doubted]],
            k,
            [texts[i] for i in doubted],
            lambda features, each: self._lead(features, rows[doubted[each]], k),
            verbose,
        )
        for i, own in zip(doubted, found, strict=True):
            words[i] = own
        return words

    def _evidence(self, rows: Integers) -> Floats:
        """Log of how much more frequent a value is in the suggested class; 0 where no reason."""
        evidence = np.zeros((len(rows), self.audit.table.shape[1]))
        doubted = np.flatnonzero(self.labels.given[rows] != NO_LABEL)
        given, suggested = self.labels.given[rows[doubted]], self.suggested[rows[doubted]]
        for k in self._tried:
            values = self.features.values[:, k]
            if k not in self._usual:
                self._usual[k] = usual_values(
                    self.features.encoder.columns[k], values, self._members
                )
            evidence[doubted, k] = self._usual[k].evidence(values[rows[doubted]], given, suggested)
        return evidence

    def _columns_tried(self, used: list[int]) -> list[int]:
        """Columns whose values can be counted; of very many, the most relevant."""
        counted = [k for k in used if self.features.encoder.columns[k].kind != TEXT]
        if len(counted) <= MOST_COLUMNS:
            return counted
        worth = relevance(self.audit.standardized, self._source, self._right)
        return sorted(sorted(counted, key=lambda k: -worth[k])[:MOST_COLUMNS])

    def _strengths(self, rows: Integers, verbose: bool) -> Floats:
        """The strength of each column with evidence against the given label; 0 of others."""
        evidence = self._evidence(rows)
        if self.audit.model is None:
            return evidence
        strengths = np.zeros(evidence.shape)
        place, column = np.nonzero(evidence)
        if not len(place):
            return strengths
        given, suggested = self.labels.given[rows], self.suggested[rows]
        doubted = np.unique(place)
        typical = np.zeros((len(rows), N_TYPICAL), dtype=np.intp)
        typical[doubted] = [self._borrowed(int(rows[i]), int(given[i])) for i in doubted]
        base = np.zeros(len(rows))
        base[doubted] = self._log_odds(
            self.audit.model, self.features[rows[doubted]], given[doubted], suggested[doubted]
        )
        blocks = list(gen_batches(len(place), max(1, BLOCK_ROWS // N_TYPICAL)))
        for block in track(blocks, len(blocks), "Looking for reasons", enabled=verbose):
            i, k = place[block], column[block]
            each = np.repeat(i, N_TYPICAL)
            changed = self.features.exchanged(
                rows[each], typical[i].ravel(), np.repeat(k, N_TYPICAL)
            )
            after = self._log_odds(self.audit.model, changed, given[each], suggested[each])
            strengths[i, k] = base[i] - after.reshape(-1, N_TYPICAL).mean(axis=1)
        return strengths

    def _borrowed(self, row: int, given: int) -> Integers:
        """A few rows that carry this label, probably rightly; always the same few."""
        return np.random.RandomState(row).choice(self._members[given], N_TYPICAL)

    def _lead(self, features: Features, rows: Integers, k: int) -> Floats:
        """How far the suggested class is ahead of the given one by the scores of the model.

        Differences of scores are log-odds, which are linear in them when calibrated, and which
        probabilities close to 0 and 1 do not resolve. Without a model the scores are those of naive
        Bayes on the texts of column ``k``.
        """
        if self.audit.model is None:
            if k not in self._bayes:
                texts, n_classes = self.features.texts[k], len(self.labels.classes)
                self._bayes[k] = bayes_weights(texts, self._right, n_classes)
            scores = np.asarray(features.texts[k] @ self._bayes[k])
        else:
            with one_blas_thread():
                scores = self.audit.model.score(features)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        each, given = np.arange(len(rows)), self.labels.given[rows]
        return np.asarray(scores[each, self.suggested[rows]] - scores[each, given])

    def _log_odds(
        self, model: TableModel, features: Features, given: Integers, suggested: Integers
    ) -> Floats:
        """log p(suggested) − log p(given) of the model."""
        with one_blas_thread():
            probability = np.maximum(model.probability(features), SMALLEST)
        each = np.arange(len(probability))
        return np.log(probability[each, suggested]) - np.log(probability[each, given])
