import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rboost import NoiseCalibratedClassifier
from rboost.noise import asymmetric, flip_labels
from rboost.noise.matrix import rates_of


def forest(seed=0):
    return RandomForestClassifier(50, min_samples_leaf=5, random_state=seed)


def calibration_error(probability, true):
    bins = np.minimum((probability * 10).astype(int), 9)
    return np.abs(np.bincount(bins, probability - true)).sum() / len(true)


def test_a_single_class_for_all_rows_is_not_kept_silent(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = NoiseCalibratedClassifier(LogisticRegression(), random_state=0)
    with pytest.warns(UserWarning, match="Every training row is predicted as"):
        model.fit(0 * X, noisy)


def test_copies_of_rows_are_warned_of(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = NoiseCalibratedClassifier(LogisticRegression(), random_state=0)
    with pytest.warns(UserWarning, match="400 rows of X repeat others"):
        model.fit(np.repeat(X, 2, axis=0), np.repeat(noisy, 2))


@pytest.fixture(scope="module")
def fitted(noisy_banana):
    """A forest with and without knowledge of noise."""
    X, _, noisy, _ = noisy_banana
    aware = NoiseCalibratedClassifier(forest(), random_state=0).fit(X, noisy)
    return aware, forest().fit(X, noisy)


def test_it_predicts_the_true_class_better_than_the_plain_forest(fitted, clean_banana):
    aware, plain = fitted
    assert aware.score(*clean_banana) > plain.score(*clean_banana) + 0.03


def test_probabilities_are_of_the_true_class(fitted, clean_banana):
    X, y = clean_banana
    aware, plain = (calibration_error(model.predict_proba(X)[:, 1], y) for model in fitted)
    assert aware <= 0.5 * plain


def test_the_noise_is_found(fitted):
    aware, _ = fitted
    assert_allclose(rates_of(aware.noise_matrix_), [0.3, 0.0], atol=0.1)
    low, high = aware.noise_interval_
    assert np.all((low >= 0) & (low <= high) & (high <= 1))
    assert np.all(rates_of(low) <= [0.3, 1e-9])
    assert rates_of(high)[0] >= 0.3


def test_wrong_labels_are_ranked_first(fitted, noisy_banana):
    _, true, noisy, _ = noisy_banana
    issues = fitted[0].label_issue_probability_
    wrong = noisy != true
    assert issues.shape == wrong.shape
    assert np.all((issues >= 0) & (issues <= 1))
    assert roc_auc_score(wrong, issues) > 0.9
    assert average_precision_score(wrong, issues) > 0.6
    assert_allclose(issues.mean(), wrong.mean(), atol=0.08)


def test_the_ranking_is_the_estimators_own(fitted, clean_banana):
    X, _ = clean_banana
    aware, plain = fitted
    decisions = aware.decision_function(X)
    assert_allclose(aware.predict_proba(X)[:, 1], expit(decisions))
    order = np.argsort(plain.predict_proba(X)[:, 1], kind="stable")
    assert np.all(np.diff(decisions[order]) >= -1e-9)


@pytest.mark.slow
def test_a_fixed_noise_matrix_is_used(noisy_banana, clean_banana):
    X, _, noisy, noise = noisy_banana
    told = NoiseCalibratedClassifier(forest(), noise_matrix=noise, random_state=0).fit(X, noisy)
    assert_allclose(told.noise_matrix_, noise)
    assert not hasattr(told, "noise_interval_")
    assert told.score(*clean_banana) > forest().fit(X, noisy).score(*clean_banana) + 0.03
    assert np.all(told.label_issue_probability_[noisy == 0] == 0)  # positives are never flipped
    clean = NoiseCalibratedClassifier(forest(), noise_matrix=np.eye(2), random_state=0)
    assert not clean.fit(X, noisy).label_issue_probability_.any()


def frame_of_people(n_rows=300):
    """A table of numbers and strings, with observed and true labels."""
    random = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "age": random.randint(20, 80, size=n_rows),
            "city": random.choice(["Bern", "Oslo", "Rome"], size=n_rows),
        },
        index=np.arange(n_rows)[::-1] + 5,
    )
    margin = 0.2 * (frame["age"] - 50) + 4 * (frame["city"] == "Rome")
    true = pd.Series(np.where(margin > 0, "yes", "no"), index=frame.index, name="answer")
    noisy, _ = flip_labels(true, asymmetric(0.3, from_class=0), random_state=0)
    return frame, pd.Series(noisy, index=frame.index), true


