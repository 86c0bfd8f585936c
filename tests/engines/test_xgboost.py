"""Trees that XGBoost grows: as those of LightGBM in all that matters, and the same wherever."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rboost import RBoostClassifier
from rboost.engines.engine import EngineSettings
from rboost.engines.xgboost import (
    BinnedRows,
    SingleProcess,
    XGBoostBoosters,
    fit_xgboost,
    learn_bins,
)
from rboost.noise import symmetric
from rboost.numbering import hashed_folds
from tests.engines.tables import Labelled, fit_engine, noise_of, table

pytest.importorskip("xgboost")
pytestmark = pytest.mark.peers


def grow(rows, noise=None, X=None, **options):
    return fit_engine(fit_xgboost, rows, noise, X, hashed=True, **options)


def boosters_of(rows, noise=None, communicator=None, grown=None, cuts=(), **options):
    own, n_rows = rows.engine_rows(noise, hashed=True), len(rows)
    bins = learn_bins(rows.X, [0] * rows.X.shape[1], 31)
    codes = np.split(bins.codes(rows.X), list(cuts))
    binned = BinnedRows(
        codes, bins, own.likelihood, own.always_kept, own.fold, np.arange(n_rows), n_rows
    )
    settings = EngineSettings(**{"n_jobs": 1, **options})
    return XGBoostBoosters(binned, rows.shares, settings, communicator or SingleProcess(), grown)


def some_grown(rows, noise, n_rounds=7, **options):
    boosters = boosters_of(rows, noise, **options)
    boosters.grow(n_rounds, rows.likelihood(noise))
    return boosters


def model(**parameters):
    options = {"max_iter": 10, "random_state": 0, "n_jobs": 1} | parameters
    return RBoostClassifier(engines="xgboost", **options)


def assert_same(one, other):
    assert_array_equal(one.held_out, other.held_out)
    assert_array_equal(one.columns, other.columns)
    assert one.stop_reason == other.stop_reason


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_held_out_score_does_not_depend_on_the_label_of_its_row(n_classes):
    """Labels that change places within a fold change what is said of all other folds alone."""
    rows, _ = table(n_classes)
    fold, noise = rows.folds(hashed=True), symmetric(0.2, n_classes)
    observed = rows.observed.copy()
    observed[fold == 2] = np.random.RandomState(0).permutation(observed[fold == 2])
    one, other = (
        some_grown(changed, noise).scores for changed in (rows, replace(rows, observed=observed))
    )
    for number in range(5):
        own = fold == number
        assert np.array_equal(one[own], other[own]) == (number == 2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_model_is_the_mean_of_the_boosters_and_each_scores_its_own_fold(n_classes):
    rows, _ = table(n_classes)
    boosters, fold = some_grown(rows, symmetric(0.2, n_classes)), rows.folds(hashed=True)
    codes, trees = boosters._binned.codes[0], [own.trees for own in boosters._folds]
    raw = [own.inplace_predict(codes, predict_type="margin") for own in trees]
    for number, own in enumerate(raw):
        left_out = fold == number
        expected = boosters.start + own[left_out]
        assert_allclose(boosters.scores[left_out], expected, rtol=1e-6, atol=1e-6)
    member = boosters.member()
    assert_allclose(member.scores(rows.X, 1), boosters.start + np.mean(raw, axis=0), atol=1e-5)
    assert len(member) == 7


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stored_boosters_score_the_rows_that_they_left_out(n_classes):
    rows, _ = table(n_classes)
    boosters = some_grown(rows, symmetric(0.2, n_classes))
    stored, codes = pickle.loads(pickle.dumps(boosters.stored())), boosters._binned.codes[0]
    parts = [stored.held_out(codes[first : first + 90], first) for first in range(0, 300, 90)]
    assert_array_equal(np.concatenate(parts), boosters.scores)
    fresh = boosters_of(rows).stored()
    assert_array_equal(fresh.held_out(codes, 0), np.zeros_like(boosters.scores) + boosters.start)


def test_folds_that_lack_values_are_read_as_they_are():
    """XGBoost bins the rows of every fold once more; none may be taken for a lower one."""
    random, fold = np.random.RandomState(0), hashed_folds(np.arange(300), 5, 0)
    X = random.randint(0, 4, (300, 2)).astype(float)
    X[fold == 1], X[fold == 2, 0], X[fold == 3, 1] = np.nan, 3.0, 2.0
    rows = Labelled(X, ((X[:, 0] > 1) ^ (X[:, 1] > 1)).astype(int))
    boosters = some_grown(rows, np.eye(2))
    codes = boosters._binned.codes[0]
    assert_array_equal(boosters.stored().held_out(codes, 0), boosters.scores)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_results_do_not_depend_on_the_number_of_threads_but_on_the_seed(n_classes):
    rows, _ = table(n_classes)
    one, again = (grow(rows, seed=3, n_jobs=n_jobs, max_iter=6) for n_jobs in (1, 2))
    assert_same(again, one)
    assert_array_equal(again.member.scores(rows.X, 2), one.member.scores(rows.X, 1))
    assert np.any(grow(rows, seed=4, max_iter=6).held_out != one.held_out)


@given(st.lists(st.integers(0, 300), max_size=4))
@settings(max_examples=6)
def test_results_do_not_depend_on_the_parts_that_codes_are_in(cuts):
    rows, _ = table()
    noise, parts = symmetric(0.2, 2), [0, *sorted(set(cuts) - {0, 300}), 300]
    expected = some_grown(rows, noise).scores
    assert_array_equal(some_grown(rows, noise, cuts=parts[1:-1]).scores, expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_and_noise_are_found(n_classes):
    rows, true = table(n_classes, n_rows=400)
    grown = grow(rows, max_iter=60)
    decided = grown.held_out > 0 if n_classes == 2 else grown.held_out.argmax(axis=1)
    assert np.mean(decided == true) > {2: 0.85, 3: 0.75}[n_classes]  # LightGBM: .86, .76
    assert_allclose(noise_of(grown, n_classes), symmetric(0.2, n_classes), atol=0.12)
    assert_allclose(grown.member.feature_importances().sum(), 1)
    assert grown.member.feature_importances()[:2].sum() > 0.5
    known = grow(rows, noise=symmetric(0.1, n_classes))
    assert_array_equal(noise_of(known, n_classes), symmetric(0.1, n_classes))


@pytest.mark.parametrize("max_iter", [1, 7, 20])
def test_no_more_rounds_than_allowed(max_iter):
    grown = grow(table()[0], max_iter=max_iter)
    assert 0 < grown.n_iter == len(grown.member) <= max_iter


def test_growing_ends_where_labels_left_out_are_likeliest():
    rows = table(n_rows=200)[0]
    nonsense = replace(rows, observed=np.random.RandomState(0).permutation(rows.observed))
    grown = grow(nonsense, noise=np.eye(2), max_iter=200)
    assert grown.n_iter < 50
    assert "likelihood is largest after" in grown.stop_reason
    likelihood, start = nonsense.likelihood(np.eye(2)), grown.member.start
    assert likelihood.loss(grown.held_out) <= likelihood.loss(np.full(200, start))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_may_have_no_trees(n_classes):
    """Labels that nothing tells of are likeliest before the first tree."""
    random = np.random.RandomState(1)
    rows = Labelled(random.standard_normal((90, 2)), np.arange(90) % n_classes, n_classes)
    grown = grow(rows, noise=np.eye(n_classes), learning_rate=3.0)
    assert grown.n_iter == len(grown.member) == 0
    assert_array_equal(grown.held_out, np.zeros_like(grown.held_out) + grown.member.start)
    assert_array_equal(grown.member.scores(rows.X, 1), grown.held_out)


@pytest.mark.parametrize("learning_rate", [0.05, 0.4])
def test_the_first_tree_is_as_long_as_the_learning_rate(learning_rate):
    rows, _ = table()
    lone, unit = (
        some_grown(rows, np.eye(2), 1, learning_rate=rate) for rate in (learning_rate, 1.0)
    )
    steps = [(own.scores - own.start) for own in (lone, unit)]
    assert_allclose(steps[0], learning_rate * steps[1], rtol=1e-5)


def test_trusted_rows_tell_of_the_noise():
    rows, true = table(rate=0.3)
    trusted = np.arange(300) < 100
    checked = replace(rows, observed=np.where(trusted, true, rows.observed), trusted=trusted)
    assert np.any(noise_of(grow(rows), 2) != noise_of(grow(checked), 2))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_known_classes_count_instead_of_labels(n_classes):
    """Folds are dealt by number, so what is certain gives exactly what clean labels do."""
    rows, true = table(rate=0.3, n_classes=n_classes)
    found = grow(replace(rows, known=np.eye(n_classes)[true]))
    expected = grow(replace(rows, observed=true), noise=np.eye(n_classes))
    assert_array_equal(found.columns, np.eye(n_classes)[:, true])
    one, other = (np.reshape(grown.held_out, (300, -1)) for grown in (found, expected))
    assert_allclose(one, other, atol=1e-5)


def test_weights_count_rows():
    rows, _ = table()
    lone = replace(rows, weight=np.where(rows.observed == 1, 3.0, 1.0))
    assert_allclose(grow(lone).member.start - grow(rows).member.start, np.log(3))
    plain = model().fit(rows.X, rows.observed).predict_proba(rows.X)
    shares = np.full(300, 2.0**-10)
    scaled = model().fit(rows.X, rows.observed, sample_weight=shares).predict_proba(rows.X)
    assert_array_equal(scaled, plain)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_without_weight_change_no_tree(n_classes):
    """They keep their numbers here; whatever their labels, others are told the same."""
    rows, _ = table(n_classes)
    weight = np.where(np.arange(300) % 3 == 0, 0.0, 1.0)
    observed = np.where(weight == 0, (rows.observed + 1) % n_classes, rows.observed)
    one, other = (replace(rows, weight=weight, observed=o) for o in (rows.observed, observed))
    assert_same(grow(one), grow(other))


def test_a_weight_of_two_is_a_row_twice_but_for_folds():
    """Trees differ, since the copy may be in another fold; what they start from does not."""
    rows, _ = table()
    noise, weight = symmetric(0.2, 2), np.where(np.arange(300) < 150, 2.0, 1.0)
    doubled = rows.take(np.append(np.arange(300), np.arange(150)))
    weighed = replace(rows, weight=weight)
    losses = [own.likelihood(noise).loss(np.zeros(len(own))) for own in (weighed, doubled)]
    assert_allclose(*losses)
    starts = [boosters_of(own).start for own in (weighed, doubled)]
    assert_allclose(*starts)
