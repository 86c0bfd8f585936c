"""The benchmark of several labels a row: what is drawn, Dawid and Skene, the page."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.crowd import Result, counts_of, dawid_skene, drawn, page, similarity


def labels(n_rows=300, n_annotators=9):
    random = np.random.RandomState(0)
    true = random.randint(2, size=n_rows)
    wrong = random.uniform(size=(n_rows, n_annotators)) < np.linspace(0.05, 0.5, n_annotators)
    said = np.where(wrong, 1 - true[:, None], true[:, None])
    return np.where(random.uniform(size=said.shape) < 0.6, said, -1), true


@pytest.mark.parametrize("a_row", [1, 2, None])
def test_labels_that_are_drawn_are_of_the_crowd_or_of_spammers(a_row):
    said, _ = labels()
    found = drawn(said, a_row, 0.0, seed=0)
    n_labels = np.minimum((said >= 0).sum(axis=1), a_row or 9)
    np.testing.assert_array_equal((found >= 0).sum(axis=1), n_labels)
    assert ((found == said) | (found < 0)).all()
    spammed = drawn(said, None, 0.4, seed=0)
    assert spammed.shape[1] == 15
    always = spammed[:, 10][spammed[:, 10] >= 0]
    assert len(set(always.tolist())) == 1


def test_dawid_and_skene_are_better_than_the_majority():
    said, true = labels(1000)
    majority = np.mean(counts_of(said).argmax(axis=1) == true)
    assert np.mean(dawid_skene(said).argmax(axis=1) == true) > majority


def test_alike_products_have_a_cosine_of_1():
    rows = pd.DataFrame(
        {"name_a": ["Phone X-100", "Lamp"], "description_a": ["a phone", np.nan],
         "price_a": ["$1,000.00", np.nan], "name_b": ["Phone X-100", "Chair C3"],
         "description_b": ["a phone", "wood"], "price_b": ["$500.00", "$3"]}
    )  # fmt: skip
    found = similarity(rows)
    assert found["price"][0] == pytest.approx(np.log(2))
    assert found["name, word"].tolist() == pytest.approx([1, 0])
    assert found["name, shared codes"].tolist() == [1, 0]


def test_the_page_has_a_row_for_each_method():
    result = Result("products", "2", 0.4, "rBoost", 0.96, 0.85, float("nan"), 0.95)
    assert "| 2 | 40% | rBoost | 0.960 | 0.950 | 0.850 | – |" in page([result])
