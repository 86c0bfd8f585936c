"""Questions about annotators: who copies, whom to ask next, how many labels a row are enough.

All three take the noise of annotators as it was fitted (``noise/annotators.py``).

**Copies.** Given the true class j, labels of two annotators a and b are independent, so that of a
row whose other labels and columns say r_j = p(y = j | all but what a and b say)

    p(k, l) = Σ_j r_j·T_a[j, k]·T_b[j, l]

If one copies the other in a share c of rows it is (1 − c)·p(k, l) + c·[k = l]·m(k), where m is the
mean of both p(k). The ratio of the two is 1 + c·u with u = [k = l]·m(k)/p(k, k) − 1, whose mean is
0 where nobody copies. So Π(1 + c·u) over the rows of both has the mean 1, as has its mean e over a
few c, and p(e ≥ n/α) ≤ α/n by Markov's inequality: among n pairs of whom none copies, any has
e ≥ n/α with a probability of at most α. Annotators may all agree more than that, for instance on
rows that mislead. c₀ is the share that is the likeliest of all pairs together, and
Π(1 + c·u)/(1 + c₀·u) is compared for c > c₀: its mean is at most 1 for pairs that agree beyond
independence as often as c₀ or more rarely, since it is concave in u. Matrices are fitted to the
labels of those who copy as well, who vouch for each other; pairs who agree nearly always are
therefore judged by matrices that were fitted without the one and without the other.

**Whom to ask.** What a label of annotator a tells of a row with posterior q is the information

    I(y; s_a) = H(Σ_j q_j·T_a[j, ·]) − Σ_j q_j·H(T_a[j, ·])

which is the expected decrease of the entropy of q. A further label adds less than one to the
effective number of labels m/(1 + (m − 1)·ρ); the information is multiplied by what it adds.

**How many labels.** Classes are drawn from p(y | x), annotators in proportion to their labels,
labels from their matrices; the mean probability of the consensus of m such labels is its accuracy.
As errors are correlated, m labels count as their effective number, between whole ones linearly.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import entr, softmax

from rboost._typing import Floats, Integers
from rboost.noise.annotators import (
    CORRELATION,
    AnnotatorFit,
    AnnotatorNoise,
    Statements,
    fit_annotators,
)

# Pairs are compared on at least this many rows of both.
FEWEST_COMMON = 10
# The probability that any pair is named where nobody copies.
LEVEL = 0.05
# Shares of copied labels that are tried, and those among which that of all pairs is sought.
SHARES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97])
USUAL_SHARES = np.linspace(0.0, 0.5, 26)
# Annotators who nearly always agree make each other look perfect, and perfect ones agree without
# copying. So many pairs, who agree on this share of their rows, and by so many standard deviations
# more often than with others, are judged by fits without the one and without the other.
MOST_APART, ALIKE, FAR_BEYOND = 3, 0.9, 4.0
# Of fewer annotators, too little is left without one of them to know the others. Of more labels
# times classes, fits take seconds; two of many annotators do not outvote the others there.
FEWEST_ANNOTATORS, MOST_CELLS = 4, 500_000
# Pairs that are named at most.
MOST_COPIES = 20
# Pairs of labels that are looked at together, and at most; of more, rows are drawn.
BLOCK, MOST_PAIRS = 2**18, 2_000_000
# Rows of which labels are drawn, and the most labels a row.
N_DRAWN, MOST_LABELS = 5000, 10
# Rows whose questions are compared with each other for one that is asked, and at least.
ROWS_A_QUESTION, FEWEST_COMPARED = 10, 1000


class CopyingPair(NamedTuple):
    """Two annotators by position, their rows, on how many they agree, and on how many by chance.

    ``share`` of the labels are likely to be copied; ``p_value`` allows for the number of pairs.
    """

    first: int
    second: int
    n_rows: int
    n_same: int
    expected_same: float
    share: float
    p_value: float


def copying_pairs(noise: AnnotatorNoise, scores: Floats, said: Statements) -> list[CopyingPair]:
    """Pairs of annotators who agree more than all that is known explains, the surest first.

    Who copies distorts what all others seem to be, so the second of a pair is left out before the
    next pair is sought.
    """
    found: list[CopyingPair] = []
    while len(found) < MOST_COPIES and np.ptp(noise.matrices, axis=0).any():  # not all alike
        pair = _surest_pair(noise, scores, said)
        if pair is None:
            break
        found.append(pair)
        said = _without(said, pair.second)
        noise = AnnotatorNoise.of(_refitted(said, scores))
    return found


def _surest_pair(noise: AnnotatorNoise, scores: Floats, said: Statements) -> CopyingPair | None:
    """The pair who copy most surely; None where none is sure enough."""
    first, second = _label_pairs(said)
    pair = said.annotator[first] * said.n_annotators + said.annotator[second]
    names, place, n_rows = np.unique(pair, return_inverse=True, return_counts=True)
    is_tested = n_rows >= FEWEST_COMMON
    n_tested = int(is_tested.sum())
    if not n_tested:
        return None
    kept = is_tested[place]
    first, second, place = first[kept], second[kept], place[kept]
    n_rows, place = n_rows[is_tested], (np.cumsum(is_tested) - 1)[place]
    one, other = np.divmod(names[is_tested], said.n_annotators)
    log_prior = np.log(noise.probability(scores))
    u, expected = _excess(noise.matrices, log_prior, said, first, second)
    usual = float(USUAL_SHARES[np.argmax([np.log1p(c * u).sum() for c in USUAL_SHARES])])
    log_e, share = _evidence(u, place, n_tested, usual)
    is_same = said.stated[first] == said.stated[second]
    same = np.bincount(place, is_same, n_tested).astype(np.float64)
    by_chance = np.bincount(place, expected, n_tested)
    needed = np.log(n_tested / LEVEL)
    beyond = _beyond_others(n_rows, same, one, other, said.n_annotators)
    is_alike = (log_e <= needed) & (beyond > FAR_BEYOND) & (same >= ALIKE * n_rows)
    is_alike &= len(np.unique(said.annotator)) >= FEWEST_ANNOTATORS
    is_alike &= len(said.row) * said.n_classes <= MOST_CELLS
    alike = np.flatnonzero(is_alike)
    for k in alike[np.argsort(-beyond[alike], kind="stable")][:MOST_APART]:
        own = place == k
        apart = _fitted_apart(said, scores, int(one[k]), int(other[k]))
        u, expected = _excess(*apart, said, first[own], second[own])
        found, likeliest = _evidence(u, np.zeros(len(u), np.intp), 1, usual)
        log_e[k], share[k], by_chance[k] = found[0], likeliest[0], expected.sum()
    if not (log_e > needed).any():
        return None
    k = int(np.argmax(np.where(log_e > needed, beyond, -np.inf)))
    return CopyingPair(
        int(one[k]), int(other[k]), int(n_rows[k]), int(same[k]), float(by_chance[k]),
        float(share[k]), float(n_tested * np.exp(-log_e[k])),
    )  # fmt: skip


def _evidence(u: Floats, place: Integers, n_pairs: int, usual: float) -> tuple[Floats, Floats]:
    """log e of each pair of annotators, and the likeliest share of copied labels."""
    shares = np.unique(np.maximum(SHARES, usual))
    logs = [np.bincount(place, np.log1p(c * u) - np.log1p(usual * u), n_pairs) for c in shares]
    log_e = np.logaddexp.reduce(logs, axis=0) - np.log(len(shares))
    return log_e, shares[np.argmax(logs, axis=0)]


def _beyond_others(
    n_rows: Integers, same: Floats, one: Integers, other: Integers, n_annotators: int
) -> Floats:
    """By how many standard deviations each pair agrees more often than both do with others."""
    agreed, met = np.zeros(n_annotators), np.zeros(n_annotators)
    for who in (one, other):
        agreed += np.bincount(who, same, n_annotators)
        met += np.bincount(who, n_rows, n_annotators)
    others = (agreed[one] + agreed[other] - 2 * same) / np.maximum(
        met[one] + met[other] - 2 * n_rows, 1
    )
    usual = np.clip(others, 0.01, 0.99)
    return (same - n_rows * usual) / np.sqrt(n_rows * usual * (1 - usual))


def _fitted_apart(said: Statements, scores: Floats, one: int, other: int) -> tuple[Floats, Floats]:
    """Matrices and log p(y = j | x), where neither of two annotators has vouched for the other."""
    found = _refitted(_without(said, other), scores)
    matrices = found.matrices.copy()
    matrices[other] = _refitted(_without(said, one), scores).matrices[other]
    return matrices, found.calibration.log_probability(scores)


def _without(said: Statements, annotator: int) -> Statements:
    """All but the labels of one annotator."""
    kept = said.annotator != annotator
    return said._replace(
        row=said.row[kept], annotator=said.annotator[kept], stated=said.stated[kept]
    )


def _refitted(said: Statements, scores: Floats) -> AnnotatorFit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of contradicting labels, which the audit has given
        return fit_annotators(said, scores)


def _label_pairs(said: Statements) -> tuple[Integers, Integers]:
    """The positions of any two labels of a row, that of the annotator with the lower one first."""
    order = np.lexsort((said.annotator, said.row))
    n_labels = np.bincount(said.row, minlength=said.n_rows)
    n_pairs = n_labels * (n_labels - 1) // 2
    if n_pairs.sum() > MOST_PAIRS:
        drawn = np.random.RandomState(0).permutation(said.n_rows)
        kept = np.zeros(said.n_rows, dtype=bool)
        kept[drawn[np.cumsum(n_pairs[drawn]) <= MOST_PAIRS]] = True
        order = order[kept[said.row[order]]]
        n_labels = np.where(kept, n_labels, 0)
    row = said.row[order]
    later = np.cumsum(n_labels)[row] - np.arange(len(row)) - 1
    first = np.repeat(np.arange(len(row)), later)
    step = np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    return order[first], order[first + 1 + step]


def _excess(
    matrices: Floats, log_prior: Floats, said: Statements, first: Integers, second: Integers
) -> tuple[Floats, Floats]:
    """u of each pair of labels, and the probability that both are the same."""
    own = np.log(matrices)
    known = log_prior + said.log_likelihood(matrices)
    u, expected = np.empty(len(first)), np.empty(len(first))
    for start in range(0, len(first), BLOCK):
        one, other = first[start : start + BLOCK], second[start : start + BLOCK]
        a, b = said.annotator[one], said.annotator[other]
        k, is_same = said.stated[one], said.stated[one] == said.stated[other]
        others = known[said.row[one]] - own[a, :, k] - own[b, :, said.stated[other]]
        r = softmax(others, axis=1)[:, :, np.newaxis]
        of_a, of_b = matrices[a], matrices[b]
        both = (r * of_a * of_b).sum(axis=1)  # p(k, k), (n_pairs, K)
        alone = (r * (of_a + of_b) / 2).sum(axis=1)
        each = np.arange(len(one))
        place = slice(start, start + len(one))
        u[place] = np.where(is_same, alone[each, k] / both[each, k], 0.0) - 1
        expected[place] = both.sum(axis=1)
    return u, expected


class Questions(NamedTuple):
    """Rows and annotators by position, the most valuable first, with the expected gain in bits."""

    row: Integers
    annotator: Integers
    gain: Floats


def next_questions(
    noise: AnnotatorNoise,
    posterior: Floats,
    said: Statements,
    n: int,
    annotators: Integers,
    is_open: Integers,
    most_each: int,
) -> Questions:
    """For each of ``n`` rows one annotator to ask: those whose answers are worth most.

    Only some annotators are asked, each about at most ``most_each`` rows, which are open and have
    no label of theirs.
    """
    gain = _information(noise, posterior, said, annotators, is_open)
    n_compared = max(FEWEST_COMPARED, ROWS_A_QUESTION * n)
    best = np.argsort(-gain.max(axis=1, initial=0.0), kind="stable")[:n_compared]
    gain = gain[best]
    order = np.argsort(-gain, axis=None, kind="stable")
    left, is_free = np.full(len(annotators), most_each), np.ones(len(best), dtype=bool)
    chosen: list[tuple[int, int]] = []
    for row, column in zip(*np.unravel_index(order, gain.shape), strict=True):
        if len(chosen) == n or gain[row, column] <= 0:
            break
        if is_free[row] and left[column]:
            chosen.append((int(row), int(column)))
            is_free[row] = False
            left[column] -= 1
    rows, columns = np.array(chosen, dtype=np.intp).reshape(-1, 2).T
    return Questions(is_open[best[rows]], annotators[columns], gain[rows, columns])


def _information(
    noise: AnnotatorNoise, posterior: Floats, said: Statements, annotators: Integers, rows: Integers
) -> Floats:
    """What a label of each annotator would tell of each row, in bits; 0 where there is one."""
    q, matrices = posterior[rows], noise.matrices[annotators]
    said_of = said.n_by(noise.is_informed)[rows]
    adds = _effective(said_of + 1) - _effective(said_of)
    found = np.empty((len(rows), len(annotators)))
    for column, matrix in enumerate(matrices):
        found[:, column] = entr(q @ matrix).sum(axis=1) - q @ entr(matrix).sum(axis=1)
    row_place, place = np.full(said.n_rows, -1), np.full(said.n_annotators, -1)
    row_place[rows], place[annotators] = np.arange(len(rows)), np.arange(len(annotators))
    i, a = row_place[said.row], place[said.annotator]
    is_there = (i >= 0) & (a >= 0)
    found = np.maximum(found, 0.0) * adds[:, np.newaxis] / np.log(2)
    found[i[is_there], a[is_there]] = 0.0
    return found


def _effective(n_labels: Floats, correlation: float = CORRELATION) -> Floats:
    """How many independent labels as many correlated ones are worth."""
    return n_labels / (1 + correlation * np.maximum(n_labels - 1, 0))


def accuracy_by_labels(
    noise: AnnotatorNoise,
    scores: Floats,
    said: Statements,
    most: int = MOST_LABELS,
    correlation: float = CORRELATION,
) -> Floats:
    """How often the consensus of 1, 2, ..., ``most`` labels a row would be right, (most,)."""
    random = np.random.RandomState(0)
    prior = noise.probability(scores[random.randint(len(scores), size=N_DRAWN)])
    true = _drawn(prior, random)
    share = np.bincount(said.annotator, minlength=said.n_annotators) / len(said.annotator)
    effective = _effective(np.arange(1.0, most + 1), correlation)
    logs, found = np.log(prior), [prior.max(axis=1).mean()]
    for _ in range(int(np.ceil(effective[-1]))):
        who = random.choice(said.n_annotators, N_DRAWN, p=share)
        label = _drawn(noise.matrices[who, true], random)
        logs = logs + np.log(noise.matrices)[who, :, label]
        found.append(softmax(logs, axis=1).max(axis=1).mean())
    return np.interp(effective, np.arange(len(found)), np.maximum.accumulate(found))


def _drawn(probability: Floats, random: np.random.RandomState) -> Integers:
    """A class for each row of probabilities."""
    level = random.uniform(size=(len(probability), 1))
    reached = np.cumsum(probability, axis=1) < level
    return np.minimum(reached.sum(axis=1), probability.shape[1] - 1)
