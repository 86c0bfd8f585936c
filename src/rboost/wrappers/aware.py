"""NoiseAwareClassifier: any classifier with weights, fitted to the true classes by EM.

    y     true class, 0 … K − 1, not seen
    ỹ     observed label, 0 … K − 1
    γ     noise matrix, ``noise_matrix[j, k] = p(ỹ = k | y = j)``
    p     p(y = j | x) by the classifier, shape (n_rows, K)
    μ     p(y = j | x, ỹ), shape (n_rows, K)

The E step computes μ from p and γ. The M step fits the classifier to μ and updates γ, eq. (5)–(7).
Both raise the likelihood of the observed labels, eq. (2), where the classifier maximises the
weighted likelihood of what it is fitted to and p is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from rboost._typing import Floats, Integers
from rboost._validation import (
    SWITCH,
    Number,
    Requirements,
    all_or_nothing,
    check_class_labels,
    check_classifier,
    check_lengths,
    check_parameters,
    check_sample_weight,
    check_weighed,
    warn_not_converged,
)
from rboost.engines.learners import class_probability, seeded_parameters
from rboost.noise.likelihood import joint_probability, likeliest, true_posterior
from rboost.noise.matrix import (
    check_noise_parameter,
    keep_informative,
    multiplicative_update,
    symmetric,
)
from rboost.progress import track
from rboost.wrappers.base import ClassifierAround, by_fold, row_splits

# The flip rate of every class from which EM starts.
FIRST_RATE = 0.1
# The smallest class probability, so that no class loses all its rows.
LEAST = 1e-6
# Early-stopping patience, in iterations.
PATIENCE = 5
# The smallest posterior with which a row is fitted to as one of a class.
NEGLIGIBLE = 1e-7


def weight_argument(estimator: Any) -> str:
    """What ``fit`` calls the weights; of a pipeline, those of its last step."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{weight_argument(last)}"
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight; use another classifier, or "
            "NoiseCalibratedClassifier, which needs none."
        )
    return "sample_weight"


def check_probabilistic(estimator: Any) -> None:
    """Fail with one sentence when the estimator has no weights or no probabilities."""
    check_classifier(estimator, "RandomForestClassifier()")
    weight_argument(estimator)
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{type(estimator).__name__} has no predict_proba; use another classifier, or "
            "NoiseCalibratedClassifier, which takes scores of any kind."
        )


def fit_soft(model: Any, X: Any, share: Floats, sample_weight: Floats) -> Any:
    """Fit a model to every row once as each class j, with weight w·μⱼ."""
    rows, classes = np.nonzero((share > NEGLIGIBLE) & (sample_weight[:, np.newaxis] > 0))
    weight = {weight_argument(model): sample_weight[rows] * share[rows, classes]}
    return model.fit(_safe_indexing(X, rows), classes, **weight)


def unsure_probability(model: Any, X: Any, n_classes: int) -> Floats:
    """p(y = j | x), where no class is impossible."""
    probability = class_probability(model, X, n_classes)
    if not np.isfinite(probability).all():
        raise ValueError(
            f"{type(model).__name__} gave probabilities that are not finite; scale the features, "
            "or use another estimator."
        )
    probability = np.clip(probability, LEAST, 1 - LEAST)
    return probability / probability.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class LatentFit:
    """Where EM ended; ``log_likelihood`` is the mean of eq. (2) after each iteration."""

    probability: Floats
    noise_matrix: Floats
    log_likelihood: list[float]
    converged: bool


def fit_latent(
    probability_after: Callable[[Floats], Floats],
    observed: Integers,
    sample_weight: Floats,
    fixed_noise: Floats | None,
    *,
    max_iter: int,
    tol: float,
    verbose: bool,
) -> LatentFit:
    """Iterate until the likelihood per row has grown by no more than ``tol`` in some iterations.

    Every class is observed. ``probability_after(μ)`` fits to μ and returns p. Where p is of rows
    that were left out, the likelihood need not grow in each iteration, while γ still gets better.
    """

    def mean_log_likelihood(probability: Floats, noise_matrix: Floats) -> float:
        mixture = joint_probability(probability, observed, noise_matrix).sum(axis=1)
        return float(np.average(np.log(mixture), weights=sample_weight))

    n_classes = int(observed.max()) + 1
    noise_matrix = symmetric(FIRST_RATE, n_classes) if fixed_noise is None else fixed_noise
    probability = probability_after(np.eye(n_classes)[observed])
    history = [mean_log_likelihood(probability, noise_matrix)]
    description = "Fitting to what labels probably are"
    for _ in track(range(max_iter), max_iter, description, enabled=verbose):
        probability = probability_after(true_posterior(probability, observed, noise_matrix))
        if fixed_noise is None:
            updated = multiplicative_update(noise_matrix, probability, observed, sample_weight)
            noise_matrix = keep_informative(updated)
        history.append(mean_log_likelihood(probability, noise_matrix))
        if max(history[-PATIENCE:]) <= max(history[:-PATIENCE], default=-np.inf) + tol:
            return LatentFit(probability, noise_matrix, history, converged=True)
    return LatentFit(probability, noise_matrix, history, converged=False)


