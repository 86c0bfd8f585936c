"""Several engines, or trees: each fitted on its own, weighed by the rows it was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rboost._typing import Floats
from rboost.boosting.choice import LEARNERS, POOL, TREES, XGBOOST
from rboost.boosting.engines.growing import GrownTrees, TreeSettings
from rboost.boosting.engines.trees import grow_trees
from rboost.boosting.engines.xgboost import grow_on_xgboost
from rboost.boosting.fitting import Fitted, begin, fit_rounds
from rboost.boosting.groups import group_matrices
from rboost.boosting.held_out import infer_from
from rboost.boosting.likelihood import labels_of
from rboost.boosting.members import Member
from rboost.boosting.models import StackedModel, VotingModel
from rboost.boosting.parameters import BoostingParameters
from rboost.boosting.stack import combine
from rboost.encoding import for_trees, level_counts
from rboost.noise import infer_noise
from rboost.tables import Rows

# Rounds of Algorithm 1 as one of several engines: up to so many rows so many; the larger a table,
# the less the last ones add. Chosen on the suite "development" and tables of "sizes".
ROUNDS_BY_ROWS = {2000: 200, 8000: 100}
FEWEST_ROUNDS = 60
# Who grows trees.
GROWERS = {TREES: grow_trees, XGBOOST: grow_on_xgboost}


def rounds_for(n_rows: int) -> int:
    """Rounds of Algorithm 1 beside other engines."""
    return next((n for most, n in ROUNDS_BY_ROWS.items() if n_rows <= most), FEWEST_ROUNDS)


def fit_stack(
    parameters: BoostingParameters,
    names: Sequence[str],
    classes: NDArray[Any],
    rows: Rows,
    fixed_noise: Floats | None,
) -> Fitted:
    """Fit the engines of these names, and infer the noise from what they say together.

    Trees come last and start with the noise that the pool has found.
    """
    unasked = replace(rows, checked=None)  # answers count when all have spoken
    members: dict[str, Member] = {}
    held_out: dict[str, Floats] = {}
    found: dict[str, Fitted | GrownTrees] = {}
    noise_matrix, by_group = fixed_noise, None
    for name in sorted(names, key=[LEARNERS, POOL, TREES, XGBOOST].index):
        if name in GROWERS:
            settings = _settings(parameters, len(names) == 1)
            counts = level_counts(rows.X)
            grown = GROWERS[name](
                for_trees(rows.X), unasked, noise_matrix, counts, settings, by_group
            )
            members[name], held_out[name], found[name] = grown.member, grown.held_out, grown
            by_group = grown.by_group
        else:
            begun = begin(parameters, rows, classes, fixed_noise)
            fitted = fit_rounds(
                parameters, name, begun, unasked, n_rounds=rounds_for(len(rows.observed))
            )
            assert isinstance(fitted.model, VotingModel)
            assert fitted.held_out is not None
            assert fitted.noise is not None
            members[name], held_out[name] = fitted.model.learners, fitted.held_out
            found[name] = fitted
            if name != LEARNERS:
                by_group = group_matrices(fitted.held_out, unasked, fitted.noise)
        if name != LEARNERS:  # what somebody's own learners find may be far off
            noise_matrix = found[name].noise_matrix
    assert noise_matrix is not None
    stack, scores = combine(members, held_out, labels_of(rows, noise_matrix, by_group))
    only = found[names[0]] if len(names) == 1 else None
    if isinstance(only, GrownTrees) and only.stand_ins is not None and rows.checked is None:
        noise = infer_from(only.stand_ins, fixed_noise)
    else:
        noise = infer_noise(
            scores, rows.observed, sample_weight=rows.sample_weight, trusted=rows.trusted,
            checked=rows.checked, noise_matrix=fixed_noise,
        )  # fmt: skip
    return Fitted(
        StackedModel(stack, noise),
        noise.noise_matrix,
        noise,
        scores,
        max(found[name].n_iter for name in stack.members),
        "; ".join(f"{name}: {found[name].stop_reason}" for name in stack.members),
    )


def _settings(parameters: BoostingParameters, is_alone: bool) -> TreeSettings:
    return TreeSettings(
        parameters.learning_rate if is_alone else None,
        parameters.n_estimators,
        check_random_state(parameters.random_state).randint(2**31 - 1),
        effective_n_jobs(parameters.n_jobs),
        bool(parameters.verbose),
        parameters.device,
    )
