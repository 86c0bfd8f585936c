"""What answers of people say of labels that nobody checked."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax
from sklearn.metrics import log_loss

from rboost.noise import flip_labels, infer_noise, symmetric
from rboost.noise.answers import (
    REVIEWER_SPREAD,
    answer_likelihood,
    regress,
    reviewer_errors,
    scales,
)
from rboost.noise.posterior import NoisePosterior


def table(n_rows, seed=0, guessed=0.8):
    """Scores, true classes and labels that were wrong where rows look like the other class."""
    random = np.random.RandomState(seed)
    scores = random.normal(-1.5, 1.5, size=n_rows)
    p = expit(scores)
    label = (random.uniform(size=n_rows) < p).astype(int)
    true = np.where(random.uniform(size=n_rows) < guessed, random.uniform(size=n_rows) < p, label)
    return scores, true.astype(int), label


def answered(true, rows):
    checked = np.full(len(true), -1)
    checked[rows] = true[rows]
    return checked


@given(seed=st.integers(0, 1000), n_classes=st.integers(2, 4), error=st.sampled_from([1e-9, 0.05]))
@example(seed=895, n_classes=3, error=0.05)  # which takes 80 steps
@settings(max_examples=15)
def test_the_regression_is_at_its_maximum(seed, n_classes, error):
    random = np.random.RandomState(seed)
    start = random.normal(size=(25, n_classes))
    columns = random.normal(size=(25, n_classes, 3 + 2 * n_classes))
    answers = random.randint(n_classes, size=25)
    scale, likelihood = scales(n_classes), answer_likelihood(answers, n_classes, error)
    answers, errors = answers[:, np.newaxis], np.array([error])

    def cost(coefficients):
        p = softmax(start + columns @ coefficients, axis=1)
        return -np.log((p * likelihood).sum(1)).sum() + ((coefficients / scale) ** 2).sum() / 2

    found = regress(start, columns, answers, errors, 1.0)
    best = minimize(cost, found.mode, tol=1e-10)
    assert cost(found.mode) == pytest.approx(best.fun, abs=1e-3)
    if error > 0.001:
        return  # the curvature is that which is expected, over the answers
    step, position = 1e-4, np.eye(len(scale))[0]
    curvature = cost(found.mode + step * position) + cost(found.mode - step * position)
    curvature = (curvature - 2 * cost(found.mode)) / step**2
    assert np.linalg.inv(found.covariance)[0, 0] == pytest.approx(curvature, rel=1e-3)


def test_answers_tell_guesses_from_flips():
    scores, true, label = table(3000)
    checked = answered(true, np.arange(0, 3000, 15))
    before, found = infer_noise(scores, label), infer_noise(scores, label, checked=checked)
    losses = [log_loss(true, each.posterior(scores, label)) for each in (before, found)]
    assert losses[1] < losses[0] - 0.01
    share = np.mean(true != label)
    mean, low, high = found.wrong_share_interval(scores, label)
    assert abs(mean - share) < 0.04
    assert low <= share <= high
    assert high - low < 0.5 * np.ptp(before.wrong_share_interval(scores, label)[1:])


def test_it_does_not_matter_how_rows_were_chosen():
    scores, true, label = table(4000)
    order = np.argsort(-infer_noise(scores, label).issue_probability(scores, label))
    found = infer_noise(scores, label, checked=answered(true, order[:400]))
    mean, low, high = found.wrong_share_interval(scores, label)
    assert low <= np.mean(true != label) <= high
    assert abs(mean - np.mean(true != label)) < 0.06


@pytest.mark.slow
def test_intervals_hold_as_often_as_they_say():
    held = []
    for seed in range(24):
        scores, true, label = table(600, seed, guessed=np.random.RandomState(seed).uniform())
        rows = np.random.RandomState(seed).permutation(600)[:80]
        found = infer_noise(scores, label, checked=answered(true, rows))
        rest = np.setdiff1d(np.arange(600), rows)
        _, low, high = found.wrong_share_interval(scores[rest], label[rest])
        held.append(low <= np.mean((true != label)[rest]) <= high)
    assert np.mean(held) >= 0.75


@pytest.mark.slow
@pytest.mark.parametrize("error", [0.0, 0.1])
def test_intervals_of_rates_hold_what_rows_have(error):
    """The rates of these rows, of which chance picked those that were flipped."""
    held = []
    for seed in range(20):
        random = np.random.RandomState(seed)
        scores = random.normal(scale=3, size=800)
        true = (random.uniform(size=800) < expit(scores)).astype(int)
        label, _ = flip_labels(true, symmetric(0.15), random_state=seed)
        said = np.where(random.uniform(size=800) < error, 1 - true, true)
        low, high = infer_noise(scores, label, checked=answered(said, range(100))).interval()
        rates = [np.mean(label[true == j] != j) for j in (0, 1)]
        held += [low[0, 1] <= rates[0] <= high[0, 1], low[1, 0] <= rates[1] <= high[1, 0]]
    assert np.mean(held) >= 0.87


def test_few_answers_that_agree_change_little_and_none_nothing():
    scores, true, label = table(1000, guessed=0.0)
    before = infer_noise(scores, label)
    assert_array_equal(
        infer_noise(scores, label, checked=np.full(1000, -1)).probability(scores),
        before.probability(scores),
    )
    few = infer_noise(scores, label, checked=answered(true, [1, 2, 3]))
    assert np.abs(few.probability(scores) - before.probability(scores)).max() < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_many_answers_overrule_any_assumption(n_classes):
    """Labels say nothing at all: who was asked knows, and the columns do."""
    random = np.random.RandomState(0)
    logits = 3 * random.normal(size=(2000, n_classes))
    true = logits.argmax(axis=1)
    label = random.randint(n_classes, size=2000)
    label[:1500] = flip_labels(true[:1500], symmetric(0.1, n_classes), random_state=0)[0]
    scores = logits[:, 1] - logits[:, 0] if n_classes == 2 else np.log(softmax(logits, axis=1))
    checked = answered(true, np.arange(0, 2000, 4))
    found = infer_noise(scores, label, checked=checked)
    posterior = found.posterior(scores, label)
    assert np.mean(posterior.argmax(axis=1) == true) > 0.93
    assert_allclose(posterior.sum(axis=1), 1)
    assert_allclose(found.probability(scores).sum(axis=1), 1)
    assert_allclose(found.noise_matrix.sum(axis=1), 1)


def test_known_flips_are_where_answers_begin():
    scores, true, label = table(1000)
    checked = answered(true, np.arange(0, 1000, 10))
    found = infer_noise(scores, label, checked=checked, noise_matrix=symmetric(0.05))
    assert found.before.overlapping == 0
    assert log_loss(true, found.posterior(scores, label)) < log_loss(
        true, found.before.posterior(scores, label)
    )


@pytest.mark.parametrize("checked", [[0, 1], np.full((100, 2), 2), np.zeros((100, 2, 1))])
def test_checked_must_be_positions_of_classes(checked):
    scores, _, label = table(100)
    with pytest.raises(ValueError, match="0 to 1, or -1 for each row"):
        infer_noise(scores, label, checked=checked)


@pytest.mark.parametrize(("n_careless", "most"), [(1, 0.05), (3, 0.1)])
def test_few_careless_answers_among_fifty_change_little(n_careless, most):
    """Of rows that all scores and labels are sure of."""
    random = np.random.RandomState(0)
    scores = random.normal(scale=4, size=3000)
    true = (random.uniform(size=3000) < expit(2 * scores)).astype(int)
    label = flip_labels(true, symmetric(0.1), random_state=0)[0]
    rows = random.permutation(3000)[:50]
    checked = answered(true, rows)
    right = infer_noise(scores, label, checked=checked)
    issue = right.issue_probability(scores[rows], label[rows])
    sure = rows[np.argsort(issue)[:n_careless]]
    checked[sure] = 1 - label[sure]
    careless = infer_noise(scores, label, checked=checked)
    expected = [own.issue_probability(scores, label).sum() for own in (right, careless)]
    assert abs(expected[1] / expected[0] - 1) < most
    predicted = [own.probability(scores).argmax(axis=1) for own in (right, careless)]
    assert np.mean(predicted[0] != predicted[1]) < 0.01
    believed = careless.posterior(scores[sure], label[sure], checked[sure])
    assert (believed[np.arange(n_careless), label[sure]] > 0.5).all()


def test_where_nothing_is_wrong_answers_that_err_say_so():
    """The classes overlap, all labels are right, and one answer in ten is wrong."""
    held = []
    for seed in range(12):
        random = np.random.RandomState(seed)
        scores = random.normal(0, 2, size=1000)
        label = (random.uniform(size=1000) < expit(scores)).astype(int)
        said = np.where(random.uniform(size=1000) < 0.1, 1 - label, label)
        found = infer_noise(scores, label, checked=answered(said, range(100)))
        held.append(found.wrong_share_interval(scores, label)[1] == 0)
    assert np.mean(held) > 0.8


def test_reviewers_who_err_are_found_out():
    """What the rest is sure of says how often answers are wrong."""
    random = np.random.RandomState(1)
    scores = random.normal(scale=5, size=2000)
    true = (random.uniform(size=2000) < expit(3 * scores)).astype(int)
    rates = []
    for wrong in (0.0, 0.15):
        checked = answered(np.where(random.uniform(size=2000) < wrong, 1 - true, true), range(300))
        rates.append(infer_noise(scores, true, checked=checked).error_rate)
    assert rates[0] < 0.02
    assert 0.05 < rates[1] < 0.25


def opinions(true, rates, seed=0, asked=1.0):
    """What each reviewer says of a share of the rows, one column each."""
    random = np.random.RandomState(seed)
    columns = [np.where(random.uniform(size=len(true)) < rate, 1 - true, true) for rate in rates]
    said = np.column_stack(columns)
    return np.where(random.uniform(size=said.shape) < asked, said, -1)


def overlapping(n_rows=600, seed=0):
    """Scores that leave classes open, flipped labels, and rows that are answered."""
    random = np.random.RandomState(seed)
    scores = random.normal(scale=2, size=n_rows)
    true = (random.uniform(size=n_rows) < expit(scores)).astype(int)
    return scores, true, flip_labels(true, symmetric(0.15), random_state=seed)[0]


@given(n_classes=st.integers(2, 5), seed=st.integers(0, 100))
@settings(max_examples=20)
def test_likelihoods_of_reviewers_multiply(n_classes, seed):
    random = np.random.RandomState(seed)
    answers, errors = random.randint(-1, n_classes, size=(30, 3)), random.uniform(0.01, 0.4, size=3)
    each = [
        answer_likelihood(own, n_classes, error)
        for own, error in zip(answers.T, errors, strict=True)
    ]
    assert_allclose(answer_likelihood(answers, n_classes, errors), np.prod(each, axis=0))


def test_one_reviewer_is_one_rate_for_all():
    """Who has answered nothing changes nothing, and answers may be a column or not."""
    scores, true, label = overlapping()
    checked = np.where(np.arange(600) < 60, true, -1)
    alone = infer_noise(scores, label, checked=checked)
    beside = infer_noise(scores, label, checked=np.column_stack([checked, np.full(600, -1)]))
    for own in (infer_noise(scores, label, checked=checked[:, np.newaxis]), beside):
        assert_array_equal(own.posterior(scores, label), alone.posterior(scores, label))
        assert own.error_rate == pytest.approx(alone.error_rate, rel=1e-6)
        assert_array_equal(own.interval(), alone.interval())


def test_names_of_reviewers_mean_nothing():
    scores, true, label = overlapping()
    said = opinions(true, (0.02, 0.2, 0.05), asked=0.1)
    found = infer_noise(scores, label, checked=said)
    for order in ([1, 2, 0], [2, 1, 0]):
        other = infer_noise(scores, label, checked=said[:, order])
        assert_allclose(other.error_rates, found.error_rates[order], atol=1e-6)
        assert_allclose(
            other.posterior(scores, label, said[:, order]),
            found.posterior(scores, label, said),
            atol=1e-6,
        )


def test_two_who_agree_are_surer_than_one_and_two_who_do_not_less_sure():
    scores, true, label = overlapping()
    said = opinions(true, (0.05, 0.05), asked=0.15)
    row = int(np.flatnonzero((said < 0).all(axis=1))[0])

    def right(first, second):
        own = said.copy()
        own[row] = first, second
        found = infer_noise(scores, label, checked=own)
        return found.posterior(scores[[row]], label[[row]], own[[row]])[0, 1]

    assert right(1, 1) > right(1, -1) > right(1, 0) > right(-1, 0) > right(0, 0)
    assert right(1, 1) > 0.98


def test_second_opinions_say_who_errs_where_the_model_does_not_know():
    """Scores say nothing of the class, so that only other reviewers tell."""
    random = np.random.RandomState(0)
    scores, true = random.normal(scale=0.1, size=400), random.randint(2, size=400)
    label = flip_labels(true, symmetric(0.3), random_state=0)[0]
    said = opinions(true, (0.02, 0.02, 0.25), asked=0.4)
    error = infer_noise(scores, label, checked=said).error_rates
    assert (error[:2] < 0.08).all()
    assert 0.12 < error[2] < 0.4


def test_rates_are_drawn_towards_the_common_one():
    """Of few answers; of many each reviewer's own is found, and the sum of deviations is 0."""
    p = np.tile([0.999, 0.001], (2000, 1))
    rates = []
    for n_answers in (5, 1000):
        said = np.full((2000, 2), -1)
        said[:n_answers, 0] = 0
        said[1000 : 1000 + n_answers, 1] = np.arange(n_answers) % 5 == 0  # wrong in one of five
        error = reviewer_errors(p, said, 0.05)[0]
        assert logit(error).sum() == pytest.approx(2 * logit(0.05), abs=1e-6)
        rates.append(error)
    assert 0.05 < rates[0][1] < 0.15
    assert 0.15 < rates[1][1] < 0.25
    assert REVIEWER_SPREAD > 0
    assert reviewer_errors(p, said[:, :1], 0.05) == (pytest.approx(np.array([0.05])), 0.0)


