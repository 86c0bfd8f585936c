"""A model that is read from its file predicts what it did."""

import io
import zipfile

import lightgbm
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from rboost import (
    AdaRBoostClassifier,
    NoiseCalibratedClassifier,
    RBoostClassifier,
    RobustLogisticRegression,
)
from rboost.audit.disk.model_file import load_model, save_model
from rboost.learners.forest import Forest
from tests.audit.disk.models import ABOUT, customers, fitted


def algorithm_1(estimator=None, calibration="platt"):
    own = AdaRBoostClassifier(estimator, n_estimators=5, calibration=calibration, random_state=0)
    return NoiseCalibratedClassifier(own, cv=2, random_state=0)


MODELS = {
    "default": lambda: RBoostClassifier(max_iter=9, random_state=np.random.RandomState(0)),
    "linear": lambda: RBoostClassifier(engines="linear", max_iter=5, random_state=0),
    "isotonic": lambda: algorithm_1(calibration="isotonic"),
    "logistic": lambda: algorithm_1(calibration="logistic"),
    "algorithm 1": lambda: algorithm_1(RobustLogisticRegression(C=0.1)),
    "forest": lambda: NoiseCalibratedClassifier(RandomForestClassifier(5, random_state=0)),
    "histogram": lambda: NoiseCalibratedClassifier(HistGradientBoostingClassifier(max_iter=3)),
}


FOR_SEVERAL_CLASSES = ("default", "algorithm 1", "forest", "histogram")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_classes"),
    [
        *((name, 2) for name in MODELS),
        *(pytest.param(name, 3, marks=pytest.mark.slow) for name in FOR_SEVERAL_CLASSES),
    ],
)
def test_a_loaded_model_predicts_the_same(tmp_path, name, n_classes):
    model, frame = fitted(MODELS[name](), n_classes, all_columns=name == "default")
    save_model(model, tmp_path / "model.skops", ABOUT)
    loaded, about = load_model(tmp_path / "model.skops")
    assert about == ABOUT
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_engines_that_take_a_table_as_it_is(tmp_path, n_classes):
    frame, value = customers(301, np.random.RandomState(0))
    frame = frame.drop(columns="note")  # all of whose texts are levels
    labels, path = np.digitize(value, [0.0, 0.7][: n_classes - 1]), tmp_path / "model.skops"
    model = RBoostClassifier(engines=["pool", "trees"], max_iter=30, random_state=0)
    model.fit(frame, labels)
    assert list(model.engine_weights_) == ["pool", "trees"]
    save_model(model, path, {})
    loaded, _ = load_model(path)
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    assert not {"_training", "held_out_scores_", "true_class_"} & vars(loaded).keys()
    with zipfile.ZipFile(path) as archive:
        arrays = [name for name in archive.namelist() if name.endswith(".npy")]
        shapes = [np.load(io.BytesIO(archive.read(name))).shape for name in arrays]
    assert not any(len(frame) in shape for shape in shapes)
    model._model.stack.members["trees"].forest.feature[0] = frame.shape[1]
    save_model(model, path, {})
    with pytest.raises(ValueError, match="a tree whose nodes lead nowhere"):
        load_model(path)


def test_a_large_table_has_trees_alone(tmp_path):
    random = np.random.RandomState(0)
    X = random.normal(size=(21_000, 5))
    model = RBoostClassifier(max_iter=6, random_state=0).fit(X, X[:, 0] > 0)
    assert list(model.engine_weights_) == ["trees"]
    save_model(model, tmp_path / "model.skops", {})
    loaded, _ = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert (tmp_path / "model.skops").stat().st_size < 500_000


def test_a_forest_in_a_file_scores_the_same_and_is_checked(tmp_path):
    X = np.random.RandomState(0).normal(size=(300, 3))
    options = {"objective": "binary", "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(options, lightgbm.Dataset(X, X[:, 0] > 0), 4)
    model, path = LogisticRegression().fit(X, X[:, 0] > 0), tmp_path / "model.skops"
    model.forest = Forest.from_boosters([booster], 1, 4)
    save_model(model, path, {})
    loaded = load_model(path)[0].forest
    np.testing.assert_array_equal(loaded.scores(X), model.forest.scores(X))
    model.forest.left[0] = 10**6
    save_model(model, path, {})
    with pytest.raises(ValueError, match="a tree whose nodes lead nowhere"):
        load_model(path)


def test_the_training_is_left_out_of_the_file_only(tmp_path):
    X = np.random.RandomState(0).normal(size=(80, 3))
    model = AdaRBoostClassifier(n_estimators=6, warm_start=True).fit(X, X[:, 0] + X[:, 1] > 0)
    save_model(model, tmp_path / "model.skops", {})
    loaded, _ = load_model(tmp_path / "model.skops")
    with pytest.raises(ValueError, match="warm_start cannot continue a model from a file"):
        loaded.fit(X, X[:, 0] > 0)
    assert model.set_params(n_estimators=9).fit(X, X[:, 0] + X[:, 1] > 0).n_iter_ == 9
