import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import softmax
from sklearn.datasets import load_digits, make_circles
from sklearn.linear_model import LogisticRegression

from rboost.learners import RandomKernelClassifier
from rboost.learners.kernel import KernelMachine, fit_softmax


@pytest.fixture(scope="module")
def circles():
    return make_circles(400, noise=0.1, factor=0.5, random_state=0)


@pytest.fixture(scope="module")
def more_circles():
    return make_circles(2000, noise=0.1, factor=0.5, random_state=1)


def test_it_learns_what_no_line_divides(circles, more_circles):
    assert LogisticRegression().fit(*circles).score(*more_circles) < 0.6
    for seed in range(5):
        model = RandomKernelClassifier(random_state=seed).fit(*circles)
        assert model.score(*more_circles) > 0.97


def test_directions_are_the_same_in_every_version_of_numpy():
    """Model files hold their seed alone; these were drawn with NumPy 2.4."""
    machine = KernelMachine(*np.zeros((2, 2)), np.ones(2), 0.5, 7, np.zeros(3), np.zeros(()))
    directions, phases = machine.drawn
    half = np.sqrt(0.5)  # of width 0.5 and two columns
    drawn = [[1.69052570, -0.46593737, 0.03282016], [0.40751628, -0.78892303, 0.00206557]]
    assert_allclose(directions, half * np.array(drawn), atol=1e-8)
    assert_allclose(phases, [1.68665186, 3.14085438, 4.26772793], rtol=1e-6)
    many = KernelMachine(*np.zeros((3, 40)), 0.5, 7, np.zeros(5000), np.zeros(())).drawn[0]
    assert_allclose(many.var(), 2 * 0.5 / 40, rtol=0.02)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


@pytest.mark.parametrize("C", [10.0, 0.1])
def test_several_classes_are_multinomial_regression_of_the_features(digits, C):
    X, y = digits
    model = RandomKernelClassifier(C=C, random_state=0).fit(X, y)
    features, weight = model.machine_.features(X), 1 + np.arange(len(X)) % 3
    peer = LogisticRegression(C=C, tol=1e-8, max_iter=10_000).fit(features, y, weight)
    coef, intercept = fit_softmax(features, y, weight.astype(float), C)
    found = softmax(features @ coef + intercept, axis=1)
    assert_allclose(found, peer.predict_proba(features), atol=0.03)
    assert_allclose(found.mean(axis=0), peer.predict_proba(features).mean(axis=0), atol=1e-3)

    def objective(probability, coef):
        return -weight @ np.log(probability[np.arange(len(y)), y]) + np.sum(coef**2) / (2 * C)

    least = objective(peer.predict_proba(features), peer.coef_)
    assert 0 <= objective(found, coef) - least < 1e-3 * weight.sum()


def test_scores_of_several_classes(digits):
    X, y = digits
    names = np.array(list("abcdefghij"))
    model = RandomKernelClassifier(random_state=0).fit(X[:350], names[y[:350]])
    assert model.score(X[350:], names[y[350:]]) > 0.75
    decisions = model.decision_function(X)
    assert decisions.shape == (600, 10)
    assert_allclose(model.predict_proba(X), softmax(decisions, axis=1))
    np.testing.assert_array_equal(model.predict(X), names[decisions.argmax(axis=1)])
    dense = model.predict_proba(X)
    model.fit(sparse.csr_array(X[:350]), names[y[:350]])
    scattered = model.predict_proba(sparse.csr_array(X))
    assert scattered.shape == dense.shape
    assert_allclose(scattered, model.predict_proba(X), atol=1e-5)


def test_several_classes_of_copies_that_weigh_what_each_label_is_worth(digits):
    X, y = digits
    worth = np.where(y[:, np.newaxis] == np.arange(10), 0.91, 0.01)
    copies = np.repeat(X, 10, axis=0), np.tile(np.arange(10), len(X)), worth.ravel()
    model = RandomKernelClassifier(max_rows=6000, random_state=0).fit(*copies)
    assert model.score(X, y) > 0.95
    assert_allclose(model.predict_proba(X).mean(axis=0), worth.mean(axis=0), atol=0.01)


def test_units_of_the_columns_do_not_matter(circles):
    X, y = circles
    model = RandomKernelClassifier(random_state=0).fit(X, y)
    scaled = RandomKernelClassifier(random_state=0).fit(X * [1e-6, 1e6] + [0, 1e4], y)
    assert_allclose(
        scaled.predict_proba(X * [1e-6, 1e6] + [0, 1e4]), model.predict_proba(X), atol=1e-6
    )


def test_the_kernel_can_be_fixed(circles, more_circles):
    X, y = circles
    wide, narrow = (
        RandomKernelClassifier(narrowest=g, widest=g, n_components=300, random_state=0).fit(X, y)
        for g in (1e-3, 1000.0)
    )
    assert wide.score(X, y) < narrow.score(X, y)
    assert (
        narrow.score(*more_circles)
        < 0.9
        < RandomKernelClassifier(random_state=0).fit(X, y).score(*more_circles)
    )


def test_missing_values_count_as_the_median(circles, more_circles, rng):
    X, y = circles
    holes = np.where(rng.uniform(size=X.shape) < 0.1, np.nan, X)
    model = RandomKernelClassifier(random_state=0).fit(holes, y)
    assert model.score(*more_circles) > 0.9
    medians = np.nanmedian(holes, axis=0)
    filled = RandomKernelClassifier(random_state=0).fit(
        np.where(np.isnan(holes), medians, holes), y
    )
    assert_allclose(
        model.predict_proba(holes), filled.predict_proba(np.where(np.isnan(holes), medians, holes))
    )


