"""Every parameter of both classifiers has an effect, or fails with one sentence."""

from inspect import signature

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from rboost import AdaRBoostClassifier, RBoostClassifier
from rboost.engines import trees
from tests.models import STUMP

EVERY_ENGINE = ["pool", "linear", "trees", pytest.param("xgboost", marks=pytest.mark.peers)]
FIXED = {"noise_matrix": [[0.8, 0.2], [0.1, 0.9]]}


def fitted(noisy_banana, **parameters):
    X, _, noisy, _ = noisy_banana
    if parameters.get("engines") == "xgboost":
        pytest.importorskip("xgboost")
    options = {"max_iter": 8, "random_state": 0, "n_jobs": 1, **parameters}
    return RBoostClassifier(**options).fit(X, noisy)


def change(noisy_banana, before, after):
    """The largest change of a decision."""
    X = noisy_banana[0]
    one, other = (fitted(noisy_banana, **own).decision_function(X) for own in (before, after))
    return np.abs(one - other).max()


# One test for each parameter, by its name: a new parameter needs one too.
def test_engines(noisy_banana):
    names = ["pool", "linear", "trees", ["pool", "trees"], ["linear", "trees"]]
    X = noisy_banana[0]
    found = [fitted(noisy_banana, engines=own).decision_function(X) for own in names]
    for place, one in enumerate(found):
        assert all(np.any(one != other) for other in found[:place])


@pytest.mark.parametrize("engines", EVERY_ENGINE)
def test_max_iter(noisy_banana, engines):
    few, more = (fitted(noisy_banana, engines=engines, max_iter=n) for n in (3, 6))
    assert few.n_iter_ <= 3 < more.n_iter_ <= 6
    assert change(noisy_banana, few.get_params(), more.get_params()) > 0


@pytest.mark.parametrize("engines", [*EVERY_ENGINE, ["pool", "trees"]], ids=str)
def test_learning_rate(noisy_banana, engines):
    parameters = {"engines": engines, "max_iter": 5, **FIXED}
    slower = {**parameters, "learning_rate": 0.01}
    assert change(noisy_banana, slower, {**parameters, "learning_rate": 0.9}) > 0


def test_beside_trees_the_learning_rate_is_that_of_trees(noisy_banana):
    X = noisy_banana[0]
    pools = []
    for rate in (0.01, 0.9):
        model = fitted(noisy_banana, engines=["pool", "trees"], learning_rate=rate)
        pools.append(model._model.stack.members["pool"].scores(X, 1))
    np.testing.assert_array_equal(*pools)


@pytest.mark.parametrize("engines", EVERY_ENGINE)
def test_noise_matrix(noisy_banana, engines):
    """Fixed noise is kept, and is none of the model's to estimate."""
    X = noisy_banana[0]
    models = [
        fitted(noisy_banana, engines=engines, noise_matrix=own)
        for own in (np.eye(2), FIXED["noise_matrix"], "estimate")
    ]
    for model in models[:2]:
        np.testing.assert_allclose(model.noise_matrix_, model.noise_matrix)
        assert not hasattr(model, "noise_interval_")
    assert hasattr(models[2], "noise_interval_")
    one, other, third = (model.decision_function(X) for model in models)
    assert np.any(one != other)
    assert np.any(other != third)


def test_device(noisy_banana):
    """Where no trees grow it is refused; where they do, it says what is missing, or grows them."""
    for engines in ("pool", "linear"):
        with pytest.raises(ValueError, match=r"^device='cuda' is where trees grow.*\.$"):
            fitted(noisy_banana, engines=engines, device="cuda")
    with pytest.raises(ValueError, match=r"device of .* must be one of 'cpu', 'cuda'"):
        fitted(noisy_banana, device="gpu")


@pytest.mark.parametrize("engines", EVERY_ENGINE)
def test_random_state(noisy_banana, engines):
    parameters = {"engines": engines, **FIXED}
    assert change(noisy_banana, parameters, {**parameters, "random_state": 1}) > 0
    assert change(noisy_banana, parameters, parameters) == 0


def test_n_jobs(noisy_banana, monkeypatch):
    """The number of threads follows it, and nothing else does."""
    asked, effective = [], trees.effective_n_jobs

    def noted(n_jobs):
        asked.append(n_jobs)
        return effective(n_jobs)

    monkeypatch.setattr(trees, "effective_n_jobs", noted)
    assert change(noisy_banana, {"engines": "trees"}, {"engines": "trees", "n_jobs": 2}) == 0
    assert set(asked) == {1, 2}
    with pytest.raises(ValueError, match=r"^n_jobs of .* must be a number of threads.*\.$"):
        fitted(noisy_banana, n_jobs=0)


def test_verbose(noisy_banana, capsys, monkeypatch):
    monkeypatch.setattr("rboost.progress.DELAY", -1)
    fitted(noisy_banana)
    assert capsys.readouterr().err == ""
    fitted(noisy_banana, verbose=1)
    assert capsys.readouterr().err != ""


def test_there_is_a_test_for_every_parameter():
    assert all(f"test_{name}" in globals() for name in signature(RBoostClassifier).parameters)