def one_hot_pipeline():
    encode = ColumnTransformer([("city", OneHotEncoder(), ["city"])], remainder=StandardScaler())
    return make_pipeline(encode, LogisticRegression())


def test_around_a_pipeline_on_a_frame_with_strings():
    frame, noisy, true = frame_of_people()
    model = NoiseCalibratedClassifier(one_hot_pipeline(), random_state=0).fit(frame, noisy)
    np.testing.assert_array_equal(model.classes_, ["no", "yes"])
    np.testing.assert_array_equal(model.feature_names_in_, ["age", "city"])
    assert model.n_features_in_ == 2
    assert model.score(frame, true) > 0.9
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"age": "years"}))


def test_trusted_rows_of_a_frame_with_strings():
    frame, noisy, true = frame_of_people()
    model = NoiseCalibratedClassifier(one_hot_pipeline(), random_state=0)
    model.fit(frame[60:], noisy[60:], X_trusted=frame[:60], y_trusted=true[:60])
    assert model.label_issue_probability_.shape == (240,)
    assert model.score(frame, true) > 0.9
    shuffled = clone(model).fit(
        frame[60:], noisy[60:], X_trusted=frame[["city", "age"]][:60], y_trusted=true[:60]
    )
    assert_allclose(shuffled.noise_matrix_, model.noise_matrix_)


CONTAINERS = {
    "array": np.asarray,
    "list": np.ndarray.tolist,
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "b"]),
    "polars": lambda X: pl.DataFrame(X, schema=["a", "b"]),
    "sparse": sparse.csr_array,
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_rows_and_trusted_rows_in_any_container(container, noisy_banana):
    X, true, noisy, _ = noisy_banana
    wrap = CONTAINERS[container]
    model = NoiseCalibratedClassifier(LogisticRegression(), random_state=0)
    expected = clone(model).fit(X[50:], noisy[50:], X_trusted=X[:50], y_trusted=true[:50])
    found = model.fit(wrap(X[50:]), noisy[50:], X_trusted=wrap(X[:50]), y_trusted=true[:50])
    assert_allclose(found.noise_matrix_, expected.noise_matrix_, atol=1e-3)
    assert_allclose(found.predict_proba(wrap(X)), expected.predict_proba(X), atol=1e-3)
    assert found.label_issue_probability_.shape == (350,)


@pytest.mark.parametrize("kind", [0, 1])
def test_trusted_rows_may_be_of_one_class(kind, noisy_banana, clean_banana):
    X, true, noisy, _ = noisy_banana
    rows = np.flatnonzero(true == kind)[:20]
    model = NoiseCalibratedClassifier(forest(), random_state=0)
    model.fit(X, noisy, X_trusted=X[rows], y_trusted=true[rows])
    assert model.score(*clean_banana) > 0.85


def test_many_trusted_rows_tell_the_noise(noisy_banana):
    X, true, noisy, _ = noisy_banana
    model = NoiseCalibratedClassifier(forest(), random_state=0)
    alone = clone(model).fit(X[:200], noisy[:200])
    helped = model.fit(X[:200], noisy[:200], X_trusted=X[200:], y_trusted=true[200:])
    low, high = (rates_of(m.label_noise.flips.standard_error).sum() for m in (helped, alone))
    assert low < high
    assert_allclose(rates_of(helped.noise_matrix_), [0.3, 0.0], atol=0.1)


@pytest.mark.filterwarnings("ignore:Every training row is predicted")  # with such weights
def test_weights_of_zero_and_of_the_class():
    frame, noisy, _ = frame_of_people()
    X = frame[["age"]].to_numpy()
    model = NoiseCalibratedClassifier(LogisticRegression(), cv=3, random_state=0)
    plain, equal = clone(model).fit(X, noisy), clone(model).fit(X, noisy, np.ones(300))
    assert_allclose(equal.predict_proba(X), plain.predict_proba(X))
    weighted = model.fit(X, noisy, np.where(noisy == "yes", 5.0, 1.0))
    assert weighted.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()
    some = np.where(np.arange(300) % 2, 1.0, 0.0)
    assert np.all(np.isfinite(clone(model).fit(X, noisy, some).predict_proba(X)))


