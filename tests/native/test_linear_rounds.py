"""The native rounds of a linear learner against the rounds in Python, which specify them."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rboost import RBoostClassifier, RobustLogisticRegression
from rboost import native as switch
from rboost.boosting import ALGORITHM_1
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


@pytest.mark.slow
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


def test_a_fitted_model_owes_nothing_to_the_estimator_it_was_given():
    X, y = table(200, 3, seed=19)
    estimator = RobustLogisticRegression(C=2.0, n_init=1)
    model = RBoostClassifier(estimator, n_estimators=3, random_state=0).fit(X, y)
    model.predict(X[:1])
    size = len(pickle.dumps(model))
    estimator.set_params(C=5.0)
    assert model.estimators_[0].C == 2.0
    assert len(pickle.dumps(model)) < 1.1 * size  # learners are not stored twice
