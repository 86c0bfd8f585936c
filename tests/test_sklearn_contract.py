"""What every public estimator keeps to: scikit-learn's own checks, and the project's."""

import importlib
import pickle
import pkgutil
from inspect import getdoc, signature

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.fixes import parse_version

import rboost
from rboost import AdaRBoostClassifier
from tests.estimators import ELSEWHERE, PUBLIC, parametrized

# Three rounds do not converge, and some checks draw labels that the features say nothing about.
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore:Every training row is predicted as:UserWarning",
    "ignore:No base learner was kept:UserWarning",
    "ignore:.*rows of X repeat others:UserWarning",
    "ignore:RobustBoost ended at time:UserWarning",
)

RANDOM = np.random.RandomState(0)
X = RANDOM.standard_normal((60, 3))
Y = (X[:, 0] + X[:, 1] + 0.5 * RANDOM.standard_normal(60) > 0).astype(int)
NAMES = ["width", "height", "depth"]


def seeded(name):
    """The estimator as it is registered, unfitted and with a seed where it takes one."""
    model = clone(PUBLIC[name].model)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def test_every_public_estimator_is_registered():
    public = set()
    for found in pkgutil.iter_modules(rboost.__path__):
        if found.name not in ELSEWHERE and not found.name.startswith("_"):
            module = importlib.import_module(f"rboost.{found.name}")
            named = [getattr(module, name) for name in getattr(module, "__all__", ())]
            public |= {
                each for each in named if isinstance(each, type) and hasattr(each, "predict")
            }
    assert public == {type(registered.model) for registered in PUBLIC.values()}


@parametrized(slow=True)
def test_the_checks_of_scikit_learn(name):
    registered = PUBLIC[name]
    takes_more = get_tags(registered.model).classifier_tags.multi_class
    if not takes_more and parse_version(sklearn.__version__) < parse_version("1.7"):
        pytest.skip("scikit-learn before 1.7 swaps two classes where it repeats rows")
    done = check_estimator(
        registered.model, expected_failed_checks=registered.failures, on_skip=None
    )
    failed = {check["check_name"] for check in done if check["status"] == "xfail"}
    assert failed == set(registered.failures)  # a failure that is no more is no excuse


@parametrized()
def test_labels_of_any_type_name_the_classes(name):
    """And predictions follow the probabilities."""
    codes = seeded(name).fit(X, Y).predict(X)
    for labels in (["ham", "spam"], [False, True], [-1, 1], [0.0, 2.0]):
        classes = np.array(labels)
        model = seeded(name).fit(X, classes[Y])
        assert_array_equal(model.classes_, classes)
        assert_array_equal(model.predict(X), classes[codes])
        assert_array_equal(classes[model.predict_proba(X).argmax(axis=1)], classes[codes])


@parametrized()
def test_more_than_two_classes_are_learnt_or_refused_in_one_sentence(name):
    model, three = seeded(name), np.digitize(X[:, 0], [-0.4, 0.4])
    if get_tags(model).classifier_tags.multi_class:
        probability = model.fit(X, three).predict_proba(X)
        assert probability.shape == (60, 3)
        assert_allclose(probability.sum(axis=1), 1)
        assert_array_equal(model.predict(X), probability.argmax(axis=1))
    else:
        with pytest.raises(ValueError, match=r"Only binary classification .*3 classes") as caught:
            model.fit(X, three)
        assert "\n" not in str(caught.value)


@parametrized()
def test_the_same_seed_gives_the_same_model_whatever_the_number_of_threads(name):
    model = seeded(name).fit(X, Y)
    again = clone(model)
    with pytest.raises(NotFittedError):
        again.predict(X)
    if "n_jobs" in again.get_params():
        again.set_params(n_jobs=2)
    for same in (again.fit(X, Y), pickle.loads(pickle.dumps(model))):
        assert_array_equal(same.predict_proba(X), model.predict_proba(X))


@parametrized()
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_give_what_arrays_do_and_their_names_are_kept(name, frame):
    table = frame(dict(zip(NAMES, X.T, strict=True)))
    model = seeded(name).fit(table, Y)
    assert_array_equal(model.feature_names_in_, NAMES)
    assert_allclose(model.predict_proba(table), seeded(name).fit(X, Y).predict_proba(X), atol=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(dict(zip(["width", "height", "age"], X.T, strict=True))))


