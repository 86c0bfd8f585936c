import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from rboost import RobustLogisticRegression
from rboost.noise import flip_labels
from rboost.robust import MultiAnnotatorLogisticRegression

BETA = np.array([1.0, -2.0, 0.5, 0.0])
# Sensitivity and specificity. The last is wrong more often than not.
QUALITY = np.array([[0.95, 0.9], [0.8, 0.85], [0.7, 0.6], [0.6, 0.8], [0.35, 0.4]])


def crowd(n_rows, quality=QUALITY, missing=0.4, seed=0):
    """Features, true classes, and labels of annotators with gaps."""
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows, len(BETA)))
    y = (random.uniform(size=n_rows) < expit(X @ BETA + 0.5)).astype(int)
    said = [
        flip_labels(y, [[right_0, 1 - right_0], [1 - right_1, right_1]], random_state=random)[0]
        for right_1, right_0 in quality
    ]
    gaps = random.uniform(size=(n_rows, len(quality))) < missing
    return X, y, np.where(gaps, np.nan, np.column_stack(said))


def quality_of(model):
    return np.column_stack([model.annotator_noise_[:, 1, 1], model.annotator_noise_[:, 0, 0]])


@pytest.fixture(scope="module")
def five():
    X, y, said = crowd(4000)
    return X, y, said, MultiAnnotatorLogisticRegression().fit(X, said)


def test_the_quality_of_annotators_is_found(five):
    *_, model = five
    assert_allclose(quality_of(model), QUALITY, atol=0.05)
    assert_allclose(model.annotator_noise_.sum(axis=2), 1)


def test_it_beats_the_majority_vote(five):
    """What the paper states, of training labels and of new rows."""
    X, y, said, model = five
    n_labels = np.sum(~np.isnan(said), axis=1)
    vote = np.nansum(said, axis=1) / np.maximum(n_labels, 1)
    assert np.mean((model.true_probability_ > 0.5) == y) > np.mean((vote > 0.5) == y) + 0.05
    X_new, y_new, _ = crowd(4000, seed=1)
    voted = LogisticRegression().fit(X[n_labels > 0], vote[n_labels > 0] > 0.5)
    assert model.score(X_new, y_new) > voted.score(X_new, y_new)
    ours, theirs = (m.predict_proba(X_new)[:, 1] for m in (model, voted))
    assert log_loss(y_new, ours) < log_loss(y_new, theirs) - 0.02


def test_it_is_nearly_as_good_as_the_truth(five):
    X, y, _, model = five
    X_new, y_new, _ = crowd(4000, seed=1)
    told = LogisticRegression().fit(X, y)
    assert model.score(X_new, y_new) > told.score(X_new, y_new) - 0.01


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [1.0, 0.1])
def test_one_annotator_is_robust_logistic_regression(C, seed):
    X, _, said = crowd(1000, [[0.9, 0.7]], missing=0, seed=seed)
    model = MultiAnnotatorLogisticRegression(C=C, prior_strength=0).fit(X, said[:, 0])
    peer = RobustLogisticRegression(C=C, random_state=0).fit(X, said[:, 0])
    assert_allclose(model.loss_, peer.loss_, atol=1e-6)
    assert_allclose(model.annotator_noise_[0], peer.noise_matrix_, atol=1e-3)
    assert_allclose(model.coef_, peer.coef_, atol=1e-2)


def brute_force_loss(model, X, said, C, prior_strength):
    """The objective as the docstring says it, in loops."""
    positive = model.predict_proba(X)[:, 1]
    total = 0.0
    for i, labels in enumerate(said):
        joint = np.array([1 - positive[i], positive[i]])
        for a, label in enumerate(labels):
            if not np.isnan(label):
                joint *= model.annotator_noise_[a, :, int(label)]
        total -= np.log(joint.sum())
    total += model.coef_[0] @ model.coef_[0] / (2 * C)
    right, wrong = 0.8 * prior_strength, 0.2 * prior_strength
    for noise in model.annotator_noise_:
        total -= right * np.log(np.diag(noise)).sum() + wrong * np.log(np.diag(noise[::-1])).sum()
    return total / len(X)


def moved(model, name, place, step):
    other = pickle.loads(pickle.dumps(model))
    getattr(other, name)[place] += step
    if name == "annotator_noise_":
        a, j, k = place
        other.annotator_noise_[a, j, 1 - k] -= step
    return other


