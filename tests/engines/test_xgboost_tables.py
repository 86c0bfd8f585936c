"""Tables of all kinds through the trees of XGBoost: sparse, with words, odd, in groups."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rboost import RBoostClassifier
from rboost.engines.engine import EngineSettings
from rboost.engines.trees import n_folds
from rboost.engines.xgboost import BinnedRows, SingleProcess, XGBoostBoosters, learn_bins
from rboost.noise import symmetric
from rboost.numbering import hashed_folds
from tests.engines.tables import Labelled, table
from tests.engines.test_xgboost import assert_same, grow, model

pytest.importorskip("xgboost")
pytestmark = pytest.mark.peers


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_rows_give_what_dense_ones_do(container, n_classes, monkeypatch):
    monkeypatch.setattr("rboost.engines.xgboost.SPARSE_ROWS", 77)
    rows, _ = table(n_classes)
    dense, scattered = grow(rows), grow(rows, X=container(rows.X))
    assert_same(scattered, dense)
    scores = scattered.member.scores(sparse.csr_array(rows.X), 2)
    assert_array_equal(scores, dense.member.scores(rows.X, 1))


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_tables_through_the_classifier(container):
    rows, _ = table()
    found = model().fit(container(rows.X), rows.observed)
    expected = model().fit(rows.X, rows.observed)
    assert_array_equal(found.label_issue_probability_, expected.label_issue_probability_)
    assert_array_equal(found.predict_proba(container(rows.X)), expected.predict_proba(rows.X))


def test_groups_of_rows_have_their_own_noise():
    random = np.random.RandomState(0)
    X = random.standard_normal((600, 3))
    true, who = (X[:, 0] > 0).astype(int), np.repeat(["careful", "careless"], 300)
    wrong = (random.uniform(size=600) < 0.35) & (who == "careless")
    found = model(max_iter=30).fit(X, true ^ wrong, context=who)
    shares = {group["name"]: group["wrong_share"] for group in found.noise_by_group_}
    assert shares["careful"] < 0.1
    assert shares["careless"] > 0.2
    issues = found.label_issue_probability_
    assert issues[wrong].mean() > 0.5 > 0.2 > issues[~wrong].mean()


def test_answers_of_people_count():
    rows, true = table(n_rows=400, rate=0.3)
    checked = np.full(400, np.nan)
    checked[:80] = true[:80]
    found = model(max_iter=20).fit(rows.X, rows.observed, y_checked=checked)
    assert_array_equal(found.true_class_[:80], true[:80])
    wrong = (rows.observed != true)[:80]
    assert_array_equal(found.label_issue_probability_[:80] > 0.5, wrong)


def test_words_and_missing_values():
    pandas = pytest.importorskip("pandas")
    random = np.random.RandomState(0)
    words = random.choice(["a", "b", "c", "d", "e"], 300)
    frame = pandas.DataFrame({"word": words, "number": random.standard_normal(300)})
    frame.loc[::7, "word"], frame.loc[::5, "number"] = None, np.nan
    y = np.isin(words, ["a", "d"]).astype(int)
    y[::7] = 1
    frame["more"] = random.standard_normal(300)
    found = model(max_iter=20).fit(frame, y)
    assert found.score(frame, y) > 0.97
    assert found.feature_importances_.argmax() == 0
    unknown = pandas.DataFrame({"word": ["zebra", None], "number": [0.1] * 2, "more": [0.0] * 2})
    assert_array_equal(*found.predict_proba(unknown))


def odd_tables():
    rows, _ = table()
    informative, missing = rows.X[:, :1], np.full((300, 1), np.nan)
    return {
        "constant": (np.ones((300, 2)), rows.observed),
        "twelve rows of three classes": (rows.X[:12], np.arange(12) % 3),
        "all missing": (np.hstack([missing, missing]), rows.observed),
        "one column": (informative, rows.observed),
        "one column all missing": (np.hstack([informative, missing]), rows.observed),
        "one class of two rows": (rows.X, np.where(np.arange(300) < 2, 2, rows.observed)),
        **{f"{n} rows": (rows.X[:n], np.arange(n) % 2) for n in (2, 3, 5, 20)},
    }


@pytest.mark.filterwarnings("ignore:Every training row", "ignore:No base learner was kept")
@pytest.mark.parametrize("engines", ["xgboost", ["pool", "xgboost"]], ids=str)
@pytest.mark.parametrize("case", odd_tables())
def test_odd_tables_give_finite_answers_and_print_nothing(case, engines, capfd):
    X, y = odd_tables()[case]
    found = RBoostClassifier(engines=engines, max_iter=6, random_state=0, n_jobs=1).fit(X, y)
    probability = found.predict_proba(X)
    assert np.all(np.isfinite(probability))
    assert_allclose(probability.sum(axis=1), 1)
    assert np.all(np.isfinite(found.held_out_scores_))
    assert np.all(np.isfinite(found.label_issue_probability_))
    if engines == "xgboost":  # the pool may have kept nothing that knows
        assert np.all(np.isfinite(found.feature_importances_))
    assert capfd.readouterr() == ("", "")


def test_small_tables_may_leave_folds_without_rows():
    seeds = range(20)
    assert any(len(set(hashed_folds(np.arange(5), n_folds(5), seed))) < 5 for seed in seeds)
    X, y = np.arange(5.0)[:, np.newaxis], np.array([0, 1, 0, 1, 1])
    for seed in seeds:
        grown = grow(Labelled(X, y), seed=seed, max_iter=5)
        assert np.all(np.isfinite(grown.held_out))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_process_may_have_no_row_of_a_fold(n_classes):
    """Its other rows are grown on and scored all the same."""
    rows, _ = table(n_classes)
    number = np.arange(len(rows.observed))
    fold = hashed_folds(number, n_folds(len(number)), 0)
    of_one = np.flatnonzero(fold == 1)
    own, noise = rows.take(of_one), symmetric(0.2, n_classes)
    bins, likelihood = learn_bins(own.X, [0] * own.X.shape[1], 31), own.likelihood(noise)
    binned = BinnedRows(
        [bins.codes(own.X)], bins, likelihood, own.patterns.trusted, fold[of_one], of_one,
        len(number),
    )  # fmt: skip
    boosters = XGBoostBoosters(binned, own.shares, EngineSettings(n_jobs=1), SingleProcess())
    boosters.grow(3, likelihood)
    assert boosters.scores.shape[0] == len(of_one)
    assert np.isfinite(boosters.scores).all()
