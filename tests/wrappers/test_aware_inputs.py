"""What NoiseAwareClassifier takes: containers, pipelines, other classifiers, hard tables."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rboost import RBoostClassifier
from rboost.noise import flip_labels
from rboost.wrappers import NoiseAwareClassifier
from tests.wrappers.test_calibrated import frame_of_people, one_hot_pipeline


def test_a_dictionary_is_no_table():
    with pytest.raises(ValueError, match=r"not a dictionary; make a frame of it\.$"):
        NoiseAwareClassifier(LogisticRegression()).fit({"a": [1.0, 2.0]}, [0, 1])


def test_around_a_pipeline_on_a_frame_with_strings():
    frame, noisy, true = frame_of_people()
    model = NoiseAwareClassifier(one_hot_pipeline(), cv=2, tol=1e-2, random_state=0)
    model.fit(frame, noisy)
    np.testing.assert_array_equal(model.classes_, ["no", "yes"])
    np.testing.assert_array_equal(model.feature_names_in_, ["age", "city"])
    assert model.score(frame, true) > 0.9
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"age": "years"}))


def test_around_a_pipeline_on_text():
    random = np.random.RandomState(0)
    true = random.randint(2, size=200)
    words = np.array([["sun", "sand", "sea"], ["snow", "ice", "sea"]])
    texts = [" ".join(random.choice(words[kind], 4)) for kind in true]
    noisy, _ = flip_labels(true, [[0.7, 0.3], [0.0, 1.0]], random_state=0)
    inner = make_pipeline(CountVectorizer(), LogisticRegression())
    model = NoiseAwareClassifier(inner, cv=3, tol=1e-2, random_state=0).fit(texts, noisy)
    assert model.score(texts, true) > 0.95


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "inner",
    [
        HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=10),
        GaussianNB(),
        RBoostClassifier(max_iter=5),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda inner: type(inner).__name__,
)
def test_around_other_classifiers(inner, noisy_banana, clean_banana):
    X, _, noisy, _ = noisy_banana
    names = np.array(["bad", "good"])
    model = NoiseAwareClassifier(inner, cv=2, max_iter=2, random_state=0).fit(X, names[noisy])
    probability = model.predict_proba(clean_banana[0])
    assert np.all(np.isfinite(probability))
    np.testing.assert_array_equal(model.predict(clean_banana[0]), names[probability.argmax(axis=1)])
    assert model.score(clean_banana[0], names[clean_banana[1]]) > 0.55


HARD = {
    "separable": lambda X: (X, X[:, 0] > 0),
    "constant column": lambda X: (np.column_stack([X, np.full(len(X), 7.0)]), X[:, 0] > 0.3),
    "duplicates": lambda X: (np.repeat(X[:5], 12, axis=0), np.arange(60) % 2),
    "one feature": lambda X: (X[:, :1], X[:, 0] + X[:, 1] > 0),
    "three rows of a class": lambda X: (X, np.arange(len(X)) < 3),
    "labels by chance": lambda X: (X, np.random.RandomState(1).uniform(size=60) < 0.5),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize("case", HARD)
def test_finite_on_hard_tables(case, cv):
    X, y = HARD[case](np.random.RandomState(0).standard_normal((60, 4)))
    for inner in (LogisticRegression(), RandomForestClassifier(5)):
        model = NoiseAwareClassifier(inner, cv, max_iter=6, random_state=0).fit(X, y)
        assert np.all(np.isfinite(model.predict_proba(X)))
        assert np.all(np.isfinite(model.label_issue_probability_))
        assert model.noise_matrix_[0, 1] + model.noise_matrix_[1, 0] < 1
