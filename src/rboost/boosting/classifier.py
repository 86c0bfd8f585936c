"""RBoostClassifier: Algorithm 1 of the paper as a scikit-learn estimator."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats
from rboost._validation import (
    Number,
    OneOf,
    Requirements,
    Switch,
    all_or_nothing,
    check_parameters,
)
from rboost.boosting.additive import AdditiveClassifier
from rboost.boosting.learners import check_learner, fit_learner, seeded_parameters
from rboost.boosting.noise_updates import NOISE_UPDATES, calibrate, keep_noise
from rboost.boosting.rounds import NEGATIVE_WEIGHTS, Choices, State, boost, initial_state, vote
from rboost.boosting.sampling import SAMPLINGS
from rboost.calibration import CALIBRATIONS, agree_with_decision
from rboost.losses import MIXINGS, mixing_coefficients
from rboost.noise import symmetric
from rboost.noise.matrix import check_noise_parameter
from rboost.progress import track
from rboost.tables import Table, training_table, trusted_table, weights_as_counts

# Where estimation of the flip rates starts; the paper does not say. It must not be 0, which the
# multiplicative updates never leave.
INITIAL_RATE = 0.1


class RBoostClassifier(AdditiveClassifier):
    """Boosting that models label flips: Algorithm 1 of Bootkrajang & Kabán.

    Minimises a mixture of two exponential losses, weighed by how likely each observed label is to
    be right, with one base learner a round. With the identity as noise matrix it is AdaBoost.

    Parameters
    ----------
    estimator : classifier, default=None
        The base learner, cloned and fitted once a round on an array and classes 0 and 1. Any
        classifier that takes ``sample_weight``; with ``sampling="weights"`` any at all. None means
        ``DecisionTreeClassifier(max_depth=1)``, as in scikit-learn's AdaBoost.
    n_estimators : int, default=150
        Number of rounds.
    learning_rate : float, default=1.0
        Factor on every step size.
    sampling : {"none", "uniform", "weights"}, default="none"
        What a base learner sees. "none": all rows, weighted. "uniform": a fraction ``max_samples``
        of the rows without replacement, weighted. "weights": ``max_samples``·n rows drawn with
        replacement in proportion to their weights, unweighted; the paper's experiments do this.
    max_samples : float, default=1.0
        Fraction of the rows that "uniform" (at most 1) and "weights" draw.
    noise_matrix : "estimate" or array-like of shape (2, 2), default="estimate"
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order. An array fixes it.
    noise_estimator : {"paper"}, default="paper"
        How to estimate the noise matrix. "paper": steps 5 and 6 of Algorithm 1, which without a
        trusted set find rates near 0 whatever the truth.
    mixing : {"posterior", "paper"}, default="posterior"
        How the noise matrix mixes the two losses. "posterior" is consistent: given the noise matrix
        and enough data it finds the best rule for the true classes. "paper" is eq. (10) as printed,
        which is the same for symmetric noise only.
    negative_weights : {"flip", "keep"}, default="flip"
        What a base learner is given for a row that is more certain than its label deserves, whose
        weight is negative: the opposite label, which is exact, or the label as it is. The paper
        does not say; its results look like "keep".
    calibration : {"platt", "logistic", "isotonic"}, default="platt"
        How scores become probabilities, in ``predict_proba`` and in step 5 of the "paper" noise
        estimator. The prediction is the sign of the score whatever the calibration.
    random_state : int, RandomState instance or None, default=None
        Seed of the sampling and of the base learners.
    n_jobs : int, default=None
        Threads used by prediction, over blocks of rows. Fitting is sequential.
    warm_start : bool, default=False
        Whether the next ``fit``, on the same rows, continues with more rounds.
    verbose : int, default=0
        Whether to show a progress bar on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two class labels.
    estimators_ : list of classifiers
        The base learners that were kept, fitted on classes 0 and 1.
    estimator_weights_ : ndarray of shape (n_kept,)
        Their step sizes α, with the learning rate applied.
    estimator_errors_ : ndarray of shape (n_kept,)
        The share of the loss that grows with the step; AdaBoost's weighted error without noise.
    noise_matrix_ : ndarray of shape (2, 2)
        The fixed or estimated noise matrix.
    noise_matrix_history_ : ndarray of shape (n_kept, 2, 2)
        The noise matrix after each kept round.
    feature_importances_ : ndarray of shape (n_features,)
        Mean importance over the base learners, weighted by their step sizes, where they have any.
    stop_reason_ : str
        Why boosting ended.
    n_iter_ : int
        Rounds run, with those whose learner was not kept.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from rboost import RBoostClassifier
    >>> from rboost.noise import asymmetric, flip_labels
    >>> X, y = make_moons(1000, noise=0.2, random_state=0)
    >>> noise = asymmetric(0.3, from_class=0)
    >>> noisy, _ = flip_labels(y, noise, random_state=0)
    >>> plain = RBoostClassifier(noise_matrix=[[1, 0], [0, 1]], random_state=0).fit(X, noisy)
    >>> robust = RBoostClassifier(noise_matrix=noise, random_state=0).fit(X, noisy)
    >>> robust.score(X, y) > plain.score(X, y)
    True
    """

    estimator_weights_: Floats
    estimator_errors_: Floats
    noise_matrix_: Floats
    noise_matrix_history_: Floats
    stop_reason_: str
    n_iter_: int

    _requirements: ClassVar[Requirements] = {
        "n_estimators": Number(1, integer=True, closed=True),
        "learning_rate": Number(0),
        "sampling": OneOf(tuple(SAMPLINGS)),
        "max_samples": Number(0),
        "noise_estimator": OneOf(tuple(NOISE_UPDATES)),
        "mixing": OneOf(tuple(MIXINGS)),
        "negative_weights": OneOf(tuple(NEGATIVE_WEIGHTS)),
        "calibration": OneOf(tuple(CALIBRATIONS)),
        "warm_start": Switch(),
        "verbose": Switch(),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 150,
        learning_rate: float = 1.0,
        sampling: str = "none",
        max_samples: float = 1.0,
        noise_matrix: Any = "estimate",
        noise_estimator: str = "paper",
        mixing: str = "posterior",
        negative_weights: str = "flip",
        calibration: str = "platt",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.sampling = sampling
        self.max_samples = max_samples
        self.noise_matrix = noise_matrix
        self.noise_estimator = noise_estimator
        self.mixing = mixing
        self.negative_weights = negative_weights
        self.calibration = calibration
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    def _base_learner(self) -> Any:
        return DecisionTreeClassifier(max_depth=1) if self.estimator is None else self.estimator

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        X_trusted: Any = None,
        y_trusted: ArrayLike | None = None,
    ) -> Self:
        """Fit to observed, possibly wrong labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Observed labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; a row with weight 0 is left out, one with weight 2 counts twice.
            Weights that are no counts, with a mean below 1 or above a million, are divided by it.
        X_trusted : {array-like, sparse matrix} of shape (n_trusted, n_features), default=None
            Rows whose labels are known to be right. Probabilities are calibrated on them and not on
            X, which also repairs the "paper" estimate of the noise matrix (section 4.3).
        y_trusted : array-like of shape (n_trusted,), default=None
            Their labels, of both classes.

        Returns
        -------
        self : RBoostClassifier
            The fitted estimator.
        """
        with all_or_nothing(self):
            check_parameters(self, self._requirements)
            fixed_noise = check_noise_parameter(self.noise_matrix)
            check_learner(self._base_learner(), self.sampling, self.max_samples)
            resumes = bool(self.warm_start and hasattr(self, "estimators_"))
            train, classes = training_table(self._check_X(X, reset=not resumes), y, sample_weight)
            train = weights_as_counts(train)
            trusted = trusted_table(X_trusted, y_trusted, classes, self._check_X)
            noise_name = "estimate" if fixed_noise is None else fixed_noise.tolist()
            fitted_on = (len(train.labels), classes.tolist(), noise_name)
            if resumes:
                self._check_resumed(fitted_on)
                state = self._resumed_state(train, trusted)
            else:
                self._reset(classes, fixed_noise)
                self._fitted_on = fitted_on
                state = initial_state(train, trusted, self.noise_matrix_)
            state = self._run(state, train, trusted)
            noise = self.noise_matrix_
            link = noise @ mixing_coefficients(noise, self.mixing)
            self._calibration = calibrate(state, train, trusted, self.calibration, noise, link)
        if not self.estimators_:
            warnings.warn(
                f"No base learner was kept ({self.stop_reason_}), so every row is predicted as "
                f"{self.classes_.tolist()[0]!r}; try another estimator or other features.",
                stacklevel=2,
            )
        return self

    def _check_resumed(self, fitted_on: tuple[Any, ...]) -> None:
        """Fail when a fit that is to be continued cannot be."""
        if fitted_on != self._fitted_on:
            raise ValueError(
                "warm_start continues a fit on the same rows, classes and noise_matrix, but one of "
                "them changed; set warm_start=False to fit anew."
            )
        if self.n_estimators < self.n_iter_:
            raise ValueError(
                f"warm_start can only add rounds, but n_estimators={self.n_estimators} is fewer "
                f"than the {self.n_iter_} already run; raise n_estimators."
            )

    def _reset(self, classes: NDArray[Any], fixed_noise: Floats | None) -> None:
        """Forget an earlier fit."""
        self.classes_ = classes
        self.estimators_ = []
        self.estimator_weights_ = np.zeros(0)
        self.estimator_errors_ = np.zeros(0)
        self.noise_matrix_ = symmetric(INITIAL_RATE) if fixed_noise is None else fixed_noise
        self.noise_matrix_history_ = np.zeros((0, 2, 2))
        self.n_iter_ = 0
        self._useless, self._finished = 0, False
        self._random_state = check_random_state(self.random_state)

    def _resumed_state(self, train: Table, trusted: Table | None) -> State:
        """The state after the rounds there already are; scores are summed in the same order."""
        # A copy, so that a fit that fails or is interrupted leaves the generator where it was.
        self._random_state = copy.deepcopy(self._random_state)
        trusted_scores = None if trusted is None else self._scores(trusted.X)
        return State(self._scores(train.X), self.noise_matrix_, trusted_scores, self._useless)

    def _run(self, state: State, train: Table, trusted: Table | None) -> State:
        """Run the rounds that are still to run, keep what they found, return the state after."""
        numbers = range(self.n_iter_ + 1, self.n_estimators + 1)
        if self._finished or not numbers:
            return state
        bar = track(numbers, len(numbers), "Boosting", enabled=bool(self.verbose))
        boosted = boost(state, train, trusted, self._choices(train, trusted), bar)
        rounds = boosted.rounds
        self.estimators_ = self.estimators_ + [new.learner for new in rounds]
        self.estimator_weights_ = np.append(self.estimator_weights_, [new.step for new in rounds])
        self.estimator_errors_ = np.append(self.estimator_errors_, [new.error for new in rounds])
        self.noise_matrix_history_ = np.concatenate(
            [self.noise_matrix_history_, *(new.noise_matrix[np.newaxis] for new in rounds)]
        )
        self.noise_matrix_ = boosted.state.noise_matrix
        self.stop_reason_ = boosted.stop_reason
        self.n_iter_ = boosted.n_rounds
        self._useless, self._finished = boosted.state.useless, boosted.finished
        return boosted.state

    def _choices(self, train: Table, trusted: Table | None) -> Choices:
        """The parts of Algorithm 1 that the parameters name."""
        is_estimated = isinstance(self.noise_matrix, str)
        update = NOISE_UPDATES[self.noise_estimator] if is_estimated else keep_noise
        return Choices(
            fit_learner=partial(
                fit_learner,
                self._base_learner(),
                train,
                sampling=self.sampling,
                max_samples=self.max_samples,
                seeded=seeded_parameters(self._base_learner()),
                random_state=self._random_state,
            ),
            update_noise=partial(
                update, train=train, trusted=trusted, calibration=self.calibration
            ),
            mixing=self.mixing,
            learning_rate=self.learning_rate,
            negative_weights=self.negative_weights,
        )

    def _contributions(self, X: Any) -> Iterator[Floats]:
        for step, learner in zip(self.estimator_weights_, self.estimators_, strict=True):
            yield step * vote(learner, X)

    def _positive_probability(self, scores: Floats) -> Floats:
        return agree_with_decision(self._calibration(scores), scores)

    @property
    def feature_importances_(self) -> Floats:
        """Mean importance over the base learners, weighted by their step sizes."""
        check_is_fitted(self)
        # Constant learners, fitted where a sample held one class, have no importances.
        weighted = [
            (step, learner.feature_importances_)
            for step, learner in zip(self.estimator_weights_, self.estimators_, strict=True)
            if hasattr(learner, "feature_importances_")
        ]
        if not weighted:
            raise AttributeError("The base learners have no feature_importances_.")
        steps, importances = map(np.array, zip(*weighted, strict=True))
        return steps @ importances / steps.sum()
