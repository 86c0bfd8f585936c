import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rboost import RBoostClassifier
from rboost.engines.engine import EngineSettings
from rboost.engines.trees import (
    EVALUATION_INTERVAL,
    BoostedTrees,
    LightGBMBoosters,
    fit_trees,
    n_folds,
    step_sizes,
    stratified_folds,
)
from rboost.noise import symmetric
from rboost.noise.likelihood import Likelihood
from tests.engines.tables import fit_engine, noise_of, table


def grow(rows, noise=None, X=None, **settings):
    return fit_engine(fit_trees, rows, noise, X, **settings)


def boosters_of(rows, noise, n_rounds=EVALUATION_INTERVAL, fold=None):
    own = rows.engine_rows(noise)
    own = own if fold is None else replace(own, fold=fold)
    with ThreadPoolExecutor(1) as threads:
        boosters = LightGBMBoosters(own.X, own, [0] * 5, EngineSettings(n_jobs=1), threads)
        boosters.grow(n_rounds, own.likelihood)
    return boosters


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("counts", [(40, 60), (3, 97), (11, 12, 13), (1, 1), (2, 2, 1)], ids=str)
def test_folds_hold_every_row_once_and_their_share_of_every_class(counts, seed):
    observed = np.random.RandomState(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    wanted = n_folds(len(observed))
    fold = stratified_folds(observed, wanted, seed)
    sizes = np.bincount(fold, minlength=wanted)
    assert len(fold) == len(observed)
    assert len(sizes) == wanted
    assert np.all(sizes > 0)
    assert np.ptp(sizes) <= 1
    for label, count in enumerate(counts):
        shares = np.bincount(fold[observed == label], minlength=wanted)
        assert np.all(np.abs(shares - count / wanted) < 1)


def test_rows_are_dealt_by_the_seed():
    observed = np.arange(100) % 2
    one, again, other = (stratified_folds(observed, 5, seed) for seed in (0, 0, 1))
    assert_array_equal(one, again)
    assert np.any(one != other)


@pytest.mark.parametrize("more", [1 - EVALUATION_INTERVAL, -1, 0, 1, 2 * EVALUATION_INTERVAL])
def test_steps_sum_up_to_the_most_rounds(more):
    most = EVALUATION_INTERVAL + more
    assert sum(step_sizes(most)) == most
    assert all(0 < step <= EVALUATION_INTERVAL for step in step_sizes(most))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_held_out_score_does_not_depend_on_the_label_of_its_row(n_classes):
    """Labels that change places within a fold change what is said of all other folds alone."""
    rows, _ = table(n_classes)
    fold, noise = rows.folds(), symmetric(0.2, n_classes)
    observed = rows.observed.copy()
    observed[fold == 2] = np.random.RandomState(0).permutation(observed[fold == 2])
    one, other = (
        boosters_of(changed, noise, fold=fold).scores
        for changed in (rows, replace(rows, observed=observed))
    )
    for number in range(5):
        own = fold == number
        assert np.array_equal(one[own], other[own]) == (number == 2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_model_is_the_mean_of_the_boosters_and_each_scores_its_own_fold(n_classes):
    rows, _ = table(n_classes)
    fold, boosters = rows.folds(), boosters_of(rows, symmetric(0.2, n_classes), n_rounds=7)
    raw = [booster.predict(rows.X, raw_score=True) for booster, _, _ in boosters._folds]
    for number, ((_, kept, out), own) in enumerate(zip(boosters._folds, raw, strict=True)):
        assert_array_equal(out, np.flatnonzero(fold == number))
        assert_array_equal(np.sort(np.concatenate([kept, out])), np.arange(len(rows.observed)))
        assert_allclose(boosters.scores[out], boosters.start + own[out], atol=1e-6)
    member = BoostedTrees(boosters.forest(5), boosters.start, 5)
    assert_allclose(member.scores(rows.X, 1), boosters.start + np.mean(raw, axis=0))
    assert len(member) == 7


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_results_do_not_depend_on_the_number_of_threads_but_on_the_seed(n_classes):
    rows, _ = table(n_classes)
    one = grow(rows, seed=3)
    for n_jobs in (2, 10):  # the last has two threads for each of five boosters
        again = grow(rows, seed=3, n_jobs=n_jobs)
        assert_array_equal(again.held_out, one.held_out)
        assert_array_equal(again.columns, one.columns)
        assert_array_equal(again.member.scores(rows.X, n_jobs), one.member.scores(rows.X, 1))
    assert np.any(grow(rows, seed=4).held_out != one.held_out)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_and_noise_are_found(n_classes):
    rows, true = table(n_classes, n_rows=400)
    grown = grow(rows, max_iter=60)
    decided = grown.held_out > 0 if n_classes == 2 else grown.held_out.argmax(axis=1)
    assert np.mean(decided == true) > 0.78
    assert_allclose(noise_of(grown, n_classes), symmetric(0.2, n_classes), atol=0.12)
    assert_allclose(grown.member.feature_importances().sum(), 1)
    assert grown.member.feature_importances()[:2].sum() > 0.5
    known = grow(rows, noise=symmetric(0.1, n_classes))
    assert_array_equal(noise_of(known, n_classes), symmetric(0.1, n_classes))


@pytest.mark.parametrize("max_iter", [1, 7, 20])
def test_no_more_rounds_than_allowed(max_iter):
    grown = grow(table()[0], max_iter=max_iter)
    assert grown.n_iter == len(grown.member) <= max_iter
    assert grown.n_iter > 0


def test_growing_ends_where_labels_left_out_are_likeliest():
    rows = table(n_rows=200)[0]
    nonsense = replace(rows, observed=np.random.RandomState(0).permutation(rows.observed))
    grown = grow(nonsense, noise=np.eye(2), max_iter=200)
    assert grown.n_iter < 50
    assert "likelihood is largest after" in grown.stop_reason
    likelihood, start = nonsense.likelihood(np.eye(2)), grown.member.start
    assert likelihood.loss(grown.held_out) <= likelihood.loss(np.full(200, start))


def test_trusted_rows_tell_of_the_noise():
    rows, true = table(rate=0.3)
    trusted = np.arange(300) < 100
    checked = replace(rows, observed=np.where(trusted, true, rows.observed), trusted=trusted)
    assert np.any(noise_of(grow(rows), 2) != noise_of(grow(checked), 2))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_known_classes_count_instead_of_labels(n_classes):
    rows, true = table(rate=0.3, n_classes=n_classes)
    certain = replace(rows, known=np.eye(n_classes)[true])
    clean = replace(rows, observed=true)
    found, expected = grow(certain), grow(clean, noise=np.eye(n_classes))
    assert np.any(certain.folds() != clean.folds())  # dealt by label, so the two differ a little
    one, other = (np.reshape(grown.held_out, (300, -1)) for grown in (found, expected))
    assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.9
    assert_array_equal(found.columns, np.eye(n_classes)[:, true])


def test_weights_count_rows():
    rows, _ = table()
    lone = replace(rows, weight=np.where(rows.observed == 1, 3.0, 1.0))
    assert_allclose(grow(lone).member.start - grow(rows).member.start, np.log(3))
    model = RBoostClassifier(engines="trees", max_iter=10, random_state=0)
    plain = model.fit(rows.X, rows.observed).predict_proba(rows.X)
    shares = np.full(300, 2.0**-10)  # a power of two, as trees make much of a rounded digit
    scaled = model.fit(rows.X, rows.observed, sample_weight=shares).predict_proba(rows.X)
    assert_array_equal(scaled, plain)


@pytest.mark.slow
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, sparse.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_rows_give_what_dense_ones_do(container, n_classes):
    rows, _ = table(n_classes)
    dense, scattered = grow(rows), grow(rows, X=container(rows.X))
    assert_array_equal(scattered.held_out, dense.held_out)
    scores = scattered.member.scores(sparse.csr_array(rows.X), 2)
    assert_array_equal(scores, dense.member.scores(rows.X, 1))


def test_an_interrupt_leaves_the_estimator_as_it_was_and_no_thread(monkeypatch):
    rows, _ = table()
    model = RBoostClassifier(engines="trees", max_iter=10, random_state=0, n_jobs=2)
    model.fit(rows.X, rows.observed)
    before, threads = dict(vars(model)), set(threading.enumerate())
    derivatives, calls = Likelihood.derivatives, []

    def interrupted(likelihood, scores, dtype):
        calls.append(1)
        if len(calls) > 12:
            raise KeyboardInterrupt
        return derivatives(likelihood, scores, dtype)

    with monkeypatch.context() as patch:
        patch.setattr(Likelihood, "derivatives", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(rows.X[:200], rows.observed[:200])
    assert len(calls) > 12
    assert vars(model) == before
    assert set(threading.enumerate()) <= threads


def test_a_bar_is_shown_when_asked_for(capfd, monkeypatch):
    monkeypatch.setattr("rboost.progress.DELAY", -1)
    rows, _ = table()
    for n_jobs in (1, 3):
        RBoostClassifier(engines="trees", max_iter=10, n_jobs=n_jobs).fit(rows.X, rows.observed)
    assert capfd.readouterr() == ("", "")
    RBoostClassifier(engines="trees", max_iter=10, verbose=1).fit(rows.X, rows.observed)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("Growing trees")
    assert "LightGBM" not in shown.err


def no_split_possible():
    rows, _ = table()
    informative, missing = rows.X[:, :1], np.full((300, 1), np.nan)
    return {
        "constant": (np.ones((300, 2)), rows.observed),
        "a row of each class": (np.arange(2.0)[:, np.newaxis], np.arange(2)),
        "twelve rows": (rows.X[:12], np.arange(12) % 3),
        "all missing": (np.hstack([missing, missing]), rows.observed),
        "one column all missing": (np.hstack([informative, missing]), rows.observed),
        "one class of two rows": (rows.X, np.where(np.arange(300) < 2, 2, rows.observed)),
    }


@pytest.mark.filterwarnings("ignore:Every training row", "ignore:No base learner was kept")
@pytest.mark.parametrize("case", no_split_possible())
def test_nothing_is_printed_where_no_split_is_possible(case, capfd):
    X, y = no_split_possible()[case]
    model = RBoostClassifier(engines="trees", max_iter=10, random_state=0, n_jobs=2).fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert np.all(np.isfinite(model.held_out_scores_))
    assert np.all(np.isfinite(model.feature_importances_))
    assert capfd.readouterr() == ("", "")


def test_the_one_informative_column_is_found():
    random = np.random.RandomState(0)
    X = np.column_stack([np.ones(300), random.standard_normal(300), np.full(300, np.nan)])
    model = RBoostClassifier(engines="trees", max_iter=20, random_state=0).fit(X, X[:, 1] > 0)
    assert_array_equal(model.feature_importances_, [0, 1, 0])
    assert model.score(X, X[:, 1] > 0) > 0.98
