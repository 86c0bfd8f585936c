"""Every function of the native core, given arrays that do not fit: an error or numbers."""

import itertools

import numpy as np
import pytest

from rboost.native import _native

ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, -1e308, 1e-308, 1e200, 0.5])
REFUSED = (ValueError, TypeError, MemoryError, IndexError, RuntimeError)


def odd(random, *shape):
    """Numbers, one in three of which is extreme."""
    values = random.normal(size=shape)
    return np.where(random.uniform(size=shape) < 1 / 3, random.choice(ODD, shape), values)


def size(random):
    return int(random.choice([0, 1, 2, 3, 7, 200, 3000]))


def tried(function, *arguments, **options):
    try:
        return function(*arguments, **options)
    except REFUSED as error:
        return str(error)


def forest(random, n_nodes=5, n_leaves=6):
    """One sound tree, a chain; then one of its parts is changed."""
    nodes = np.arange(n_nodes, dtype=np.int32)
    parts = {
        "X": random.normal(size=(9, 3)),
        "feature": nodes % 3,
        "threshold": np.zeros(n_nodes),
        "left": ~nodes,
        "right": np.append(nodes[1:], ~np.int32(n_nodes)).astype(np.int32),
        "nan_left": np.zeros(n_nodes, bool),
        "category_set": np.full(n_nodes, -1, np.int32),
        "set_starts": np.array([0, 1], np.int32),
        "bitset": np.array([5], np.uint32),
        "leaf_value": np.arange(n_leaves) + 1.0,
        "roots": np.zeros(1, np.int32),
        "n_outputs": 1,
    }
    parts["category_set"][1] = 0
    return parts


def scores_of(X, n_threads=1, **parts):
    return _native.pack_forest(**parts).scores(X, n_threads)


EXTREMES = (-(2**31), -7, -1, 0, 1, 5, 6, 2**31 - 1)


def test_a_forest_whose_numbers_lead_elsewhere(rng):
    sound = forest(rng)
    assert scores_of(**sound).shape == (9, 1)
    refused = 0
    for name in ("feature", "left", "right", "roots", "category_set", "set_starts"):
        for place, value in itertools.product(range(len(sound[name])), EXTREMES):
            changed = sound[name].copy()
            changed[place] = value
            found = tried(scores_of, **sound | {name: changed})
            refused += isinstance(found, str)
    assert refused > 100
    for name, value in sound.items():
        if isinstance(value, np.ndarray):
            for other in (value[:0], value[:-1], np.concatenate([value, value]), value[::-1]):
                tried(scores_of, **sound | {name: other})


@pytest.mark.parametrize("n_outputs", [2**60, 2**61, 2**62, 2**63, 2**64 - 1, 2**64, 0, -1])
@pytest.mark.parametrize("n_rows", [0, 1, 4, 9])
def test_sizes_of_a_forest_do_not_wrap(rng, n_rows, n_outputs):
    """n_rows · n_outputs is 0 modulo 2⁶⁴ for 4 rows and 2⁶²."""
    for roots in (np.zeros(0, np.int32), np.zeros(1, np.int32)):
        parts = forest(rng) | {"n_outputs": n_outputs, "roots": roots}
        parts["X"] = parts["X"][:n_rows]
        with pytest.raises((ValueError, TypeError)):
            scores_of(**parts)


@pytest.mark.parametrize("seed", range(40))
def test_mixtures_of_any_numbers(seed):
    random = np.random.RandomState(seed)
    n, m = size(random), size(random)
    scores, slopes, offsets, weights = (odd(random, k) for k in (n, m, m, m))
    for function in (_native.mixture_probability, _native.mixture_log_odds):
        assert len(function(scores, slopes, offsets, weights)) == n
        for short in ((slopes[1:], offsets, weights), (slopes, offsets, weights[1:])):
            if m:
                assert "one weight for each line" in tried(function, scores, *short)
    label, lines = random.uniform(size=n) < 0.5, (slopes, offsets, weights)
    assert len(_native.issue_probability(scores, label, odd(random, m, 2), *lines)) == n
    for changed in ((label[1:], odd(random, m, 2)), (label, odd(random, m, 3)),
                    (label, odd(random, m + 1, 2))):  # fmt: skip
        found = tried(_native.issue_probability, scores, *changed, *lines)
        assert isinstance(found, str) or (n == 0 and changed[0] is not label)
    _native.mixture_threshold(slopes, offsets, weights, *odd(random, 2))


@pytest.mark.parametrize("steepness", 10.0 ** np.array([100, 154, 155, 160, 200, 290, 300, 308]))
def test_steep_mixtures_are_looked_up_within_their_table(steepness):
    """Distances whose squares overflow have a place in the table too."""
    for far, offset in itertools.product((1e-300, 1.0, 1e5, 1e140, 1e299), (0.0, 1.0, 1e150)):
        scores = np.linspace(-far, far, 3000)
        lines = np.array([steepness, 1.0]), np.array([offset, 0.0]), np.array([0.5, 0.5])
        found = _native.mixture_probability(scores, *lines)
        assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("seed", range(40))
