"""Which loss names the class that the Bayes rule names, given all data and the noise matrix."""

import numpy as np
import pytest
from scipy.optimize import minimize

from rboost.engines.rounds import mixing_coefficients
from rboost.noise import check_noise_matrix
from rboost.noise.likelihood import NoisySoftmaxLoss


def random_problems(n_classes, number, seed=0):
    """p(y = j | x) at some x, and noise of all strengths."""
    random = np.random.RandomState(seed)
    for _ in range(number):
        strength = random.uniform()
        flips = random.dirichlet(np.ones(n_classes), n_classes)
        noise = (1 - strength) * np.eye(n_classes) + strength * flips
        yield random.dirichlet(np.ones(n_classes)), check_noise_matrix(noise, informative=False)


def share_named_otherwise(n_classes):
    """How often the exponential mixture has its largest score at another class than the likeliest.

    Its mean Σ_j (η·T·c)_j·e^(−F_j/(K−1)) is smallest where F orders classes as η·T·c does.
    """
    problems = [
        (true, noise)
        for true, noise in random_problems(n_classes, 2000)
        if n_classes > 2 or noise[0, 1] + noise[1, 0] < 1
    ]
    named = [(true @ noise @ mixing_coefficients(noise)).argmax() for true, noise in problems]
    return np.mean(np.array(named) != [true.argmax() for true, _ in problems])


@pytest.mark.slow
def test_the_exponential_mixture_is_consistent_for_two_classes_only():
    assert share_named_otherwise(2) == 0
    assert 0.05 < share_named_otherwise(3) < share_named_otherwise(5) < 0.3


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_likelihood_is_consistent(n_classes):
    for true, noise in random_problems(n_classes, 10, seed=1):
        if np.linalg.cond(noise) > 20 or np.diff(np.sort(true)[-2:]) < 0.02:
            continue
        labels, of_labels = np.arange(n_classes), true @ noise

        def expected(scores, labels=labels, of_labels=of_labels, noise=noise):
            loss = NoisySoftmaxLoss(np.tile(scores, (len(labels), 1)), labels, noise)
            return of_labels @ loss.loss(), of_labels @ loss.by_scores()

        found = minimize(expected, np.zeros(n_classes), jac=True, options={"gtol": 1e-9})
        assert found.x.argmax() == true.argmax()
