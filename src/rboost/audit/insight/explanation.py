"""Why a label is doubted: the columns that speak against it, and rows like it.

How much a column speaks against the given label of a row is how far the log-odds of the suggested
class fall when the row takes the value of that column from rows that carry the given label and
probably rightly so, averaged over a few of them. The strength is in nats: e^strength times.
"""

from __future__ import annotations

from dataclasses import dataclass
from reprlib import repr as shorten
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches
from threadpoolctl import threadpool_limits

from rboost._typing import Floats, Integers
from rboost.audit.features import column_of_feature
from rboost.audit.insight.doubts import issue_probability, suggested_classes
from rboost.audit.labels import NO_LABEL, Labels
from rboost.audit.scorers import TableModel
from rboost.io.packages import package
from rboost.progress import track

# Rows whose values are borrowed, rows named as neighbours, and columns that are tried at most.
N_TYPICAL, N_NEIGHBOURS, MOST_COLUMNS = 5, 3, 60
# Rows given to the model at a time, and the probability below which none counts, so that log-odds
# stay finite.
BLOCK_ROWS, SMALLEST = 20_000, 1e-6
# Neighbours are looked for among at most this many rows of a class.
MOST_SEARCHED = 200_000
# Rows of a class from which its mean is taken, to see which columns tell most.
MOST_AVERAGED = 20_000


@dataclass(frozen=True)
class Reason:
    """A column that speaks against the given label; ``typical`` says what rows with it have."""

    column: str
    value: Any
    strength: float
    typical: str


