"""A model that is read from its file predicts what it did."""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

import rboost
from rboost import (
    AdaRBoostClassifier,
    NoiseCalibratedClassifier,
    RBoostClassifier,
    RobustLogisticRegression,
    native,
)
from rboost.noise.posterior import Steepening
from rboost.saving.file import write_file
from tests.saving.models import MODELS, fitted, numbers

SHOWN = ("classes_", "n_features_in_", "feature_names_in_", "noise_matrix_", "noise_interval_",
         "engine_weights_", "stop_reason_", "n_iter_", "estimator_weights_", "estimator_errors_",
         "noise_matrix_history_", "coef_", "intercept_", "loss_")  # fmt: skip


@pytest.fixture(params=MODELS)
def both(request, tmp_path):
    """A model, the same from its file, and rows."""
    if "xgboost" in request.param:
        pytest.importorskip("xgboost")
    model, X = fitted(request.param)
    model.save(tmp_path / "model.rboost")
    return model, rboost.load(tmp_path / "model.rboost"), X


def test_it_predicts_the_same(both):
    model, loaded, X = both
    assert type(loaded) is type(model)
    for ask in ("predict_proba", "predict", "decision_function", "score_rows"):
        if hasattr(model, ask):
            found, expected = getattr(loaded, ask)(X), getattr(model, ask)(X)
            assert found.dtype.kind == expected.dtype.kind
            if found.dtype.kind == "f":
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
            else:
                assert_array_equal(found, expected)


def test_it_says_the_same_of_itself(both):
    model, loaded, _ = both
    for name in SHOWN:
        assert hasattr(loaded, name) == hasattr(model, name)
        if hasattr(model, name):
            assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert loaded.classes_.dtype.kind == model.classes_.dtype.kind
    for name in ("feature_importances_",):
        assert hasattr(loaded, name) == hasattr(model, name)
        if hasattr(model, name):
            np.testing.assert_allclose(getattr(loaded, name), getattr(model, name), rtol=1e-12)
    if hasattr(model, "label_noise"):
        assert_array_equal(loaded.label_noise.interval(), model.label_noise.interval())
    assert repr(loaded).partition("(")[0] == type(model).__name__


def test_what_was_read_can_be_saved_and_pickled_again(both, tmp_path):
    _, loaded, X = both
    loaded.save(tmp_path / "again.rboost")
    again = rboost.load(tmp_path / "again.rboost")
    assert_array_equal(again.predict_proba(X), loaded.predict_proba(X))
    joblib.dump(loaded, tmp_path / "model.joblib")
    assert_array_equal(
        joblib.load(tmp_path / "model.joblib").predict_proba(X), again.predict_proba(X)
    )


@pytest.mark.parametrize("name", ["default", "default, 3 classes", "forest", "linear"])
def test_it_predicts_without_the_native_core(name, tmp_path, monkeypatch):
    model, X = fitted(name)
    model.save(tmp_path / "model.rboost")
    loaded = rboost.load(tmp_path / "model.rboost")
    expected = loaded.predict_proba(X)
    monkeypatch.setattr(native, "compiled", lambda: None)
    np.testing.assert_allclose(loaded.predict_proba(X), expected, atol=1e-5)


def test_groups_are_listed_as_they_were(tmp_path):
    model, _ = fitted("context")
    model.save(tmp_path / "model.rboost")
    loaded = rboost.load(tmp_path / "model.rboost")
    for own, found in zip(model.noise_by_group_, loaded.noise_by_group_, strict=True):
        assert list(found) == list(own)
        for name in own:
            assert_array_equal(found[name], own[name])


@pytest.mark.parametrize("name", ["default", "forest", "algorithm 1"])
def test_training_rows_are_left_out_and_said_to_be(name, tmp_path):
    model, _ = fitted(name)
    model.save(tmp_path / "model.rboost")
    loaded = rboost.load(tmp_path / "model.rboost")
    for attribute in type(model)._training_only:
        assert attribute not in vars(loaded)
        with pytest.raises(AttributeError, match=f"{attribute} belongs to the training rows"):
            getattr(loaded, attribute)
    with pytest.raises(AttributeError, match="object has no attribute 'nothing'"):
        loaded.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute"):
        clone(model).label_issue_probability_  # noqa: B018


def test_single_learners_of_algorithm_1_stay_behind(tmp_path):
    model, X = fitted("algorithm 1, in turn")
    model.save(tmp_path / "model.rboost")
    loaded = rboost.load(tmp_path / "model.rboost")
    assert [type(own) for own in loaded.estimator] == [type(own) for own in model.estimator]
    assert loaded.estimator[0].max_depth == 2
    for ask in (lambda: loaded.estimators_, lambda: list(loaded.staged_predict(X))):
        with pytest.raises(AttributeError, match="no single base learners; fit again"):
            ask()


def test_a_model_from_a_file_is_fitted_anew(tmp_path):
    model, X = fitted("algorithm 1")
    y = numbers()[1]
    model.save(tmp_path / "model.rboost")
    loaded = rboost.load(tmp_path / "model.rboost")
    with pytest.raises(ValueError, match="warm_start cannot continue a model from a file"):
        loaded.set_params(warm_start=True).fit(X, y)
    loaded.set_params(warm_start=False).fit(X, y)
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert len(loaded.estimators_) == len(model.estimators_)
    model, X = fitted("default")
    again = clone(model).fit(X, model.predict(X))
    model.save(tmp_path / "model.rboost")
    loaded = rboost.load(tmp_path / "model.rboost").fit(X, model.predict(X))
    assert_array_equal(loaded.label_issue_probability_, again.label_issue_probability_)


