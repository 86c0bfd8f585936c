"""Which engines are run for which tables, and what is no choice."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.naive_bayes import GaussianNB

from rboost import RBoostClassifier
from rboost.engines import ENGINES, engine
from rboost.engines.engine import (
    MANY_COLUMNS,
    POOL_ROWS,
    Table,
    check_engines,
    chosen_engines,
)

TABLES = {
    "small": Table(POOL_ROWS, 9, 2),
    "large": Table(POOL_ROWS + 1, 9, 2),
    "sparse": Table(500, 5, 2, is_sparse=True),
    "sparse and wide": Table(500, 501, 2, is_sparse=True),
    "wide": Table(500, 501, 2),
    "large and wide": Table(POOL_ROWS + 1, MANY_COLUMNS + 1, 2),
    "texts": Table(POOL_ROWS + 1, 1, 2, many_terms="only"),
    "texts and numbers": Table(500, 9, 2, many_terms="some"),
}


@pytest.mark.parametrize(
    ("engines", "table", "expected"),
    [
        ("auto", "small", ["pool", "trees"]),
        ("auto", "large", ["trees"]),
        ("auto", "sparse", ["pool"]),
        ("auto", "sparse and wide", ["logistic"]),
        ("auto", "wide", ["logistic", "pool", "trees"]),
        ("auto", "large and wide", ["logistic", "trees"]),
        ("auto", "texts", ["logistic"]),
        ("auto", "texts and numbers", ["logistic", "pool", "trees"]),
        ("pool", "texts", ["pool"]),
        ("pool", "large", ["pool"]),
        ("linear", "large", ["linear"]),
        ("trees", "small", ["trees"]),
        ("trees", "sparse", ["trees"]),
        (["pool", "trees"], "large", ["pool", "trees"]),
        (("pool", "linear"), "large", ["linear", "pool"]),
        (["trees", "trees"], "small", ["trees"]),
    ],
    ids=str,
)
def test_every_choice_names_its_engines(engines, table, expected):
    check_engines(engines, "cpu", ENGINES)
    assert chosen_engines(engines, TABLES[table]) == set(expected)


@pytest.mark.parametrize(("n_classes", "fewest"), [(2, 100), (3, 1200), (10, 4000)])
def test_the_default_grows_trees_from_so_many_rows_a_class_on(n_classes, fewest):
    assert chosen_engines("auto", Table(fewest - 1, 9, n_classes)) == {"pool"}
    assert chosen_engines("auto", Table(fewest, 9, n_classes)) == {"pool", "trees"}
    assert chosen_engines("trees", Table(fewest - 1, 9, n_classes)) == {"trees"}


@pytest.mark.peers
@pytest.mark.parametrize(
    ("engines", "expected"),
    [
        ("auto", ["pool", "xgboost"]),
        ("trees", ["xgboost"]),
        (["pool", "trees"], ["pool", "xgboost"]),
    ],
    ids=str,
)
def test_on_a_gpu_trees_are_those_of_xgboost(engines, expected):
    pytest.importorskip("xgboost")
    assert chosen_engines(engines, Table(5000, 9, 2), "cuda") == set(expected)


@pytest.mark.parametrize(
    "engines",
    [[], "tree", ["pool", "forest"], ["pool", None], GaussianNB(), [GaussianNB()], 3, None, {}],
    ids=str,
)
def test_what_is_no_choice_is_named_in_one_sentence(engines, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(engines=engines)
    with pytest.raises(
        ValueError, match=r"engines must be 'auto', or one or a list of .*'xgboost'"
    ) as error:
        model.fit(X, noisy)
    assert "NoiseCalibratedClassifier" in str(error.value)  # where models of one's own go
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("engines", ["pool", "linear", ["linear", "pool"]], ids=str)
def test_a_device_is_refused_where_no_trees_grow(engines, noisy_banana):
    X, _, noisy, _ = noisy_banana
    message = r"^device='cuda' is where trees grow, but engines=.* grow none; use .*\.$"
    with pytest.raises(ValueError, match=message):
        RBoostClassifier(engines=engines, device="cuda").fit(X, noisy)


@pytest.mark.parametrize("engines", ["auto", "trees", ["pool", "trees"]], ids=str)
def test_without_lightgbm_the_pool_runs_alone(engines, noisy_banana, monkeypatch):
    X, _, noisy, _ = noisy_banana
    monkeypatch.setattr(engine, "lightgbm", lambda: None)
    model = RBoostClassifier(engines=engines, max_iter=6, random_state=0).fit(X, noisy)
    assert model.engine_weights_ == {"pool": 1.0}
    assert model.score(X, noisy) > 0.6


def test_the_default_on_few_rows_is_the_pool(noisy_banana):
    X, _, noisy, _ = noisy_banana
    default, pool = (
        RBoostClassifier(engines=engines, max_iter=4, random_state=0).fit(X[:90], noisy[:90])
        for engines in ("auto", "pool")
    )
    assert default.engine_weights_ == {"pool": 1.0}
    assert_array_equal(default.predict_proba(X), pool.predict_proba(X))


@pytest.mark.parametrize("noise", ["estimate", "known"])
def test_every_pair_of_engines_runs(noise, noisy_banana):
    X, _, noisy, known = noisy_banana
    matrix = known if noise == "known" else "estimate"
    for engines in (["linear", "pool"], ["linear", "trees"], ["pool", "trees"]):
        model = RBoostClassifier(engines=engines, max_iter=10, noise_matrix=matrix, random_state=0)
        model.fit(X, noisy)
        assert set(model.engine_weights_) <= set(engines)
        assert model.score(X, noisy) > 0.6
        if noise == "known":
            np.testing.assert_allclose(model.noise_matrix_, known)