def test_counts_of_any_rows(seed):
    random = np.random.RandomState(seed)
    n, n_edges = size(random), int(random.choice([0, 1, 5, 4095, 4096]))
    types = (np.float64, np.float32, np.int64, np.int32, np.int8, np.uint8, bool)
    columns = [
        (odd(random, 2 * n) if k == 0 else random.randint(-1, 3, 2 * n)).astype(
            types[random.randint(len(types))] if k else np.float64
        )[:: random.choice([-2, 2])]
        for k in range(4)
    ]
    numbers = [float(random.choice([*ODD, 1.0, 2.0])) for _ in range(3)]
    edges = odd(random, n_edges)
    found = tried(_native.count_labels, *columns, edges, *numbers)
    assert isinstance(found, str) or found[1].shape == (n_edges + 1, 5)
    tried(_native.count_labels, columns[0], columns[1][1:], None, None, edges, *numbers)
    tried(_native.count_labels, columns[0].astype(complex), *columns[1:], edges, *numbers)


@pytest.mark.parametrize("seed", range(30))
def test_fits_of_any_rows(seed):
    random = np.random.RandomState(seed)
    n, width = size(random) % 1000, int(random.choice([0, 1, 2, 9]))
    X = odd(random, n, width)
    if seed % 3:
        X = np.clip(X, -1e38, 1e38).astype(np.float32)
    starts = odd(random, 2, width + 1 + 2 * (seed % 2))
    options = {"C": 1.0, "fit_intercept": True, "estimate_noise": bool(seed % 2), "into_1": 0.1,
               "into_0": 0.1, "max_iter": int(random.choice([-1, 0, 3])),
               "tol": float(random.choice([np.nan, 0.0, 1e-4]))}  # fmt: skip
    given = [odd(random, n), np.abs(odd(random, n)), odd(random, width), np.ones(width)]
    tried(_native.is_moderate, X)
    tried(_native.fit_logistic, X, *given, starts, **options)
    tried(_native.fit_logistic, X, given[0][1:], *given[1:], starts, **options)
    tried(_native.fit_logistic, X, *given, starts[:, 1:], **options)


@pytest.mark.parametrize("seed", range(30))
def test_rounds_in_any_order(seed):
    random = np.random.RandomState(seed)
    n, width = 1 + size(random) % 1000, int(random.choice([1, 2, 9]))
    is_float = bool(seed % 2)
    X = random.normal(size=(n, width)).astype(np.float32 if is_float else np.float64)
    X = np.where(random.uniform(size=X.shape) < 0.05, np.nan, X).astype(X.dtype)
    labels = random.choice([-1.0, 1.0, 0.0, np.nan], n)
    rounds = (_native.FloatRounds if is_float else _native.DoubleRounds)(
        X, labels, None, None, np.zeros(n), None, np.zeros(n, np.float32), C=1.0,
        fit_intercept=True, estimate_noise=False, into_1=0.0, into_0=0.0, max_iter=3, tol=1e-2,
        probability=bool(seed % 3), flip_negative=False, total_step=0.0, n_threads=2,
    )  # fmt: skip
    for step in random.randint(5, size=12):
        if step == 0:
            sample = random.randint(-1, n + 1, random.choice([0, 3, n]))
            tried(rounds.fit_learner, odd(random, 2, 2), sample, np.zeros((1, width + 1)))
        elif step == 1:
            tried(rounds.judge)
        elif step == 2:
            tried(rounds.move, float(random.choice(ODD)))
        elif step == 3:
            tried(rounds.settle)
        else:
            coefs, numbers = rounds.kept()
            assert coefs.shape[1:] == (width,)
            assert len(coefs) == len(numbers)


@pytest.mark.parametrize("seed", range(20))
def test_lines_of_any_counts(seed):
    random = np.random.RandomState(seed)
    n, m = size(random) % 500, size(random) % 300
    counts = np.abs(odd(random, 2, n)), np.abs(odd(random, 2, n))
    rates, start = odd(random, m, 2), odd(random, m, 2)
    for prior in ((1.0, 0.0, 1.0, 1, 1e-3), (*odd(random, 3), int(seed), 1.0), (), (1.0,)):
        for k in (n, n + 1):
            tried(_native.fit_lines, odd(random, k), *counts, rates, start, prior)
    kinds = np.array([[random.randint(-1, 9), 3, 3], [0, 1, random.choice([0, 5, 5000])]], np.int64)
    tried(_native.explore_noise, odd(random, n), *counts, np.array([0.5, 0.5]), kinds, 0.9, 0.01,
          1e-3, (1.0, 0.0, 1.0, 1, 1e-3))  # fmt: skip
