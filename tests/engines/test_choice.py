import numpy as np
import pytest
from rboost.boosting import choice
from rboost.boosting.choice import POOL_ROWS, check_choice, chosen_engines, given_learners
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from rboost import RBoostClassifier

# The number of rows, and whether they are sparse.
TABLES = {"small": (POOL_ROWS, False), "large": (POOL_ROWS + 1, False), "sparse": (5, True)}
NAIVE = GaussianNB()


@pytest.mark.parametrize(
    ("estimator", "table", "expected"),
    [
        (None, "small", ["pool", "trees"]),
        (None, "large", ["trees"]),
        (None, "sparse", ["pool"]),
        ("pool", "large", ["pool"]),
        ("trees", "small", ["trees"]),
        ("trees", "sparse", ["trees"]),
        (["pool", "trees"], "large", ["pool", "trees"]),
        (["trees", "trees"], "small", ["trees"]),
        (NAIVE, "small", ["learners"]),
        ([NAIVE, LogisticRegression()], "small", ["learners"]),
        ([NAIVE, "trees", LogisticRegression()], "small", ["learners", "trees"]),
    ],
    ids=str,
)
def test_every_choice_names_its_engines(estimator, table, expected):
    check_choice(estimator)
    assert chosen_engines(estimator, *TABLES[table], 2, can_stack=True) == expected


@pytest.mark.parametrize(("n_classes", "fewest"), [(2, 100), (3, 1200), (10, 4000)])
def test_the_default_grows_trees_from_so_many_rows_a_class_on(n_classes, fewest):
    assert chosen_engines(None, fewest - 1, False, n_classes, can_stack=True) == ["pool"]
    assert chosen_engines(None, fewest, False, n_classes, can_stack=True) == ["pool", "trees"]
    assert chosen_engines("trees", fewest - 1, False, n_classes, can_stack=True) == ["trees"]


def test_learners_are_what_is_no_name():
    assert given_learners(None) == given_learners("trees") == []
    assert given_learners(["pool", NAIVE, "trees"]) == given_learners(NAIVE) == [NAIVE]


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        ([], "at least one classifier, not an empty list"),
        ("tree", "'pool', 'trees', 'xgboost', a classifier or a list of these, not 'tree'"),
        (
            ["pool", "forest"],
            "'pool', 'trees', 'xgboost', a classifier or a list of these, not 'forest'",
        ),
        (["pool", None], "estimator must be .*not None"),
        (StandardScaler(), "estimator must be .*not StandardScaler"),
        (GaussianNB, "estimator must be a scikit-learn classifier"),
        (3, "estimator must be .*not 3"),
    ],
    ids=str,
)
def test_what_is_no_choice_is_named_in_one_sentence(estimator, message, noisy_banana):
    X, _, noisy, _ = noisy_banana
    with pytest.raises(ValueError, match=message) as error:
        RBoostClassifier(estimator).fit(X, noisy)
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


WITHOUT_ROOM = [
    {"warm_start": True},
    {"out_of_bag": False, "noise_estimator": "paper"},
    {"calibration": "isotonic"},
    {"noise_estimator": "paper"},
]


@pytest.mark.parametrize("parameters", WITHOUT_ROOM, ids=str)
@pytest.mark.parametrize("estimator", ["trees", ["pool", "trees"], [NAIVE, "pool"]], ids=str)
def test_trees_and_several_engines_refuse_what_they_cannot_do(estimator, parameters, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(estimator, **parameters)
    with pytest.raises(ValueError, match=r"need out_of_bag=True.*boost a classifier or the 'pool'"):
        model.fit(X, noisy)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("parameters", WITHOUT_ROOM, ids=str)
def test_the_default_is_the_pool_where_other_parameters_need_it(parameters, noisy_banana):
    X, _, noisy, _ = noisy_banana
    default, pool = (
        RBoostClassifier(estimator, n_estimators=4, random_state=0, **parameters).fit(X, noisy)
        for estimator in (None, "pool")
    )
    assert default.engine_weights_ == {"pool": 1.0}
    np.testing.assert_array_equal(default.predict_proba(X), pool.predict_proba(X))


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (None, "pool"),
        ("trees", "pool"),
        (["pool", "trees"], "pool"),
        ([NAIVE, "trees"], "learners"),
    ],
    ids=str,
)
def test_without_lightgbm_the_others_run_alone(estimator, expected, noisy_banana, monkeypatch):
    X, _, noisy, _ = noisy_banana
    monkeypatch.setattr(choice, "lightgbm", lambda: None)
    model = RBoostClassifier(estimator, n_estimators=6, random_state=0).fit(X, noisy)
    assert model.engine_weights_ == {expected: 1.0}
    assert model.score(X, noisy) > 0.6


def test_known_noise_leaves_room_for_every_engine(noisy_banana):
    X, _, noisy, noise = noisy_banana
    model = RBoostClassifier(
        [NAIVE, "trees"], n_estimators=10, noise_matrix=noise, noise_estimator="paper",
        random_state=0,
    ).fit(X, noisy)  # fmt: skip
    assert set(model.engine_weights_) <= {"learners", "trees"}
    np.testing.assert_allclose(model.noise_matrix_, noise)