def test_a_classifier_of_scikit_learn_predicts_only(tmp_path):
    model, X = fitted("forest")
    model.save(tmp_path / "model.rboost")
    with pytest.raises(ValueError, match="from a model file predicts only"):
        rboost.load(tmp_path / "model.rboost").fit(X, numbers()[1])


@pytest.mark.parametrize(
    "model",
    [
        NoiseCalibratedClassifier(GaussianNB(), cv=2),
        AdaRBoostClassifier(GaussianNB(), n_estimators=3),
    ],
)
def test_a_classifier_of_ones_own_is_not_saved(model, tmp_path):
    model.fit(*numbers())
    with pytest.raises(ValueError, match=r"GaussianNB .*not saved.*; keep .* with joblib\."):
        model.save(tmp_path / "model.rboost")
    assert list(tmp_path.iterdir()) == []


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(ValueError, match="is not fitted yet"):
        RBoostClassifier().save(tmp_path / "model.rboost")


@pytest.mark.parametrize("classes", [
    ["a", "b"], np.array(["a", "b"], dtype=object), [False, True], np.array([1, 3], dtype=np.int8),
    np.array([1, 7], dtype=np.float32), np.array([2**63, 2**63 + 1], dtype=np.uint64),
    ["", "\ud800"],
], ids=str)  # fmt: skip
def test_classes_keep_their_type(classes, tmp_path):
    X, y = numbers()
    model = RobustLogisticRegression(n_init=1).fit(X, np.asarray(classes)[y])
    model.save(tmp_path / "model.rboost")
    loaded = rboost.load(tmp_path / "model.rboost")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert_array_equal(loaded.predict(X), model.predict(X))


def test_parameters_are_kept_but_those_of_the_machine(tmp_path):
    X, y = numbers()
    model = RBoostClassifier(
        engines=["pool", "linear"], max_iter=6, noise_matrix=np.array([[0.9, 0.1], [0.2, 0.8]]),
        n_jobs=2, random_state=np.random.RandomState(0),
    ).fit(X, y)  # fmt: skip
    model.save(tmp_path / "model.rboost")
    parameters = rboost.load(tmp_path / "model.rboost").get_params()
    assert parameters["noise_matrix"] == [[0.9, 0.1], [0.2, 0.8]]
    assert parameters["engines"] == ["pool", "linear"]
    assert parameters["n_jobs"] is None
    assert parameters["random_state"] is None


def numbers_and_text(n_numbers):
    random, words = np.random.RandomState(0), np.array([f"word{k}" for k in range(3000)])
    frame = pd.DataFrame(random.normal(size=(1000, n_numbers))).add_prefix("x")
    return frame.assign(text=[" ".join(random.choice(words, 12)) for _ in range(1000)])


def five_categories():
    codes = np.random.RandomState(0).randint(40, size=(1000, 5))
    return pd.DataFrame(np.char.add("level ", codes.astype(str))).add_prefix("c")


TABLES = {
    "20 numbers": lambda: np.random.RandomState(0).normal(size=(1000, 20)),
    "30 numbers": lambda: np.random.RandomState(0).normal(size=(1000, 30)),
    "5 categories": five_categories,
    "127 numbers and a text": lambda: numbers_and_text(127),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_default_model_is_small_and_no_training_row_is_in_it(name, tmp_path):
    X = TABLES[name]()
    first = np.unique(np.asarray(X)[:, 0], return_inverse=True)[1]
    y = first + 0.3 * first.std() * np.random.RandomState(1).normal(size=1000) > first.mean()
    model = RBoostClassifier(random_state=0).fit(X, y)
    path = tmp_path / "model.rboost"
    model.save(path)
    assert path.stat().st_size < 1_000_000
    loaded = rboost.load(path)
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert 1000 not in [n for shape in shapes(rboost.load(path)) for n in shape]


def shapes(part):
    if isinstance(part, np.ndarray):
        return [part.shape]
    inner = part if isinstance(part, (list, tuple, dict)) else getattr(part, "__dict__", ())
    inner = inner.values() if isinstance(inner, dict) else inner
    return [shape for own in inner for shape in shapes(own)]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "model.rboost"
    path.write_bytes(b"before")
    model, _ = fitted("rLR")

    def fails(*_):
        raise OSError("no more")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(OSError, match="no more"):
        model.save(str(path))
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_known_of_a_model_comes_back(tmp_path):
    from rboost.saving import load_with_notes, save

    about = {"label": "größe", "columns": ["a", "b"], "share": 1.5, "id": None}
    save(fitted("rLR")[0], tmp_path / "model.rboost", about)
    assert load_with_notes(tmp_path / "model.rboost")[1] == about


def test_only_models_are_written(tmp_path):
    with pytest.raises(ValueError, match="Steepening is not saved"):
        write_file(tmp_path / "x", Steepening(), {})


def test_rows_of_another_kind_than_those_fitted_to():
    """A pool fitted to dense rows says the same of them as sparse ones."""
    from scipy import sparse

    X, y = numbers()
    model = RBoostClassifier(engines="pool", max_iter=9, random_state=0).fit(X + 5, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.predict_proba(sparse.csr_matrix(X + 5))
    np.testing.assert_allclose(found, model.predict_proba(X + 5), atol=1e-12)
