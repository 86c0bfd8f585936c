import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rboost.noise import class_model as model
from rboost.noise.class_model import Layout, Rows, _Posterior, fit_kind, start


def random_rows(seed, n_rows=30, n_classes=4):
    random = np.random.RandomState(seed)
    return Rows(
        random.normal(size=(n_rows, n_classes)),
        random.randint(n_classes, size=n_rows),
        random.gamma(2.0, size=n_rows),
        random.uniform(size=n_rows) < 0.2,
        np.array([[0, 1], [1, 3]]),
    )


KINDS = [
    model.no_noise(4),
    model.symmetric_noise(4),
    model.one_other(4, [2, 0, 3, 1]),
    model.single_pairs(4, [(0, 1), (3, 2)]),
    model.known_noise(np.full((4, 4), 0.1) + 0.6 * np.eye(4)),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@given(seed=st.integers(0, 2**31 - 1))
def test_the_gradient_is_the_numerical_one(kind, seed):
    rows = random_rows(seed)
    layout = Layout(4, rows.overlapping, kind)
    posterior = _Posterior(rows, layout)
    random = np.random.RandomState(seed)
    parameters = 0.2 * random.normal(size=len(layout.center))
    parameters[layout.rates] = random.uniform(0.05, 0.2, size=kind.n_rates)
    gradient, information = posterior.derivatives(parameters)
    for number in range(len(parameters)):
        step = np.zeros(len(parameters))
        step[number] = 1e-6
        slope = (posterior.value(parameters + step) - posterior.value(parameters - step)) / 2e-6
        assert gradient[number] == pytest.approx(slope, rel=1e-4, abs=1e-4)
    assert np.linalg.eigvalsh(information).min() > 0


def test_weights_are_repetitions():
    rows = random_rows(0)
    count = np.random.RandomState(0).randint(1, 4, size=len(rows))
    weighed = Rows(rows.scores, rows.observed, count.astype(float), rows.trusted, rows.overlapping)
    repeated = np.repeat(np.arange(len(rows)), count)
    copies = Rows(
        rows.scores[repeated], rows.observed[repeated], np.ones(len(repeated)),
        rows.trusted[repeated], rows.overlapping,
    )  # fmt: skip
    kind = model.symmetric_noise(4)
    layout = Layout(4, rows.overlapping, kind)
    both = [fit_kind(each, kind, [start(layout, 0.1)]) for each in (weighed, copies)]
    assert_allclose(both[0].parameters, both[1].parameters, atol=1e-8)
    assert both[0].log_evidence == pytest.approx(both[1].log_evidence)


def test_a_class_never_loses_most_of_its_labels():
    """Else the classes could change their names, and everything be explained as well."""
    random = np.random.RandomState(0)
    true = random.randint(3, size=600)
    scores = 3.0 * np.eye(3)[true] + random.normal(size=(600, 3))
    observed = (true + 1) % 3  # every label is wrong
    rows = Rows(
        scores - scores.max(axis=1, keepdims=True), observed, np.ones(600),
        np.zeros(600, dtype=bool), np.zeros((0, 2), dtype=np.intp),
    )  # fmt: skip
    kind = model.one_other(3, [1, 2, 0])
    fit = fit_kind(rows, kind, [start(Layout(3, rows.overlapping, kind), 0.3)])
    assert np.all(fit.noise_matrix.argmax(axis=1) == np.arange(3))


EVERY_KIND = [
    model.no_noise(4),
    model.symmetric_noise(4),
    model.out_of(4, 2),
    model.into(4, 1),
    model.one_other(4, [1, 2, 3, 0]),
    model.single_pairs(4, [(0, 1), (2, 1)]),
    model.single_pairs(4, [(0, 1), (1, 3)], any_pair=True),
]


@pytest.mark.parametrize("kind", EVERY_KIND, ids=lambda kind: kind.name)
def test_rates_move_labels_and_lose_none(kind):
    rates = np.full(kind.n_rates, 0.1)
    matrix = kind.origin + np.tensordot(rates, kind.directions, 1)
    assert_allclose(matrix.sum(axis=1), 1)
    assert matrix.min() >= 0
    assert np.all(np.diag(kind.directions.sum(axis=0)) <= 0)


def test_the_prior_is_spread_over_all_there_is():
    assert sum(model.PRIOR.values()) == pytest.approx(1)
    single = [np.exp(model.out_of(4, j).log_prior) for j in range(4)]
    assert sum(single) == pytest.approx(model.PRIOR["out of"])
    pair = np.exp(model.single_pairs(3, [(0, 1)]).log_prior)
    assert 6 * pair == pytest.approx(model.PRIOR["pairs"] * (1 - model.PER_PAIR))
    target = np.exp(model.one_other(3, [1, 2, 0]).log_prior)
    assert 8 * target == pytest.approx(model.PRIOR["one other"])


def test_known_noise_is_left_alone():
    matrix = np.array([[0.9, 0.1, 0], [0, 1, 0], [0.2, 0, 0.8]])
    kind = model.known_noise(matrix)
    assert kind.n_rates == 0
    assert_allclose(kind.origin, matrix)
