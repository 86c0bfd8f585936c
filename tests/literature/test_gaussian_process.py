import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from rboost.datasets import make_banana
from rboost.noise import asymmetric, flip_labels, symmetric
from rboost.robust import RobustGaussianProcessClassifier


@pytest.fixture(scope="module")
def banana():
    X, y = make_banana(300, spread=0.2, random_state=0)
    noisy, flipped = flip_labels(y, symmetric(0.2), random_state=0)
    return X, y, noisy, flipped


@pytest.fixture(scope="module")
def more_banana():
    return make_banana(2000, spread=0.2, random_state=1)


def test_without_noise_it_is_near_the_gaussian_process_of_scikit_learn(more_banana):
    """That one uses the logistic function and Laplace's approximation, this one Φ and EP."""
    X, y = make_banana(150, spread=0.3, random_state=0)
    kernel = ConstantKernel(4.0) * RBF(0.7)
    ours = RobustGaussianProcessClassifier(
        kernel=kernel, noise_matrix=np.eye(2), standardize=False
    ).fit(X, y)
    # Φ(f) is near σ(1.7 f), so that kernel is that of a function 1.7 times as large.
    peer = GaussianProcessClassifier(1.7**2 * kernel, optimizer=None).fit(X, y)
    theirs = peer.predict_proba(more_banana[0])[:, 1]
    assert np.abs(ours.predict_proba(more_banana[0])[:, 1] - theirs).mean() < 0.03
    assert np.mean(ours.predict(more_banana[0]) == peer.predict(more_banana[0])) > 0.985
    assert np.all(ours.label_issue_probability_ == 0)


@pytest.mark.parametrize("noise_estimator", ["paper", "noise-aware"])
def test_it_learns_through_wrong_labels_and_finds_them(banana, more_banana, noise_estimator):
    X, _, noisy, flipped = banana
    model = RobustGaussianProcessClassifier(noise_estimator=noise_estimator).fit(X, noisy)
    assert model.score(*more_banana) > 0.93
    issues = model.label_issue_probability_
    assert issues.shape == (300,)
    assert issues[flipped].mean() > 5 * issues[~flipped].mean()


@pytest.mark.slow
@pytest.mark.parametrize("noise_estimator", ["paper", "noise-aware"])
def test_the_rows_it_suspects_most_are_wrong(noise_estimator):
    """Half as many rows as are wrong; four tables together, as 30 rows leave too much to chance."""
    suspected = []
    for seed in range(4):
        X, y = make_banana(300, spread=0.2, random_state=seed)
        noisy, flipped = flip_labels(y, symmetric(0.2), random_state=seed)
        model = RobustGaussianProcessClassifier(noise_estimator=noise_estimator).fit(X, noisy)
        worst = np.argsort(-model.label_issue_probability_)[: flipped.sum() // 2]
        suspected.extend(flipped[worst])
    assert np.mean(suspected) > 0.9


def test_the_rate_is_found_on_separable_rows():
    random = np.random.RandomState(0)
    X = random.standard_normal((800, 2))
    X = X[np.abs(X.sum(axis=1)) > 0.5]
    y = (X.sum(axis=1) > 0).astype(int)
    noisy, _ = flip_labels(y, symmetric(0.2), random_state=0)
    kernel = ConstantKernel(100.0) * RBF(2.0)
    model = RobustGaussianProcessClassifier(kernel=kernel, noise_estimator="paper").fit(X, noisy)
    assert_allclose(model.noise_matrix_, symmetric(0.2), atol=0.03)
    assert model.score(X, y) > 0.98


def test_flips_of_one_class_are_told_from_symmetric_ones(more_banana):
    X, y = make_banana(500, spread=0.2, random_state=0)
    noisy, _ = flip_labels(y, asymmetric(0.3, from_class=0), random_state=0)
    model = RobustGaussianProcessClassifier().fit(X, noisy)
    assert_allclose(model.noise_matrix_, asymmetric(0.3, from_class=0), atol=0.08)
    plain = RobustGaussianProcessClassifier(noise_matrix=np.eye(2)).fit(X, noisy)
    assert model.score(*more_banana) > plain.score(*more_banana) + 0.01
    paper = RobustGaussianProcessClassifier(noise_estimator="paper").fit(X, noisy)
    assert_allclose(paper.noise_matrix_[0, 1], paper.noise_matrix_[1, 0])


def test_how_far_a_wrong_label_lies_does_not_count():
    """The property the paper is about: only the number of errors counts."""
    X = np.linspace(-3, 3, 61)[:, np.newaxis]
    y = (X[:, 0] > 0).astype(int)
    far = 2
    wrong = np.where(np.arange(61) == far, 1, y)
    kernel = ConstantKernel(100.0) * RBF(1.5)
    changes = {}
    for name, noise_matrix in (("robust", symmetric(0.05)), ("plain", np.eye(2))):
        model = RobustGaussianProcessClassifier(kernel=kernel, noise_matrix=noise_matrix)
        before = model.fit(X, y).predict_proba(X)[:, 1]
        changes[name] = np.abs(model.fit(X, wrong).predict_proba(X)[:, 1] - before)
        if name == "robust":
            assert model.label_issue_probability_[far] > 0.8
    assert changes["robust"].max() < 0.03
    assert changes["plain"].max() > 0.3


def test_whole_weights_are_repetitions(banana):
    X, _, noisy, _ = banana
    weight = np.arange(len(X)) % 4
    again = np.repeat(np.arange(len(X)), weight)
    weighted = RobustGaussianProcessClassifier().fit(X, noisy, weight)
    repeated = RobustGaussianProcessClassifier().fit(X[again], noisy[again])
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)
    assert_allclose(weighted.noise_matrix_, repeated.noise_matrix_, atol=1e-7)
    issues = weighted.label_issue_probability_.repeat(weight)
    assert_allclose(issues, repeated.label_issue_probability_, atol=1e-7)


