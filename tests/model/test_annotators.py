"""fit(X, Y): labels of several annotators."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification

from rboost import RBoostClassifier

NAMES = np.array(["eggs", "ham", "spam"], dtype=object)


def crowd(n_rows=600, n_classes=2, seed=0, share=0.4):
    """A table, true classes, and labels of six good annotators and three who guess."""
    X, y = make_classification(
        n_rows, 8, n_informative=5, n_redundant=0, n_classes=n_classes, class_sep=1.2, flip_y=0,
        random_state=seed,
    )  # fmt: skip
    random = np.random.RandomState(seed)
    error = np.array([0.05, 0.1, 0.15, 0.2, 0.25, 0.3, *[1 - 1 / n_classes] * 3])
    wrong = random.uniform(size=(n_rows, 9)) < error
    said = np.where(wrong, (y[:, None] + random.randint(1, n_classes, wrong.shape)) % n_classes,
                    y[:, None]).astype(float)  # fmt: skip
    said[random.uniform(size=said.shape) > share] = np.nan
    return X, y, said


def with_names(said, gap=None):
    named = NAMES[np.nan_to_num(said).astype(int)]
    return np.where(np.isnan(said), np.array(gap, dtype=object), named)


def model(**options):
    return RBoostClassifier(**{"max_iter": 20, "random_state": 0, **options})


def majority(said, n_classes):
    return np.stack([(said == k).sum(axis=1) for k in range(n_classes)], axis=1).argmax(axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_better_than_the_majority_and_who_guesses_is_found(n_classes):
    X, y, said = crowd(1200, n_classes, share=0.3)
    frame = pd.DataFrame(said, columns=list("abcdefghi"))
    fitted = model(max_iter=60).fit(X, frame)
    assert np.mean(fitted.true_class_ == y) > np.mean(majority(said, n_classes) == y) + 0.05
    records = pd.DataFrame(fitted.annotators_)
    assert_array_equal(records["name"], list("abcdefghi"))
    assert_array_equal(records["n_labels"], (~np.isnan(said)).sum(axis=0))
    assert (records["kind"] == ["informative"] * 6 + ["guesses"] * 3).all()
    true = np.array([np.mean(column[~np.isnan(column)] == y[~np.isnan(column)])
                     for column in said.T])  # fmt: skip
    assert np.mean((records["low"] - 0.02 <= true) & (true <= records["high"] + 0.02)) > 0.7
    assert_allclose(fitted.true_class_probability_.sum(axis=1), 1)
    assert_array_equal(fitted.classes_[fitted.true_class_probability_.argmax(axis=1)],
                       fitted.true_class_)  # fmt: skip
    X_new, y_new, _ = crowd(1200, n_classes, share=0.3)
    voted = model(max_iter=60).fit(X, majority(said, n_classes))
    assert fitted.score(X_new, y_new) >= voted.score(X_new, y_new) - 0.01


CONTAINERS = {
    "nested lists": lambda said: with_names(said).tolist(),
    "objects, NaN": lambda said: with_names(said, np.nan),
    "masked": lambda said: np.ma.MaskedArray(with_names(said), np.isnan(said)),
    "pandas, strings": lambda said: pd.DataFrame(with_names(said)).astype("string"),
    "pandas, categories": lambda said: pd.DataFrame(with_names(said)).astype("category"),
    "polars": lambda said: pl.DataFrame(with_names(said).tolist(), orient="row"),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_labels_in_any_container(container):
    X, _, said = crowd(200, 3)
    expected = model(engines="pool", max_iter=5).fit(X, said)
    found = model(engines="pool", max_iter=5).fit(X, CONTAINERS[container](said))
    assert_array_equal(found.classes_, NAMES)
    assert_array_equal(found.true_class_, NAMES[expected.true_class_.astype(int)])
    assert_allclose(found.true_class_probability_, expected.true_class_probability_)


@pytest.mark.parametrize(
    "engines",
    ["pool", "trees", "logistic", "linear", pytest.param("xgboost", marks=pytest.mark.peers)],
)
def test_every_engine_takes_rows_with_none_one_or_many_labels(engines):
    X, y, said = crowd(300)
    said[:20] = np.nan
    said[20:120, 1:] = np.nan
    fitted = model(engines=engines, max_iter=10).fit(X, said)
    unlabelled = np.isnan(said).all(axis=1)
    assert_array_equal(np.isnan(fitted.label_issue_probability_), unlabelled)
    assert_allclose(fitted.true_class_probability_[unlabelled], fitted.predict_proba(X[unlabelled]))
    assert np.mean(fitted.true_class_ == y) > 0.7


def test_one_column_is_the_ordinary_case():
    X, y, _ = crowd(200)
    with pytest.warns(UserWarning, match="column-vector y"):
        column = model(max_iter=5).fit(X, y[:, None])
    plain = model(max_iter=5).fit(X, y)
    assert_allclose(column.held_out_scores_, plain.held_out_scores_)
    assert not hasattr(plain, "annotators_")


def test_answers_and_trusted_rows_settle_classes():
    X, y, said = crowd(300)
    checked = np.where(np.arange(300) < 40, y, np.nan)
    fitted = model(engines="pool", max_iter=10).fit(
        X[:280], said[:280], y_checked=checked[:280], X_trusted=X[280:], y_trusted=y[280:]
    )
    assert np.mean(fitted.true_class_[:40] == y[:40]) > 0.95
    assert len(fitted.true_class_) == 280
    n_labelled = 300 - np.isnan(said[40:280]).all(axis=1).sum()
    assert len(fitted.held_out_scores_) == n_labelled


def test_a_weight_of_zero_leaves_a_row_out():
    X, _, said = crowd(300)
    weight = (np.arange(300) < 200).astype(float)
    weighed = model(engines="pool", max_iter=5).fit(X, said, weight)
    alone = model(engines="pool", max_iter=5).fit(X[:200], said[:200])
    assert_allclose(weighed.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda said: said * np.nan, {}, "y holds no label at all; at least"),
        (lambda said: np.where(np.arange(9) == 3, np.nan, said), {},
         "'annotator 4' has labelled no row; leave this column of y out"),
        (lambda said: pd.DataFrame(said, columns=list("abcdefgha")), {},
         "y has two annotators called 'a'; rename"),
        (lambda said: said * 0, {}, "y holds only one class"),
        (lambda said: said[:50], {}, "X has 100 rows but y has 50"),
        (lambda said: said, {"context": np.arange(100) % 2}, "context is for one label a row"),
    ],
)  # fmt: skip
def test_bad_labels_are_refused_in_one_sentence(change, options, message):
    X, _, said = crowd(100)
    with pytest.raises(ValueError, match=message) as caught:
        model().fit(X, change(said), **options)
    assert "\n" not in str(caught.value)


def test_a_known_noise_matrix_is_refused():
    X, _, said = crowd(100)
    with pytest.raises(ValueError, match="Several labels a row need noise_matrix='estimate'"):
        model(noise_matrix=np.eye(2)).fit(X, said)


def test_rows_of_weight_0_are_left_out():
    X, y, said = crowd(300, 3)
    said[200:] = (2 - y[200:])[:, None]
    weight = np.repeat([1.0, 0.0], [200, 100])
    weighted, fewer = model().fit(X, said, weight), model().fit(X[:200], said[:200])
    for one, other in zip(weighted.annotators_, fewer.annotators_, strict=True):
        assert (one["accuracy"], one["kind"]) == (other["accuracy"], other["kind"])
    assert_allclose(weighted.predict_proba(X), fewer.predict_proba(X))


def test_a_column_for_each_group_is_a_noise_matrix_for_each():
    """The remedy that is named where a context comes with several labels."""
    X, y, said = crowd(900, 2)
    is_late = np.arange(900) % 2 == 1
    wrong = is_late & ~np.isnan(said[:, 0])
    said[wrong, 0] = 1 - y[wrong]  # reversed from some day on
    first = said[:, 0]
    split = np.column_stack(
        [np.where(is_late, np.nan, first), np.where(is_late, first, np.nan), said[:, 1:]]
    )
    fitted = model().fit(X, split)
    assert [one["kind"] for one in fitted.annotators_[:2]] == ["informative", "reversed"]
    together = model().fit(X, said)
    right = [np.mean(one.true_class_[wrong] == y[wrong]) for one in (fitted, together)]
    assert right[0] > right[1] + 0.01


def test_a_misspelt_label_makes_no_class():
    X, _, said = crowd(200, 2)
    Y = with_names(said)
    row, column = np.argwhere(Y == "ham")[0]
    Y[row, column] = "hamm"
    with pytest.warns(UserWarning, match="'hamm' of 'y': fewer than 5 labels, too few to learn"):
        fitted = model().fit(X, Y)
    assert fitted.classes_.tolist() == ["eggs", "ham"]
    checked = np.full(200, None, dtype=object)
    checked[:5] = "hamm"
    assert len(model().fit(X, Y, y_checked=checked).classes_) == 3
