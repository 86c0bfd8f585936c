"""Hypothesis strategies for the objects of the package."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def noise_matrices(draw, largest_sum=0.95, smallest=0.0):
    """2×2 noise matrices with γ01 + γ10 < 1."""
    first = draw(st.floats(smallest, largest_sum))
    second = draw(st.floats(0.0, 1.0)) * (largest_sum - first)
    rates = np.maximum([first, second], smallest)
    if draw(st.booleans()):
        rates = rates[::-1]
    return np.array([[1 - rates[0], rates[0]], [rates[1], 1 - rates[1]]])


@st.composite
def stochastic_matrices(draw, min_classes=2, max_classes=5):
    """Square matrices whose rows are distributions."""
    n_classes = draw(st.integers(min_classes, max_classes))
    seed = draw(st.integers(0, 2**31 - 1))
    return np.random.RandomState(seed).dirichlet(np.ones(n_classes), size=n_classes)


@st.composite
def boosting_states(draw, soft=False):
    """Labels ±1, scores, positive sample weights and votes of a boosting run in progress.

    Votes are −1 or +1, or anything between when ``soft``.
    """
    n_rows = draw(st.integers(2, 40))
    random = np.random.RandomState(draw(st.integers(0, 2**31 - 1)))
    labels = np.where(random.uniform(size=n_rows) < 0.5, -1.0, 1.0)
    scores = draw(st.sampled_from([0.0, 0.3, 2.0, 8.0])) * random.standard_normal(n_rows)
    sample_weight = random.gamma(1.0, size=n_rows) + 1e-3
    votes = np.where(random.uniform(size=n_rows) < 0.7, labels, -labels)
    if soft:
        votes = votes * np.clip(1.2 * random.uniform(size=n_rows), 0, 1)
    return labels, scores, sample_weight, votes
