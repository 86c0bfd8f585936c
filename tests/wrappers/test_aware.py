import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from rboost import RobustLogisticRegression
from rboost.wrappers import NoiseAwareClassifier, NoiseCalibratedClassifier
from tests.learners.test_logistic import noisy_table

NOISE = np.array([[0.7, 0.3], [0.1, 0.9]])


def forest():
    return RandomForestClassifier(25, min_samples_leaf=5, random_state=0)


def exact_logistic(C=1e4):
    return LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_plain_em_is_robust_logistic_regression(seed):
    X, _, noisy = noisy_table(1000, NOISE, seed=seed)
    peer = RobustLogisticRegression(C=1e4, random_state=0).fit(X, noisy)
    model = NoiseAwareClassifier(exact_logistic(), cv=None, tol=1e-7, max_iter=2000).fit(X, noisy)
    assert_allclose(-model.log_likelihood_[-1], peer.loss_, atol=1e-4)
    assert_allclose(model.noise_matrix_, peer.noise_matrix_, atol=0.01)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=0.03)


@pytest.mark.parametrize("noise_matrix", ["estimate", NOISE], ids=["estimate", "fixed"])
def test_plain_em_never_lowers_the_likelihood(noise_matrix):
    X, _, noisy = noisy_table(400, NOISE)
    model = NoiseAwareClassifier(exact_logistic(), cv=None, noise_matrix=noise_matrix, tol=1e-3)
    model.fit(X, noisy)
    history = model.log_likelihood_
    assert len(history) == model.n_iter_ + 1
    assert np.all(np.diff(history) >= -1e-9)
    assert history[-1] > history[0] + 0.001


@pytest.mark.slow
@pytest.mark.parametrize("cv", [None, 3])
def test_told_that_there_is_no_noise_it_is_the_estimator_itself(cv, noisy_banana):
    X, _, noisy, _ = noisy_banana
    for inner in (exact_logistic(), forest(), GaussianNB()):
        model = NoiseAwareClassifier(inner, cv, noise_matrix=np.eye(2), random_state=0)
        # Weights of 1, because forests draw other rows when there are any.
        plain = clone(inner).fit(X, noisy, sample_weight=np.ones(len(X)))
        assert_allclose(model.fit(X, noisy).predict_proba(X), plain.predict_proba(X))
        assert not model.label_issue_probability_.any()


@pytest.fixture(scope="module")
def fitted(noisy_banana):
    X, _, noisy, _ = noisy_banana
    return NoiseAwareClassifier(forest(), cv=4, tol=1e-2, random_state=0).fit(X, noisy)


@pytest.mark.slow
def test_it_predicts_the_true_class_better_than_the_plain_forest(
    fitted, noisy_banana, clean_banana
):
    X, true, noisy, _ = noisy_banana
    plain = forest().fit(X, noisy)
    assert fitted.score(*clean_banana) > plain.score(*clean_banana) + 0.02
    assert fitted.noise_matrix_[0, 1] > 0.1 > fitted.noise_matrix_[1, 0]
    assert roc_auc_score(noisy != true, fitted.label_issue_probability_) > 0.9


@pytest.mark.slow
def test_rows_that_were_left_out_tell_what_the_fitted_hide(noisy_banana, clean_banana):
    """A forest of full depth explains every label that it was fitted to."""
    X, true, noisy, _ = noisy_banana
    deep = RandomForestClassifier(25, random_state=0)
    in_sample, left_out = (
        NoiseAwareClassifier(deep, cv, tol=1e-2, random_state=0).fit(X, noisy) for cv in (None, 3)
    )
    assert left_out.score(*clean_banana) > in_sample.score(*clean_banana) + 0.02
    wrong = noisy != true
    found = [m.label_issue_probability_[wrong].mean() for m in (left_out, in_sample)]
    assert found[0] > 2 * found[1]


@pytest.mark.slow
@pytest.mark.parametrize("cv", [None, 3])
def test_swapping_the_classes_mirrors_the_fit(cv):
    X, _, noisy = noisy_table(600, NOISE)
    model = NoiseAwareClassifier(exact_logistic(), cv, random_state=0)
    one, other = clone(model).fit(X, noisy), clone(model).fit(X, 1 - noisy)
    # The folds of a mirrored table are other folds.
    atol = 1e-6 if cv is None else 0.05
    assert_allclose(other.noise_matrix_, one.noise_matrix_[::-1, ::-1], atol=atol)
    assert_allclose(other.predict_proba(X), one.predict_proba(X)[:, ::-1], atol=atol)