@pytest.mark.parametrize("cv", [2, StratifiedKFold(4), KFold(3, shuffle=True, random_state=0)])
def test_any_way_to_split(cv, noisy_banana, clean_banana):
    X, _, noisy, _ = noisy_banana
    model = NoiseCalibratedClassifier(forest(), cv, random_state=0).fit(X, noisy)
    assert model.score(*clean_banana) > 0.85


def test_the_estimator_that_is_passed_stays_unfitted(noisy_banana):
    X, _, noisy, _ = noisy_banana
    inner = LogisticRegression()
    model = NoiseCalibratedClassifier(inner).fit(X, noisy)
    assert model.estimator is inner
    assert not hasattr(inner, "coef_")
    assert model.estimator_.coef_.shape == (1, 2)


def test_it_can_be_searched_over_and_nested(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = NoiseCalibratedClassifier(LogisticRegression(), cv=2, random_state=0)
    search = GridSearchCV(model, {"estimator__C": [0.1, 1.0]}, cv=2).fit(X, noisy)
    assert search.best_params_["estimator__C"] in (0.1, 1.0)
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, noisy, cv=2).min() > 0.5
    nested = NoiseCalibratedClassifier(model, cv=2, random_state=0).fit(X, noisy)
    assert np.all(np.isfinite(nested.decision_function(X)))


def test_missing_values_pass_where_the_estimator_takes_them(noisy_banana):
    X, _, noisy, _ = noisy_banana
    holes = np.where(np.random.RandomState(0).uniform(size=X.shape) < 0.1, np.nan, X)
    model = NoiseCalibratedClassifier(HistGradientBoostingClassifier(max_iter=10), cv=2)
    assert np.all(np.isfinite(model.fit(holes, noisy).predict_proba(holes)))


def bad_data():
    X = np.random.RandomState(0).standard_normal((20, 3))
    y = np.arange(20) % 2
    return {
        "single row": ({}, (X, (np.arange(20) == 3).astype(int)), {}, "has a single row"),
        "folds": ({"cv": 1}, (X, y), {}, "cv must be at least 2 folds"),
        "noise": ({"noise_matrix": "guess"}, (X, y), {}, "'estimate' or a 2×2 array"),
        "noise matrix": ({"noise_matrix": np.eye(3)}, (X, y), {}, "for 3 classes"),
        "estimator": ({"estimator": LinearRegression()}, (X, y), {}, "scikit-learn classifier"),
        "class": ({"estimator": LogisticRegression}, (X, y), {}, "scikit-learn classifier"),
        "no weights": (
            {"estimator": KNeighborsClassifier()}, (X, y, np.ones(20)), {}, "takes no sample_weight"
        ),
        "half of the trusted": ({}, (X, y), {"X_trusted": X}, "belong together"),
        "trusted class": (
            {}, (X, y), {"X_trusted": X[:1], "y_trusted": [7]}, "use the same labels in both"
        ),
        "trusted lengths": (
            {}, (X, y), {"X_trusted": X, "y_trusted": y[:5]}, "rows but y_trusted has 5"
        ),
        "trusted columns": (
            {}, (X, y), {"X_trusted": X[:, :2], "y_trusted": y},
            "X_trusted|features|columns|dimension",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("case", bad_data())
def test_a_failed_fit_names_the_mistake_and_changes_nothing(case):
    parameters, arguments, options, message = bad_data()[case]
    model = NoiseCalibratedClassifier(**{"estimator": LogisticRegression(), **parameters})
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(*arguments, **options)
    assert "\n" not in str(caught.value)
    assert vars(model) == before


def test_an_interval_of_an_earlier_fit_does_not_stay(noisy_banana):
    X, _, noisy, noise = noisy_banana
    model = NoiseCalibratedClassifier(LogisticRegression(), random_state=0).fit(X, noisy)
    assert hasattr(model, "noise_interval_")
    assert not hasattr(model.set_params(noise_matrix=noise).fit(X, noisy), "noise_interval_")
