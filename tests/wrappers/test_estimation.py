import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from rboost import estimate_noise_matrix
from rboost.datasets import make_twonorm
from rboost.noise import asymmetric, flip_labels, symmetric
from rboost.noise.matrix import rates_of

LOGISTIC = LogisticRegression()


def noisy_twonorm(n_rows, noise, seed=0):
    """Well separated classes: features, observed labels, true labels."""
    X, y = make_twonorm(n_rows, n_features=4, random_state=seed)
    return X, flip_labels(y, noise, random_state=seed)[0], y


X, NOISY, TRUE = noisy_twonorm(600, asymmetric(0.3, from_class=0))
TRUSTED = {"X_trusted": X[:100], "y_trusted": TRUE[:100]}
REST = X[100:], NOISY[100:]


def test_the_noise_is_found():
    found = estimate_noise_matrix(*REST, LOGISTIC, random_state=0)
    np.testing.assert_array_equal(found.classes, [0, 1])
    assert_allclose(rates_of(found.noise_matrix), [0.3, 0.0], atol=0.1)
    assert_allclose(found.noise_matrix.sum(axis=1), 1)
    low, high = found.interval
    assert np.all((low >= 0) & (low <= high) & (high <= 1))
    assert np.all((found.standard_error >= 0) & (found.standard_error < 0.3))


@pytest.mark.slow
@pytest.mark.parametrize("noise", [np.eye(2), symmetric(0.2)], ids=["clean", "noisy"])
def test_the_default_estimator(noise):
    X, noisy, _ = noisy_twonorm(300, noise)
    found = estimate_noise_matrix(X[60:], noisy[60:], cv=2, random_state=0)
    assert_allclose(found.noise_matrix, noise, atol=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [20, 100])
def test_the_default_estimator_takes_a_small_table(n_rows):
    """It must not warn of its own settings either."""
    found = estimate_noise_matrix(X[:n_rows], NOISY[:n_rows], random_state=0)
    assert np.all(np.isfinite(found.interval))


def test_the_default_estimator_takes_missing_values():
    holes = np.where(np.random.RandomState(0).uniform(size=X.shape) < 0.1, np.nan, X)
    holes[:, 0] = np.nan
    found = estimate_noise_matrix(holes[:200], NOISY[:200], cv=2, random_state=0)
    assert np.all(np.isfinite(found.noise_matrix))


@pytest.mark.parametrize("n_rows", [300, 2000])
def test_the_interval_holds_the_truth_and_shrinks(n_rows):
    X, noisy, _ = noisy_twonorm(n_rows, asymmetric(0.3, from_class=0), seed=3)
    low, high = estimate_noise_matrix(X, noisy, LOGISTIC, random_state=0).interval
    assert np.all(rates_of(low) <= [0.3, 1e-9])
    assert np.all(rates_of(high) >= [0.3, 0])
    assert rates_of(high - low).max() < 6 / np.sqrt(n_rows)


def test_trusted_rows_help_where_classes_overlap():
    """Without them overlap of the classes can be noise as well."""
    random = np.random.RandomState(0)
    X = random.standard_normal((2000, 1))
    true = (random.uniform(size=2000) < 1 / (1 + np.exp(-1.5 * X[:, 0]))).astype(int)
    noisy, _ = flip_labels(true, symmetric(0.2), random_state=0)
    alone = estimate_noise_matrix(X[1000:], noisy[1000:], LOGISTIC, random_state=0)
    helped = estimate_noise_matrix(
        X[1000:],
        noisy[1000:],
        LOGISTIC,
        X_trusted=X[:1000],
        y_trusted=true[:1000],
        random_state=0,
    )
    assert rates_of(helped.standard_error).sum() < rates_of(alone.standard_error).sum()
    assert_allclose(rates_of(helped.noise_matrix), 0.2, atol=0.08)


def test_trusted_rows_may_be_of_one_class():
    rows = np.flatnonzero(TRUE == 1)[:30]
    found = estimate_noise_matrix(
        X, NOISY, LOGISTIC, X_trusted=X[rows], y_trusted=TRUE[rows], random_state=0
    )
    assert_allclose(rates_of(found.noise_matrix), [0.3, 0.0], atol=0.1)


def test_labels_may_be_strings():
    names = np.array(["neg", "pos"])
    found = estimate_noise_matrix(REST[0], names[REST[1]], LOGISTIC, random_state=0)
    np.testing.assert_array_equal(found.classes, names)
    expected = estimate_noise_matrix(*REST, LOGISTIC, random_state=0)
    assert_allclose(found.noise_matrix, expected.noise_matrix)
    text = str(found)
    assert "'neg' observed as 'pos': " in text
    assert "'pos' observed as 'neg': " in text
    assert f"{found.noise_matrix[0, 1]:.1%} (90 % interval " in text
    assert len(text.splitlines()) == 2


@pytest.mark.parametrize("names", [[False, True], [-1, 1], [2.0, 3.0]], ids=str)
def test_labels_are_named_as_they_are(names):
    found = estimate_noise_matrix(X, np.array(names)[NOISY], LOGISTIC, random_state=0)
    assert f"{names[0]!r} observed as {names[1]!r}: " in str(found)


