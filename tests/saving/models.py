"""Small fitted models of every kind that a file can hold, with rows to predict."""

from functools import cache

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from rboost import (
    AdaRBoostClassifier,
    NoiseCalibratedClassifier,
    RBoostClassifier,
    RobustLogisticRegression,
)
from rboost.learners import RandomKernelClassifier


def numbers(n_classes=2, n_rows=120, n_columns=4):
    random = np.random.RandomState(n_classes)
    X = random.normal(size=(n_rows, n_columns))
    value = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * random.normal(size=n_rows)
    return X, np.digitize(value, np.quantile(value, np.arange(1, n_classes) / n_classes))


def customers(n_rows=200):
    """Numbers, categories, dates and truth values, with missing ones."""
    random = np.random.RandomState(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.randint(0, 900, n_rows), "D")
    frame = pd.DataFrame(
        {
            "age": np.where(random.uniform(size=n_rows) < 0.1, np.nan, random.normal(size=n_rows)),
            "city": random.choice(["Paris", "Rom\u00e4", "\U0001f600", None], n_rows),
            "since": days,
            "active": random.uniform(size=n_rows) < 0.5,
            "empty": np.full(n_rows, None, dtype=object),
            "street": [f"{k * 7 % 41}" for k in range(n_rows)],
        }
    )
    value = frame["age"].fillna(0) + (frame["city"] == "Paris")
    return frame, np.where(value > 0.3, "yes", "no")


def rboost(n_classes=2, engines="auto", **options):
    X, y = numbers(n_classes, 160 if n_classes == 2 else 1300)
    labels = np.array(["ham", "spam", "eggs", "bacon"])[y]
    model = RBoostClassifier(engines=engines, max_iter=12, random_state=0)
    return model.fit(X, labels, **options), X


def algorithm_1(estimator=None, n_classes=2, **options):
    X, y = numbers(n_classes)
    model = AdaRBoostClassifier(estimator, n_estimators=8, random_state=0, **options)
    return model.fit(X, y), X


def calibrated(estimator, n_classes=2, n_missing=0, dtype=np.float64):
    X, y = numbers(n_classes)
    X = X.astype(dtype)
    if n_missing:
        X[np.random.RandomState(0).uniform(size=X.shape) < 0.1] = np.nan
        X = np.column_stack([X, np.full(len(X), np.nan, dtype=dtype)])
    return NoiseCalibratedClassifier(estimator, cv=3, random_state=0).fit(X, y), X


def answered(n_classes):
    X, y = numbers(n_classes, 160 if n_classes == 2 else 1300)
    checked = np.where(np.arange(len(y)) % 4 == 0, y.astype(float), np.nan)
    model = RBoostClassifier(max_iter=12, random_state=0)
    return model.fit(X, np.where(np.arange(len(y)) % 9 == 0, (y + 1) % n_classes, y),
                     y_checked=checked), X  # fmt: skip


def frames(engines="auto"):
    frame, y = customers()
    return RBoostClassifier(engines=engines, max_iter=9, random_state=0).fit(frame, y), frame


def sparse_rows(engines):
    X, y = numbers(3)
    X = sparse.csr_matrix(np.where(np.abs(X) > 0.7, X, 0))
    return RBoostClassifier(engines=engines, max_iter=9, random_state=0).fit(X, y), X


def texts(with_categories):
    random = np.random.RandomState(0)
    y = random.choice(["ham", "spam", "eggs"], 150)
    said = [
        f"{own if random.uniform() < 0.8 else 'eggs'} for mail {k} 日本" for k, own in enumerate(y)
    ]
    frame = pd.DataFrame({"mail": said, "country": random.choice(["FR", "IT"], 150)})
    frame = frame if with_categories else frame[["mail"]]
    return RBoostClassifier(max_iter=9, random_state=0).fit(frame, y), frame


def missing_values():
    X, y = numbers(2, 160)
    X[np.random.RandomState(0).uniform(size=X.shape) < 0.1] = np.nan
    return RBoostClassifier(max_iter=12, random_state=0).fit(X, y), X


