"""The benchmark of several labels a row: what is drawn, Dawid and Skene, the page."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from benchmarks.crowd import (
    Crowd,
    Result,
    _tested,
    counts_of,
    crowd_kit,
    dawid_skene,
    draw,
    drawn,
    methods,
    page,
    similarity,
)


def labels(n_rows=300, n_annotators=9):
    random = np.random.RandomState(0)
    true = random.randint(2, size=n_rows)
    wrong = random.uniform(size=(n_rows, n_annotators)) < np.linspace(0.05, 0.5, n_annotators)
    said = np.where(wrong, 1 - true[:, None], true[:, None])
    return np.where(random.uniform(size=said.shape) < 0.6, said, -1), true


@pytest.mark.parametrize("a_row", [1, 2, None])
def test_labels_that_are_drawn_are_of_the_crowd_or_of_spammers(a_row):
    said, true = labels()
    found = drawn(said, true, a_row, "none", 0.0, seed=0)
    n_labels = np.minimum((said >= 0).sum(axis=1), a_row or 9)
    np.testing.assert_array_equal((found >= 0).sum(axis=1), n_labels)
    assert ((found == said) | (found < 0)).all()
    spammed = drawn(said, true, None, "mixed", 0.4, seed=0)
    assert spammed.shape[1] == 15
    guesses, always, reverse = (spammed[:, column] for column in (9, 10, 11))
    assert len(set(always[always >= 0].tolist())) == 1
    assert np.mean(reverse[reverse >= 0] == true[reverse >= 0]) < 0.3
    assert 0.4 < np.mean(guesses[guesses >= 0] == true[guesses >= 0]) < 0.6


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
    losses = 0.3, 0.25, 0.2, 0.21
    result = Result(
        "products", "2", "40% random", "rBoost", 0.96, 0.95, 0.2, 0.85, float("nan"), losses
    )
    text = page([result])
    assert "| 2 | 40% random | rBoost | 0.960 | 0.950 | 0.200 | 0.850 | – |" in text
    assert "| pairs of products | 2 | 40% random | 0.300 | 0.250 | 0.200 | 0.210 |" in text


def test_the_figure_is_drawn_of_all_tables_and_named_on_the_page(tmp_path):
    results = [
        Result(name, a_row, spammers, method, 0.9, 0.9, 0.2, 0.8, float("nan"))
        for name in ("sentiment", "products")
        for a_row, spammers in (("1", "–"), ("all", "–"), ("all", "40% random"))
        for method in ("majority", "rBoost")
    ]
    draw(results, tmp_path / "new" / "crowd.png")
    assert (tmp_path / "new" / "crowd.png").read_bytes().startswith(b"\x89PNG")
    assert "](crowd.png)" in page(results)


@pytest.mark.peers
@pytest.mark.slow
def test_models_are_tested_in_folds_of_which_some_annotators_labelled_no_row():
    said, true = labels(120, 5)
    said[:, 0] = np.where(said[:, 0] < 0, true, said[:, 0])  # each row has a label
    said[3:, 4] = -1  # so that some folds have no label of this annotator
    said[3:, 1] = -1
    X = np.random.RandomState(0).normal(size=(120, 3)) + true[:, None]
    crowd = Crowd(pd.DataFrame(X), X, said, true, LogisticRegression(), None)
    found = methods(crowd, said)
    assert {"majority", "GLAD", "MACE", "Raykar", "rBoost", "rBoost on majority"} <= found.keys()
    for own in found.values():
        assert _tested(own, crowd) > 0.7
        assert own.q is None or own.q.shape == (120, 2)


@pytest.mark.peers
@pytest.mark.parametrize("name", ["GLAD", "MACE"])
def test_crowd_kit_decides_as_labels_do(name):
    said, true = labels(150)
    said[3] = -1  # a row without labels
    q = crowd_kit(said, name)
    np.testing.assert_allclose(q.sum(axis=1), 1)
    assert q[3].tolist() == [0.5, 0.5]
    assert np.mean(q.argmax(axis=1) == true) > 0.8