@dataclass(frozen=True)
class Explanation:
    """Why the label of a row is doubted.

    ``agreeing`` are positions of the nearest rows that carry the suggested label, probably rightly.
    ``opposing`` are the nearest that carry the given one. Distances are of standardized features.
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

    def __repr__(self) -> str:
        reasons = "; ".join(
            f"{shorten(one.column)} = {shorten(one.value)} (usually {shorten(one.typical)})"
            for one in self.reasons
        )
        return (
            f"Explanation: row {self.row} is labelled {shorten(self.given)}, "
            f"{shorten(self.suggested)} is suggested, wrong with probability "
            f"{self.probability_wrong:.2f}; {reasons or 'no single column stands out'}"
        )


class Explainer:
    """Explains rows of a table; keeps what all explanations share.

    ``features`` is the table in numbers and ``standardized`` the same on one scale, for distances;
    ``model`` was fitted to the table.
    """

    def __init__(
        self,
        table: Any,
        labels: Labels,
        posterior: Floats,
        probability: Floats,
        features: Floats,
        standardized: Floats,
        model: TableModel,
    ) -> None:
        self.table, self.labels, self.posterior, self.model = table, labels, posterior, model
        self.features, self.standardized = features, standardized
        self.issue_probability = issue_probability(posterior, labels)
        self.suggested = suggested_classes(posterior, probability, labels)
        wrong = np.nan_to_num(self.issue_probability, nan=1.0)
        self._members = [
            np.flatnonzero((labels.current == k) & (wrong < 0.5))
            for k in range(len(labels.classes))
        ]
        self._features_of = self._group_features()
        self._known: dict[int, Explanation] = {}
        self._searches: dict[int, NearestNeighbors] = {}

    def explain(self, rows: Integers, verbose: bool = False) -> list[Explanation]:
        """Explain all of these rows; those that were explained before are remembered."""
        rows = np.asarray(rows, dtype=np.intp)
        if len(rows) and not (rows.min() >= 0 and rows.max() < len(self.labels)):
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
        agreeing = self._nearest(rows, self.suggested[rows])
        opposing = self._nearest(rows, self.labels.given[rows])
        return [
            self._explanation(row, self._reasons(row, strengths[i]), *agreeing[i], *opposing[i])
            for i, row in enumerate(rows.tolist())
        ]

    def _explanation(self, row: int, reasons: tuple[Reason, ...] = (), *near: Any) -> Explanation:
        suggested = int(self.suggested[row])
        given_name, suggested_name = self.labels.names([int(self.labels.given[row]), suggested])
        return Explanation(
            row,
            given_name,
            suggested_name,
            float(self.issue_probability[row]),
            float(self.posterior[row, suggested]),
            reasons,
            *near,
        )

    def _reasons(self, row: int, strength: Floats) -> tuple[Reason, ...]:
        """The three columns that speak most against the given label."""
        given = int(self.labels.given[row])
        return tuple(
            Reason(
                str(self.table.columns[k]),
                self.table.iloc[row, k],
                float(strength[k]),
                self._typical(k, given),
            )
            for k in np.argsort(-strength)[:3].tolist()
            if strength[k] > 0.05
        )

    def _group_features(self) -> list[tuple[int, Integers]]:
        """Columns that were used, each with its features; of very many, those that tell most."""
        column = column_of_feature(self.model.vectorizer, self.table)
        used = np.unique(column)
        if len(used) > MOST_COLUMNS:
            some = [_thinned(rows, MOST_AVERAGED) for rows in self._members if len(rows)]
            means = np.stack([self.standardized[rows].mean(axis=0) for rows in some])
            apart = np.ptp(means, axis=0)
            best = np.array([apart[column == k].max() for k in used])
            used = np.sort(used[np.argsort(-best)[:MOST_COLUMNS]])
        return [(int(k), np.flatnonzero(column == k)) for k in used]

    def _strengths(self, rows: Integers, verbose: bool) -> Floats:
        """How much each column of the table speaks against the given label of each row."""
        strengths = np.zeros((len(rows), self.table.shape[1]))
        given, suggested = self.labels.given[rows], self.suggested[rows]
        doubted = np.flatnonzero(given != NO_LABEL)
        per_block = max(1, BLOCK_ROWS // (N_TYPICAL * max(1, len(self._features_of))))
        blocks = list(gen_batches(len(doubted), per_block)) if len(doubted) else []
        for block in track(blocks, len(blocks), "Looking for reasons", enabled=verbose):
            chosen = doubted[block]
            typical = np.stack([self._borrowed(int(rows[i]), int(given[i])) for i in chosen])
            base = self._log_odds(self.features[rows[chosen]], given[chosen], suggested[chosen])
            changed = self._changed(self.features[rows[chosen]], typical)
            n_rows, n_columns = len(chosen), len(self._features_of)
            repeat = n_columns * N_TYPICAL
            after = self._log_odds(
                changed, np.repeat(given[chosen], repeat), np.repeat(suggested[chosen], repeat)
            ).reshape(n_rows, n_columns, N_TYPICAL)
            fall = base[:, np.newaxis] - after.mean(axis=2)
            strengths[np.ix_(chosen, [k for k, _ in self._features_of])] = fall
        return strengths

    def _borrowed(self, row: int, given: int) -> Floats:
        """Features of a few rows that carry this label, probably rightly; always the same few."""
        members = self._members[given]
        if not len(members):
            members = np.flatnonzero(self.labels.current == given)
        return self.features[np.random.RandomState(row).choice(members, N_TYPICAL)]

    def _changed(self, features: Floats, typical: Floats) -> Floats:
        """Each row with each column in turn taken from each of its typical rows."""
        n_rows, n_features = features.shape
        shape = (n_rows, len(self._features_of), N_TYPICAL, n_features)
        changed = np.broadcast_to(features[:, np.newaxis, np.newaxis], shape).copy()
        for place, (_, own) in enumerate(self._features_of):
            changed[:, place, :, own] = typical[:, :, own].transpose(2, 0, 1)
        return changed.reshape(-1, n_features)

    def _log_odds(self, features: Floats, given: Integers, suggested: Integers) -> Floats:
        """log p(suggested) − log p(given) of the model."""
        with threadpool_limits(1, "blas"):  # many small products, for which threads only wait
            probability = np.maximum(self.model.probability(features), SMALLEST)
        each = np.arange(len(probability))
        return np.log(probability[each, suggested]) - np.log(probability[each, given])

    def _typical(self, column: int, given: int) -> str:
        """What half of the rows with this label have in a column, or its most frequent value."""
        values = self.table.iloc[self._members[given], column].dropna()
        if not len(values):
            return "missing"
        from pandas.api.types import is_bool_dtype, is_numeric_dtype

        if is_numeric_dtype(values) and not is_bool_dtype(values):
            low, high = np.quantile(values.to_numpy(dtype=np.float64), [0.25, 0.75])
            return f"{low:.4g} to {high:.4g}"
        if self.model.vectorizer.column_to_kind_.get(self.table.columns[column]) == "datetime":
            return _middle_dates(values)
        frequent = values.astype(str).value_counts()
        return f"{frequent.index[0]} ({frequent.iloc[0] / len(values):.0%})"

    def _nearest(self, rows: Integers, wanted: Integers) -> list[tuple[Any, Any]]:
        """For each row, the nearest others that carry the wanted label, and how far they are."""
        found: list[tuple[Any, Any]] = [((), ())] * len(rows)
        points = self.standardized
        for k in np.unique(wanted[wanted != NO_LABEL]).tolist():
            members, asked = _thinned(self._members[k], MOST_SEARCHED), np.flatnonzero(wanted == k)
            if not len(members):
                continue
            if k not in self._searches:
                search = NearestNeighbors(n_neighbors=min(N_NEIGHBOURS + 1, len(members)))
                self._searches[k] = search.fit(points[members])
            distances, places = self._searches[k].kneighbors(points[rows[asked]])
            for i, distance, neighbours in zip(asked, distances, members[places], strict=True):
                others = neighbours != rows[i]  # a row is no neighbour of its own
                found[i] = (
                    tuple(neighbours[others][:N_NEIGHBOURS].tolist()),
                    tuple(distance[others][:N_NEIGHBOURS].tolist()),
                )
        return found


def _thinned(rows: Integers, most: int) -> Integers:
    """The rows, or some of them in equal steps where there are very many."""
    return rows[:: len(rows) // most + 1] if len(rows) > most else rows


def _middle_dates(values: Any) -> str:
    """The days between which half of the dates lie."""
    dates = package("pandas").to_datetime(values, errors="coerce", format="mixed").dropna()
    low, high = dates.quantile([0.25, 0.75])
    return f"{low:%Y-%m-%d} to {high:%Y-%m-%d}"