def test_a_row_of_weight_zero_is_judged_by_the_prediction(banana):
    """p(y ≠ ỹ | x, ỹ) by Bayes' rule from p(y | x), as the other rows have it."""
    X, _, noisy, flipped = banana
    left_out = np.arange(300) % 3 == 0
    model = RobustGaussianProcessClassifier().fit(X, noisy, np.where(left_out, 0.0, 1.0))
    issues = model.label_issue_probability_
    removed = RobustGaussianProcessClassifier().fit(X[~left_out], noisy[~left_out])
    assert_allclose(issues[~left_out], removed.label_issue_probability_)
    joint = model.predict_proba(X) * model.noise_matrix_.T[noisy]
    wrong = joint[np.arange(300), 1 - noisy] / joint.sum(axis=1)
    assert_allclose(issues[left_out], wrong[left_out])
    assert issues[left_out & flipped].mean() > 5 * issues[left_out & ~flipped].mean()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_any_size_stay_finite(banana):
    X, _, noisy, _ = banana
    for exponents in [(-300, 0), (-6, 6), (-10, 10)]:
        weight = np.random.RandomState(0).permutation(10.0 ** np.linspace(*exponents, len(X)))
        model = RobustGaussianProcessClassifier().fit(X, noisy, weight)
        assert np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.slow
def test_units_of_the_columns_do_not_matter(banana):
    X, _, noisy, _ = banana
    units = X * [1e-6, 1e6] + [0, 1e4]
    model = RobustGaussianProcessClassifier().fit(X, noisy)
    scaled = RobustGaussianProcessClassifier().fit(units, noisy)
    assert_allclose(scaled.predict_proba(units), model.predict_proba(X), atol=1e-6)
    unscaled = RobustGaussianProcessClassifier(standardize=False).fit(units, noisy)
    assert np.any(unscaled.predict(units) != model.predict(X))


def test_hard_tables_stay_finite():
    line = np.linspace(-1, 1, 40)[:, np.newaxis]
    sides = (line[:, 0] > 0).astype(int)
    tables = {
        "separable": (line, sides),
        "constant column": (np.column_stack([line, np.full(40, 7.0)]), sides),
        "constant": (np.ones((40, 2)), sides),
        "rare class": (line, (np.arange(40) >= 37).astype(int)),
        "copies": (np.repeat(line[::10], 10, axis=0), np.arange(40) % 2),
        "outlier": (np.append(line[1:], [[1e12]], axis=0), sides),
        "two rows": (line[[0, -1]], sides[[0, -1]]),
    }
    for name, (X, y) in tables.items():
        model = RobustGaussianProcessClassifier().fit(X, y)
        probability = model.predict_proba(np.vstack([X, X * 1e3]))
        assert np.all(np.isfinite(probability)), name
        assert_allclose(probability.sum(axis=1), 1)
        assert np.all((model.label_issue_probability_ >= 0) & (model.label_issue_probability_ <= 1))


def test_other_kernels(banana, more_banana):
    X, _, noisy, _ = banana
    kernel = ConstantKernel(10.0) * Matern(1.0, nu=2.5)
    model = RobustGaussianProcessClassifier(kernel=kernel).fit(X, noisy)
    assert model.score(*more_banana) > 0.94
    assert_allclose(model.regression_.kernel_.theta, kernel.theta)


def test_it_says_when_it_did_not_converge(banana):
    X, _, noisy, _ = banana
    with pytest.warns(ConvergenceWarning) as caught:
        RobustGaussianProcessClassifier(max_iter=2).fit(X, noisy)
    assert str(caught[0].message) == (
        "RobustGaussianProcessClassifier stopped at max_iter=2 before it converged; "
        "raise max_iter or tol, or take a smoother kernel."
    )
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "rbf"}, "kernel must be a kernel of sklearn.gaussian_process such as"),
        ({"noise_matrix": "guess"}, "noise_matrix must be 'estimate' or a 2×2 array"),
        ({"noise_estimator": "guess"}, "noise_estimator of .* 'noise-aware', 'paper'"),
        ({"random_rows": 0.0}, "random_rows of .* must be a finite number above 0"),
        ({"kept_rows": -1.0}, "kept_rows of .* must be a finite number above 0"),
        ({"standardize": "yes"}, "standardize of .* must be one of True, False"),
        ({"max_iter": 0}, "max_iter of .* must be an integer of at least 1"),
        ({"max_rows": 1}, "max_rows of .* must be an integer of at least 2"),
        ({"tol": 0.0}, "tol of .* must be a finite number above 0"),
    ],
)
def test_bad_parameters_are_named(parameters, message, banana):
    model = RobustGaussianProcessClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(banana[0], banana[2])
    with pytest.raises(NotFittedError):
        model.predict(banana[0])


def test_many_rows_are_warned_of(banana, monkeypatch):
    X, _, noisy, _ = banana
    monkeypatch.setattr("rboost.literature.gaussian_process.MANY_ROWS", 50)
    with pytest.warns(UserWarning, match="takes minutes or more.*RobustKernelLogisticRegression"):
        RobustGaussianProcessClassifier().fit(X, noisy)