@parametrized()
def test_metadata_is_routed(name):
    """Weights and trusted rows, which a scaler before the model turns as it turns X."""
    rows, model = 1000 + 100 * X, seeded(name)
    options = {"sample_weight": 1.0 + np.arange(60) % 3, "X_trusted": rows[:9], "y_trusted": Y[:9]}
    options = {key: options[key] for key in options if key in signature(model.fit).parameters}
    with sklearn.config_context(enable_metadata_routing=True):
        asking = seeded(name).set_fit_request(**dict.fromkeys(options, True))
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, asking, transform_input=["X_trusted"])
        routed.fit(rows, Y, **options)
    scaled = scaler.transform(rows)
    if "X_trusted" in options:
        options["X_trusted"] = scaled[:9]
    direct = model.fit(scaled, Y, **options)
    assert_allclose(routed.predict_proba(rows), direct.predict_proba(scaled), atol=1e-12)


@parametrized()
def test_it_can_be_boosted(name):
    model = AdaRBoostClassifier(
        seeded(name), n_estimators=2, sampling="uniform", max_samples=0.5, votes="probability",
        random_state=0,
    ).fit(X, Y)  # fmt: skip
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert model.score(X, Y) > 0.55


BAD_DATA = {
    "one class": ((X, np.ones(60)), "y holds only one class, .*; a classifier needs rows of two"),
    "continuous": ((X, X[:, 0]), "Unknown label type: continuous"),
    "no labels": ((X, None), "requires y to be passed"),
    "missing label": ((X, np.where(Y == 0, np.nan, Y)), "Input y contains NaN"),
    "missing string label": (
        (X, np.array([None, "a"] * 30, dtype=object)),
        "y contains NaN or None in row 0; give every row a label",
    ),
    "missing pandas label": (
        (X, pd.array(["a", pd.NA] * 30, dtype="string")),
        "y contains NaN or None in row 1",
    ),
    "mixed labels": ((X, np.array([0, "a"] * 30, dtype=object)), "types int and str"),
    "infinite feature": ((np.where(X[3, 1] == X, np.inf, X), Y), "contains infinity"),
    "lengths": ((X, Y[:15]), "X has 60 rows but y has 15; pass one .* a row"),
    "one dimension": ((X[:, 0], Y), "Expected 2D array|must have two dimensions"),
    "negative weight": ((X, Y, np.where(np.arange(60) == 0, -1, 1)), "negative, but row 0 has -1"),
    "NaN weight": ((X, Y, np.where(Y == 0, np.nan, 1)), "sample_weight contains NaN"),
    "infinite weights": ((X, Y, np.full(60, 1e308)), "infinite sum; divide it by its mean"),
    "named weights": ((X, Y, "balanced"), "one number per row, not 'balanced'"),
    "weights": ((X, Y, np.ones(5)), r"shape must be \(60,\), not \(5,\)"),
    "all weight on one class": ((X, Y, Y), "positive weight"),
}


@parametrized()
@pytest.mark.parametrize("fitted_before", [False, True], ids=["first fit", "fitted before"])
def test_a_fit_that_fails_names_the_mistake_and_leaves_the_estimator_as_it_was(name, fitted_before):
    model = seeded(name)
    if fitted_before:
        model.fit(X, Y)
    before = dict(vars(model))
    for case, (arguments, message) in BAD_DATA.items():
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(*arguments)
        assert vars(model).keys() == before.keys(), case
        assert all(vars(model)[key] is before[key] for key in before), case


@parametrized()
def test_the_docstring_names_what_it_takes_and_has(name):
    """Parts that several share are put in from one place."""
    estimator = type(PUBLIC[name].model)
    doc = getdoc(estimator)
    for section in ("Parameters\n----------\n", "Attributes\n----------\n"):
        assert doc.count(section) == 1
    for parameter in signature(estimator).parameters:
        assert doc.count(f"\n{parameter} : ") == 1
    for attribute in ("classes_", "n_features_in_", "feature_names_in_"):
        assert doc.count(f"\n{attribute} : ") == 1
