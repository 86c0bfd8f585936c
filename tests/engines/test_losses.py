import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax, softmax

from rboost.engines.learners import coded
from rboost.engines.rounds import (
    ExponentialLoss,
    LikelihoodLoss,
    mixed,
    mixing_coefficients,
    step_size,
)
from rboost.noise import symmetric, threshold
from rboost.noise.likelihood import Likelihood
from tests.population import population_minimiser
from tests.strategies import boosting_states, noise_matrices

LIKELIHOOD = "likelihood"
# The exponential loss is named by its mixing.
mixings = st.sampled_from(["posterior", "paper"])
losses = st.sampled_from(["posterior", "paper", LIKELIHOOD])


def columns_of(loss, noise):
    """What the loss takes for labels with a noise matrix, (K, K)."""
    return noise if loss == LIKELIHOOD else mixing_coefficients(noise, loss).T


def terms_of(loss, observed, scores, noise, weight=None):
    """Rows with one label each, evaluated by a loss."""
    weight = np.ones(len(observed)) if weight is None else weight
    rows = Likelihood(observed, columns_of(loss, noise), weight)
    return (LikelihoodLoss() if loss == LIKELIHOOD else ExponentialLoss()).terms(rows, scores)


@st.composite
def class_states(draw, soft=True, smallest_rate=0.0):
    """Labels, scores, weights, a learner's probabilities and a noise matrix of 2 to 5 classes."""
    n_rows, n_classes = draw(st.integers(2, 30)), draw(st.integers(2, 5))
    random = np.random.RandomState(draw(st.integers(0, 2**31 - 1)))
    observed = random.randint(n_classes, size=n_rows)
    scores = draw(st.sampled_from([0.0, 0.3, 3.0])) * random.standard_normal((n_rows, n_classes))
    scores -= scores.mean(axis=1, keepdims=True)
    weight = random.gamma(1.0, size=n_rows) + 1e-3
    named = np.where(random.uniform(size=n_rows) < 0.7, observed, random.randint(n_classes))
    probability = np.eye(n_classes)[named]
    if soft:
        probability = 0.8 * probability + 0.2 * random.dirichlet(np.ones(n_classes), size=n_rows)
    flips = draw(st.floats(smallest_rate, 0.4)) * random.dirichlet(np.ones(n_classes), n_classes)
    noise = flips + np.diag(1 - flips.sum(axis=1))
    return observed, scores, weight, probability, noise


def total(terms):
    """The loss of all rows."""
    return np.exp(terms.log_scale) * terms.class_weights.sum()


def full(probability):
    """The votes g, (n_rows, K), of two classes too."""
    votes = coded(probability)
    return votes if votes.ndim == 2 else np.column_stack([-votes, votes])


def loss_of_rows(loss, observed, scores, weight, noise):
    """Both losses, written out."""
    n_classes, rows = scores.shape[1], np.arange(len(scores))
    if loss == LIKELIHOOD:
        return -weight * np.log((softmax(scores, axis=1) @ noise)[rows, observed])
    coefficients = mixing_coefficients(noise, loss)[observed]
    return weight * (coefficients * np.exp(-scores / (n_classes - 1))).sum(axis=1)


@given(boosting_states(), noise_matrices())
def test_two_classes_and_paper_mixing_are_eq_10(state, gamma):
    labels, scores, weight, _ = state
    positive = gamma[0, 0] * np.exp(-scores) + gamma[0, 1] * np.exp(scores)
    negative = gamma[1, 1] * np.exp(scores) + gamma[1, 0] * np.exp(-scores)
    expected = np.sum(weight * np.where(labels > 0, positive, negative))
    both = np.column_stack([-scores, scores])
    terms = terms_of("paper", (labels > 0).astype(int), both, gamma, weight)
    assert_allclose(total(terms), expected)


@given(class_states(), mixings)
def test_no_noise_is_the_exponential_loss(state, mixing):
    observed, scores, weight, _, noise = state
    terms = terms_of(mixing, observed, scores, np.eye(len(noise)), weight)
    margins = scores[np.arange(len(scores)), observed] / (len(noise) - 1)
    assert_allclose(total(terms), weight @ np.exp(-margins))  # eq. (9)


