"""The native rounds of a linear learner against the rounds in Python, which specify them."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rboost import AdaRBoostClassifier, RBoostClassifier, RobustLogisticRegression
from rboost import native as switch
from rboost.engines import pool
from rboost.engines.learners import NativeRounds
from rboost.noise.matrix import with_rates

native = pytest.importorskip("rboost.native._native")

# One minimum, found to many digits: what remains are the differences that matter.
EXACT = RobustLogisticRegression(noise_matrix=np.eye(2), tol=1e-9)
DRAWN = {"sampling": "uniform", "max_samples": 0.5}
# "Out of bag" is engine "linear", which judges learners by rows left out; others are Algorithm 1.
VERSIONS = {
    "out of bag": None,
    "out of bag, fixed noise": {"noise_matrix": with_rates(0.3, 0.1)},
    "paper": DRAWN,
    "paper, all rows": {},
    "paper, probability": {**DRAWN, "votes": "probability"},
    "paper mixing": {**DRAWN, "mixing": "paper"},
    "keep": {**DRAWN, "negative_weights": "keep", "noise_matrix": with_rates(0.2, 0.1)},
    "adaboost": {"noise_matrix": np.eye(2)},
}


def table(n_rows, n_features, seed, noise=0.2):
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows, n_features))
    score = X @ random.standard_normal(n_features) + np.sin(2 * X[:, 0])
    y = (score > 0) != (random.uniform(size=n_rows) < noise)
    y[:2] = [False, True]
    return X, y.astype(int)


def fit(version, X, y, sample_weight=None, learner=EXACT, trusted=None, n_rounds=12, **options):
    """A version fitted with a linear learner of any parameters."""
    rows = {} if trusted is None else {"X_trusted": trusted[0], "y_trusted": trusted[1]}
    parameters = {"learning_rate": 0.3, "random_state": 0, **(VERSIONS[version] or {}), **options}
    with pytest.MonkeyPatch.context() as patch:
        if version.startswith("out of bag"):
            patch.setattr(pool, "linear_learner", lambda: learner)
            patch.setattr(pool.StackedLearners, "of", note_ensemble)
            # Learners are asked for in the place of their arrays.
            patch.setattr(pool, "NativeRounds", type("Other", (), {}))
            model = RBoostClassifier(engines="linear", max_iter=n_rounds, **parameters)
        else:
            model = AdaRBoostClassifier(learner, n_estimators=n_rounds, **parameters)
        return model.fit(X, y, sample_weight, **rows)


def both(version, X, y, **options):
    """The same model fitted by the native core and by the rounds in Python."""
    models = []
    for use in (True, False):
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that tiny tables teach nothing
            if not use:
                patch.setattr(switch, "compiled", lambda: None)
            started = []
            begin = NativeRounds.__init__

            def noted(*given, begin=begin, started=started):
                started.append(True)
                begin(*given)

            patch.setattr(NativeRounds, "__init__", noted)
            models.append(fit(version, X, y, **options))
            assert bool(started) == use
    return models


def note_ensemble(ensemble, n_columns, of=pool.StackedLearners.of):
    """Stack the learners of engine "linear", and keep themselves beside their arrays."""
    stacked = of(ensemble, n_columns)
    vars(stacked)["noted"] = ensemble
    return stacked


def ensemble_of(model):
    """Learners and steps."""
    if isinstance(model, AdaRBoostClassifier):
        return model._ensemble
    return model._model.stack.members["linear"].ensemble.noted


def row_scores(model):
    """Scores of the training rows, by the learners that count for them."""
    if isinstance(model, AdaRBoostClassifier):
        return model._training.votes.scores
    return model.held_out_scores_


def assert_same_fit(fast, slow, rtol=1e-4, atol=1e-7):
    assert fast.stop_reason_ == slow.stop_reason_
    assert fast.n_iter_ == slow.n_iter_
    ensembles = ensemble_of(fast), ensemble_of(slow)
    assert_allclose(*(own.steps for own in ensembles), rtol=rtol, atol=atol)
    assert_allclose(fast.noise_matrix_, slow.noise_matrix_, rtol=rtol, atol=1e-3)
    assert_allclose(row_scores(fast), row_scores(slow), rtol=max(rtol, 1e-4), atol=2e-5)
    if isinstance(fast, AdaRBoostClassifier):
        assert_allclose(fast.estimator_errors_, slow.estimator_errors_, rtol=rtol, atol=1e-7)
        histories = fast.noise_matrix_history_, slow.noise_matrix_history_
        assert_allclose(*histories, rtol=rtol, atol=1e-6)
    for one, other in zip(*(own.learners for own in ensembles), strict=True):
        assert type(one) is type(other)
        if hasattr(one, "coef_"):
            assert_allclose(one.coef_, other.coef_, rtol=1e-3, atol=1e-4)
            assert_allclose(one.intercept_, other.intercept_, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_version_is_the_same(instruction_set, version, dtype):
    X, y = table(300, 5, seed=1)
    fast, slow = both(version, X.astype(dtype), y)
    assert_same_fit(fast, slow)
    # Scores that tie in one may differ in their last digit in the other, and fall into other bins.
    assert_allclose(fast.predict_proba(X), slow.predict_proba(X), atol=0.02)


def test_noise_is_inferred_alike():
    X, y = table(600, 3, seed=2)
    fast, slow = both("out of bag", X, y, n_rounds=60)
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
    version=st.sampled_from([*VERSIONS][:5]),
    single=st.booleans(),
)
def test_sizes_around_the_edges_of_vectors(n_rows, n_features, seed, version, single):
    X, y = table(n_rows, n_features, seed)
    X = X.astype(np.float32 if single else np.float64)
    fast, slow = both(version, X, y, n_rounds=4)
    # The first rounds only: on separable samples a vote at margin 0 may go either way later.
    first = (ensemble_of(own).steps[:1] for own in (fast, slow))
    assert_allclose(*first, rtol=1e-3, atol=1e-6)
    assert np.isfinite(fast.decision_function(X)).all()


def test_weights_count_as_in_python():
    X, y = table(200, 4, seed=3)
    weight = np.tile([0, 1, 2, 3], 50)
    for version in ("out of bag", "paper"):
        assert_same_fit(*both(version, X, y, sample_weight=weight))


def test_a_row_of_weight_two_is_a_row_twice():
    X, y = table(60, 4, seed=15)
    weight = np.tile([1, 2, 3], 20)
    weighted = fit("paper, all rows", X, y, weight)
    repeated = fit("paper, all rows", np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.estimator_weights_, repeated.estimator_weights_, rtol=1e-5)
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-5)


def test_trusted_rows_count_as_in_python():
    X, y = table(200, 4, seed=4)
    assert_same_fit(*both("out of bag", X, y, trusted=(X[:30] + 0.01, 1 - y[:30])))


def test_columns_far_from_zero_lose_no_digits():
    X, y = table(300, 4, seed=5)
    shifted = X * [1.0, 1e-3, 1e3, 1.0] + [1e6, -5.0, 0.0, 3e4]
    fast, slow = both("paper, probability", shifted, y)
    assert_allclose(fast.estimator_weights_, slow.estimator_weights_, rtol=1e-3)
    assert_allclose(fast.decision_function(shifted), slow.decision_function(shifted), atol=1e-3)


@pytest.mark.parametrize("version", ["out of bag", "paper"])
def test_threads_change_nothing(version):
    X, y = table(100_000, 3, seed=6)
    learner = RobustLogisticRegression(max_rows=500, n_init=1, tol=1e-3)
    one, two = (fit(version, X, y, learner=learner, n_rounds=5, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_array_equal(ensemble_of(one).steps, ensemble_of(two).steps)
    assert_array_equal(row_scores(one), row_scores(two))
    assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("version", ["paper", "paper, probability"])
def test_a_fit_that_is_continued_is_the_fit_in_one_go(version):
    X, y = table(300, 4, seed=7)
    model = fit(version, X, y, n_rounds=7, warm_start=True)
    model.set_params(n_estimators=30).fit(X, y)
    whole = fit(version, X, y, n_rounds=30)
    assert_allclose(model.estimator_weights_, whole.estimator_weights_, rtol=1e-4)
    assert_allclose(model.decision_function(X), whole.decision_function(X), rtol=1e-5, atol=1e-6)


def test_a_sample_of_one_class_gives_a_constant_learner():
    X, y = table(40, 2, seed=11)
    y[:] = 0
    y[:2] = 1
    fast, slow = both("paper, probability", X, y, max_samples=0.1, n_rounds=20)
    assert [type(a) for a in fast.estimators_] == [type(b) for b in slow.estimators_]
    assert "DummyClassifier" in {type(learner).__name__ for learner in fast.estimators_}


def test_learners_are_fitted_estimators():
    X, y = table(300, 4, seed=12)
    learner = RobustLogisticRegression(n_init=1)
    model = fit("paper, probability", X, y, learner=learner, n_rounds=6)
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
    assert_allclose(model.decision_function(X), votes, atol=1e-5)


def test_the_noise_of_learners_is_estimated_as_in_python():
    X, y = table(2000, 3, seed=13)
    learner = RobustLogisticRegression(n_init=3, tol=1e-8)
    fast, slow = both("out of bag", X, y, learner=learner, n_rounds=3)
    learners = (ensemble_of(own).learners for own in (fast, slow))
    for one, other in zip(*learners, strict=True):
        assert_allclose(one.loss_, other.loss_, rtol=1e-5)
        assert_allclose(one.noise_matrix_, other.noise_matrix_, atol=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["out of bag", "paper", "out of bag, fixed noise"])
@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize(
    "parameters", [{"fit_intercept": False}, {"C": None}, {"fit_intercept": False, "C": None}]
)
def test_other_learners_are_fitted_alike(version, offset, parameters):
    X, y = table(300, 3, seed=17)
    learner = RobustLogisticRegression(noise_matrix=np.eye(2), tol=1e-9, **parameters)
    models = both(version, X + offset, y, learner=learner, n_rounds=4)
    assert_allclose(*(ensemble_of(own).steps for own in models), rtol=2e-3, atol=1e-6)


def test_a_fitted_model_owes_nothing_to_the_estimator_it_was_given():
    X, y = table(200, 3, seed=19)
    estimator = RobustLogisticRegression(C=2.0, n_init=1)
    model = fit("paper", X, y, learner=estimator, n_rounds=3)
    model.predict(X[:1])
    size = len(pickle.dumps(model))
    estimator.set_params(C=5.0)
    assert model.estimators_[0].C == 2.0
    assert len(pickle.dumps(model)) < 1.1 * size  # learners are not stored twice


def test_labels_of_context_groups_are_not_taken_for_certain_ones():
    """Two groups of two classes have as many patterns as labels and trusted labels."""
    X, y = table(300, 3, 0)
    group = np.where(np.arange(300) % 2, "ann", "bob")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NativeRounds, "__init__", None)
        model = RBoostClassifier(engines="linear", max_iter=12, random_state=0)
        model.fit(X, y, context=group)
