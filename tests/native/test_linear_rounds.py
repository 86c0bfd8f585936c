"""The native rounds of a linear learner against the rounds in Python, which specify them."""

import pickle
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from rboost import RBoostClassifier, RobustLogisticRegression
from rboost import native as switch
from rboost.boosting import ALGORITHM_1
from rboost.boosting.votes import RowVotes
from rboost.noise.matrix import with_rates

native = pytest.importorskip("rboost.native._native")

# One minimum, found to many digits: what remains are the differences that matter.
EXACT = RobustLogisticRegression(noise_matrix=np.eye(2), tol=1e-9)
PAPER = {**ALGORITHM_1, "sampling": "uniform", "max_samples": 0.5}


def table(n_rows, n_features, seed, noise=0.2):
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows, n_features))
    score = X @ random.standard_normal(n_features) + np.sin(2 * X[:, 0])
    y = (score > 0) != (random.uniform(size=n_rows) < noise)
    y[:2] = [False, True]
    return X, y.astype(int)


def both(X, y, learner=EXACT, sample_weight=None, trusted=None, **settings_):
    """The same model fitted by the native core and by the rounds in Python."""
    settings_ = {"n_estimators": 12, "learning_rate": 0.3, **settings_}
    rows = {} if trusted is None else {"X_trusted": trusted[0], "y_trusted": trusted[1]}
    models = []
    for use in (True, False):
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that tiny tables teach nothing
            if not use:
                patch.setattr(switch, "compiled", lambda: None)
            model = RBoostClassifier(learner, random_state=0, **settings_)
            models.append(model.fit(X, y, sample_weight, **rows))
    return models


def assert_same_fit(fast, slow, rtol=1e-4, atol=1e-7):
    assert fast.stop_reason_ == slow.stop_reason_
    assert fast.n_iter_ == slow.n_iter_
    assert_allclose(fast.estimator_weights_, slow.estimator_weights_, rtol=rtol, atol=atol)
    assert_allclose(fast.estimator_errors_, slow.estimator_errors_, rtol=rtol, atol=1e-7)
    assert_allclose(fast.noise_matrix_history_, slow.noise_matrix_history_, rtol=rtol, atol=1e-6)
    assert_allclose(fast._training.votes.scores, slow._training.votes.scores, rtol=rtol, atol=1e-5)
    for one, other in zip(fast.estimators_, slow.estimators_, strict=True):
        assert type(one) is type(other)
        if hasattr(one, "coef_"):
            assert_allclose(one.coef_, other.coef_, rtol=1e-3, atol=1e-4)
            assert_allclose(one.intercept_, other.intercept_, rtol=1e-3, atol=1e-4)


VERSIONS = {
    "default": {},
    "class votes": {"votes": "class"},
    "fixed noise": {"noise_matrix": with_rates(0.3, 0.1)},
    "paper": {**PAPER, "n_estimators": 12},
    "paper, all rows": {**ALGORITHM_1, "n_estimators": 12},
    "paper, probability": {**PAPER, "votes": "probability", "n_estimators": 12},
    "paper mixing": {**PAPER, "mixing": "paper", "n_estimators": 12},
    "keep": {
        **PAPER,
        "negative_weights": "keep",
        "noise_matrix": with_rates(0.2, 0.1),
        "n_estimators": 12,
    },
    "adaboost": {**ALGORITHM_1, "noise_matrix": np.eye(2), "n_estimators": 12},
}


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_version_is_the_same(instruction_set, version, dtype):
    X, y = table(300, 5, seed=1)
    fast, slow = both(X.astype(dtype), y, **VERSIONS[version])
    assert_same_fit(fast, slow)
    # Scores that tie in one may differ in their last digit in the other, and fall into other bins.
    assert_allclose(fast.predict_proba(X), slow.predict_proba(X), atol=0.02)


