import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rboost.fitting import Rows
from rboost.literature.neighbors import Neighbourhood, depurate, voting_fraction


def two_classes(X, labels, weight):
    return Rows(X, labels, weight, 2)


def counted_votes(X, labels, weight, queries, k, own):
    """The votes of the k nearest, row by row: places of equal distance are shared by weight."""
    votes = np.zeros((len(queries), 2))
    for i, query in enumerate(queries):
        copies = weight.astype(float)
        if own:
            copies[i] = max(copies[i] - 1, 0)
        distances = np.sqrt(((X - query) ** 2).sum(axis=1))
        left = float(k)
        for distance in np.unique(distances):
            ring = distances == distance
            taken = min(left, copies[ring].sum())
            for j in np.flatnonzero(ring):
                if copies[ring].sum() > 0:
                    votes[i, labels[j]] += taken * copies[j] / copies[ring].sum()
            left -= taken
    return votes


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**31 - 1),
    k=st.integers(1, 7),
    weights=st.sampled_from(["ones", "counts", "fractions"]),
    own=st.booleans(),
    grid=st.booleans(),
)
def test_votes_are_those_of_a_count_by_hand(seed, k, weights, own, grid):
    """On a grid many rows coincide or are equally far, which the ties are about."""
    random = np.random.RandomState(seed)
    n_rows = random.randint(2, 25)
    # Distances on a small grid of integers are equal exactly or not at all.
    X = random.randint(3, size=(n_rows, 2)) if grid else random.standard_normal((n_rows, 2))
    X = X.astype(float)
    labels = random.randint(2, size=n_rows)
    weight = {
        "ones": np.ones(n_rows),
        "counts": random.randint(1, 5, size=n_rows).astype(float),
        "fractions": random.gamma(1.0, size=n_rows) + 0.01,
    }[weights]
    queries = X if own else random.randint(3, size=(6, 2)).astype(float)
    rows = two_classes(X, labels, weight)
    votes = Neighbourhood(rows).votes(queries, k, own=own)
    expected = counted_votes(X, labels, weight, queries, k, own)
    assert_allclose(votes, expected, atol=1e-7)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**31 - 1), setting=st.sampled_from([(3, 2), (3, 3), (5, 4), (1, 1)]))
def test_depuration_is_the_rule_of_the_paper(seed, setting):
    """Explicit loops over rows without ties or weights."""
    k, agreeing = setting
    random = np.random.RandomState(seed)
    X, labels = random.standard_normal((20, 2)), random.randint(2, size=20)
    kept, new_labels = [], []
    for i in range(20):
        others = sorted((j for j in range(20) if j != i), key=lambda j: np.sum((X[i] - X[j]) ** 2))
        nearest = [labels[j] for j in others[:k]]
        for label in (0, 1):
            if nearest.count(label) >= agreeing:
                kept.append(i)
                new_labels.append(label)
    rows, stays = depurate(two_classes(X, labels, np.ones(20)), k, agreeing)
    assert_array_equal(np.flatnonzero(stays), kept)
    assert_array_equal(rows.observed, new_labels)
    assert_array_equal(rows.X, X[kept])


def test_places_are_filled_in_order_of_distance():
    fraction = voting_fraction(
        np.array([[0.0, 1.0, 1.0, 2.0]] * 2), np.array([[1.0, 1.0, 3.0, 1.0], [0.2] * 4]), 3
    )
    # Two places are left for weights 1 and 3; weights that do not suffice all count.
    assert_allclose(fraction, [[1.0, 0.5, 0.5, 0.0], [1.0] * 4])


def test_equal_rows_are_looked_up_once(monkeypatch):
    """Of 2000 rows with three bits, no query asks for more than the eight there can be."""
    random = np.random.RandomState(0)
    X, labels = random.randint(2, size=(2_000, 3)).astype(float), random.randint(2, size=2_000)
    neighbourhood = Neighbourhood(two_classes(X, labels, np.ones(2_000)))
    asked, look_up = [], neighbourhood.tree.kneighbors
    monkeypatch.setattr(
        neighbourhood.tree, "kneighbors", lambda X, n: asked.append(n) or look_up(X, n)
    )
    votes = neighbourhood.votes(X, 7, own=True)
    assert max(asked) <= 8
    expected = counted_votes(X, labels, np.ones(2_000), X[:20], 7, own=True)
    assert_allclose(votes[:20], expected, atol=1e-9)
