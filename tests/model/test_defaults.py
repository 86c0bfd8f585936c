"""The default version: what scores of rows left out say of the labels, without a clean one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import average_precision_score

from rboost import RBoostClassifier
from rboost.datasets import make_banana

ONE_CLASS = "ignore:Every training row is predicted as:UserWarning"
NO_LEARNER = "ignore:No base learner was kept:UserWarning"


@pytest.fixture(scope="module")
def fitted(noisy_banana):
    X, _, noisy, _ = noisy_banana
    return RBoostClassifier(random_state=0).fit(X, noisy)


def assert_finite(model, X):
    decisions, probability = model.decision_function(X), model.predict_proba(X)
    assert np.all(np.isfinite(decisions))
    assert np.all((probability >= 0) & (probability <= 1))
    np.testing.assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])
    assert np.all(np.isfinite(list(model.engine_weights_.values())))
    assert_allclose(model.noise_matrix_.sum(axis=1), 1)
    assert model.noise_matrix_[0, 1] + model.noise_matrix_[1, 0] < 1
    if isinstance(model.noise_matrix, str):
        lower, upper = model.noise_interval_
        assert np.all((lower >= 0) & (lower <= upper) & (upper <= 1))
    issues = model.label_issue_probability_
    assert np.all((issues >= 0) & (issues <= 1))


def test_the_flip_rates_are_found(fitted, noisy_banana):
    _, _, _, noise = noisy_banana
    assert_allclose(fitted.noise_matrix_, noise, atol=0.1)


def test_the_interval_holds_the_truth(fitted, noisy_banana):
    _, _, _, noise = noisy_banana
    lower, upper = fitted.noise_interval_
    assert np.all((lower <= noise) & (noise <= upper))
    assert upper[0, 1] - lower[0, 1] < 0.3


def test_finding_the_noise_beats_being_told_that_there_is_none(fitted, noisy_banana, clean_banana):
    X, _, noisy, noise = noisy_banana
    plain, told = (
        RBoostClassifier(max_iter=100, noise_matrix=known, random_state=0).fit(X, noisy)
        for known in (np.eye(2), noise)
    )
    assert fitted.score(*clean_banana) > plain.score(*clean_banana) + 0.03
    assert told.score(*clean_banana) > plain.score(*clean_banana) + 0.03
    np.testing.assert_array_equal(plain.label_issue_probability_, 0)


def test_wrong_labels_are_found(fitted, noisy_banana):
    _, y, noisy, _ = noisy_banana
    issues = fitted.label_issue_probability_
    assert issues.shape == y.shape
    assert average_precision_score(noisy != y, issues) > 0.8
    assert_allclose(issues.mean(), np.mean(noisy != y), atol=0.07)


def test_a_known_noise_matrix_has_no_interval_around_it(noisy_banana):
    X, _, noisy, noise = noisy_banana
    model = RBoostClassifier(max_iter=10, noise_matrix=noise, random_state=0).fit(X, noisy)
    assert_allclose(model.noise_matrix_, noise)
    assert not hasattr(model, "noise_interval_")


def test_rows_without_weight_have_their_labels_judged_too(noisy_banana):
    X, y, noisy, _ = noisy_banana
    weight = np.where(np.arange(400) % 4 == 0, 0.0, 1.0)
    kept = weight > 0
    model = RBoostClassifier(max_iter=30, random_state=0).fit(X, noisy, sample_weight=weight)
    alone = RBoostClassifier(max_iter=30, random_state=0).fit(X[kept], noisy[kept])
    issues = model.label_issue_probability_
    assert issues.shape == (400,)
    assert_allclose(issues[kept], alone.label_issue_probability_)
    assert average_precision_score((noisy != y)[~kept], issues[~kept]) > 0.7
    scattered = RBoostClassifier(max_iter=5, random_state=0).fit(
        sparse.csr_array(X), noisy, sample_weight=weight
    )
    assert scattered.label_issue_probability_.shape == (400,)


def test_trusted_rows_help_and_are_no_training_rows_of_the_user(noisy_banana):
    X, _, noisy, noise = noisy_banana
    errors, widths = [], []
    for seed in range(3):
        X_trusted, y_trusted = make_banana(200, random_state=5 + seed)
        model = RBoostClassifier(max_iter=30, random_state=seed)
        for trusted in [{}, {"X_trusted": X_trusted, "y_trusted": y_trusted}]:
            model.fit(X, noisy, **trusted)
            assert model.label_issue_probability_.shape == (400,)
            errors.append(np.abs(model.noise_matrix_ - noise)[0, 1])
            widths.append(model.label_noise.flips.standard_error[0, 1])
    assert np.mean(errors[1::2]) < np.mean(errors[::2])
    assert np.all(np.array(widths[1::2]) < widths[::2])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("trusted_container", [np.asarray, sparse.csr_array])
def test_trusted_rows_may_be_stored_otherwise_than_the_rest(
    container, trusted_container, noisy_banana
):
    X, _, noisy, _ = noisy_banana
    X_trusted, y_trusted = make_banana(20, random_state=5)
    model = RBoostClassifier(max_iter=5, random_state=0).fit(
        container(X), noisy, X_trusted=trusted_container(X_trusted), y_trusted=y_trusted
    )
    assert_finite(model, container(X))


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True], ids=["estimate", "known"])
@pytest.mark.parametrize(
    "engines", ["auto", "pool", "linear", "trees", ["linear", "trees"]], ids=str
)
def test_every_engine_is_sane_and_consistent(engines, known, noisy_banana):
    X, _, noisy, noise = noisy_banana
    model = RBoostClassifier(
        engines=engines, max_iter=30, noise_matrix=noise if known else "estimate", random_state=0
    ).fit(X, noisy)
    probability, decisions = model.predict_proba(X), model.decision_function(X)
    assert_finite(model, X)
    assert_allclose(probability.sum(axis=1), 1)
    assert_allclose(np.exp(model.predict_log_proba(X)), probability)
    np.testing.assert_array_equal(model.predict(X), model.classes_[(decisions > 0).astype(int)])
    order = np.argsort(decisions)
    assert np.all(np.diff(probability[order, 1]) >= -1e-12)
    assert model.score(X, noisy) > 0.6


def test_trusted_rows_of_one_class_are_enough(noisy_banana):
    X, _, noisy, _ = noisy_banana
    X_trusted, y_trusted = make_banana(40, random_state=5)
    for only in (0, 1):
        rows = y_trusted == only
        model = RBoostClassifier(max_iter=10, random_state=0)
        model.fit(X, noisy, X_trusted=X_trusted[rows], y_trusted=y_trusted[rows])
        assert_finite(model, X)
        np.testing.assert_array_equal(model.classes_, [0, 1])


def test_a_row_of_weight_two_counts_twice_in_the_inferred_noise(noisy_banana):
    """Doubling every row narrows the interval; doubling every weight does as much."""
    X, _, noisy, _ = noisy_banana
    widths = [
        np.diff(
            RBoostClassifier(max_iter=30, random_state=0)
            .fit(X, noisy, sample_weight=np.full(400, weight))
            .noise_interval_,
            axis=0,
        )[0, 0, 1]
        for weight in (1.0, 4.0)
    ]
    assert widths[1] < 0.7 * widths[0]