def test_noise_is_inferred_alike():
    X, y = table(600, 3, seed=2)
    fast, slow = both(X, y, n_estimators=60)
    # The last steps are of size 3e-5: rates that agree to 2e-5 make them differ by a hundredth.
    assert_same_fit(fast, slow, rtol=1e-3, atol=1e-6)
    assert_allclose(fast.noise_interval_, slow.noise_interval_, atol=0.01)  # as fine as the grid
    assert_allclose(fast.label_issue_probability_, slow.label_issue_probability_, atol=1e-3)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    n_rows=st.sampled_from([2, 3, 5, 15, 16, 17, 31, 33, 63, 64, 65, 130, 255, 257]),
    n_features=st.sampled_from([1, 2, 3, 4, 5, 7, 8, 12, 13, 15, 16, 17, 20, 31, 33]),
    seed=st.integers(0, 2**16),
    version=st.sampled_from(["default", "paper", "paper, probability", "fixed noise"]),
    single=st.booleans(),
)
def test_sizes_around_the_edges_of_vectors(n_rows, n_features, seed, version, single):
    X, y = table(n_rows, n_features, seed)
    X = X.astype(np.float32 if single else np.float64)
    settings_ = {**VERSIONS[version], "n_estimators": 4}
    fast, slow = both(X, y, **settings_)
    # The first rounds only: on separable samples a vote at margin 0 may go either way later.
    assert_allclose(fast.estimator_weights_[:1], slow.estimator_weights_[:1], rtol=1e-3, atol=1e-6)
    assert np.isfinite(fast.decision_function(X)).all()


def test_weights_count_as_in_python():
    X, y = table(200, 4, seed=3)
    weight = np.tile([0, 1, 2, 3], 50)
    assert_same_fit(*both(X, y, sample_weight=weight))
    assert_same_fit(*both(X, y, sample_weight=weight, **VERSIONS["paper"]))


def test_a_row_of_weight_two_is_a_row_twice():
    X, y = table(60, 4, seed=15)
    weight = np.tile([1, 2, 3], 20)
    settings_ = {**VERSIONS["paper, all rows"], "random_state": 0}
    weighted = RBoostClassifier(EXACT, **settings_).fit(X, y, sample_weight=weight)
    repeated = RBoostClassifier(EXACT, **settings_).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert_allclose(weighted.estimator_weights_, repeated.estimator_weights_, rtol=1e-5)
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-5)


def test_trusted_rows_count_as_in_python():
    X, y = table(200, 4, seed=4)
    assert_same_fit(*both(X, y, trusted=(X[:30] + 0.01, 1 - y[:30])))


def test_columns_far_from_zero_lose_no_digits():
    X, y = table(300, 4, seed=5)
    shifted = X * [1.0, 1e-3, 1e3, 1.0] + [1e6, -5.0, 0.0, 3e4]
    fast, slow = both(shifted, y)
    assert_allclose(fast.estimator_weights_, slow.estimator_weights_, rtol=1e-3)
    assert_allclose(fast.decision_function(shifted), slow.decision_function(shifted), atol=1e-3)


@pytest.mark.parametrize("version", ["default", "paper"])
def test_threads_change_nothing(version):
    X, y = table(100_000, 3, seed=6)
    learner = RobustLogisticRegression(max_rows=500, n_init=1, tol=1e-3)
    settings_ = {**VERSIONS[version], "n_estimators": 5}
    one, two = (
        RBoostClassifier(learner, n_jobs=n_jobs, random_state=0, **settings_).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert_array_equal(one.estimator_weights_, two.estimator_weights_)
    assert_array_equal(one._training.votes.scores, two._training.votes.scores)
    assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("version", ["default", "paper"])
def test_a_fit_that_is_continued_is_the_fit_in_one_go(version):
    X, y = table(300, 4, seed=7)
    settings_ = {**VERSIONS[version], "random_state": 0}
    model = RBoostClassifier(EXACT, warm_start=True, **{**settings_, "n_estimators": 7}).fit(X, y)
    model.set_params(n_estimators=30).fit(X, y)
    whole = RBoostClassifier(EXACT, **{**settings_, "n_estimators": 30}).fit(X, y)
    assert_allclose(model.estimator_weights_, whole.estimator_weights_, rtol=1e-4)
    assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-6)


def test_arrays_of_any_layout_are_taken_and_left_alone():
    X, y = table(300, 4, seed=8)
    base = RBoostClassifier(EXACT, n_estimators=5, random_state=0).fit(X, y)
    frozen = X.copy()
    frozen.setflags(write=False)
    wide = np.zeros((600, 8))
    wide[::2, ::2] = X
    for rows in (frozen, np.asfortranarray(X), wide[::2, ::2], X[::-1][::-1]):
        before = rows.copy()
        model = RBoostClassifier(EXACT, n_estimators=5, random_state=0).fit(rows, y)
        assert_array_equal(model.decision_function(rows), base.decision_function(X))
        assert_array_equal(rows, before)