def test_the_evidence_for_rates_that_differ_is_that_of_the_integral():
    """Two reviewers, one deviation: Laplace's approximation against a sum over it."""
    p = np.tile([0.98, 0.02], (80, 1))
    said = np.full((80, 2), -1)
    said[:40, 0], said[40:, 1] = np.arange(40) < 1, np.arange(40) < 9
    error, log = reviewer_errors(p, said, 0.1)
    found = np.log((p * answer_likelihood(said, 2, error)).sum(axis=1)).sum() + log
    # On the line δ₁ = −δ₂ = u / √2 the prior of u is normal, too.
    u = np.linspace(-6, 6, 2001) * REVIEWER_SPREAD
    prior = np.exp(-((u / REVIEWER_SPREAD) ** 2) / 2) / np.sqrt(2 * np.pi) / REVIEWER_SPREAD
    logs = [
        np.log((p * answer_likelihood(said, 2, expit(logit(0.1) + d))).sum(axis=1)).sum()
        for d in np.column_stack([u, -u]) / np.sqrt(2)
    ]
    assert found == pytest.approx(np.log(np.trapezoid(prior * np.exp(logs), u)), abs=0.2)


def test_one_bad_reviewer_of_two_does_not_spoil_the_answers_of_the_other():
    """With one rate for all, the answers of the careful one would count for less."""
    scores, true, label = overlapping(1500)
    said = np.full((1500, 2), -1)
    said[:150], said[150:300, 1] = opinions(true[:150], (0.0, 0.3)), -1
    found = infer_noise(scores, label, checked=said)
    alike = infer_noise(scores, label, checked=np.where(said[:, 0] >= 0, said[:, 0], said[:, 1]))
    assert found.error_rates[0] < 0.06 < 0.15 < found.error_rates[1]
    rows = np.arange(150)
    each = [
        log_loss(true[rows], own.posterior(scores[rows], label[rows], asked[rows]))
        for own, asked in ((found, said), (alike, said[:, 1]))
    ]
    assert each[0] < each[1]


