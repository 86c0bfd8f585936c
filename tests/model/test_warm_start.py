"""Boosting that goes on: as if it had never stopped, or refused."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rboost.boosting.votes import VOTES
from sklearn.base import clone

from rboost.datasets import make_banana
from tests.models import algorithm_1, both_versions, pool


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        *(algorithm_1(sampling=name, max_samples=0.5) for name in ("none", "weights")),
        *(pool(sampling=name) for name in ("uniform", "weights")),
    ],
    ids=["paper, none", "paper, weights", "uniform", "weights"],
)
def test_warm_start_continues_as_if_never_stopped(model, noisy_banana):
    X, _, noisy, _ = noisy_banana
    trusted = dict(zip(["X_trusted", "y_trusted"], make_banana(20, random_state=5), strict=True))
    model.set_params(random_state=0)
    whole = clone(model).set_params(n_estimators=60).fit(X, noisy, **trusted)
    parts = clone(model).set_params(n_estimators=12, warm_start=True).fit(X, noisy, **trusted)
    for n_estimators in [40, 60]:  # the noise is inferred after 25 and after 50 rounds
        parts.set_params(n_estimators=n_estimators).fit(X, noisy, **trusted)
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    assert_allclose(parts.noise_matrix_history_, whole.noise_matrix_history_)
    assert_allclose(parts.noise_matrix_, whole.noise_matrix_)
    assert parts.n_iter_ == 60
    if model.out_of_bag:
        np.testing.assert_array_equal(parts.noise_interval_, whole.noise_interval_)
        np.testing.assert_array_equal(
            parts.label_issue_probability_, whole.label_issue_probability_
        )


def clone_with_fit(model, **parameters):
    return copy.deepcopy(model).set_params(**parameters)


@both_versions
def test_warm_start_without_more_rounds_changes_nothing(version, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = version(n_estimators=5, warm_start=True, random_state=0)
    first = clone(model).fit(X, noisy).predict_proba(X)
    for _ in range(3):
        model.fit(X, noisy)
        assert len(model.estimators_) == model.n_iter_ == 5
        assert model.stop_reason_ == "all 5 rounds done"
        np.testing.assert_array_equal(model.predict_proba(X), first)
    assert len(model.set_params(n_estimators=8).fit(X, noisy).estimators_) == 8


@both_versions
def test_an_interrupted_warm_start_can_be_run_again(version, noisy_banana, monkeypatch):
    X, _, noisy, _ = noisy_banana
    model = version(
        n_estimators=10, sampling="uniform", max_samples=0.5, warm_start=True, random_state=0
    ).fit(X, noisy)
    before = model.predict_proba(X)
    whole = clone(model).set_params(n_estimators=20).fit(X, noisy)
    vote, calls = VOTES[model.votes], []

    def interrupted(learner, X, n_classes, **options):
        calls.append(1)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return vote(learner, X, n_classes, **options)

    with monkeypatch.context() as patch:
        patch.setitem(VOTES, model.votes, interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.set_params(n_estimators=20).fit(X, noisy)
    assert len(model.estimators_) == 10
    np.testing.assert_array_equal(model.predict_proba(X), before)
    np.testing.assert_array_equal(model.fit(X, noisy).predict_proba(X), whole.predict_proba(X))


@both_versions
def test_warm_start_refuses_what_cannot_be_continued(version, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = version(n_estimators=5, warm_start=True, random_state=0).fit(X, noisy)
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


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False)])
def test_warm_start_refuses_to_change_who_judges_a_learner(before, after, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = algorithm_1(
        n_estimators=5, sampling="uniform", max_samples=0.5, out_of_bag=before, warm_start=True
    ).fit(X, noisy)
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(n_estimators=9, out_of_bag=after).fit(X, noisy)
