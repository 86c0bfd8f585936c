from dataclasses import replace

import numpy as np

from rboost.audit.insight.summary import FlipRate
from rboost.audit.render.text import describe_confusions, find_confusions


def with_rates(summary, rates, rows):
    """The summary with other rates and numbers of rows, three classes each."""
    names = [one.name for one in summary.classes]
    noise = tuple(
        FlipRate(names[j], names[k], rates[j][k], rates[j][k] / 2, 2 * rates[j][k], rows[j][k])
        for j, k in np.ndindex(3, 3)
    )
    return replace(summary, noise=noise)


def test_lines_that_read_alike_are_one_and_what_hardly_occurs_is_none(small_audit):
    rates = [[0.8, 0.1, 0.1], [0.05, 0.95, 0.0001], [0.0, 0.2, 0.8]]
    rows = [[40, 5, 5], [3, 50, 0.01], [0, 9, 40]]
    summary = with_rates(small_audit.summary(), rates, rows)
    found = find_confusions(summary)
    assert [(one.true, one.given) for one in found] == [
        ("cedar", ("birch",)), ("ash", ("birch", "cedar")), ("birch", ("ash",)),
    ]  # fmt: skip
    assert [one.expected_rows for one in found] == [9, 10, 3]
    sentences = describe_confusions(summary, 2)
    assert "“birch” and “cedar”" in sentences[1]
    assert "10 rows in all" in sentences[1]
    assert sentences[2] == "… and 1 rarer confusion."


def test_noise_that_is_everywhere_the_same_is_one_sentence(small_audit):
    rates, rows = 0.05 + 0.85 * np.eye(3), 4 + 50 * np.eye(3)
    summary = with_rates(small_audit.summary(), rates, rows)
    (sentence,) = describe_confusions(summary, 6)
    assert sentence.startswith("Whatever the true class, 5 % of its rows")
    assert "about 24 rows in all" in sentence


def test_where_little_is_known_rates_are_intervals_alone(small_audit):
    rates = [[0.8, 0.1, 0.1], [0.05, 0.95, 0.0001], [0.0, 0.2, 0.8]]
    rows = [[40, 5, 5], [3, 50, 0.01], [0, 9, 40]]
    summary = replace(with_rates(small_audit.summary(), rates, rows), is_uncertain=True)
    sentences = describe_confusions(summary, 6)
    assert sentences[0] == "Of true “cedar”, 10 % to 40 % were labelled “birch” (90 % interval)."
    assert not any("about" in sentence for sentence in sentences)


def test_less_than_a_row_is_said_in_words(small_audit):
    rates, rows = 0.001 + 0.99 * np.eye(3), 0.05 + 50 * np.eye(3)
    (sentence,) = describe_confusions(with_rates(small_audit.summary(), rates, rows), 6)
    assert sentence.endswith("; less than one row).")


def test_where_nothing_is_confused_it_says_so(small_audit):
    summary = with_rates(small_audit.summary(), np.eye(3), 50 * np.eye(3))
    assert find_confusions(summary) == []
    # All rates are the same, nothing, and so are the rows.
    assert len(describe_confusions(summary, 6)) == 1