def in_context():
    X, y = numbers(2, 160)
    context = np.where(np.arange(len(y)) % 2, "Ann", "Bob")
    return RBoostClassifier(max_iter=12, random_state=0).fit(X, y, context=context), X


def by_annotators(n_classes):
    X, y = numbers(n_classes, 160 if n_classes == 2 else 1300)
    random = np.random.RandomState(0)
    said = (y[:, None] + (random.uniform(size=(len(y), 4)) < 0.2)) % n_classes
    said = np.where(random.uniform(size=said.shape) < 0.4, np.nan, said)
    return RBoostClassifier(max_iter=12, random_state=0).fit(X, said), X


def robust_logistic(n_classes):
    X, y = numbers(n_classes)
    names = pd.DataFrame(X, columns=list("abcd"))
    return RobustLogisticRegression(n_init=1, C=np.inf, random_state=0).fit(names, y), names


TREE, RLR = DecisionTreeClassifier(max_depth=2), RobustLogisticRegression(n_init=1, C=0.1)
MODELS = {
    "default": rboost,
    "default, 3 classes": lambda: rboost(3),
    "weights and trusted rows": lambda: rboost(
        sample_weight=np.arange(160) % 3,
        X_trusted=numbers()[0][:20], y_trusted=np.array(["ham", "spam"])[numbers()[1][:20]],
    ),
    "pool, 4 classes": lambda: rboost(4, "pool"),
    "linear": lambda: rboost(engines="linear"),
    "linear, 3 classes": lambda: rboost(3, "linear"),
    "xgboost": lambda: rboost(engines="xgboost"),
    "xgboost, 3 classes": lambda: rboost(3, ["pool", "xgboost"]),
    "answers": lambda: answered(2),
    "answers, 3 classes": lambda: answered(3),
    "answers, 24 classes": lambda: answered(24),
    "context": in_context,
    "annotators": lambda: by_annotators(2),
    "annotators, 3 classes": lambda: by_annotators(3),
    "frame": frames,
    "frame, trees": lambda: frames("trees"),
    "frame, xgboost": lambda: frames("xgboost"),
    "missing values": missing_values,
    "texts": lambda: texts(False),
    "texts and categories": lambda: texts(True),
    "logistic": lambda: rboost(engines="logistic"),
    "logistic, 3 classes": lambda: rboost(3, ["logistic", "pool"]),
    "sparse, logistic": lambda: sparse_rows("logistic"),
    "sparse, pool": lambda: sparse_rows("pool"),
    "sparse, trees": lambda: sparse_rows("trees"),
    "sparse, linear": lambda: sparse_rows("linear"),
    "algorithm 1": algorithm_1,
    "algorithm 1, 3 classes": lambda: algorithm_1(TREE, 3, votes="probability"),
    "algorithm 1, isotonic": lambda: algorithm_1(TREE, calibration="isotonic"),
    "algorithm 1, logistic": lambda: algorithm_1(TREE, calibration="logistic"),
    "algorithm 1, rLR": lambda: algorithm_1(RLR),
    "algorithm 1, rLR of 3": lambda: algorithm_1(RLR, 3),
    "algorithm 1, in turn": lambda: algorithm_1(
        [TREE, ExtraTreeClassifier(max_depth=3), RandomKernelClassifier(n_components=9),
         LogisticRegression()], 3,
    ),
    "rLR": lambda: robust_logistic(2),
    "rLR, 3 classes": lambda: robust_logistic(3),
    "forest": lambda: calibrated(
        ExtraTreesClassifier(9, min_samples_leaf=5, random_state=0), dtype=np.float32
    ),
    "forest, 3 classes": lambda: calibrated(RandomForestClassifier(9, random_state=0), 3, 1),
    "logistic regression": lambda: calibrated(LogisticRegression()),
    "logistic regression, 3 classes": lambda: calibrated(LogisticRegression(), 3),
    "calibrated rBoost": lambda: calibrated(RBoostClassifier(max_iter=9, random_state=0)),
    "calibrated algorithm 1": lambda: calibrated(AdaRBoostClassifier(n_estimators=5)),
}  # fmt: skip


@cache
def fitted(name):
    """A fitted model, and rows to predict; nobody changes either."""
    return MODELS[name]()