@given(st.floats(0, 0.49))
def test_both_mixings_agree_for_symmetric_noise_of_two_classes(rate):
    ours, paper = (mixing_coefficients(symmetric(rate), name) for name in ["posterior", "paper"])
    assert_allclose(ours, paper, atol=1e-15)


@given(class_states(), mixings)
def test_mixing_coefficients_are_never_negative(state, mixing):
    noise = state[-1]
    coefficients = mixing_coefficients(noise, mixing)
    assert np.all(coefficients >= 0)
    assert np.all(np.diag(coefficients) > 0)
    if mixing == "paper":
        others = ~np.eye(len(noise), dtype=bool)
        assert_allclose(coefficients[others], noise.T[others])  # flips into the observed class


@given(class_states(smallest_rate=0.01), losses)
def test_class_weights_are_minus_the_gradient(state, loss):
    observed, scores, weight, _, noise = state
    terms = terms_of(loss, observed, scores, noise, weight)
    factor, h = 1.0, 1e-5
    if loss != LIKELIHOOD:
        factor = np.exp(terms.log_scale) / (len(noise) - 1)
    for j in range(len(noise)):
        step = h * np.eye(len(noise))[j]
        ends = [loss_of_rows(loss, observed, scores + s, weight, noise) for s in (step, -step)]
        slope = (ends[0] - ends[1]) / (2 * h)
        atol = 1e-6 * max(1.0, np.abs(slope).max())
        assert_allclose(factor * terms.class_weights[:, j], -slope, rtol=1e-5, atol=atol)


@given(class_states(soft=False), mixings, st.floats(-3, 3))
def test_votes_for_a_class_cost_exactly_what_the_sums_say(state, mixing, step):
    observed, scores, weight, probability, noise = state
    others = len(noise) - 1
    terms = terms_of(mixing, observed, scores, noise, weight)
    sums = terms.judge(probability)
    cost = sums.falling * np.exp(-step / others) + sums.rising * np.exp(step / others**2)
    moved = terms_of(mixing, observed, scores + step * full(probability), noise, weight)
    assert_allclose(total(moved), np.exp(terms.log_scale) * cost)


@given(class_states(), mixings, st.floats(-3, 3))
def test_votes_between_the_classes_cost_at_most_that(state, mixing, step):
    observed, scores, weight, probability, noise = state
    others = len(noise) - 1
    terms = terms_of(mixing, observed, scores, noise, weight)
    sums = terms.judge(probability)
    assert_allclose(sums.falling + sums.rising, terms.class_weights.sum())
    bound = sums.falling * np.exp(-step / others) + sums.rising * np.exp(step / others**2)
    moved = terms_of(mixing, observed, scores + step * full(probability), noise, weight)
    assert total(moved) <= np.exp(terms.log_scale) * bound * (1 + 1e-12)


@given(st.floats(0.01, 1), st.floats(1e-6, 1), st.integers(2, 12))
def test_the_closed_form_is_the_numerical_minimum(falling, rising, n_classes):
    others = n_classes - 1
    assume(falling * others > rising * (1 + 1e-9))

    def slope(step):  # eq. (14), for any number of classes
        return rising * np.exp(step / others**2) / others - falling * np.exp(-step / others)

    largest = step_size(1.0, 0.0, n_classes)
    root = brentq(slope, 0, largest, xtol=1e-14, rtol=8.9e-16)
    assert abs(step_size(falling, rising, n_classes) - root) < 1e-10


@given(class_states(), losses, st.floats(0.01, 1))
def test_the_loss_never_increases_along_the_step(state, loss, learning_rate):
    observed, scores, weight, probability, noise = state
    terms = terms_of(loss, observed, scores, noise, weight)
    step = learning_rate * terms.judge(probability).step
    if loss == LIKELIHOOD:
        step = min(step, 0.1)  # Newton's step may overshoot; its direction never does
    moved = scores + step * full(probability)
    before, after = (
        loss_of_rows(loss, observed, at, weight, noise).sum() for at in (scores, moved)
    )
    assert after <= before + 1e-9 * abs(before) + (
        2 * step**2 * weight.sum() if loss == LIKELIHOOD else 0
    )


