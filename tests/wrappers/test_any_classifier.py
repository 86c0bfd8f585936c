"""Classifiers of other packages, and of scikit-learn, made aware of wrong labels."""

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from rboost import NoiseCalibratedClassifier, RBoostClassifier


def xgboost():
    options = {"n_estimators": 20, "max_depth": 3, "n_jobs": 1}
    return pytest.importorskip("xgboost").XGBClassifier(**options)


def catboost():
    options = {"iterations": 20, "depth": 3, "thread_count": 1, "verbose": 0}
    return pytest.importorskip("catboost").CatBoostClassifier(**options, allow_writing_files=False)


CLASSIFIERS = {
    "lightgbm": lambda: LGBMClassifier(n_estimators=20, num_leaves=7, n_jobs=1, verbose=-1),
    "hist": lambda: HistGradientBoostingClassifier(max_iter=20),
    "SVC": SVC,
    "linear": lambda: make_pipeline(StandardScaler(), LinearSVC()),
    "neighbours": lambda: KNeighborsClassifier(15),
    "rBoost": lambda: RBoostClassifier(max_iter=10, random_state=0),
    "xgboost": xgboost,
    "catboost": catboost,
}


# LightGBM: names of features that it makes up itself.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.peers] * (name in ("xgboost", "catboost")))
        for name in CLASSIFIERS
    ],
)
def test_around_any_classifier_with_labels_that_are_strings(name, noisy_banana, clean_banana):
    X, true, noisy, _ = noisy_banana
    names = np.array(["bad", "good"])
    model = NoiseCalibratedClassifier(CLASSIFIERS[name](), cv=3, random_state=0)
    model.fit(X, names[noisy])
    np.testing.assert_array_equal(model.classes_, names)
    assert model.score(clean_banana[0], names[clean_banana[1]]) > (
        0.7 if name == "linear" else 0.82
    )
    probability = model.predict_proba(clean_banana[0])
    np.testing.assert_array_equal(model.predict(clean_banana[0]), names[probability.argmax(axis=1)])
    assert roc_auc_score(noisy != true, model.label_issue_probability_) > 0.8
    assert model.noise_matrix_[0, 1] > model.noise_matrix_[1, 0]
