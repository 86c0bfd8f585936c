import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rboost.audit.insight.summary import choose_suspects

PROBABILITIES = st.lists(
    st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.5, 0.7, 0.9, 1.0, np.nan])),
    min_size=0,
    max_size=40,
).map(np.array)


def by_hand(probability):
    """Rows that may be suspected, the most suspicious first; earlier rows first among equals."""
    rows = [row for row, p in enumerate(probability) if p > 0]  # NaN > 0 is False
    return sorted(rows, key=lambda row: (-probability[row], row))


@given(PROBABILITIES, st.integers(0, 50))
def test_n_takes_the_most_suspicious_rows(probability, n):
    assert choose_suspects(probability, n=n).rows.tolist() == by_hand(probability)[:n]


@given(PROBABILITIES, st.one_of(st.floats(0, 1), st.sampled_from([0.1, 0.5, 0.7])))
def test_a_threshold_takes_all_rows_that_reach_it(probability, threshold):
    expected = [row for row in by_hand(probability) if probability[row] >= threshold]
    assert choose_suspects(probability, threshold=threshold).rows.tolist() == expected


@given(PROBABILITIES)
def test_the_usual_list_is_as_long_as_labels_are_expected_to_be_wrong_or_50(probability):
    several = np.repeat(probability, 9)
    found = choose_suspects(several)
    assert found.rows.tolist() == by_hand(several)[: max(50, round(np.nansum(several)))]
    assert found.bands == [
        "probably wrong" if several[row] >= 0.5 else "worth a look" for row in found.rows
    ]
    assert found.n_probable == found.bands.count("probably wrong")


@given(PROBABILITIES, st.one_of(st.floats(0, 1), st.sampled_from([0.1, 0.5, 0.7, 0.9])))
def test_a_precision_takes_as_many_rows_as_keep_it(probability, precision):
    rows = by_hand(probability)
    means = [float(np.mean(probability[rows[:k]])) for k in range(1, len(rows) + 1)]
    # What differs from the precision in the last digits may go either way, unless it is equal.
    assume(all(abs(mean - precision) > 1e-9 or mean == precision for mean in means))
    longest = max((k for k, mean in enumerate(means, start=1) if mean >= precision), default=0)
    found = choose_suspects(probability, expected_precision=precision)
    assert found.rows.tolist() == rows[:longest]
    if len(found):
        assert found.expected_precision >= precision - 1e-9


@pytest.mark.parametrize("n_rows", range(1, 30))
@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 0.9])
def test_rounding_costs_no_row(n_rows, value):
    assert len(choose_suspects(np.full(n_rows, value), expected_precision=value)) == n_rows


@given(PROBABILITIES, st.integers(0, 50))
def test_what_a_check_buys_follows_from_the_probabilities(probability, n):
    found = choose_suspects(probability, n=n)
    chosen = [float(probability[row]) for row in found.rows]
    total = sum(p for p in probability.tolist() if p > 0)
    assert len(found) == len(chosen)
    assert found.probability_wrong.tolist() == chosen
    assert_allclose(found.expected_wrong_labels, total)
    assert_allclose(found.expected_found, sum(chosen))
    assert_allclose(found.expected_precision, np.mean(chosen) if chosen else np.nan)
    assert_allclose(found.expected_recall, sum(chosen) / total if total else np.nan)


@given(PROBABILITIES)
def test_all_suspects_together_hold_all_wrong_labels(probability):
    found = choose_suspects(probability, threshold=0.0)
    if len(found):
        assert_allclose(found.expected_recall, 1)
    assert not np.isnan(probability[found.rows]).any()


@given(PROBABILITIES, st.integers(0, 50))
def test_rows_without_a_probability_change_nothing(probability, n):
    spaced = np.full(2 * len(probability), np.nan)
    spaced[::2] = probability
    assert (2 * choose_suspects(probability, n=n).rows).tolist() == choose_suspects(
        spaced, n=n
    ).rows.tolist()


def test_nothing_is_suspected_where_there_is_nothing():
    for probability in (np.zeros(0), np.full(3, np.nan), np.zeros(3)):
        found = choose_suspects(probability, n=2)
        assert len(found) == 0
        assert found.expected_found == 0
        assert np.isnan(found.expected_precision)
        assert np.isnan(found.expected_recall)


@pytest.mark.parametrize(
    "options",
    [
        {"n": 1, "threshold": 0.5},
        {"n": 0, "expected_precision": 0.0},
        {"threshold": 0.5, "expected_precision": 0.5},
        {"n": 1, "threshold": 0.5, "expected_precision": 0.5},
    ],
    ids=str,
)
def test_only_one_wish_at_a_time(options):
    with pytest.raises(ValueError, match="only one of n, threshold and expected_precision"):
        choose_suspects(np.array([0.5]), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": -1}, "n must be an integer"),
        ({"n": 1.5}, "n must be an integer"),
        ({"n": True}, "n must be an integer"),
        ({"n": "3"}, "n must be an integer"),
        ({"threshold": -0.1}, "threshold must be"),
        ({"threshold": 1.1}, "threshold must be"),
        ({"threshold": np.nan}, "threshold must be"),
        ({"expected_precision": 1.0001}, "expected_precision must be"),
        ({"expected_precision": -1}, "expected_precision must be"),
        ({"expected_precision": "high"}, "expected_precision must be"),
    ],
    ids=str,
)
def test_wishes_out_of_range_are_refused_with_one_sentence(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        choose_suspects(np.array([0.5]), **options)
    assert "\n" not in str(caught.value)


def test_numbers_of_numpy_are_numbers():
    assert len(choose_suspects(np.array([0.5, 0.2]), n=np.int64(1))) == 1
    assert len(choose_suspects(np.array([0.5, 0.2]), threshold=np.float32(0.1))) == 2
