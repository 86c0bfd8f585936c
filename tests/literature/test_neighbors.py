import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

from rboost.noise import flip_labels, symmetric
from rboost.robust import DepurationNeighborsClassifier
from tests.literature.test_discriminant import HARD


def two_clouds(n_rows, noise, seed=0, gap=6.0):
    random = np.random.RandomState(seed)
    y = random.randint(2, size=n_rows)
    X = random.standard_normal((n_rows, 2)) + gap * y[:, np.newaxis] * [1, 0]
    noisy, _ = flip_labels(y, noise, random_state=seed)
    return X, y, noisy


@settings(max_examples=30)
@given(seed=st.integers(0, 2**31 - 1), n_passes=st.integers(1, 3))
@pytest.mark.filterwarnings("ignore:Every training row is predicted as:UserWarning")
def test_weights_are_copies(seed, n_passes):
    random = np.random.RandomState(seed)
    X, y = random.randint(4, size=(15, 2)), np.append(random.randint(2, size=13), [0, 1])
    weight = random.randint(1, 4, size=15)
    parameters = {"n_neighbors": 5, "n_agreeing": 3, "n_passes": n_passes, "n_voters": 3}
    weighted = DepurationNeighborsClassifier(**parameters).fit(X, y, weight)
    repeated = DepurationNeighborsClassifier(**parameters).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_it_restores_the_labels_of_separate_clouds():
    X, y, noisy = two_clouds(2_000, symmetric(0.2))
    model = DepurationNeighborsClassifier().fit(X, noisy)
    assert (noisy != y).mean() > 0.15
    assert (model.kept_labels_ == y[model.kept_rows_]).mean() > 0.98
    assert len(model.kept_rows_) > 1_500
    assert model.score(X, y) > 0.98
    plain = KNeighborsClassifier(1).fit(X, noisy)
    assert plain.score(X, y) < 0.85
    again = DepurationNeighborsClassifier(n_passes=3).fit(X, noisy)
    assert again.score(X, y) > 0.99


def test_relabelled_says_which_labels_changed():
    X, _, noisy = two_clouds(500, symmetric(0.2))
    model = DepurationNeighborsClassifier().fit(X, noisy)
    kept = model.kept_rows_
    assert_array_equal(model.relabelled_[kept], model.kept_labels_ != noisy[kept])
    assert not model.relabelled_[np.setdiff1d(np.arange(500), kept)].any()
    assert model.relabelled_.any()


def test_rows_of_weight_zero_keep_their_place_in_the_positions():
    X, _, noisy = two_clouds(200, symmetric(0.2))
    weight = np.where(np.arange(200) < 50, 0.0, 1.0)
    weighted = DepurationNeighborsClassifier().fit(X, noisy, weight)
    removed = DepurationNeighborsClassifier().fit(X[50:], noisy[50:])
    assert_array_equal(weighted.kept_rows_, removed.kept_rows_ + 50)
    assert_array_equal(weighted.relabelled_, np.append(np.zeros(50, bool), removed.relabelled_))


def test_unanimous_neighbourhoods_alone_survive():
    X, _, noisy = two_clouds(300, symmetric(0.2))
    model = DepurationNeighborsClassifier(n_neighbors=4, n_agreeing=4).fit(X, noisy)
    nearest = KNeighborsClassifier(5).fit(X, noisy).kneighbors(X, return_distance=False)[:, 1:]
    unanimous = np.ptp(noisy[nearest], axis=1) == 0
    assert_array_equal(model.kept_rows_, np.flatnonzero(unanimous))


def test_prediction_is_that_of_nearest_neighbours_on_the_rows_kept():
    X, _, noisy = two_clouds(300, symmetric(0.2), gap=2.0)
    model = DepurationNeighborsClassifier(n_voters=5).fit(X, noisy)
    peer = KNeighborsClassifier(5).fit(X[model.kept_rows_], model.kept_labels_)
    queries = np.random.RandomState(1).standard_normal((100, 2))
    assert_allclose(model.predict_proba(queries), peer.predict_proba(queries))
    assert_array_equal(model.predict(queries), peer.predict(queries))


def test_without_any_row_left_the_more_common_class_is_predicted():
    X, y = np.arange(5.0)[:, np.newaxis], np.array(["a", "b", "b", "a", "b"])
    with pytest.warns(UserWarning, match="predicted as 'b'.*lower n_agreeing or n_passes"):
        model = DepurationNeighborsClassifier(n_neighbors=4, n_agreeing=4).fit(X, y)
    assert len(model.kept_rows_) == 0
    assert not model.relabelled_.any()
    assert_array_equal(model.predict([[9.0]]), ["b"])
    assert_array_equal(model.predict_proba([[9.0]]), [[0.0, 1.0]])


def test_a_class_that_is_gone_has_probability_zero():
    X, y = np.arange(9.0)[:, np.newaxis], np.arange(9) == 4
    with pytest.warns(UserWarning, match="Every training row is predicted as False"):
        model = DepurationNeighborsClassifier(n_neighbors=3, n_agreeing=2).fit(X, y)
    assert_array_equal(model.predict_proba(X), np.tile([1.0, 0.0], (9, 1)))
    assert model.relabelled_.sum() == 1


@pytest.mark.filterwarnings("ignore:Every training row is predicted as:UserWarning")
@pytest.mark.parametrize("name", HARD)
def test_hard_tables_stay_finite(name):
    X, y = HARD[name]
    for parameters in ({}, {"n_passes": 3, "n_voters": 5}, {"n_neighbors": 50, "n_agreeing": 50}):
        model = DepurationNeighborsClassifier(**parameters).fit(X, y)
        assert np.all(np.isfinite(model.predict_proba(X)))
        if name == "separable" and "n_agreeing" not in parameters:
            assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors of .* must be an integer of at least 1"),
        ({"n_agreeing": 2.5}, "n_agreeing of .* must be an integer of at least 1"),
        ({"n_passes": 0}, "n_passes of .* must be an integer of at least 1"),
        ({"n_voters": 0}, "n_voters of .* must be an integer of at least 1"),
        ({"n_neighbors": 4, "n_agreeing": 2}, "n_agreeing must be more than half of n_neighbors=4"),
        ({"n_neighbors": 3, "n_agreeing": 4}, "at most all of it, not 4"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y, _ = two_clouds(20, np.eye(2))
    model = DepurationNeighborsClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