def test_whole_numbers_are_taken():
    X, y = table(300, 4, seed=9)
    X = np.round(3 * X).astype(np.int64)
    assert_same_fit(*both(X, y))


def test_constant_columns_denormals_and_large_numbers_are_harmless():
    X, y = table(200, 6, seed=10)
    X[:, 1] = 7.0
    X[:, 2] = 1e-310
    X[:, 3] *= 1e-200
    X[:, 4] *= 1e12
    for version in ("default", "paper"):
        for dtype in (np.float64, np.float32):
            model = RBoostClassifier(
                RobustLogisticRegression(),
                random_state=0,
                **{**VERSIONS[version], "n_estimators": 5},
            ).fit(X.astype(dtype), y)
            assert np.isfinite(model.decision_function(X)).all()
            assert all(np.isfinite(learner.coef_).all() for learner in model.estimators_)


def test_huge_scores_do_not_overflow():
    # Separable rows: every step is as large as steps may be.
    X = np.linspace(-1, 1, 64)[:, np.newaxis]
    y = (X[:, 0] > 0).astype(int)
    y[[5, 50]] = 1 - y[[5, 50]]
    fast, slow = both(X, y, **{**PAPER, "n_estimators": 40, "learning_rate": 20.0})
    assert np.isfinite(fast._training.votes.scores).all()
    assert_allclose(fast.estimator_weights_[:3], slow.estimator_weights_[:3], rtol=1e-3)


def test_a_sample_of_one_class_gives_a_constant_learner():
    X, y = table(40, 2, seed=11)
    y[:] = 0
    y[:2] = 1
    fast, slow = both(X, y, max_samples=0.1, n_estimators=20)
    assert [type(a) for a in fast.estimators_] == [type(b) for b in slow.estimators_]
    assert "DummyClassifier" in {type(learner).__name__ for learner in fast.estimators_}


def test_learners_are_fitted_estimators():
    X, y = table(300, 4, seed=12)
    model = RBoostClassifier(
        RobustLogisticRegression(n_init=1), n_estimators=6, random_state=0
    ).fit(X, y)
    assert isinstance(model.estimators_, list)
    learner = model.estimators_[0]
    assert learner.predict_proba(X).shape == (300, 2)
    assert learner.noise_matrix_.shape == (2, 2)
    assert learner.n_iter_ > 0
    assert learner.loss_ > 0
    votes = sum(
        step * (2 * learner.predict_proba(X)[:, 1] - 1)
        for step, learner in zip(model.estimator_weights_, model.estimators_, strict=True)
    )
    assert_allclose(
        model.decision_function(X) - model.decision_function(X)[0], votes - votes[0], atol=1e-5
    )


def test_the_noise_of_learners_is_estimated_as_in_python():
    X, y = table(2000, 3, seed=13)
    learner = RobustLogisticRegression(n_init=3, tol=1e-8)
    fast, slow = both(X, y, learner=learner, n_estimators=3)
    for one, other in zip(fast.estimators_, slow.estimators_, strict=True):
        assert_allclose(one.loss_, other.loss_, rtol=1e-5)
        assert_allclose(one.noise_matrix_, other.noise_matrix_, atol=5e-3)


def test_bad_arguments_are_refused():
    X, y = table(20, 2, seed=14)
    with pytest.raises(ValueError, match="must sum to less than 1"):
        native.fit_logistic(
            X, y.astype(float), np.ones(20), np.zeros(2), np.ones(2), np.zeros((1, 3)), C=1.0,
            fit_intercept=True, estimate_noise=False, into_1=0.7, into_0=0.6, max_iter=5, tol=1e-3,
        )  # fmt: skip
    with pytest.raises(ValueError, match="no_such_set"):
        native.choose_instruction_set("no_such_set")


def separable(n_rows=200):
    X = np.random.RandomState(0).standard_normal((n_rows, 2)) + 5
    X[::2] -= 10
    return X, (X[:, 0] > 0).astype(int)


def test_boosting_ends_when_every_row_is_at_its_minimum():
    X, y = separable()
    settings_ = {**ALGORITHM_1, "noise_matrix": with_rates(0.3, 0.3), "n_estimators": 40}
    fast, slow = both(X, y, **settings_)
    assert "minimum" in slow.stop_reason_
    assert_same_fit(fast, slow)


