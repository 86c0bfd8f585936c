"""Arrays of any kind, numbers of any size and ends of all kinds, by the native rounds."""

import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from rboost import AdaRBoostClassifier, RobustLogisticRegression
from rboost.engines.rounds import Progress, RowVotes
from rboost.noise.matrix import with_rates
from tests.native.test_linear_rounds import (
    assert_same_fit,
    both,
    ensemble_of,
    fit,
    native,
    table,
)


def test_arrays_of_any_layout_are_taken_and_left_alone():
    X, y = table(300, 4, seed=8)
    base = fit("out of bag", X, y, n_rounds=5)
    frozen = X.copy()
    frozen.setflags(write=False)
    wide = np.zeros((600, 8))
    wide[::2, ::2] = X
    for rows in (frozen, np.asfortranarray(X), wide[::2, ::2], X[::-1][::-1]):
        before = rows.copy()
        model = fit("out of bag", rows, y, n_rounds=5)
        found, expected = model.decision_function(rows), base.decision_function(X)
        assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert_array_equal(rows, before)


def test_whole_numbers_are_taken():
    X, y = table(300, 4, seed=9)
    X = np.round(3 * X).astype(np.int64)
    assert_same_fit(*both("out of bag", X, y))


def test_constant_columns_denormals_and_large_numbers_are_harmless():
    X, y = table(200, 6, seed=10)
    X[:, 1] = 7.0
    X[:, 2] = 1e-310
    X[:, 3] *= 1e-200
    X[:, 4] *= 1e12
    for version in ("out of bag", "paper"):
        for dtype in (np.float64, np.float32):
            learner = RobustLogisticRegression()
            model = fit(version, X.astype(dtype), y, learner=learner, n_rounds=5)
            assert np.isfinite(model.decision_function(X)).all()
            assert all(np.isfinite(own.coef_).all() for own in ensemble_of(model).learners)


def test_huge_scores_do_not_overflow():
    # Separable rows: every step is as large as steps may be.
    X = np.linspace(-1, 1, 64)[:, np.newaxis]
    y = (X[:, 0] > 0).astype(int)
    y[[5, 50]] = 1 - y[[5, 50]]
    fast, slow = both("paper", X, y, n_rounds=40, learning_rate=20.0)
    assert np.isfinite(fast._training.votes.scores).all()
    assert_allclose(fast.estimator_weights_[:3], slow.estimator_weights_[:3], rtol=1e-3)


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
    options = {"noise_matrix": with_rates(0.3, 0.3), "learning_rate": 1.0}
    fast, slow = both("paper, all rows", X, y, n_rounds=40, **options)
    assert "minimum" in slow.stop_reason_
    assert_same_fit(fast, slow)


def test_boosting_that_goes_on_may_end_at_once():
    """As where labels say nothing any more, and the scores of rows are as even."""
    X, y = separable()
    model = fit("paper, all rows", X, y, n_rounds=3, warm_start=True)
    even = with_rates(0.5 - 1e-9, 0.5 - 1e-9)
    model._training = replace(
        model._training, progress=Progress(even, n_rounds=3), noise_matrix=even,
        votes=RowVotes(np.zeros(len(y)), None, 1.0), learners=(), history=(),
    )  # fmt: skip
    with pytest.warns(UserWarning, match="No base learner was kept"):
        model.set_params(n_estimators=6).fit(X, y)
    assert "minimum" in model.stop_reason_


def test_large_scores_are_taken_up_again():
    X, y = table(300, 4, seed=16)
    model = fit("paper", X, y, n_rounds=3, learning_rate=20.0, warm_start=True)
    assert np.abs(model._training.votes.scores).max() > 60
    model.set_params(n_estimators=5).fit(X, y)
    whole = fit("paper", X, y, n_rounds=5, learning_rate=20.0)
    assert_allclose(model.estimator_weights_, whole.estimator_weights_, rtol=1e-3)


def test_a_sure_learner_gets_the_step_it_deserves():
    X, y = separable(400)
    sure = RobustLogisticRegression(noise_matrix=np.eye(2), C=1e6, tol=1e-9)
    model = AdaRBoostClassifier(
        sure, n_estimators=1, votes="probability", noise_matrix=np.eye(2)
    ).fit(X, y)
    margin = np.where(y > 0, 1, -1) * model.estimators_[0].decision_function(X)
    falling, rising = expit(margin).sum(), expit(-margin).sum()
    assert_allclose(model.estimator_weights_[0], np.log(falling / rising) / 2, rtol=1e-4)


def test_learners_that_do_not_converge_are_named_once():
    X, y = table(300, 4, seed=18)
    hasty = RobustLogisticRegression(max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="3 base learners stopped") as caught:
        fit("paper", X, y, learner=hasty, n_rounds=3)
    assert len(caught) == 1


@pytest.mark.slow
def test_a_long_fit_can_be_interrupted():
    code = """
import numpy as np
from rboost import RBoostClassifier
random = np.random.RandomState(0)
X, y = random.standard_normal((20000, 60)), random.uniform(size=20000) > 0.5
print("fitting", flush=True)
RBoostClassifier(engines="linear", max_iter=50000).fit(X, y)
"""
    fitting = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    fitting.stdout.readline()
    time.sleep(1)
    fitting.send_signal(signal.SIGINT)
    _, error = fitting.communicate(timeout=60)
    assert error.rstrip().endswith("KeyboardInterrupt")
