"""Boosting that goes on: as if it had never stopped, or refused."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from rboost.datasets import make_banana
from rboost.engines.learners import ValidatedRows
from tests.models import algorithm_1

DRAWN = {
    "none": {},
    "uniform": {"sampling": "uniform", "max_samples": 0.5},
    "weights": {"sampling": "weights", "max_samples": 0.5},
}


@pytest.mark.slow
@pytest.mark.parametrize("trusted", [False, True], ids=["", "trusted"])
@pytest.mark.parametrize("sampling", DRAWN)
def test_warm_start_continues_as_if_never_stopped(sampling, trusted, noisy_banana):
    X, _, noisy, _ = noisy_banana
    rows = {}
    if trusted:
        rows = dict(zip(["X_trusted", "y_trusted"], make_banana(20, random_state=5), strict=True))
    model = algorithm_1(random_state=0, **DRAWN[sampling])
    whole = clone(model).set_params(n_estimators=60).fit(X, noisy, **rows)
    parts = clone(model).set_params(n_estimators=12, warm_start=True).fit(X, noisy, **rows)
    for n_estimators in [40, 60]:
        parts.set_params(n_estimators=n_estimators).fit(X, noisy, **rows)
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    assert_allclose(parts.noise_matrix_history_, whole.noise_matrix_history_)
    assert_allclose(parts.noise_matrix_, whole.noise_matrix_)
    assert_allclose(parts.estimator_errors_, whole.estimator_errors_)
    assert parts.n_iter_ == whole.n_iter_ == 60


@pytest.mark.slow
def test_three_classes_go_on_too_and_models_are_pickled(rng):
    X = rng.standard_normal((200, 3))
    y = np.digitize(X[:, 0], [-0.4, 0.4])
    model = algorithm_1(n_rounds=8, random_state=0, **DRAWN["uniform"])
    whole = clone(model).set_params(n_estimators=16).fit(X, y)
    parts = pickle.loads(pickle.dumps(clone(model).set_params(warm_start=True).fit(X, y)))
    parts.set_params(n_estimators=16).fit(X, y)
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))


def clone_with_fit(model, **parameters):
    return copy.deepcopy(model).set_params(**parameters)


def test_warm_start_without_more_rounds_changes_nothing(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = algorithm_1(n_estimators=5, warm_start=True, random_state=0)
    first = clone(model).fit(X, noisy).predict_proba(X)
    for _ in range(3):
        model.fit(X, noisy)
        assert len(model.estimators_) == model.n_iter_ == 5
        assert model.stop_reason_ == "all 5 rounds done"
        np.testing.assert_array_equal(model.predict_proba(X), first)
    assert len(model.set_params(n_estimators=8).fit(X, noisy).estimators_) == 8


def test_an_interrupted_warm_start_can_be_run_again(noisy_banana, monkeypatch):
    X, _, noisy, _ = noisy_banana
    model = algorithm_1(
        n_rounds=10, sampling="uniform", max_samples=0.5, warm_start=True, random_state=0
    ).fit(X, noisy)
    before = model.predict_proba(X)
    whole = clone(model).set_params(n_estimators=20).fit(X, noisy)
    vote, calls = ValidatedRows.votes, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return vote(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ValidatedRows, "votes", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.set_params(n_estimators=20).fit(X, noisy)
    assert len(model.estimators_) == 10
    np.testing.assert_array_equal(model.predict_proba(X), before)
    np.testing.assert_array_equal(model.fit(X, noisy).predict_proba(X), whole.predict_proba(X))


def test_warm_start_refuses_what_cannot_be_continued(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = algorithm_1(n_estimators=5, warm_start=True, random_state=0).fit(X, noisy)
    with pytest.raises(ValueError, match=r"can only add rounds.*raise n_estimators"):
        model.set_params(n_estimators=3).fit(X, noisy)
    model.set_params(n_estimators=9)
    for changed in [(X, noisy.astype(str)), (X[:300], noisy[:300])]:
        with pytest.raises(ValueError, match=r"one of them changed; set warm_start=False"):
            model.fit(*changed)
    with pytest.raises(ValueError, match="one of them changed"):
        clone_with_fit(model, noise_matrix=np.eye(2)).fit(X, noisy)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.fit(X[:, :1], noisy)
    assert len(model.estimators_) == 5


def test_another_mixing_holds_from_the_next_round_on(noisy_banana):
    X, _, noisy, _ = noisy_banana
    noise = {"noise_matrix": [[0.6, 0.4], [0.0, 1.0]]}
    model = algorithm_1(n_estimators=5, warm_start=True, **noise).fit(X, noisy)
    other = clone(model).fit(X, noisy).set_params(mixing="paper", n_estimators=10).fit(X, noisy)
    model.set_params(n_estimators=10).fit(X, noisy)
    assert_allclose(model.estimator_weights_[:5], other.estimator_weights_[:5])
    assert not np.allclose(model.estimator_weights_[5:], other.estimator_weights_[5:])


@pytest.mark.parametrize("changed", ["X", "y", "weights"])
def test_other_rows_labels_or_weights_are_not_continued_on(changed, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = algorithm_1(n_estimators=3, warm_start=True).fit(X, noisy)
    given = {"X": X[::-1].copy() if changed == "X" else X, "y": noisy}
    if changed == "y":
        given["y"] = 1 - noisy
    weight = np.arange(len(X)) + 1.0 if changed == "weights" else None
    with pytest.raises(ValueError, match="same rows, labels, weights and noise_matrix"):
        model.set_params(n_estimators=5).fit(**given, sample_weight=weight)
    assert model.n_iter_ == 3