@dataclass(eq=False, repr=False)
class NoiseAwareClassifier(ClassifierAround):
    """A probabilistic classifier fitted to the true classes behind the observed labels.

    The likelihood of the observed labels, eq. (2) of the paper, is raised by EM. The E step says
    how likely each row is to be of each class, given its features and its label. The M step fits
    the estimator to every row several times, once as each class, weighted by that, and updates the
    noise matrix by eq. (5)–(7).

    An estimator that is flexible enough explains the wrong labels it was fitted to. Therefore the
    E step looks at probabilities of rows that were left out. ``cv=None`` is EM as in the paper, for
    estimators that are not flexible.

    Parameters
    ----------
    estimator : classifier
        A classifier or pipeline with ``predict_proba``, whose ``fit`` (that of the last step) takes
        ``sample_weight``; it is given X as it is, and classes 0, 1, 2 and so on. A limit on the
        number of rows, such as ``min_samples_leaf``, counts a row once for each class it may be of.
    cv : int, splitter or None, default=5
        Number of folds for probabilities of left-out rows, or anything that scikit-learn splits by.
        None takes those of the rows fitted to.
    max_iter : int, default=200
        Largest number of iterations of EM.
    tol : float, default=1e-4
        Stop when the log-likelihood per row has grown by no more than this in five iterations.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, which stay the same in all iterations, and of the estimator where it has
        none.

    Attributes
    ----------
    log_likelihood_ : ndarray of shape (`n_iter_` + 1,)
        Log-likelihood of the observed labels per row, at the start and after each iteration.
    n_iter_ : int
        Number of iterations.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from rboost.wrappers import NoiseAwareClassifier
    >>> from rboost.noise import asymmetric, flip_labels
    >>> X, y = make_moons(600, noise=0.2, random_state=0)
    >>> noisy, _ = flip_labels(y, asymmetric(0.3, from_class=0), random_state=0)
    >>> tree = DecisionTreeClassifier(min_samples_leaf=10, random_state=0)
    >>> aware = NoiseAwareClassifier(tree, random_state=0).fit(X, noisy)
    >>> aware.score(X, y) > tree.fit(X, noisy).score(X, y)
    True
    """

    estimator: Any
    cv: Any = 5
    _: KW_ONLY
    noise_matrix: Any = "estimate"
    max_iter: int = 200
    tol: float = 1e-4
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    verbose: int = 0

    _requirements: ClassVar[Requirements] = {
        "max_iter": Number(1, integer=True, closed=True),
        "tol": Number(0, closed=True),
        "verbose": SWITCH,
    }

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to observed, possibly wrong labels.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Features, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Observed labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; a row with weight 0 is left out.
        """
        with all_or_nothing(self):
            check_parameters(self, self._requirements)
            check_probabilistic(self.estimator)
            self._check_X(X, reset=True)
            self.classes_, labels = check_class_labels(y)
            fixed_noise = check_noise_parameter(self.noise_matrix, len(self.classes_))
            check_lengths(X, labels)
            weight = check_sample_weight(sample_weight, labels)
            check_weighed(labels, weight, self.classes_)
            (X,) = indexable(X)
            random = check_random_state(self.random_state)
            model = self._seeded(random)
            found = fit_latent(
                self._probabilities(model, X, labels, weight, random), labels, weight, fixed_noise,
                max_iter=self.max_iter, tol=self.tol, verbose=bool(self.verbose),
            )  # fmt: skip
            posterior = true_posterior(found.probability, labels, found.noise_matrix)
            self.estimator_ = fit_soft(model, X, posterior, weight)
            self.label_issue_probability_ = 1 - posterior[np.arange(len(labels)), labels]
            self.true_class_ = self.classes_[likeliest(posterior, labels)]
            self.noise_matrix_ = found.noise_matrix
            self.log_likelihood_ = np.array(found.log_likelihood)
            self.n_iter_ = len(found.log_likelihood) - 1
        if not found.converged:
            warn_not_converged(self, "raise max_iter or tol", stacklevel=3)
        return self

    def _seeded(self, random: np.random.RandomState) -> Any:
        """The estimator with seeds where it has none, so that all iterations draw alike."""
        parameters = self.estimator.get_params(deep=True)
        names = [n for n in seeded_parameters(self.estimator) if parameters[n] is None]
        seeds = {name: random.randint(np.iinfo(np.int32).max) for name in names}
        return clone(self.estimator).set_params(**seeds)

    def _probabilities(
        self, model: Any, X: Any, labels: Integers, weight: Floats, random: np.random.RandomState
    ) -> Callable[[Floats], Floats]:
        """The function from μ to p(y = j | x), of the rows fitted to or of rows left out."""
        every = np.arange(len(labels))
        splits = [(every, every)]
        if self.cv is not None:
            splits = row_splits(self.cv, X, labels, random, weight)

        def probability_after(target: Floats) -> Floats:
            def outputs_of(train: Integers, test: Integers) -> Floats:
                rows = _safe_indexing(X, train)
                fitted = fit_soft(clone(model), rows, target[train], weight[train])
                return unsure_probability(fitted, _safe_indexing(X, test), target.shape[1])

            return by_fold(splits, outputs_of, self.n_jobs)

        return probability_after

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each true class, shape (n_samples, n_classes)."""
        check_is_fitted(self)
        self._check_X(X)
        return class_probability(self.estimator_, X, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the true class."""
        probability = self.predict_proba(X)
        return self.classes_[probability.argmax(axis=1)]