@pytest.mark.filterwarnings("ignore:Every training row is predicted as:UserWarning")
@pytest.mark.parametrize("n_before", [24, 25, 50])
def test_boosting_that_goes_on_may_end_at_once(n_before):
    """Also after a round in which the noise was inferred."""
    X, y = separable()
    model = RBoostClassifier(EXACT, random_state=0, warm_start=True, n_estimators=n_before)
    model.fit(X, y)
    model._training = replace(
        model._training,
        progress=replace(model._training.progress, noise_matrix=with_rates(0.5 - 1e-9, 0.5 - 1e-9)),
        votes=RowVotes(np.zeros(len(y)), np.ones(len(y)), 1.0),
    )
    model.set_params(n_estimators=n_before + 3).fit(X, y)
    assert "minimum" in model.stop_reason_


def test_large_scores_are_taken_up_again():
    X, y = table(300, 4, seed=16)
    settings_ = {**PAPER, "learning_rate": 20.0, "random_state": 0}
    model = RBoostClassifier(EXACT, warm_start=True, **{**settings_, "n_estimators": 3}).fit(X, y)
    assert np.abs(model._training.votes.scores).max() > 60
    model.set_params(n_estimators=5).fit(X, y)
    whole = RBoostClassifier(EXACT, **{**settings_, "n_estimators": 5}).fit(X, y)
    assert_allclose(model.estimator_weights_, whole.estimator_weights_, rtol=1e-3)


@pytest.mark.parametrize("version", ["default", "paper", "fixed noise"])
@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize(
    "parameters", [{"fit_intercept": False}, {"C": None}, {"fit_intercept": False, "C": None}]
)
def test_other_learners_are_fitted_alike(version, offset, parameters):
    X, y = table(300, 3, seed=17)
    learner = RobustLogisticRegression(noise_matrix=np.eye(2), tol=1e-9, **parameters)
    fast, slow = both(X + offset, y, learner=learner, **{**VERSIONS[version], "n_estimators": 4})
    assert_allclose(fast.estimator_weights_, slow.estimator_weights_, rtol=2e-3, atol=1e-6)


def test_a_sure_learner_gets_the_step_it_deserves():
    X, y = separable(400)
    sure = RobustLogisticRegression(noise_matrix=np.eye(2), C=1e6, tol=1e-9)
    settings_ = {**ALGORITHM_1, "votes": "probability", "noise_matrix": np.eye(2)}
    model = RBoostClassifier(sure, **{**settings_, "n_estimators": 1}).fit(X, y)
    margin = np.where(y > 0, 1, -1) * model.estimators_[0].decision_function(X)
    falling, rising = expit(margin).sum(), expit(-margin).sum()
    assert_allclose(model.estimator_weights_[0], np.log(falling / rising) / 2, rtol=1e-4)


def test_learners_that_do_not_converge_are_named_once():
    X, y = table(300, 4, seed=18)
    hasty = RobustLogisticRegression(max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="3 base learners stopped") as caught:
        RBoostClassifier(hasty, n_estimators=3, random_state=0).fit(X, y)
    assert len(caught) == 1


def test_a_fitted_model_owes_nothing_to_the_estimator_it_was_given():
    X, y = table(200, 3, seed=19)
    estimator = RobustLogisticRegression(C=2.0, n_init=1)
    model = RBoostClassifier(estimator, n_estimators=3, random_state=0).fit(X, y)
    model.predict(X[:1])
    size = len(pickle.dumps(model))
    estimator.set_params(C=5.0)
    assert model.estimators_[0].C == 2.0
    assert len(pickle.dumps(model)) < 1.1 * size  # learners are not stored twice


@pytest.mark.slow
def test_a_long_fit_can_be_interrupted():
    code = """
import numpy as np
from rboost import RBoostClassifier, RobustLogisticRegression
X = np.random.RandomState(0).standard_normal((20000, 60))
print("fitting", flush=True)
RBoostClassifier(RobustLogisticRegression(), n_estimators=5000).fit(X, X[:, 0] > 0)
"""
    fitting = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    fitting.stdout.readline()
    time.sleep(1)
    fitting.send_signal(signal.SIGINT)
    _, error = fitting.communicate(timeout=60)
    assert error.rstrip().endswith("KeyboardInterrupt")