def assert_named(model, message, noisy_banana):
    X, _, noisy, _ = noisy_banana
    with pytest.raises(ValueError, match=message) as error:
        model.fit(X, noisy)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(".")
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_iter": 0}, "max_iter of RBoostClassifier must be an integer of at least 1"),
        ({"max_iter": 2.5}, "max_iter of RBoostClassifier must be an integer of at least 1"),
        ({"learning_rate": 0}, "learning_rate of .* must be a finite number above 0"),
        ({"learning_rate": np.inf}, "learning_rate of .* must be a finite number above 0"),
        ({"learning_rate": np.nan}, "learning_rate of .* must be a finite number above 0"),
        ({"verbose": -1}, "verbose of .* must be one of True, False, or an int"),
        ({"device": "gpu"}, "device of .* must be one of 'cpu', 'cuda'"),
        ({"n_jobs": 1.5}, "n_jobs of .* must be"),
        ({"noise_matrix": [[0.9, 0.2], [0, 1]]}, "row 0 sums to 1.1"),
        ({"noise_matrix": [[0.3, 0.7], [0.4, 0.6]]}, "must sum to less than 1"),
        ({"noise_matrix": np.eye(3)}, "noise_matrix"),
        ({"noise_matrix": "auto"}, "noise_matrix"),
        ({"engines": DecisionTreeClassifier()}, "engines must be 'auto', or one"),
        ({"engines": "pol"}, "engines must be 'auto', or one"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters, message, noisy_banana):
    assert_named(RBoostClassifier(**parameters), message, noisy_banana)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators of AdaRBoostClassifier must be an integer"),
        ({"learning_rate": 0}, "learning_rate of .* must be a finite number above 0"),
        ({"learning_rate": np.nan}, "learning_rate of .* must be a finite number above 0"),
        ({"max_samples": np.inf, "sampling": "weights"}, "max_samples of .* must be a finite"),
        ({"max_samples": 0}, "max_samples of .* must be a finite number above 0"),
        ({"max_samples": 0.5}, "max_samples=0.5 has no effect with sampling='none'"),
        ({"max_samples": 2.0}, "max_samples=2.0 has no effect with sampling='none'"),
        ({"sampling": "uniform", "max_samples": 1.5}, "max_samples .* at most 1"),
        ({"sampling": "all"}, "sampling of .* must be one of 'none', 'uniform', 'weights'"),
        ({"verbose": -1}, "verbose of .* must be one of True, False, or an int"),
        ({"warm_start": "yes"}, "warm_start of .* must be one of True, False"),
        ({"votes": "soft"}, "votes of .* must be one of 'class', 'probability'"),
        ({"mixing": None}, "mixing of .* must be one of 'posterior', 'paper'"),
        ({"negative_weights": "clip"}, "negative_weights of .* must be one of 'flip', 'keep'"),
        ({"calibration": "beta"}, "calibration of .* must be one of"),
        ({"n_jobs": 0}, "n_jobs of .* must be a number of threads"),
        ({"noise_matrix": [[0.9, 0.2], [0, 1]]}, "row 0 sums to 1.1"),
        ({"noise_matrix": [[0.3, 0.7], [0.4, 0.6]]}, "must sum to less than 1"),
        ({"estimator": DecisionTreeClassifier}, "estimator must be a scikit-learn classifier"),
        ({"estimator": []}, "estimator must hold at least one classifier"),
        ({"estimator": "pool"}, "estimator must be a scikit-learn classifier"),
        ({"estimator": [STUMP, "tree"]}, "estimator must be .*not 'tree'"),
        ({"estimator": [STUMP, StandardScaler()]}, "estimator must be .*not StandardScaler"),
        ({"estimator": [STUMP, KNeighborsClassifier()]}, "takes no sample_weight"),
        (
            {"estimator": LinearSVC(), "votes": "probability"},
            "LinearSVC has no predict_proba, .*; use votes='class'",
        ),
    ],
    ids=str,
)
def test_bad_parameters_of_algorithm_1_are_named(parameters, message, noisy_banana):
    assert_named(AdaRBoostClassifier(**parameters), message, noisy_banana)


ONE_EACH = {
    "estimator": DecisionTreeClassifier(max_depth=3),
    "n_estimators": 5,
    "learning_rate": 0.5,
    "sampling": "weights",
    "votes": "probability",
    "noise_matrix": np.eye(2),
    "negative_weights": "keep",
    "calibration": "isotonic",
}


@pytest.mark.parametrize("name", [*ONE_EACH, "mixing", "max_samples"])
def test_every_parameter_of_algorithm_1_has_an_effect(name, noisy_banana):
    X, _, noisy, noise = noisy_banana
    before = {
        "n_estimators": 12,
        "random_state": 0,
        "estimator": DecisionTreeClassifier(max_depth=2),
    }
    before["noise_matrix"] = noise  # not symmetric: the two mixings differ
    after = dict(before)
    if name == "max_samples":
        before["sampling"] = after["sampling"] = "uniform"
        after[name] = 0.5
    else:
        after[name] = {**ONE_EACH, "mixing": "paper"}[name]
    one, other = (
        AdaRBoostClassifier(**own).fit(X, noisy).predict_proba(X) for own in (before, after)
    )
    assert np.any(one != other)


@pytest.mark.parametrize("engines", ["pool", "trees", "linear"])
def test_numbers_of_numpy_are_numbers(engines, noisy_banana):
    """As searches pass them."""
    X, _, noisy, _ = noisy_banana
    numbers = {"max_iter": np.int64(7), "n_jobs": np.int64(1), "learning_rate": np.float32(0.5)}
    model = RBoostClassifier(engines=engines, random_state=0, **numbers).fit(X, noisy)
    plain = {name: number.item() for name, number in numbers.items()}
    same = RBoostClassifier(engines=engines, random_state=0, **plain).fit(X, noisy)
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X))


def test_a_fitted_model_takes_what_its_engines_take(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(engines="linear", max_iter=5, random_state=0).fit(X, noisy)
    with pytest.raises(ValueError, match="NaN"):
        model.set_params(engines="trees").predict(np.full((1, X.shape[1]), np.nan))