@given(class_states(smallest_rate=0.05))
def test_slope_of_the_likelihood_is_exact_and_its_curvature_an_upper_bound(state):
    observed, scores, weight, probability, noise = state
    votes, h = full(probability), 1e-4
    sums = terms_of(LIKELIHOOD, observed, scores, noise, weight).judge(probability)
    below, here, above = (
        loss_of_rows(LIKELIHOOD, observed, scores + s * votes, weight, noise).sum()
        for s in (-h, 0, h)
    )
    assert_allclose(sums.slope, (below - above) / (2 * h), rtol=1e-5, atol=1e-6 * weight.sum())
    assert sums.curvature >= (below - 2 * here + above) / h**2 - 1e-5 * weight.sum()


@given(class_states())
def test_without_noise_the_likelihood_is_that_of_multinomial_regression(state):
    observed, scores, weight, _, noise = state
    terms = terms_of(LIKELIHOOD, observed, scores, np.eye(len(noise)), weight)
    expected = np.eye(len(noise))[observed] - np.exp(log_softmax(scores, axis=1))
    assert_allclose(terms.class_weights, weight[:, np.newaxis] * expected, atol=1e-12)


@given(class_states(smallest_rate=0.05))
def test_the_likelihood_is_smallest_at_the_true_probabilities(state):
    """Also where the exponential mixture of more than two classes is not."""
    _, scores, _, _, noise = state
    n_classes, true = len(noise), softmax(scores[:1], axis=1)
    rows = np.repeat(scores[:1], n_classes, axis=0)
    label_share = (true @ noise)[0]
    terms = terms_of(LIKELIHOOD, np.arange(n_classes), rows, noise, label_share)
    assert_allclose(terms.class_weights.sum(axis=0), 0, atol=1e-12)


@given(class_states(), losses, st.integers(0, 1000))
def test_unseen_rows_judge_as_a_table_of_them_with_one_row_more(state, loss, seed):
    observed, scores, weight, probability, noise = state
    unseen = np.flatnonzero(np.random.RandomState(seed).uniform(size=len(observed)) < 0.5)
    terms = terms_of(loss, observed, scores, noise, weight)
    some = terms.judge(probability[unseen], unseen)
    if loss == LIKELIHOOD:
        table = terms_of(loss, observed[unseen], scores[unseen], noise, weight[unseen])
        alone = table.judge(probability[unseen])
        assert_allclose(some.slope, alone.slope, atol=1e-12)
        assert_allclose(some.curvature - alone.curvature, weight.mean() / (len(noise) - 1))
        return
    falling = (terms.class_weights[unseen] * probability[unseen]).sum()
    one_more = terms.class_weights.sum() / len(observed)
    assert_allclose(some.falling, falling + one_more / len(noise))
    undecided = np.full_like(probability, 1 / len(noise))  # a learner that knows nothing
    assert terms.judge(undecided[unseen], unseen).step == 0
    assert_allclose(
        some.falling + some.rising, terms.class_weights[unseen].sum() + one_more, rtol=1e-12
    )


@given(class_states(), losses, st.integers(0, 1000))
def test_a_trusted_row_has_the_loss_of_a_right_label(state, loss, seed):
    observed, scores, weight, _, noise = state
    trusted = np.random.RandomState(seed).uniform(size=len(observed)) < 0.5
    code, columns = observed + len(noise) * trusted, columns_of(loss, noise)
    both = Likelihood(code, np.hstack([columns, np.eye(len(noise))]), weight)
    told = (LikelihoodLoss() if loss == LIKELIHOOD else ExponentialLoss()).terms(both, scores)
    plain = terms_of(loss, observed, scores, noise, weight)
    clean = terms_of(loss, observed, scores, np.eye(len(noise)), weight)
    scales = [
        np.exp(terms.log_scale) for terms in (told, plain, clean) if hasattr(terms, "log_scale")
    ]
    told_scale, plain_scale, clean_scale = scales or (1.0, 1.0, 1.0)
    weights = told_scale * told.class_weights
    assert_allclose(weights[trusted], clean_scale * clean.class_weights[trusted], atol=1e-12)
    assert_allclose(weights[~trusted], plain_scale * plain.class_weights[~trusted], atol=1e-12)


