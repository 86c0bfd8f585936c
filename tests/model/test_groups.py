"""fit(context=...): noise by group, used by trees, stack and the judgement of labels."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from rboost import RBoostClassifier
from rboost.noise import symmetric


def careless_table(seed, n_classes=2, n_rows=1000):
    """One of four annotators has 30 % wrong, the others 2 %."""
    X, y = make_classification(
        n_rows, 10, n_informative=6, n_redundant=0, n_classes=n_classes, class_sep=1.5, flip_y=0,
        random_state=seed,
    )  # fmt: skip
    random = np.random.RandomState(seed)
    annotator = random.choice(list("abcd"), size=n_rows)
    wrong = random.uniform(size=n_rows) < np.where(annotator == "c", 0.3, 0.02)
    given = np.where(wrong, (y + random.randint(1, n_classes, size=n_rows)) % n_classes, y)
    return X, given, annotator, wrong


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_careless_annotator(n_classes):
    X, given, annotator, wrong = careless_table(1, n_classes)
    model = RBoostClassifier(max_iter=60, random_state=0).fit(X, given, context=annotator)
    for record in model.noise_by_group_:
        of_group = annotator == record["name"]
        assert record["n_rows"] == of_group.sum()
        assert record["wrong_share"] == pytest.approx(wrong[of_group].mean(), abs=0.05)
        assert record["low"] <= record["wrong_share"] <= record["high"]
        assert record["noise_matrix"].shape == (n_classes, n_classes)
        assert np.all(record["interval"][0] <= record["interval"][1])
    suspects = np.argsort(-model.label_issue_probability_)[: wrong.sum()]
    assert wrong[suspects].mean() >= 0.8
    assert not hasattr(model.fit(X[:200], given[:200]), "noise_by_group_")


@pytest.mark.slow
def test_names_and_order_of_groups_do_not_matter():
    X, given, annotator, _ = careless_table(0, n_rows=300)
    renamed = np.array([{"a": 4, "b": 3, "c": 2, "d": 1}[one] for one in annotator])
    first, second = (
        RBoostClassifier(engines="trees", max_iter=20, random_state=0).fit(
            X, given, context=context
        )
        for context in (annotator, renamed)
    )
    shares = [[one["wrong_share"] for one in model.noise_by_group_] for model in (first, second)]
    np.testing.assert_allclose(shares[0], shares[1][::-1], atol=1e-4)
    np.testing.assert_allclose(
        first.label_issue_probability_, second.label_issue_probability_, atol=1e-3
    )


@pytest.mark.parametrize("engines", ["pool", "trees", "linear"])
def test_weights_of_zero_and_trusted_rows(engines):
    X, given, annotator, _ = careless_table(2, n_rows=300)
    weight = np.where(annotator == "d", 0.0, 1.0)
    model = RBoostClassifier(engines=engines, max_iter=20, random_state=0)
    model.fit(X, given, weight, X_trusted=X[:20], y_trusted=given[:20], context=annotator)
    names = [one["name"] for one in model.noise_by_group_]
    assert names == ["a", "b", "c", "d"]
    np.testing.assert_allclose(
        model.noise_by_group_[3]["noise_matrix"], model.noise_matrix_, atol=0.01
    )
    assert np.isfinite(model.label_issue_probability_).all()


@pytest.mark.parametrize(
    ("parameters", "context", "message"),
    [
        ({"noise_matrix": symmetric(0.1)}, ["a"] * 100, "leave context out"),
        ({}, ["a"] * 99, "99 rows but X has 100"),
    ],
)
def test_errors(parameters, context, message):
    X, given, _, _ = careless_table(0, n_rows=100)
    with pytest.raises(ValueError, match=message):
        RBoostClassifier(**parameters).fit(X, given, context=context)