def test_a_known_noise_matrix_is_used():
    X, y, noisy = noisy_table(3000, NOISE)
    model = NoiseAwareClassifier(exact_logistic(), cv=None, noise_matrix=NOISE).fit(X, noisy)
    np.testing.assert_array_equal(model.noise_matrix_, NOISE)
    told = RobustLogisticRegression(noise_matrix=NOISE, C=1e4, random_state=0).fit(X, noisy)
    assert_allclose(model.predict_proba(X), told.predict_proba(X), atol=0.02)
    assert model.score(X, y) > exact_logistic().fit(X, noisy).score(X, y)


@pytest.mark.slow
def test_a_weight_of_two_is_a_row_twice_and_of_zero_none():
    X, _, noisy = noisy_table(400, NOISE)
    weight = np.arange(400) % 3
    model = NoiseAwareClassifier(exact_logistic(), cv=None)
    weighted = clone(model).fit(X, noisy, weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(noisy, weight))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)
    assert_allclose(weighted.noise_matrix_, repeated.noise_matrix_, atol=1e-6)
    assert weighted.label_issue_probability_.shape == (400,)
    assert np.all(np.isfinite(weighted.label_issue_probability_))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_seed_reaches_an_estimator_without_one(noisy_banana):
    X, _, noisy, _ = noisy_banana
    inner = RandomForestClassifier(5, min_samples_leaf=5)
    model = NoiseAwareClassifier(inner, max_iter=3, random_state=0)
    one, same = clone(model).fit(X, noisy), clone(model).fit(X, noisy)
    np.testing.assert_array_equal(one.predict_proba(X), same.predict_proba(X))
    other = clone(model).set_params(random_state=1).fit(X, noisy)
    assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))
    assert inner.random_state is None


def test_it_says_when_it_did_not_converge(noisy_banana, capsys, monkeypatch):
    monkeypatch.setattr("rboost.progress.DELAY", -1)
    X, _, noisy, _ = noisy_banana
    model = NoiseAwareClassifier(LogisticRegression(), cv=None, max_iter=2, verbose=1)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=2"):
        model.fit(X, noisy)
    assert "Fitting to what labels probably are" in capsys.readouterr().err
    assert model.n_iter_ == 2


def bad_data():
    X = np.random.RandomState(0).standard_normal((20, 3))
    y = np.arange(20) % 2
    no_weights = make_pipeline(StandardScaler(), KNeighborsClassifier())
    return {
        "noise of two classes": (
            {"noise_matrix": np.eye(2)}, (X, np.arange(20) % 3), "but there are 3 classes"
        ),
        "single row": ({}, (X, (np.arange(20) == 3).astype(int)), "has a single row"),
        "folds": ({"cv": 1}, (X, y), "cv must be at least 2 folds"),
        "noise": ({"noise_matrix": "guess"}, (X, y), "'estimate' or a 2×2 array"),
        "max_iter": ({"max_iter": 0}, (X, y), "max_iter of .* at least 1"),
        "tol": ({"tol": -1}, (X, y), "tol of .* at least 0"),
        "estimator": ({"estimator": LinearRegression()}, (X, y), "scikit-learn classifier"),
        "no weights": (
            {"estimator": KNeighborsClassifier()}, (X, y), "Classifier takes no sample_weight"
        ),
        "no weights at the end": (
            {"estimator": no_weights}, (X, y), "KNeighborsClassifier takes no sample_weight"
        ),
        "no probabilities": ({"estimator": LinearSVC()}, (X, y), "LinearSVC has no predict_proba"),
    }  # fmt: skip


@pytest.mark.parametrize("case", bad_data())
def test_a_failed_fit_names_the_mistake_and_changes_nothing(case):
    parameters, arguments, message = bad_data()[case]
    model = NoiseAwareClassifier(**{"estimator": LogisticRegression(), **parameters})
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(*arguments)
    assert "\n" not in str(caught.value)
    assert vars(model) == before


@pytest.mark.parametrize("wrapper", [NoiseAwareClassifier, NoiseCalibratedClassifier])
def test_a_fold_without_both_classes_ends_in_one_sentence(wrapper):
    X, y = np.arange(20.0)[:, np.newaxis], np.repeat([0, 1], 10)
    with pytest.raises(ValueError, match="rows of a fold that are fitted to are all of one class"):
        wrapper(LogisticRegression(), cv=KFold(2)).fit(X, y)
    weight = np.where(np.arange(20) < 11, 1.0, 0.0)  # one row of class 1 counts
    with pytest.raises(ValueError, match="rows of a fold that are fitted to are all of one class"):
        wrapper(LogisticRegression(), random_state=0).fit(X, y, sample_weight=weight)