def test_the_loss_is_that_of_the_docstring_and_no_step_lowers_it():
    X, _, said = crowd(150, QUALITY[:3], missing=0.2)
    model = MultiAnnotatorLogisticRegression(C=2.0, prior_strength=3.0).fit(X, said)
    assert_allclose(model.loss_, brute_force_loss(model, X, said, 2.0, 3.0))
    places = [("coef_", (0, f)) for f in range(4)] + [("intercept_", 0)]
    places += [("annotator_noise_", (a, j, 1)) for a in range(3) for j in range(2)]
    for name, place in places:
        for step in (-1e-3, 1e-3):
            other = moved(model, name, place, step)
            assert brute_force_loss(other, X, said, 2.0, 3.0) > model.loss_


def test_more_iterations_never_raise_the_loss():
    X, _, said = crowd(300)
    losses = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for max_iter in range(1, 15):
            model = MultiAnnotatorLogisticRegression(max_iter=max_iter).fit(X, said)
            losses.append(model.loss_)
    assert np.all(np.diff(losses) <= 1e-12)
    assert losses[-1] < losses[0]


def test_the_order_of_annotators_does_not_matter(five):
    X, _, said, model = five
    order = [3, 0, 4, 2, 1]
    permuted = clone(model).fit(X, said[:, order])
    assert_allclose(permuted.annotator_noise_, model.annotator_noise_[order], atol=1e-4)
    assert_allclose(permuted.coef_, model.coef_, atol=1e-3)


def test_swapping_the_classes_mirrors_the_fit(five):
    X, _, said, model = five
    mirrored = clone(model).fit(X, 1 - said)
    assert_allclose(mirrored.coef_, -model.coef_, atol=1e-3)
    assert_allclose(mirrored.annotator_noise_, model.annotator_noise_[:, ::-1, ::-1], atol=1e-4)
    assert_allclose(mirrored.true_probability_, 1 - model.true_probability_, atol=1e-3)


def test_a_row_without_labels_teaches_nothing_but_is_told():
    X, _, said = crowd(500)
    said[:50] = np.nan
    labelled = ~np.isnan(said).all(axis=1)
    model = MultiAnnotatorLogisticRegression().fit(X, said)
    alone = MultiAnnotatorLogisticRegression().fit(X[labelled], said[labelled])
    assert_allclose(model.coef_, alone.coef_)
    assert_allclose(model.true_probability_[~labelled], model.predict_proba(X[~labelled])[:, 1])
    assert_allclose(model.true_probability_[labelled], alone.true_probability_)


@pytest.mark.parametrize("prior_strength", [0.0, 5.0])
def test_an_annotator_without_labels_keeps_the_prior(prior_strength):
    X, _, said = crowd(500)
    said[:, 2] = np.nan
    model = MultiAnnotatorLogisticRegression(prior_strength=prior_strength).fit(X, said)
    assert_allclose(model.annotator_noise_[2], [[0.8, 0.2], [0.2, 0.8]], atol=1e-3)
    without = clone(model).fit(X, np.delete(said, 2, axis=1))
    assert_allclose(model.coef_, without.coef_, atol=1e-3)


def test_few_labels_do_not_make_an_annotator_perfect():
    X, y, said = crowd(1000, QUALITY[:2], missing=0)
    few = np.full(1000, np.nan)
    few[:3] = y[:3]
    said = np.column_stack([said, few])
    sane = MultiAnnotatorLogisticRegression().fit(X, said)
    assert quality_of(sane)[2].max() < 0.95
    sure = MultiAnnotatorLogisticRegression(prior_strength=0).fit(X, said)
    assert quality_of(sure)[2].max() > 0.99


def test_a_weight_of_two_is_a_row_twice():
    X, _, said = crowd(300)
    weight = np.arange(300) % 3
    weighted = MultiAnnotatorLogisticRegression().fit(X, said, weight)
    repeated = MultiAnnotatorLogisticRegression().fit(
        np.repeat(X, weight, axis=0), np.repeat(said, weight, axis=0)
    )
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)
    assert_allclose(weighted.annotator_noise_, repeated.annotator_noise_, atol=1e-5)
    assert_allclose(np.repeat(weighted.true_probability_, weight), repeated.true_probability_,
                    atol=1e-4)  # fmt: skip


def test_it_says_when_it_did_not_converge():
    X, _, said = crowd(300)
    with pytest.warns(ConvergenceWarning) as caught:
        MultiAnnotatorLogisticRegression(max_iter=2).fit(X, said)
    assert str(caught[0].message) == (
        "MultiAnnotatorLogisticRegression stopped at max_iter=2 before it converged; "
        "raise max_iter or tol, or penalise more with a smaller C."
    )
    assert caught[0].filename == __file__