@pytest.mark.parametrize("seed", range(3))
def test_the_lower_end_allows_for_reviewers_who_err_more_than_expected(seed):
    scores, true, label = table(800, seed)
    found = infer_noise(scores, label, checked=answered(true, np.arange(0, 800, 8)))
    mean, plain, high = NoisePosterior.wrong_share_interval(found, scores, label)
    before = found.before.wrong_share_interval(scores, label)[1]

    def low(of):
        ends = of.wrong_share_interval(scores, label)
        assert ends[0] == mean
        assert ends[2] == high
        return ends[1]

    excess = found.largest_error_rate - found.error_rate
    assert excess > 0.005
    assert before < plain
    assert before <= low(found) < plain
    assert low(found) >= plain - excess
    known = replace(found, errors=np.full_like(found.errors, 0.03))
    assert low(known) == plain  # nothing is allowed for


def test_the_ends_for_a_list_are_those_of_its_draws():
    scores, true, label = table(600)
    found = infer_noise(scores, label, checked=answered(true, np.arange(0, 600, 20)))
    listed = np.arange(50)
    plain = NoisePosterior.wrong_share_interval(found, scores, label, listed=listed)
    assert found.wrong_share_interval(scores, label, listed=listed) == plain


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_reviewer_who_is_always_wrong_says_nothing(n_classes):
    """At the largest rate every class is as likely to be named as any other."""
    n = 400
    p = np.full((n, n_classes), 1e-6 / (n_classes - 1))
    p[:, 0] = 1 - 1e-6
    answers = np.column_stack([np.zeros(n, int), np.ones(n, int)])
    errors, _ = reviewer_errors(p, answers, 0.03)
    assert errors[0] < 0.05
    assert errors[1] == pytest.approx(1 - 1 / n_classes, abs=0.05)
