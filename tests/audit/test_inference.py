import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from rboost.audit import audit_labels
from rboost.audit.fit import infer
from rboost.audit.labels import NO_LABEL, table_labels
from rboost.noise import infer_noise

NOISE_3 = np.array([[0.75, 0.2, 0.05], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]])


def two_classes(n_rows, rates, seed=0, slope=3.0, offset=0.3):
    """Scores of which the sigmoid is known, labels, true classes."""
    random = np.random.RandomState(seed)
    scores = random.standard_normal(n_rows)
    true = (random.uniform(size=n_rows) < expit(slope * scores + offset)).astype(np.intp)
    flipped = random.uniform(size=n_rows) < np.asarray(rates)[true]
    return scores, labels_of(np.where(flipped, 1 - true, true), 2), true


def several_classes(n_rows, noise, seed=0, sharp=4.0):
    """Scores that are logarithms of probabilities, labels, true classes."""
    random = np.random.RandomState(seed)
    n_classes = len(noise)
    weight = np.exp(sharp * random.standard_normal((n_rows, n_classes)))
    probability = weight / weight.sum(axis=1, keepdims=True)
    true = (probability.cumsum(axis=1) < random.uniform(size=(n_rows, 1))).sum(axis=1)
    given = (noise.cumsum(axis=1)[true] < random.uniform(size=(n_rows, 1))).sum(axis=1)
    scores = np.log(np.maximum(probability, 1e-9))
    return scores, labels_of(given, n_classes), true


def table_of(n_classes, n_rows=1000, **options):
    if n_classes == 2:
        return two_classes(n_rows, (0.25, 0.0), **options)
    return several_classes(n_rows, NOISE_3, **options)


def labels_of(given, n_classes):
    given = np.asarray(given, dtype=np.intp)
    return table_labels(np.arange(n_classes), given, np.full(len(given), NO_LABEL))


def random_table(seed, n_classes, n_rows):
    """Any scores and labels, some missing, some checked, some both."""
    random = np.random.RandomState(seed)
    scale = random.choice([0.1, 1.0, 30.0])
    scores = scale * random.standard_normal((n_rows, n_classes))
    given = random.randint(n_classes, size=n_rows)
    if random.uniform() < 0.5:  # else scores say nothing
        scores += 2 * scale * np.eye(n_classes)[given]
    checked = np.where(random.uniform(size=n_rows) < 0.2, given, NO_LABEL)
    corrected = random.uniform(size=n_rows) < 0.1
    checked[corrected] = random.randint(n_classes, size=corrected.sum())
    given[random.uniform(size=n_rows) < 0.2] = NO_LABEL
    scores = scores[:, 1] if n_classes == 2 else scores
    return scores, labels_of(given, n_classes).with_checked(checked)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(0, 9999), st.integers(2, 4), st.integers(20, 80))
def test_posteriors_are_distributions_and_checked_rows_are_certain(seed, n_classes, n_rows):
    scores, labels = random_table(seed, n_classes, n_rows)
    found = infer(scores, labels)
    assert found.posterior.shape == found.probability.shape == (n_rows, n_classes)
    for distribution in (found.posterior, found.probability, found.noise.noise_matrix):
        assert np.all((distribution >= 0) & (distribution <= 1 + 1e-12))
        assert_allclose(distribution.sum(axis=1), 1, rtol=1e-9)
    one_hot = np.eye(n_classes)[labels.checked[labels.is_checked]]
    np.testing.assert_array_equal(found.posterior[labels.is_checked], one_hot)
    without = labels.current == NO_LABEL
    np.testing.assert_array_equal(found.posterior[without], found.probability[without])
    low, high = found.noise.interval()
    assert low.shape == high.shape == (n_classes, n_classes)
    assert np.all((low >= 0) & (low <= high + 1e-12) & (high <= 1 + 1e-12))


