"""AdaRBoostClassifier: Algorithm 1 of the paper as printed, with every switch it leaves open."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats, Integers
from rboost._validation import (
    SWITCH,
    Number,
    OneOf,
    Requirements,
    Threads,
    all_or_nothing,
    check_parameters,
    check_trusted_labels,
    check_trusted_rows,
)
from rboost.calibration import (
    CALIBRATIONS,
    Calibration,
    SoftmaxCalibration,
    agree_with_decision,
    fit_scale,
)
from rboost.engines.learners import (
    NEGATIVE_WEIGHTS,
    SAMPLINGS,
    VOTES,
    BaseLearner,
    Ensemble,
    LearnerRounds,
    NativeRounds,
    Randomness,
    RoundSettings,
    check_classes,
    check_learner,
    coded,
    native_rounds,
)
from rboost.engines.pool import StackedLearners
from rboost.engines.rounds import (
    MIXINGS,
    ExponentialLoss,
    Progress,
    RowVotes,
    boost,
    mixing_coefficients,
)
from rboost.fitting import Rows, Savable, training_rows
from rboost.learners import RobustLogisticRegression
from rboost.model.additive import AdditiveClassifier
from rboost.native.threads import one_blas_thread
from rboost.noise import multiplicative_update
from rboost.noise.likelihood import Likelihood
from rboost.noise.matrix import (
    check_noise_parameter,
    keep_informative,
    symmetric,
)
from rboost.progress import track

# The flip rate from which the estimation starts; the paper names none. Not 0, which multiplicative
# updates never leave.
FIRST_RATE = 0.1
# Learners that predict many times as fast when they are stacked as arrays.
LINEAR_LEARNERS = (RobustLogisticRegression, DummyClassifier)
# Calibrations of more than two classes.
SEVERAL_CLASSES = ("platt", "logistic")


@dataclass
class Training:
    """The state of a fit after some rounds; ``fitted_on`` identifies the data, for warm_start.

    ``history`` has the noise matrix after each kept round.
    """

    fitted_on: tuple[Any, ...]
    votes: RowVotes
    progress: Progress
    random: Randomness
    noise_matrix: Floats
    learners: list[Any] = field(default_factory=list)
    history: list[Floats] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class AdaRBoostClassifier(Savable, AdditiveClassifier):
    """Algorithm 1 of Bootkrajang & Kabán as printed: AdaBoost with a mixture of exponentials.

    A row costs a mixture of the exponential losses of all classes, weighed by the flip
    probabilities, which are estimated beside the boosting. Every learner is judged by every row.
    With the identity as noise matrix it is AdaBoost (SAMME). For noise that is inferred reliably,
    and for better predictions, take :class:`RBoostClassifier`.

    Parameters
    ----------
    estimator : classifier or list of classifiers, default=None
        Base learners, several in turn; they need ``sample_weight`` (not with
        ``sampling="weights"``) and, with ``votes="probability"``, ``predict_proba``. None means
        ``DecisionTreeClassifier(max_depth=1)``.
    n_estimators : int, default=150
        Largest number of rounds.
    learning_rate : float, default=1.0
        Factor on every step α.
    sampling : {"none", "uniform", "weights"}, default="none"
        What a base learner sees. "none": all rows, weighted. "weights": ``max_samples``·n rows
        drawn with replacement in proportion to their weights, unweighted, as in the paper's
        experiments. "uniform": a fraction ``max_samples`` of the rows, weighted.
    max_samples : float, default=1.0
        Fraction of the rows that "uniform" (at most 1) and "weights" draw.
    votes : {"class", "probability"}, default="class"
        How a learner votes: by the class that it predicts, or by its probabilities.
    noise_matrix : "estimate" or array-like of shape (n_classes, n_classes), default="estimate"
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order. An array fixes it.
        "estimate" is steps 5 and 6 of Algorithm 1, which without trusted rows find rates near 0
        whatever the truth.
    mixing : {"posterior", "paper"}, default="posterior"
        How the noise matrix mixes the losses. "posterior" is consistent for two classes: with
        enough data it finds the best rule for the true ones. "paper" is eq. (10) as printed, which
        is the same for symmetric noise only.
    negative_weights : {"flip", "keep"}, default="flip"
        What a base learner is given for a row that is more certain than its label deserves, whose
        weight is negative: the opposite label (of more classes, all but the worst), which is exact,
        or the label as it is. The paper does not say; its results look like "keep".
    calibration : {"platt", "logistic", "isotonic"}, default="platt"
        How scores become probabilities, in ``predict_proba`` and in step 5; the prediction does not
        depend on it. For more than two classes there are "platt" and "logistic".
    random_state : int, RandomState instance or None, default=None
        Seed of the sampling and of the base learners.
    n_jobs : int, default=None
        Threads used by prediction and by rounds in the native core. Results do not depend on it.
    warm_start : bool, default=False
        Whether the next ``fit``, on the same rows, continues with more rounds.
    verbose : int, default=0
        Whether to show a progress bar on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    estimators_ : list of classifiers
        The base learners that were kept, fitted on positions of classes.
    estimator_weights_ : ndarray of shape (n_kept,)
        Their step sizes α, with the learning rate applied.
    estimator_errors_ : ndarray of shape (n_kept,)
        Their weighted errors on what they were to fit; AdaBoost's without noise.
    noise_matrix_ : ndarray of shape (n_classes, n_classes)
        The fixed or estimated noise matrix.
    noise_matrix_history_ : ndarray of shape (n_kept, n_classes, n_classes)
        The noise matrix after each kept round.
    feature_importances_ : ndarray of shape (n_features,)
        Mean importance over the base learners that have any, weighted by their steps.
    stop_reason_ : str
        Why boosting ended.
    n_iter_ : int
        Rounds run, with those whose learner was not kept.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, when X had string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from rboost import AdaRBoostClassifier
    >>> from rboost.noise import asymmetric, flip_labels
    >>> X, y = make_moons(500, noise=0.2, random_state=4)
    >>> noise, tree = asymmetric(0.3, from_class=0), DecisionTreeClassifier(max_depth=3)
    >>> noisy, flipped = flip_labels(y, noise, random_state=4)
    >>> known = AdaRBoostClassifier(tree, n_estimators=50, noise_matrix=noise).fit(X, noisy)
    >>> adaboost = AdaRBoostClassifier(tree, n_estimators=50, noise_matrix=np.eye(2)).fit(X, noisy)
    >>> known.score(X, y) > adaboost.score(X, y)
    True
    """

    estimator: Any = None
    _: KW_ONLY
    n_estimators: int = 150
    learning_rate: float = 1.0
    sampling: str = "none"
    max_samples: float = 1.0
    votes: str = "class"
    noise_matrix: Any = "estimate"
    mixing: str = "posterior"
    negative_weights: str = "flip"
    calibration: str = "platt"
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    warm_start: bool = False
    verbose: int = 0

    _requirements: ClassVar[Requirements] = {
        "n_estimators": Number(1, integer=True, closed=True),
        "learning_rate": Number(0),
        "sampling": OneOf(SAMPLINGS),
        "max_samples": Number(0),
        "votes": OneOf(tuple(VOTES)),
        "mixing": OneOf(tuple(MIXINGS)),
        "negative_weights": OneOf(tuple(NEGATIVE_WEIGHTS)),
        "calibration": OneOf(tuple(CALIBRATIONS)),
        "n_jobs": Threads(),
        "warm_start": SWITCH,
        "verbose": SWITCH,
    }
    # What only a fit that continues this one needs; a model file leaves it out.
    _training_only: ClassVar[tuple[str, ...]] = ("_training",)

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_trusted: Any = None,
        y_trusted: ArrayLike | None = None,
    ) -> Self:
        """Fit to observed, possibly wrong labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, as the base learners take them.
        y : array-like of shape (n_samples,)
            Observed labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; a row with weight 0 is left out, one with weight 2 counts twice.
        X_trusted : {array-like, sparse matrix} of shape (n_trusted, n_features), default=None
            Calibration rows of section 4.3, whose labels are known to be right: probabilities are
            calibrated on them and not on X, which also repairs the estimate of the noise matrix.
        y_trusted : array-like of shape (n_trusted,), default=None
            Their labels, of all classes.

        Returns
        -------
        self : AdaRBoostClassifier
            The fitted estimator.
        """
        with all_or_nothing(self):
            pool = self._check_parameters()
            resumes = bool(self.warm_start and self.__sklearn_is_fitted__())
            X = self._check_X(X, reset=not resumes)
            rows, classes = training_rows(X, y, sample_weight)
            fixed_noise = check_noise_parameter(self.noise_matrix, len(classes))
            self._check_classes(pool, len(classes))
            calibration_rows = self._calibration_rows(X_trusted, y_trusted, classes)
            training = self._begin(rows, classes, fixed_noise)
            if resumes:
                training = self._resume(training, vars(self).get("_training"))
            with one_blas_thread():
                scores = self._run(training, pool, rows, calibration_rows, fixed_noise)
            self._keep(training, classes)
            judges = rows if calibration_rows is None else calibration_rows
            known = training.noise_matrix if calibration_rows is None else np.eye(len(classes))
            self._calibration = self._calibrate(scores, judges, known, training.noise_matrix)
        if not len(self._ensemble):
            warnings.warn(
                f"No base learner was kept ({self.stop_reason_}), so every row is predicted as "
                f"{classes.tolist()[0]!r}; try other base learners or features.",
                stacklevel=2,
            )
        return self

    def _base_learners(self) -> list[Any]:
        if self.estimator is None:
            return [DecisionTreeClassifier(max_depth=1)]
        several = isinstance(self.estimator, (list, tuple))
        return list(self.estimator) if several else [self.estimator]

    def _takes_classes(self) -> bool:
        """Whether calibration and noise matrix are for more than two classes."""
        return self.calibration in SEVERAL_CLASSES and np.shape(self.noise_matrix) != (2, 2)

    def _check_parameters(self) -> list[BaseLearner]:
        """Fail with one sentence when a parameter is wrong; return the base learners."""
        check_parameters(self, self._requirements)
        if self.sampling == "none" and self.max_samples != 1:
            raise ValueError(
                f"max_samples={self.max_samples!r} has no effect with sampling='none', which takes "
                "all rows; use sampling='uniform' or 'weights', or max_samples=1."
            )
        if self.sampling == "uniform" and self.max_samples > 1:
            raise ValueError(
                "max_samples is a fraction and must be at most 1 for sampling='uniform', "
                f"not {self.max_samples!r}."
            )
        learners = self._base_learners()
        if not learners:
            raise ValueError("estimator must hold at least one classifier, not an empty list.")
        return [check_learner(learner, self.sampling, self.votes) for learner in learners]

    def _check_classes(self, pool: list[BaseLearner], n_classes: int) -> None:
        check_classes(pool, n_classes)
        if n_classes > 2 and self.calibration not in SEVERAL_CLASSES:
            raise ValueError(
                f"Only binary classification is supported with calibration={self.calibration!r}, "
                f"but y holds {n_classes} classes; use calibration='platt'."
            )

    def _calibration_rows(self, X_trusted: Any, y_trusted: Any, classes: Any) -> Rows | None:
        observed = check_trusted_labels(X_trusted, y_trusted, classes)
        if observed is None:
            return None
        n_found = len(np.unique(observed))
        if n_found < len(classes):
            found = "one class" if n_found == 1 else f"{n_found} of {len(classes)} classes"
            raise ValueError(
                f"y_trusted holds only {found}; probabilities are calibrated on trusted rows "
                "alone, so pass rows of every class."
            )
        X = check_trusted_rows(X_trusted, self._check_X)
        return Rows(X, observed, np.ones(len(observed)), len(classes))

    def _begin(self, rows: Rows, classes: Any, fixed_noise: Floats | None) -> Training:
        """Before the first round."""
        n_rows, n_classes = len(rows.observed), len(classes)
        noise = symmetric(FIRST_RATE, n_classes) if fixed_noise is None else fixed_noise
        own = n_rows, classes.tolist(), None if fixed_noise is None else fixed_noise.tolist()
        # Of fits that may be continued all that they were given, which takes a pass over the rows.
        given = rows.X, rows.observed, rows.sample_weight
        return Training(
            (*own, joblib.hash(given) if self.warm_start else None),
            RowVotes.zero(n_rows, n_classes, out_of_bag=False),
            Progress(mixing_coefficients(noise, self.mixing).T),
            Randomness(check_random_state(self.random_state)),
            noise,
        )

    def _resume(self, begun: Training, training: Training | None) -> Training:
        """After the last round of an earlier fit; fail when one as ``begun`` cannot continue it."""
        if training is None:
            raise ValueError(
                "warm_start cannot continue a model from a file, which leaves training out; set "
                "warm_start=False to fit anew."
            )
        *own, given = training.fitted_on
        if begun.fitted_on[:-1] != tuple(own) or given not in (None, begun.fitted_on[-1]):
            raise ValueError(
                "warm_start continues a fit on the same rows, labels, weights and noise_matrix, "
                "but one of them changed; set warm_start=False to fit anew."
            )
        if self.n_estimators < training.progress.n_rounds:
            raise ValueError(
                f"warm_start can only add rounds, but n_estimators={self.n_estimators} is fewer "
                f"than the {training.progress.n_rounds} already run; raise n_estimators."
            )
        # Copies, so that a fit that fails or is interrupted leaves these where they were.
        random, progress = copy.deepcopy((training.random, training.progress))
        learners, history = [*training.learners], [*training.history]
        return replace(
            training, random=random, progress=progress, learners=learners, history=history
        )

    def _run(
        self,
        training: Training,
        pool: list[BaseLearner],
        rows: Rows,
        calibration_rows: Rows | None,
        fixed_noise: Floats | None,
    ) -> Floats:
        """Run the rounds that are still to run; return the scores to calibrate on."""
        progress, n_classes = training.progress, rows.n_classes
        progress.columns = mixing_coefficients(training.noise_matrix, self.mixing).T
        calibrating: Any = None
        if calibration_rows is not None:
            calibrating = self._ensemble_of(training, n_classes).scores(calibration_rows.X, 1)
        numbers = range(progress.n_rounds + 1, self.n_estimators + 1)
        if numbers and not progress.finished:
            rounds = self._rounds(training, pool, rows, calibration_rows)

            def update_noise() -> None:
                nonlocal calibrating
                if calibration_rows is not None and isinstance(rounds, LearnerRounds):
                    said = VOTES[self.votes](rounds.learner, calibration_rows.X, n_classes)
                    calibrating = calibrating + progress.steps[-1] * coded(said)
                if fixed_noise is None:
                    training.noise_matrix = self._updated(
                        training.noise_matrix, rounds.votes.scores, rows, calibration_rows,
                        calibrating,
                    )  # fmt: skip
                    progress.columns = mixing_coefficients(training.noise_matrix, self.mixing).T
                training.history.append(training.noise_matrix)

            shown = track(numbers, len(numbers), "Boosting", enabled=bool(self.verbose))
            boost(rounds, progress, update_noise, float(self.learning_rate), shown)
            training.learners += rounds.finish()
            training.votes = rounds.votes
        return training.votes.scores if calibrating is None else calibrating

    def _rounds(
        self,
        training: Training,
        pool: list[BaseLearner],
        rows: Rows,
        calibration_rows: Rows | None,
    ) -> LearnerRounds | NativeRounds:
        """The native core where it can."""
        settings = RoundSettings(
            ExponentialLoss(), pool, training.random, self.sampling, self.max_samples, self.votes,
            self.negative_weights, self.n_jobs,
        )  # fmt: skip
        mixing = Likelihood(
            rows.observed.astype(np.int32), training.progress.columns, rows.sample_weight
        )
        if calibration_rows is None:
            certain = np.zeros(2, dtype=bool)
            rounds = native_rounds(rows.X, mixing, training.votes, settings, certain)
            if rounds is not None:
                return rounds
        n_rounds = training.progress.n_rounds
        return LearnerRounds(rows.X, mixing, rows.observed, training.votes, settings, n_rounds)

    def _updated(
        self,
        noise_matrix: Floats,
        scores: Floats,
        rows: Rows,
        calibration_rows: Rows | None,
        calibrating: Any,
    ) -> Floats:
        """Steps 5 and 6: a calibration as if labels were clean, and one update, eq. (19)–(22).

        Without calibration rows it explains the wrong labels too, which leaves nothing for the
        noise matrix: the rates shrink towards 0. That is the paper's way, and its open problem.
        """
        clean, known, judges = np.eye(rows.n_classes), scores, rows
        if calibration_rows is not None:
            known, judges = calibrating, calibration_rows
        probability = self._calibrate(known, judges, clean, clean)(scores)  # (5)
        if rows.n_classes == 2:
            probability = np.column_stack([1 - probability, probability])
        return keep_informative(  # (6)
            multiplicative_update(noise_matrix, probability, rows.observed, rows.sample_weight)
        )

    def _calibrate(
        self, scores: Floats, rows: Rows, noise_matrix: Floats, boosted_with: Floats
    ) -> Calibration | SoftmaxCalibration:
        """Fit the calibration to rows with their scores.

        ``noise_matrix`` is that of their labels. The noise that the loss leaves in the scores is
        T·c, with the mixing coefficients c of the T that was boosted with.
        """
        link = boosted_with @ mixing_coefficients(boosted_with, self.mixing)
        if rows.n_classes == 2:
            labels = rows.observed.astype(np.float64)
            fit = CALIBRATIONS[self.calibration]
            return fit(scores, labels, rows.sample_weight, noise_matrix, link)
        if self.calibration == "logistic":  # the minimiser is (K − 1) times the log-probabilities
            return SoftmaxCalibration(1 / (rows.n_classes - 1), link)
        scale = fit_scale(scores, rows.observed, rows.sample_weight, noise_matrix)
        return SoftmaxCalibration(scale, np.eye(rows.n_classes))

    def _ensemble_of(self, training: Training, n_classes: int) -> Ensemble:
        return Ensemble(training.learners, np.array(training.progress.steps), self.votes, n_classes)

    def _keep(self, training: Training, classes: Any) -> None:
        self.classes_, self._training = classes, training
        self._ensemble = self._ensemble_of(training, len(classes))
        # A model from a file has all learners as arrays, in the place of the ensemble.
        self._arrays: StackedLearners | None = None
        if all(type(learner) in LINEAR_LEARNERS for learner in self._ensemble.learners):
            self._arrays = StackedLearners.of(self._ensemble, self.n_features_in_)
        self.estimator_weights_ = self._ensemble.steps
        self.estimator_errors_ = np.array(training.progress.errors)
        shape = (-1, len(classes), len(classes))
        self.noise_matrix_ = training.noise_matrix
        self.noise_matrix_history_ = np.reshape(training.history, shape)
        self.stop_reason_ = training.progress.stop_reason
        self.n_iter_ = training.progress.n_rounds

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_ensemble")

    @property
    def estimators_(self) -> list[Any]:  # type: ignore[override]
        """The base learners that were kept."""
        return list(self._ensemble.learners)

    @property
    def feature_importances_(self) -> Floats:
        """Importances of the columns, as shares."""
        check_is_fitted(self)
        return self._ensemble.feature_importances()

    def _n_learners(self) -> int:
        return len(self._ensemble)

    def _contributions(self, X: Any) -> Iterator[Floats]:
        return self._ensemble.contributions(X)

    def _scores(self, X: Any) -> Floats:
        return (vars(self).get("_arrays") or self._ensemble).scores(X, self.n_jobs)

    def _positive_probability(self, scores: Floats) -> Floats:
        return agree_with_decision(self._calibration(scores), scores)

    def _to_probabilities(self, decisions: Floats) -> Floats:
        if decisions.ndim == 1:
            return super()._to_probabilities(decisions)
        return largest_where_decided(self._calibration(decisions), decisions.argmax(axis=1))


def largest_where_decided(probability: Floats, decided: Integers) -> Floats:
    """Raise the probability of the class decided for to at least any other's."""
    places = np.arange(len(probability))
    contradicts = probability.argmax(axis=1) != decided
    raised = np.where(contradicts, 1.001 * probability.max(axis=1), probability[places, decided])
    probability[places, decided] = raised
    return probability / probability.sum(axis=1, keepdims=True)