@given(class_states())
def test_rows_at_their_minimum_and_perfect_learners_are_noticed(state):
    observed, scores, weight, _, _ = state
    n_classes = scores.shape[1]
    right = np.eye(n_classes)[observed]
    sums = terms_of("posterior", observed, scores, np.eye(n_classes), weight).judge(right)
    assert sums.perfect
    assert not sums.at_minimum
    assert sums.error == 0
    at_minimum = terms_of(LIKELIHOOD, observed, 1e4 * n_classes * right, np.eye(n_classes), weight)
    assert at_minimum.judge(right).at_minimum


@given(noise_matrices(), st.floats(-0.3, 0.3))
def test_posterior_mixing_changes_sign_at_the_bayes_threshold(noise, offset):
    at = threshold(noise)
    assert_allclose(at, (1 - noise[1, 0] + noise[0, 1]) / 2)
    assert_allclose(population_minimiser(at, noise), 0, atol=1e-9)
    observed = at + offset
    if 0 < observed < 1 and abs(offset) > 1e-6:
        assert np.sign(population_minimiser(observed, noise)) == np.sign(offset)


def test_paper_mixing_does_not():
    """The example of the design notes: .714 against the Bayes threshold .65."""
    noise = np.array([[0.7, 0.3], [0.0, 1.0]])
    wrong = brentq(lambda p: population_minimiser(p, noise, "paper"), 0.01, 0.99)
    assert_allclose(threshold(noise), 0.65)
    assert_allclose(wrong, 1 / 1.4)


@given(noise_matrices(smallest=0.01), st.floats(0.05, 0.95), mixings)
def test_population_minimiser_minimises(noise, observed, mixing):
    labels, shares = np.array([0, 1]), np.array([1 - observed, observed])

    def expected_loss(score):
        scores = np.array([[-score, score]] * 2)
        return total(terms_of(mixing, labels, scores, noise, shares))

    found = minimize_scalar(expected_loss, bounds=(-8, 8), method="bounded")
    best = float(population_minimiser(observed, noise, mixing))
    assert expected_loss(best) <= expected_loss(found.x) + 1e-9


@given(class_states())
def test_likelihoods_mixed_are_the_coefficients_of_their_noise_matrix(state):
    """What the pool gives the exponential loss for L is what a noise matrix gives for labels."""
    observed, scores, weight, probability, noise = state
    assume(np.linalg.cond(noise) < 1e6)
    by_noise = terms_of("posterior", observed, scores, noise, weight)
    by_columns = ExponentialLoss().terms(Likelihood(observed, mixed(noise), weight), scores)
    assert_allclose(by_columns.class_weights, by_noise.class_weights, rtol=1e-9, atol=1e-300)
    assert_allclose(by_columns.log_scale, by_noise.log_scale, atol=1e-12)
    one, other = by_columns.judge(probability), by_noise.judge(probability)
    assert_allclose([one.step, one.error], [other.step, other.error], atol=1e-9)


@given(class_states(), st.floats(1e-3, 1e3))
def test_only_ratios_within_a_column_are_mixed(state, factor):
    noise = state[-1]
    assert_allclose(mixed(factor * noise), mixed(noise), rtol=1e-12, atol=1e-300)
    assert_allclose(mixed(noise).sum(axis=0), 1)


@given(class_states(), losses, st.integers(0, 1000))
def test_rows_of_which_more_was_said_have_the_loss_of_what_it_comes_to(state, loss, seed):
    """Two labels of a row make one column: a pattern is as good as a noise matrix of its own."""
    observed, scores, weight, probability, noise = state
    second = np.random.RandomState(seed).randint(len(noise), size=len(observed))
    chosen = LikelihoodLoss() if loss == LIKELIHOOD else ExponentialLoss()
    prepare = (lambda columns: columns) if loss == LIKELIHOOD else mixed
    code, pairs = observed * len(noise) + second, noise[:, :, np.newaxis] * noise[:, np.newaxis]
    columns = prepare(pairs.reshape(len(noise), -1) + 1e-9)
    coded_terms = chosen.terms(Likelihood(code, columns, weight), scores)
    dense_terms = chosen.terms(Likelihood.dense(columns.T[code], weight), scores)
    assert_allclose(coded_terms.class_weights, dense_terms.class_weights, rtol=1e-12)
    one, other = coded_terms.judge(probability), dense_terms.judge(probability)
    assert_allclose([one.step, one.error], [other.step, other.error], rtol=1e-12)
