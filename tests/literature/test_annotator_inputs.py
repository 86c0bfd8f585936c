"""Labels of annotators in any container, rows of any kind, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import NotFittedError

from rboost.robust import MultiAnnotatorLogisticRegression
from tests.literature.test_annotators import crowd

NAMES = np.array(["ham", "spam"], dtype=object)


def with_gaps(said, labels, gap):
    """The codes as an array of objects, with labels and gaps of any kind."""
    filled = np.asarray(labels, dtype=object)[np.nan_to_num(said).astype(int)]
    return np.where(np.isnan(said), np.array(gap, dtype=object), filled)


CONTAINERS = {
    "floats": lambda said: said,
    "nested lists": lambda said: said.tolist(),
    "strings and None": lambda said: with_gaps(said, NAMES, None),
    "lists of strings and NaN": lambda said: with_gaps(said, NAMES, np.nan).tolist(),
    "truth values": lambda said: with_gaps(said, [False, True], None),
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda said: pd.DataFrame(said).astype("Int64"),
    "pandas, strings": lambda said: pd.DataFrame(with_gaps(said, NAMES, None)).astype("string"),
    "pandas, categories": lambda said: pd.DataFrame(with_gaps(said, NAMES, None)).astype(
        pd.CategoricalDtype(NAMES)
    ),
    "polars": lambda said: pl.DataFrame(with_gaps(said, [0, 1], None).tolist(), orient="row"),
    "polars, strings": lambda said: pl.DataFrame(
        with_gaps(said, NAMES, None).tolist(), orient="row"
    ),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_labels_in_any_container_and_of_any_type(container):
    X, _, said = crowd(400)
    expected = MultiAnnotatorLogisticRegression().fit(X, said)
    model = MultiAnnotatorLogisticRegression().fit(X, CONTAINERS[container](said))
    assert_allclose(model.annotator_noise_, expected.annotator_noise_)
    assert_allclose(model.true_probability_, expected.true_probability_)
    named = "strings" in container or "categories" in container
    np.testing.assert_array_equal(model.classes_, NAMES if named else [0, 1])
    assert np.isin(model.predict(X), model.classes_).all()


def test_sparse_rows():
    X, _, said = crowd(400)
    X[np.abs(X) < 0.5] = 0
    dense = MultiAnnotatorLogisticRegression().fit(X, said)
    scattered = MultiAnnotatorLogisticRegression().fit(sparse.csr_array(X), said)
    assert_allclose(scattered.coef_, dense.coef_, atol=1e-5)
    assert_allclose(scattered.true_probability_, dense.true_probability_, atol=1e-5)


HARD = {
    "separable": lambda X: (X, (X[:, :1] > 0) * np.ones(3)),
    "constant column": lambda X: (np.column_stack([X, np.full(len(X), 7.0)]), X[:, :2] > 0.3),
    "duplicates": lambda X: (np.repeat(X[:5], 12, axis=0), np.tile(np.eye(2), (30, 1))),
    "one feature": lambda X: (X[:, :1], X[:, :2] > 0),
    "three rows of a class": lambda X: (X, np.arange(len(X))[:, None] < [3, 2]),
    "annotators who never agree": lambda X: (X, np.column_stack([X[:, 0] > 0, X[:, 0] <= 0])),
    "far from zero": lambda X: (1e6 + X * [1, 1e-5, 1e3, 1], X[:, :2] > 0),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("parameters", [{}, {"C": None, "prior_strength": 0}], ids=["", "bare"])
@pytest.mark.parametrize("case", HARD)
def test_finite_on_hard_tables(case, parameters):
    X, said = HARD[case](np.random.RandomState(0).standard_normal((60, 4)))
    model = MultiAnnotatorLogisticRegression(**parameters).fit(X, said)
    for values in (model.coef_, model.annotator_noise_, model.true_probability_, model.loss_):
        assert np.all(np.isfinite(values))
    assert np.all((model.true_probability_ >= 0) & (model.true_probability_ <= 1))


def bad_data():
    X, _, said = crowd(20, missing=0)
    gaps = np.full((20, 2), np.nan)
    return {
        "C": ({"C": 0}, (X, said), "C of .* must be a number above 0"),
        "prior": ({"prior_strength": -1}, (X, said), "prior_strength of .* at least 0"),
        "all missing": ({}, (X, gaps), "y holds no label at all"),
        "all missing, objects": ({}, (X, gaps.astype(object)), "y holds no label at all"),
        "three classes": ({}, (X, said + np.arange(5)), "annotators may choose from two"),
        "one class": ({}, (X, np.ones((20, 2))), "y holds only one class"),
        "rows": ({}, (X, said[:15]), "X has 20 rows but y has 15"),
        "transposed": ({}, (X, said.T), "X has 20 rows but y has 5"),
        "dimensions": ({}, (X, said[..., None]), "a column per annotator, but its shape is"),
        "no annotators": ({}, (X, said[:, :0]), "a column per annotator, but its shape is"),
        "mixed": ({}, (X, [["a", 1]] * 20), "mixes labels of the types int and str"),
        "gap in one dimension": ({}, (X, said[:, 0] * np.nan), "y contains NaN"),
        "weights": ({}, (X, said, np.ones(5)), r"shape must be \(20,\)"),
        "weights of one class": (
            {}, (X, said[:, :1] * [1, 1], said[:, 0]), "give some rows of each class"
        ),
    }  # fmt: skip


@pytest.mark.parametrize("case", bad_data())
def test_a_failed_fit_names_the_mistake_and_changes_nothing(case):
    parameters, arguments, message = bad_data()[case]
    model = MultiAnnotatorLogisticRegression(**parameters)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(*arguments)
    assert "\n" not in str(caught.value)
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        model.predict(arguments[0])
