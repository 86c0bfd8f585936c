"""What noise-aware Platt scaling takes: hard tables, containers, and what it refuses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost.noise.matrix import rates_of
from rboost.noise.platt import fit_noise_aware_platt
from tests.noise.test_platt import GRID, draw, estimate


def hard_table(kind):
    random = np.random.RandomState(0)
    labels = np.arange(300) % 2
    normal = random.standard_normal(300)
    return {
        "constant": (np.full(300, 3.0), labels),
        "large constant": (np.full(300, 1e6 + 0.1), labels),
        "separable": ((2 * labels - 1) * (1 + np.abs(normal)), labels),
        "separable and huge": (1e6 * (2 * labels - 1) + normal, labels),
        "three values": (np.clip(np.round(normal + labels - 0.5), -1, 1), labels),
        "two values": (labels * 1.0, (labels + (normal > 1)) % 2),
        "40 rows": ((normal + labels)[:40], labels[:40]),
        "two rows": (np.array([0.0, 1.0]), np.array([0, 1])),
        "one row": (np.array([1.0]), np.array([1])),
        "positives only": (normal, np.ones(300)),
        "negatives only": (normal, np.zeros(300)),
        "one positive": (normal, np.arange(300) == 0),
        "huge": (1e6 * (normal + labels), labels),
        "outlier": (np.where(np.arange(300) == 0, 1e6, normal + labels), labels),
        "contradiction": (normal - 3 * labels, labels),
        "sharp contradiction": (-1e6 * (2 * labels - 1.0), labels),
        "no relation": (normal, labels),
    }[kind]


HARD = [
    "constant", "large constant", "separable", "separable and huge", "three values", "two values",
    "40 rows", "two rows", "one row", "positives only", "negatives only", "one positive", "huge",
    "outlier", "contradiction", "sharp contradiction", "no relation",
]  # fmt: skip


@pytest.mark.parametrize("trusting", [False, True], ids=["", "trusted rows"])
@pytest.mark.parametrize("kind", HARD)
def test_any_scores_give_something_finite(kind, trusting):
    scores, labels = hard_table(kind)
    trusted = np.arange(len(scores)) % 5 == 0 if trusting else None
    fitted = fit_noise_aware_platt(scores, labels, trusted=trusted)
    low, high = fitted.interval()
    assert np.all((low >= 0) & (low <= high) & (high <= 1))
    assert_allclose(low[[0, 1], [0, 1]], 1 - high[[0, 1], [1, 0]])
    assert rates_of(fitted.noise_matrix).sum() < 1
    assert np.all(rates_of(fitted.noise_matrix) >= 0)
    assert_allclose(fitted.noise_matrix.sum(axis=1), 1)
    assert np.all((fitted.standard_error >= 0) & (fitted.standard_error <= 0.5))
    grid = np.linspace(scores.min() - 1, scores.max() + 1, 60)
    probability = fitted(grid)
    assert np.all((probability >= 0) & (probability <= 1))
    assert np.all(np.diff(probability) >= -1e-12)
    assert np.all(np.isfinite(fitted.log_odds(grid)))
    issues = fitted.issue_probability(scores, labels)
    assert np.all((issues >= 0) & (issues <= 1))
    assert grid[0] <= fitted.threshold(grid[0], grid[-1]) <= grid[-1]


def test_constant_scores_leave_the_class_frequency():
    labels = np.arange(300) % 4 == 0
    fitted = fit_noise_aware_platt(np.full(300, 2.0), labels, noise_matrix=np.eye(2))
    assert_allclose(fitted(np.array([2.0])), 0.25, atol=0.01)


def test_separable_scores_are_separated_and_little_noise_is_left():
    scores, labels = hard_table("separable")
    fitted = fit_noise_aware_platt(scores, labels)
    np.testing.assert_array_equal(fitted(scores) > 0.5, labels == 1)
    assert np.all(rates_of(fitted.interval()[1]) < 0.05)


def test_labels_may_be_booleans_and_lists():
    scores, labels, _ = draw(60, (0.2, 0.1))
    expected = estimate(scores, labels)
    assert_allclose(estimate(list(scores), [bool(label) for label in labels]), expected)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 2], [0, 1, 1]), {}, "must have one entry a row"),
        (([[1, 2]], [[0, 1]]), {}, "must have one entry a row"),
        (([1, 2], [0, 1], [1]), {}, "must have one entry a row"),
        (([1, 2], [0, 1]), {"trusted": [True]}, "must have one entry a row"),
        (([], []), {}, "of at least one row"),
        (([1, np.nan], [0, 1]), {}, "scores must be finite"),
        (([1, np.inf], [0, 1]), {}, "scores must be finite"),
        (([1, 2], [-1, 1]), {}, "labels must be 0 or 1"),
        (([1, 2], [0, np.nan]), {}, "labels must be 0 or 1"),
        (([1, 2], [0, 1], [-1, 1]), {}, "sample_weight must not be negative"),
        (([1, 2], [0, 1], [0, 0]), {}, "must not be 0 for every row"),
        (([1, 2], [0, 1], [np.nan, 1]), {}, "sample_weight must not"),
        (([1, 2], [0, 1], [np.inf, 1]), {}, "sample_weight must not"),
        (([1, 2], [0, 1]), {"noise_matrix": np.eye(3)}, "for 3 classes but there are 2"),
        (([1, 2], [0, 1]), {"noise_matrix": [[0.4, 0.6], [0.6, 0.4]]}, "carry no information"),
    ],
    ids=str,
)
def test_bad_input_is_refused_with_one_sentence(arguments, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        fit_noise_aware_platt(*arguments, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("trusted", [[2, 0], [0.5, 0], [np.nan, 0], [-1, 1]], ids=str)
def test_a_row_is_trusted_or_not(trusted):
    with pytest.raises(ValueError, match="trusted"):
        fit_noise_aware_platt([1, 2], [0, 1], trusted=trusted)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e12])
def test_one_score_far_beyond_the_others_changes_little(far):
    scores, labels, _ = draw(1000, (0.3, 0.0))
    one = fit_noise_aware_platt(scores, labels)
    other = fit_noise_aware_platt(np.append(scores, far), np.append(labels, 1))
    assert_allclose(other.noise_matrix, one.noise_matrix, atol=0.05)
    assert_allclose(other(GRID), one(GRID), atol=0.1)
