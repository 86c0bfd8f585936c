"""Several engines as one model: their held-out scores, weighed by rLR's own likelihood.

A row's score is Σₑ wₑ·Fₑ(x) with weights wₑ ≥ 0 of maximum likelihood, given the noise: a robust
logistic regression whose features are the engines' held-out scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from rboost._typing import Floats
from rboost.engines.engine import Member
from rboost.noise.likelihood import Likelihood

# Keeps weights finite where two classes can be told apart without error.
PENALTY = 1e-2
# An engine that moves scores by less than this share of what all do is not kept.
SMALLEST_SHARE = 1e-3


@dataclass(frozen=True)
class Stack:
    """Members with their weights; ``shares`` say how much of the scores comes from each."""

    members: dict[str, Member]
    weights: dict[str, float]
    shares: dict[str, float]

    def scores(self, X: Any, n_jobs: int | None) -> Floats:
        """The weighted sum of the members' scores."""
        return self.sum({name: m.scores(X, n_jobs) for name, m in self.members.items()})

    def sum(self, scores: Mapping[str, Floats]) -> Floats:
        """Scores of the members, weighed and added up."""
        weighted = [self.weights[name] * own for name, own in scores.items()]
        return np.sum(weighted, axis=0)

    def feature_importances(self) -> Floats:
        """The importances of the members that have any, by their shares."""
        known = {}
        for name, member in self.members.items():
            with suppress(AttributeError):
                known[name] = self.shares[name] * member.feature_importances()
        if not known:
            raise AttributeError("The base learners have no feature_importances_.")
        return np.sum(list(known.values()), axis=0) / sum(self.shares[name] for name in known)


def combine(
    members: Mapping[str, Member], held_out: Mapping[str, Floats], likelihood: Likelihood
) -> tuple[Stack, Floats]:
    """Weigh members by their scores of rows they were not fitted to; return those of the stack."""
    names = list(members)
    found = likeliest_weights([held_out[name] for name in names], likelihood)
    spreads = found * [spread(held_out[name]) for name in names]
    shares = spreads / spreads.sum() if spreads.any() else np.full(len(names), 1 / len(names))
    kept = [number for number, share in enumerate(shares) if share > SMALLEST_SHARE]
    if not spreads.any():  # all engines are constant
        found, shares, kept = np.ones(len(names)), np.ones(len(names)), [0]
    stack = Stack(
        {names[number]: members[names[number]] for number in kept},
        {names[number]: float(found[number]) for number in kept},
        {names[number]: float(shares[number]) for number in kept},
    )
    return stack, stack.sum({name: held_out[name] for name in stack.members})


def spread(scores: Floats) -> float:
    """How much scores differ from row to row: exactly 0 where all rows have the same."""
    return float(np.sqrt(np.var(scores - scores[:1], axis=0).mean()))


def likeliest_weights(held_out: Sequence[Floats], likelihood: Likelihood) -> Floats:
    """The weights, none negative, that make the labels likeliest; every class has an offset too.

    One engine has the weight 1, since the noise is inferred from scores of any scale.
    """
    if len(held_out) == 1:
        return np.ones(1)
    n_engines, shape = len(held_out), held_out[0].shape[1:]
    scale = np.array([spread(scores) or 1.0 for scores in held_out])
    features = np.stack([scores / unit for scores, unit in zip(held_out, scale, strict=True)])

    def cost(parameters: Floats) -> tuple[float, Floats]:
        weights, offsets = parameters[:n_engines], parameters[n_engines:]
        scores = np.tensordot(weights, features, 1) + offsets.reshape(shape)
        gradient = likelihood.derivatives(scores)[0]
        by_weights = np.tensordot(features, gradient, gradient.ndim) + 2 * PENALTY * weights
        total = likelihood.loss_sum(scores) + PENALTY * float(weights @ weights)
        return total, np.append(by_weights, gradient.sum(axis=0))

    n_offsets = int(np.prod(shape))
    start = np.append(np.full(n_engines, scale.mean() / n_engines), np.zeros(n_offsets))
    bounds = [(0, None)] * n_engines + [(None, None)] * n_offsets
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return found.x[:n_engines] / scale
