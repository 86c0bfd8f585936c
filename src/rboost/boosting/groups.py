"""Noise by group in a fit: from scores of rows that were not fitted to, and as a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rboost._typing import Floats, Integers
from rboost.boosting.parameters import BoostingParameters, noise_update_name
from rboost.context import Groups, group_rows
from rboost.noise import NoisePosterior
from rboost.noise.groups import GroupedNoise, infer_group_noise
from rboost.tables import Rows


def check_context(parameters: BoostingParameters, context: Any, n_rows: int) -> Groups | None:
    """The groups of rows; None without a context."""
    if context is None:
        return None
    if noise_update_name(parameters) != "noise-aware":
        raise ValueError(
            "context needs noise_matrix='estimate' and noise_estimator='noise-aware', as the noise "
            "of groups is inferred; set these, or leave context out."
        )
    return group_rows(context, n_rows)


def with_groups(rows: Rows, groups: Groups | None, sample_weight: Any) -> Rows:
    """Rows of positive weight with their groups, if there are any."""
    if groups is None:
        return rows
    position = groups.position
    if sample_weight is not None:
        position = position[np.asarray(sample_weight) > 0]
    return replace(rows, group=position)


def grouped_noise(
    scores: Floats, rows: Rows, noise: NoisePosterior, n_groups: int | None = None
) -> GroupedNoise:
    """The noise of each group from held-out scores; rows that people checked are trusted."""
    assert rows.group is not None
    observed, trusted, before = rows.observed, rows.trusted, None
    if rows.checked is not None:
        observed = np.where(rows.checked >= 0, rows.checked, rows.observed)
        trusted = rows.trusted | (rows.checked >= 0)
        before = np.where(rows.trusted, -1, rows.observed)
    return infer_group_noise(
        scores, observed, rows.group, noise=noise, sample_weight=rows.sample_weight,
        trusted=trusted, n_groups=n_groups, before=before,
    )  # fmt: skip


def group_matrices(scores: Floats, rows: Rows, noise: NoisePosterior) -> Floats | None:
    """Its matrices, (G, K, K); None where rows are in no groups, or classes are known."""
    if rows.group is None or rows.known is not None:
        return None
    return grouped_noise(scores, rows, noise).noise_matrix


@dataclass(frozen=True)
class RowsOfGroups:
    """The noise of rows whose groups are known: what judges labels then."""

    noise: GroupedNoise
    group: Integers

    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, ỹ, group) of each row."""
        return self.noise.posterior(scores, observed, self.group)

    def issue_probability(self, scores: Floats, observed: Integers) -> Floats:
        """p(y ≠ ỹ | score, ỹ, group) of each row."""
        return self.noise.issue_probability(scores, observed, self.group)


def noise_table(groups: Groups, noise: GroupedNoise | None) -> list[dict[str, Any]]:
    """One record a group: its name, and what is known of its labels."""
    assert noise is not None
    counts = np.bincount(groups.position, minlength=len(groups))
    low, high = noise.wrong_share_interval
    return [
        {
            "name": name,
            "n_rows": int(counts[g]),
            "wrong_share": float(noise.wrong_share[g]),
            "low": float(low[g]),
            "high": float(high[g]),
            "noise_matrix": noise.noise_matrix[g],
            "interval": noise.interval[:, g],
        }
        for g, name in enumerate(groups.names)
    ]