@pytest.mark.parametrize("far", [100.0, 1e4, 1e8])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_without_doubt_give_distributions_too(far, n_classes):
    given = np.arange(300) % n_classes
    scores = far * (2 * np.eye(n_classes)[given] - 1)
    scores[:5] = -far  # no class wants these
    scores = scores[:, 1] if n_classes == 2 else scores
    found = infer(scores, labels_of(given, n_classes))
    assert_allclose(found.probability.sum(axis=1), 1, rtol=1e-9)
    assert_allclose(found.posterior.sum(axis=1), 1, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_without_a_label_are_not_used(n_classes):
    scores, labels, _ = table_of(n_classes, 600)
    extra = 50 * np.random.RandomState(1).standard_normal((200, *scores.shape[1:]))
    more = labels_of(np.append(labels.given, np.full(200, NO_LABEL)), n_classes)
    alone, both = infer(scores, labels), infer(np.concatenate([scores, extra]), more)
    assert_allclose(both.noise.noise_matrix, alone.noise.noise_matrix, atol=1e-7)
    assert_allclose(both.noise.interval(), alone.noise.interval(), atol=1e-7)
    assert_allclose(both.posterior[:600], alone.posterior, atol=1e-7)
    assert_allclose(both.posterior[600:].sum(axis=1), 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_checked_rows_that_had_another_label_count_as_flips(n_classes):
    scores, labels, true = table_of(n_classes, **{"slope" if n_classes == 2 else "sharp": 1.0})
    noise = np.array([[0.75, 0.25], [0.0, 1.0]]) if n_classes == 2 else NOISE_3
    checked = np.where(np.arange(1000) < 500, true, NO_LABEL)
    before = infer(scores, labels)
    after = infer(scores, labels.with_checked(checked))
    assert (
        np.abs(after.noise.noise_matrix - noise).max()
        < np.abs(before.noise.noise_matrix - noise).max()
    )
    assert np.abs(after.noise.noise_matrix - noise).max() < 0.08


@pytest.mark.slow
def test_checked_flips_say_which_class_a_class_is_flipped_to():
    """Observed labels say 0 becomes 1 four times as often as 2; many checks say the contrary."""
    scores, labels, true = several_classes(2000, NOISE_3)
    before = infer(scores, labels).noise.noise_matrix
    assert before[0, 1] > 2 * before[0, 2]
    given, checked = labels.given.copy(), np.full(2000, NO_LABEL)
    rows = np.flatnonzero(true == 0)[:400]
    given[rows], checked[rows] = np.where(np.arange(400) < 300, 0, 2), 0
    after = infer(scores, table_labels(labels.classes, given, checked)).noise.noise_matrix
    assert after[0, 2] > after[0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_the_one_inference_of_the_package(n_classes):
    scores, labels, true = table_of(n_classes)
    is_checked = np.arange(1000) % 5 == 0
    labels = labels.with_checked(np.where(is_checked, true, NO_LABEL))
    found = infer(scores, labels)
    expected = infer_noise(scores, labels.given, checked=labels.checked)
    np.testing.assert_array_equal(found.noise.noise_matrix, expected.noise_matrix)
    np.testing.assert_array_equal(found.noise.interval(), expected.interval())
    np.testing.assert_array_equal(found.probability, expected.probability(scores))
    observed = ~is_checked
    posterior = expected.posterior(scores[observed], labels.given[observed])
    np.testing.assert_array_equal(found.posterior[observed], posterior)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_share_of_wrong_labels_lies_in_its_interval(n_classes):
    scores, labels, true = table_of(n_classes)
    found = infer(scores, labels)
    low, high = found.wrong_share
    assert low < np.mean(true != labels.given) < high
    assert low <= 1 - found.posterior[np.arange(1000), labels.given].mean() <= high
    assert high - low < 0.3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_where_every_label_was_checked_nothing_is_left_to_be_wrong(n_classes):
    scores, labels, true = table_of(n_classes, 300)
    found = infer(scores, labels.with_checked(true))
    np.testing.assert_array_equal(found.posterior, np.eye(n_classes)[true])
    assert np.isnan(found.wrong_share).all()
    assert np.isfinite(found.noise.noise_matrix).all()


def test_nothing_that_is_given_is_changed():
    scores, labels = random_table(0, 3, 60)
    kept = scores.copy(), labels.given.copy(), labels.checked.copy()
    infer(scores, labels)
    for now, then in zip((scores, labels.given, labels.checked), kept, strict=True):
        np.testing.assert_array_equal(now, then)


def test_an_answer_against_a_sure_model_is_to_be_looked_at_again():
    random = np.random.RandomState(0)
    X = random.normal(size=(400, 3))
    true = (X[:, 0] > 0).astype(int)
    answers = np.where(np.arange(400) < 40, true, -1)
    careless = int(np.argmax(np.abs(X[:40, 0])))
    answers[careless] = 1 - true[careless]
    audit = audit_labels(X, true, model="linear", check_columns=False).with_checked(answers)
    assert audit.doubtful_answers.tolist() == [careless]
    assert len(audit.with_checked(np.full(400, -1)).doubtful_answers) == 0
    assert audit.expected_wrong_labels < 20