def test_values_that_are_missing_only_later(circles):
    X, y = circles
    model = RandomKernelClassifier(random_state=0).fit(X, y)
    probability = model.predict_proba(np.full((3, 2), np.nan))
    assert_allclose(probability, model.predict_proba(np.tile(np.median(X, axis=0), (3, 1))))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_column_without_any_value_says_nothing(container, circles):
    X, y = circles
    empty = container(np.column_stack([X, np.full(len(X), np.nan)]))
    model = RandomKernelClassifier(random_state=0).fit(empty, y)
    assert model.score(empty, y) > 0.9
    assert np.all(np.isfinite(model.predict_proba(np.full((2, 3), np.nan))))


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_features(container, circles, more_circles):
    X, y = circles
    model = RandomKernelClassifier(narrowest=8.0, widest=8.0, random_state=0)
    model.fit(container(X), y)
    assert model.score(container(more_circles[0]), more_circles[1]) > 0.9
    dense = model.predict_proba(more_circles[0])
    assert_allclose(model.predict_proba(container(more_circles[0])), dense, atol=1e-6)


def test_sparse_features_with_missing_values(circles):
    X, y = circles
    holes = X.copy()
    holes[::10, 0] = np.nan
    model = RandomKernelClassifier(narrowest=8.0, widest=8.0, random_state=0)
    assert model.fit(sparse.csr_array(holes), y).score(sparse.csr_array(holes), y) > 0.8


def test_constant_columns_and_outliers_stay_finite(circles):
    X, y = circles
    table = np.column_stack([X, np.full(len(X), 7.0)])
    table[0] = 1e30
    model = RandomKernelClassifier(random_state=0).fit(table, y)
    assert np.all(np.isfinite(model.predict_proba(table)))
    assert np.all(np.isfinite(model.decision_function(np.full((2, 3), -1e30))))


def test_a_weight_of_zero_removes_a_row(circles):
    X, y = circles
    weight = np.where(np.arange(len(X)) < 100, 0.0, 1.0)
    weighted = RandomKernelClassifier(random_state=0).fit(X, y, sample_weight=weight)
    removed = RandomKernelClassifier(random_state=0).fit(X[100:], y[100:])
    assert_allclose(weighted.predict_proba(X), removed.predict_proba(X))


def test_a_weight_of_two_is_a_row_that_stands_there_twice(circles):
    X, y = circles
    weight = 1 + np.arange(len(X)) % 2
    weighted = RandomKernelClassifier(random_state=0).fit(X, y, sample_weight=weight)
    repeated = RandomKernelClassifier(random_state=0).fit(np.repeat(X, weight, 0), y.repeat(weight))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_heavy_rows_are_fitted(circles):
    X, y = circles
    wrong = np.arange(len(y)) < 200
    labels = np.where(wrong, 1 - y, y)
    for heavy in (wrong, ~wrong):
        model = RandomKernelClassifier(random_state=0)
        model.fit(X, labels, sample_weight=np.where(heavy, 1.0, 0.01))
        assert model.score(X[heavy], labels[heavy]) > 0.95


def test_weights_over_many_orders_of_magnitude_stay_finite(circles, rng):
    X, y = circles
    for exponents in [(-300, 0), (-6, 6), (-10, 10)]:
        weight = rng.permutation(10.0 ** np.linspace(*exponents, len(X)))
        model = RandomKernelClassifier(random_state=0).fit(X, y, sample_weight=weight)
        assert np.all(np.isfinite(model.predict_proba(X)))


def test_a_large_table_is_represented_by_some_of_its_rows(circles, more_circles):
    X, y = circles
    few = RandomKernelClassifier(max_rows=100, random_state=0).fit(X, y)
    every = RandomKernelClassifier(max_rows=400, random_state=0).fit(X, y)
    enough = RandomKernelClassifier(max_rows=2048, random_state=0).fit(X, y)
    np.testing.assert_array_equal(every.predict_proba(X), enough.predict_proba(X))
    assert np.any(few.predict_proba(X) != every.predict_proba(X))
    assert few.score(*more_circles) > 0.9


def test_a_class_too_rare_to_be_drawn_is_not_lost(circles):
    X, _ = circles
    y = (np.arange(len(X)) == 17).astype(int)
    for seed in range(5):
        for labels in (y, y + 2 * (np.arange(len(X)) == 23)):
            model = RandomKernelClassifier(max_rows=2, random_state=seed).fit(X, labels)
            np.testing.assert_array_equal(model.classes_, np.unique(labels))
            assert np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components of RandomKernelClassifier must be an integer"),
        ({"C": 0}, "C of RandomKernelClassifier must be a finite number above 0"),
        ({"narrowest": -1.0}, "narrowest of .* must be a finite number above 0"),
        ({"widest": np.inf}, "widest of .* must be a finite number above 0"),
        ({"max_rows": 1}, "max_rows of .* must be an integer of at least 2"),
    ],
)
def test_bad_parameters_are_named(parameters, message, circles):
    model = RandomKernelClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(*circles)
    assert not hasattr(model, "n_features_in_")
