"""Kinds of noise among K classes, and how plausible each is beforehand.

A noise matrix is nearly the identity plus rates times *directions*, T = I' + Σ_m r_m·D_m. I' has a
few slips, ``SLIPS`` of every class to all others alike: nobody is perfect, and a label that all
scores contradict is suspicious whatever the kind. A direction says where labels go per unit of its
rate; its rows sum to 0. A kind of noise is a list of directions:

    none            no direction, slips alone
    symmetric       every class to all others alike
    out of a class  that class to all others alike
    into a class    all others to that class
    one other       every class to one other class, all at the same rate
    pairs           single classes to single others, each at its own rate
    any             all pairs of classes that are ever confused

Kinds with few rates are told apart from overlap of the classes by fewer rows. So each kind counts
by its evidence times the prior given here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from rboost._typing import Floats
from rboost.noise.matrix import symmetric

# Prior probability of each kind.
PRIOR = {
    "none": 0.15, "symmetric": 0.35, "out of": 0.1, "into": 0.1, "one other": 0.1, "pairs": 0.18,
    "any": 0.02,
}  # fmt: skip
# One more pair is this much less plausible.
PER_PAIR = 0.7
# The rate at which labels of every class are wrong beside all kinds of noise.
SLIPS = 0.01
# Largest rates: of a pair, and where one class's labels are spread over all others.
LARGEST_PAIR, LARGEST_SPREAD = 0.5, 0.9

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Kind:
    """A family of noise matrices: directions (n_rates, K, K), largest rate, log prior.

    ``origin`` is the matrix where all rates are 0; all there is where it ``is_known``.
    """

    name: str
    directions: Floats
    origin: Floats
    largest: float
    log_prior: float
    is_known: bool = False

    @property
    def n_rates(self) -> int:
        """How many rates it has to choose."""
        return len(self.directions)


def pair_direction(n_classes: int, pair: Pair) -> Floats:
    """Rows of the first class get the label of the second."""
    direction = np.zeros((n_classes, n_classes))
    direction[pair] = 1.0
    direction[pair[0], pair[0]] = -1.0
    return direction


def no_noise(n_classes: int) -> Kind:
    """Hardly a label is wrong."""
    return _kind("none", np.zeros((0, n_classes, n_classes)), np.log(PRIOR["none"]))


def known_noise(noise_matrix: Floats) -> Kind:
    """The noise matrix is given; there is nothing to choose."""
    n_classes = len(noise_matrix)
    empty = np.zeros((0, n_classes, n_classes))
    return Kind("known", empty, noise_matrix, LARGEST_PAIR, 0.0, is_known=True)


def symmetric_noise(n_classes: int) -> Kind:
    """Every class is flipped at the same rate, to all others alike."""
    direction = np.full((n_classes, n_classes), 1 / (n_classes - 1))
    np.fill_diagonal(direction, -1.0)
    prior = np.log(PRIOR["symmetric"])
    return _kind("symmetric", direction[np.newaxis], prior, LARGEST_SPREAD)


def out_of(n_classes: int, true: int) -> Kind:
    """One class is flipped, to all others alike."""
    direction = np.zeros((n_classes, n_classes))
    direction[true] = 1 / (n_classes - 1)
    direction[true, true] = -1.0
    prior = np.log(PRIOR["out of"] / n_classes)
    return _kind("out of", direction[np.newaxis], prior, LARGEST_SPREAD)


def into(n_classes: int, observed: int) -> Kind:
    """All other classes get one label, at the same rate."""
    direction = sum(
        pair_direction(n_classes, (j, observed)) for j in range(n_classes) if j != observed
    )
    prior = np.log(PRIOR["into"] / n_classes)
    return _kind("into", np.asarray(direction)[np.newaxis], prior)


def one_other(n_classes: int, targets: Sequence[int]) -> Kind:
    """Class j is flipped to ``targets[j]`` alone; all classes at the same rate."""
    direction = sum(pair_direction(n_classes, (j, int(k))) for j, k in enumerate(targets))
    prior = np.log(PRIOR["one other"]) - n_classes * np.log(n_classes - 1)
    return _kind("one other", np.asarray(direction)[np.newaxis], prior)


def single_pairs(n_classes: int, chosen: Sequence[Pair], any_pair: bool = False) -> Kind:
    """Each of some pairs of classes has a rate of its own."""
    directions = np.array([pair_direction(n_classes, pair) for pair in chosen])
    if any_pair:
        return _kind("any", directions, np.log(PRIOR["any"]))
    n_pairs, n = n_classes * (n_classes - 1), len(chosen)
    log_choices = gammaln(n_pairs + 1) - gammaln(n + 1) - gammaln(n_pairs - n + 1)
    log_number = (n - 1) * np.log(PER_PAIR) + np.log(1 - PER_PAIR)
    return _kind("pairs", directions, np.log(PRIOR["pairs"]) + log_number - log_choices)


def _kind(name: str, directions: Floats, log_prior: float, largest: float = LARGEST_PAIR) -> Kind:
    origin = symmetric(SLIPS, directions.shape[1])
    return Kind(name, directions, origin, largest, float(log_prior))