@pytest.mark.parametrize(
    "container", [pd.DataFrame, pl.DataFrame, sparse.csr_array, np.ndarray.tolist], ids=repr
)
def test_any_container_gives_the_same(container):
    expected = estimate_noise_matrix(*REST, LOGISTIC, random_state=0)
    found = estimate_noise_matrix(container(REST[0]), REST[1].tolist(), LOGISTIC, random_state=0)
    assert_allclose(found.noise_matrix, expected.noise_matrix, atol=1e-3)


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, sparse.csr_array], ids=repr)
def test_trusted_rows_in_any_container(container):
    expected = estimate_noise_matrix(*REST, LOGISTIC, **TRUSTED, random_state=0)
    found = estimate_noise_matrix(
        container(REST[0]),
        REST[1],
        LOGISTIC,
        X_trusted=container(X[:100]),
        y_trusted=TRUE[:100],
        random_state=0,
    )
    assert_allclose(found.noise_matrix, expected.noise_matrix, atol=1e-3)


def test_columns_of_a_frame_keep_their_names():
    columns = ["a", "b", "c", "d"]
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), LogisticRegression())
    found = estimate_noise_matrix(
        pd.DataFrame(REST[0], columns=columns, index=np.arange(500)[::-1]),
        pd.Series(REST[1], index=np.arange(500)[::-1]),
        model,
        X_trusted=pd.DataFrame(X[:100], columns=columns),
        y_trusted=pd.Series(TRUE[:100]),
        random_state=0,
    )
    assert_allclose(rates_of(found.noise_matrix), [0.3, 0.0], atol=0.1)


def test_scores_without_probabilities_are_enough():
    found = estimate_noise_matrix(X, NOISY, LinearSVC(), random_state=0)
    assert_allclose(rates_of(found.noise_matrix), [0.3, 0.0], atol=0.1)


def test_the_same_seed_gives_the_same_result():
    def find(seed):
        forest = RandomForestClassifier(10, min_samples_leaf=5, random_state=0)
        return estimate_noise_matrix(*REST, forest, cv=2, random_state=seed)

    one, same, other = find(0), find(0), find(1)
    for name in ("noise_matrix", "standard_error", "interval"):
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))
    assert not np.array_equal(one.interval, other.interval)


@pytest.mark.slow
def test_the_seed_reaches_the_default_estimator():
    one, same = (
        estimate_noise_matrix(X[:300], NOISY[:300], cv=2, random_state=5).noise_matrix
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize(
    "cv",
    [2, StratifiedKFold(4), KFold(3, shuffle=True, random_state=0), list(KFold(3).split(X))],
    ids=["number", "stratified", "k-fold", "list"],
)
def test_any_way_to_split(cv):
    found = estimate_noise_matrix(X, NOISY, LOGISTIC, cv=cv, random_state=0)
    assert_allclose(rates_of(found.noise_matrix), [0.3, 0.0], atol=0.1)


def test_more_folds_than_rows_of_a_class():
    rare = np.where(np.arange(600) < 3, 1, 0)
    found = estimate_noise_matrix(X, rare, LOGISTIC, random_state=0)
    assert np.all(np.isfinite(found.interval))


BAD = {
    "estimator": ({"estimator": LinearRegression()}, "must be a scikit-learn classifier"),
    "one class": ({"y": np.ones(600)}, "y holds only one class"),
    "single row": ({"y": (np.arange(600) == 5).astype(int)}, "One class has a single row"),
    "lengths": ({"y": NOISY[:100]}, "rows but y has 100; pass one label a row"),
    "cv": ({"cv": 1}, "cv must be at least 2 folds"),
    "half of the trusted": ({"X_trusted": X}, "belong together; pass both or neither"),
    "trusted class": (
        {"X_trusted": X[:2], "y_trusted": [0, 7]},
        "use the same labels in both",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_refused_with_one_sentence(case):
    options, message = BAD[case]
    arguments = {"X": X, "y": NOISY, "estimator": LOGISTIC, "random_state": 0, **options}
    with pytest.raises(ValueError, match=message) as caught:
        estimate_noise_matrix(**arguments)
    assert "\n" not in str(caught.value)


def test_trusted_rows_must_have_one_label_each():
    with pytest.raises(ValueError, match="but y_trusted has 60") as caught:
        estimate_noise_matrix(
            *REST, LOGISTIC, X_trusted=X[:100], y_trusted=TRUE[:60], random_state=0
        )
    assert "\n" not in str(caught.value)


def test_trusted_rows_must_have_the_columns_of_x():
    with pytest.raises(ValueError, match=r"X_trusted|features|columns|dimension") as caught:
        estimate_noise_matrix(
            *REST, LOGISTIC, X_trusted=X[:100, :2], y_trusted=TRUE[:100], random_state=0
        )
    assert "\n" not in str(caught.value)


def test_trusted_columns_of_other_names_are_not_taken_for_missing_values():
    forest = RandomForestClassifier(5, min_samples_leaf=5, random_state=0)  # takes NaN
    with pytest.raises(ValueError, match=r"X_trusted|feature|column"):
        estimate_noise_matrix(
            pd.DataFrame(REST[0], columns=list("abcd")),
            REST[1],
            forest,
            X_trusted=pd.DataFrame(X[:100], columns=list("efgh")),
            y_trusted=TRUE[:100],
            random_state=0,
        )
