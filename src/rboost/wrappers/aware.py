"""NoiseAwareClassifier: any classifier with weights, fitted to the true classes by EM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats, Integers
from rboost._validation import (
    Number,
    Requirements,
    Switch,
    all_or_nothing,
    check_class_labels,
    check_lengths,
    check_parameters,
    check_sample_weight,
    check_weighed,
    warn_not_converged,
)
from rboost.engines.learners import seeded_parameters
from rboost.noise.likelihood import likeliest, true_posterior
from rboost.noise.matrix import check_noise_parameter
from rboost.wrappers.base import ClassifierAround
from rboost.wrappers.latent import (
    check_probabilistic,
    class_probability,
    fit_latent,
    fit_soft,
    unsure_probability,
)
from rboost.wrappers.out_of_fold import row_splits


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

    # Of training rows, which prediction does not need; a model file leaves them out.
    _training_only: ClassVar[tuple[str, ...]] = ("label_issue_probability_", "true_class_")

    _requirements: ClassVar[Requirements] = {
        "max_iter": Number(1, integer=True, closed=True),
        "tol": Number(0, closed=True),
        "verbose": Switch(),
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
        tested = np.concatenate([test for _, test in splits])
        parallel = Parallel(n_jobs=self.n_jobs)

        def probability_after(target: Floats) -> Floats:
            found = parallel(
                delayed(_fold_probability)(clone(model), X, target, weight, *split)
                for split in splits
            )
            probability = np.empty_like(target)
            probability[tested] = np.concatenate(found)
            return probability

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


def _fold_probability(
    model: Any, X: Any, target: Floats, weight: Floats, train: Integers, test: Integers
) -> Floats:
    """p(y = j | x) of the rows ``test`` by the model fitted to the rows ``train``."""
    fitted = fit_soft(model, _safe_indexing(X, train), target[train], weight[train])
    return unsure_probability(fitted, _safe_indexing(X, test), target.shape[1])
