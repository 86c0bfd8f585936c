"""RBoostClassifier: Algorithm 1 of the paper as a scikit-learn estimator."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats
from rboost._validation import all_or_nothing, check_class_labels, warn_of_one_class
from rboost.boosting.decisions import decide_by_sign, decide_by_votes
from rboost.boosting.engine import Start
from rboost.boosting.engines import engine_for
from rboost.boosting.ensemble import Ensemble
from rboost.boosting.learners import BaseLearner
from rboost.boosting.noise_updates import noise_update
from rboost.boosting.parameters import BoostingParameters, noise_update_name
from rboost.boosting.rounds import Progress, boost, ensemble_of
from rboost.boosting.sampling import Randomness
from rboost.boosting.votes import RowVotes
from rboost.noise import symmetric
from rboost.noise.matrix import check_noise_parameter
from rboost.progress import track
from rboost.tables import Rows, check_all_classes, join, training_rows, trusted_rows, warn_of_copies

# Where the paper's estimation of the flip rates starts; it does not say. It must not be 0, which
# the multiplicative updates never leave. Inference starts from labels that are all right.
INITIAL_RATES = {"paper": 0.1, "noise-aware": 0.0}


class RBoostClassifier(BoostingParameters):
    """Boosting that models label flips, and finds out how many there are.

    Algorithm 1 of Bootkrajang & Kabán minimises a mixture of two exponential losses, weighed by how
    likely each observed label is to be right, with one base learner a round. Here each learner is
    fitted to half of the rows and judged on the others: every row gets a score from learners that
    were not fitted to it. From these scores the flip rates, the threshold and the probabilities
    of the true class are inferred without a single clean label.
    ``RBoostClassifier(estimator, **ALGORITHM_1)`` is the paper's version, and AdaBoost when its
    noise matrix is the identity.

    Parameters
    ----------
    estimator : classifier or list of classifiers, default=None
        The base learners, taken in turn, cloned and fitted once a round on an array and classes 0
        and 1. Any classifier with ``predict_proba`` that takes ``sample_weight``; with
        ``votes="class"`` the former, with ``sampling="weights"`` the latter is not needed. None
        means a pool of trees, trees with random cuts and kernel machines; on large tables, of
        trees on binned columns and kernel machines.
    n_estimators : int, default=300
        Number of rounds.
    learning_rate : float, default=None
        Factor on every step size. With small steps the learners are nearly an average. None means
        0.015 for the exponential loss and 0.045 for the likelihood.
    loss : {"auto", "exponential", "likelihood"}, default="auto"
        What is minimised: the paper's mixture of exponentials, or the likelihood of the observed
        labels, which is consistent for any number of classes. "auto": the former for two classes,
        the latter for more.
    sampling : {"uniform", "weights", "none"}, default="uniform"
        What a base learner sees. "uniform": a fraction ``max_samples`` of the rows without
        replacement, weighted. "weights": ``max_samples``·n rows drawn with replacement in
        proportion to their weights, unweighted; the paper's experiments do this. "none": all rows,
        weighted.
    max_samples : float, default=0.5
        Fraction of the rows that "uniform" (at most 1) and "weights" draw.
    out_of_bag : bool, default=True
        Whether a row's score, hence its weight, is what learners say that were not fitted to it,
        and a learner's step comes from the rows that it has not seen. If so, the threshold and the
        probabilities are calibrated on these scores. If not, all learners judge all rows, and the
        prediction is the sign of the score.
    votes : {"probability", "class"}, default="probability"
        What a learner says of a row: twice its probability of class 1 less 1, or −1 or +1.
    noise_matrix : "estimate" or array-like of shape (2, 2), default="estimate"
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order. An array fixes it.
    noise_estimator : {"noise-aware", "paper"}, default="noise-aware"
        How to estimate the noise matrix. "noise-aware": from the out-of-bag scores, by
        :func:`rboost.calibration.fit_noise_aware_platt`. "paper": steps 5 and 6 of Algorithm 1,
        which without a trusted set find rates near 0 whatever the truth.
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
        estimator; the prediction does not depend on it. "platt" of out-of-bag scores is averaged
        over what the noise may be.
    random_state : int, RandomState instance or None, default=None
        Seed of the sampling and of the base learners.
    n_jobs : int, default=None
        Threads used by prediction, and by fitting where the rounds run in the native core; all
        others are sequential. Results do not depend on it.
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
    noise_interval_ : ndarray of shape (2, 2, 2)
        Lower and upper ends of intervals that hold the entries of the noise matrix with probability
        .9, where it was inferred. Wide ones say that the data cannot tell noise from overlap.
    label_issue_probability_ : ndarray of shape (n_samples,)
        How likely the label of each training row is to be wrong; with ``out_of_bag`` only.
    held_out_scores_ : ndarray of shape (n_samples + n_trusted,)
        Log-odds of the votes of learners that were not fitted to the row, from which the noise is
        inferred; those of trusted rows come last, rows of weight 0 have none. With ``out_of_bag``.
    feature_importances_ : ndarray of shape (n_features,)
        Mean importance over the base learners that have any, weighted by their step sizes.
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
    >>> X, y = make_moons(1000, noise=0.2, random_state=4)
    >>> noisy, flipped = flip_labels(y, asymmetric(0.3, from_class=0), random_state=4)
    >>> model = RBoostClassifier(random_state=0).fit(X, noisy)
    >>> model.noise_matrix_.round(1)
    array([[0.7, 0.3],
           [0. , 1. ]])
    >>> model.score(X, y) > 0.95
    True
    """

    noise_matrix_: Floats
    noise_interval_: Floats
    label_issue_probability_: Floats
    true_class_: NDArray[Any]
    held_out_scores_: Floats
    stop_reason_: str
    n_iter_: int
    _random: Randomness

    # What only a fit that goes on needs; a model file leaves it out.
    _training_only: ClassVar[tuple[str, ...]] = (
        "_row_votes", "_progress", "_random", "label_issue_probability_", "true_class_",
        "held_out_scores_",
    )  # fmt: skip

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        X_trusted: Any = None,
        y_trusted: ArrayLike | None = None,
        flip_counts: ArrayLike | None = None,
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
            Rows whose labels are known to be right. With ``out_of_bag`` they are trained on as
            such, and help to tell noise from overlap. Without, probabilities are calibrated on
            them and not on X, which also repairs the "paper" estimate of the noise matrix
            (section 4.3).
        y_trusted : array-like of shape (n_trusted,), default=None
            Their labels; without ``out_of_bag``, of both classes.
        flip_counts : array-like of shape (2, 2), default=None
            Where trusted rows had a label in the table before it was checked: ``flip_counts[j, k]``
            of them had the label k and are of class j. Pass it when they were chosen for the check
            because of these labels, as a review of suspects does.

        Returns
        -------
        self : RBoostClassifier
            The fitted estimator.
        """
        with all_or_nothing(self):
            pool = self._check_parameters()
            resumes = bool(self.warm_start and self.__sklearn_is_fitted__())
            X = self._check_X(X, reset=not resumes)
            rows, classes = training_rows(X, y, sample_weight)
            fixed_noise = check_noise_parameter(self.noise_matrix, len(classes))
            checked = trusted_rows(X_trusted, y_trusted, flip_counts, classes, self._check_X)
            if self.out_of_bag:
                warn_of_copies(rows.X, rows.observed)
                rows, checked = join(rows, checked), None
            check_all_classes(checked)
            noise_name = "estimate" if fixed_noise is None else fixed_noise.tolist()
            fitted_on = (len(rows.observed), classes.tolist(), noise_name, bool(self.out_of_bag))
            if resumes:
                self._check_resumed(fitted_on)
                # A copy, so that a fit that is interrupted leaves the generator where it was.
                self._random = copy.deepcopy(self._random)
            else:
                self._reset(classes, fixed_noise, rows)
                self._fitted_on = fitted_on
            pool = pool or self._default_pool(rows.X, rows.n_classes)
            self._check_classes(pool, rows.n_classes)
            checked_scores = self._boost(pool, rows, checked)
            self._decide(rows, checked, checked_scores)
            if self.out_of_bag:
                self._judge_labels(rows, X, y, sample_weight)
        self._warn_of_one_class()
        return self

    def _check_resumed(self, fitted_on: tuple[Any, ...]) -> None:
        """Fail when a fit that is to be continued cannot be."""
        if not hasattr(self, "_row_votes"):
            raise ValueError(
                "warm_start cannot continue a model from a file, which leaves its training out; "
                "set warm_start=False to fit anew."
            )
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

    def _reset(self, classes: NDArray[Any], fixed_noise: Floats | None, rows: Rows) -> None:
        """Forget an earlier fit."""
        for name in (
            "noise_interval_", "label_issue_probability_", "true_class_", "held_out_scores_",
            "_vote_calibration",
        ):  # fmt: skip
            self.__dict__.pop(name, None)
        self._votes = self.votes
        self.classes_ = classes
        self._ensemble = Ensemble()
        self._row_votes = RowVotes.none_yet(
            len(rows.observed), rows.n_classes, bool(self.out_of_bag)
        )
        start = symmetric(INITIAL_RATES[self.noise_estimator], rows.n_classes)
        self.noise_matrix_ = start if fixed_noise is None else fixed_noise
        self._progress = Progress(self.noise_matrix_)
        self.n_iter_ = 0
        self._finished = False
        self._random = Randomness(check_random_state(self.random_state))

    def _boost(self, pool: list[BaseLearner], rows: Rows, checked: Rows | None) -> Floats | None:
        """Run the rounds that are still to run, and return the scores of checked rows after."""
        checked_scores = None if checked is None else self._scores(checked.X)
        numbers = range(self.n_iter_ + 1, self.n_estimators + 1)
        if self._finished or not numbers:
            return checked_scores
        loss, progress = self._loss(rows.n_classes), copy.copy(self._progress)
        start = Start(
            rows, self._row_votes, self._random, progress.n_rounds, checked, checked_scores
        )
        engine = engine_for(self, loss, pool, start)
        found = boost(
            engine,
            progress,
            noise_update(noise_update_name(self), rows),
            self.learning_rate or loss.learning_rate,
            track(numbers, len(numbers), "Boosting", enabled=bool(self.verbose)),
        )
        self._ensemble += ensemble_of(engine, found, rows.n_classes)
        self._row_votes, self._progress = engine.votes, progress
        self.noise_matrix_ = progress.noise_matrix
        self.stop_reason_, self.n_iter_ = found.stop_reason, found.n_rounds
        self._finished = found.finished
        return engine.checked_scores

    def _decide(self, rows: Rows, checked: Rows | None, checked_scores: Floats | None) -> None:
        """Find out how scores are to be read, and the noise in the labels."""
        loss, noise_matrix = self._loss(rows.n_classes), self._progress.noise_matrix
        if not self.out_of_bag:
            known, scores = rows, self._row_votes.scores
            if checked is not None and checked_scores is not None:
                known, scores = checked, checked_scores
            self._decision_rule = decide_by_sign(
                loss, self.calibration, scores, known, noise_matrix
            )
            return
        is_inferred = noise_update_name(self) == "noise-aware"
        self._decision_rule, self._vote_calibration = decide_by_votes(
            loss,
            self.calibration,
            self._row_votes,
            rows,
            noise_matrix,
            None if is_inferred else noise_matrix,
        )
        self.noise_matrix_ = self._vote_calibration.posterior.noise_matrix
        if is_inferred:
            self.noise_interval_ = self._vote_calibration.posterior.interval()

    def _judge_labels(
        self, rows: Rows, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> None:
        """Find p(y ≠ ỹ) of every training row, by learners that have not seen it."""
        n_rows, scores = X.shape[0], self._row_votes.scores
        self.held_out_scores_ = self._vote_calibration.row_scores(scores)
        observed = rows.observed[: np.count_nonzero(~rows.trusted)]  # trusted rows come last
        if len(observed) < n_rows:  # rows of weight 0 were left out
            kept = np.asarray(sample_weight) != 0
            observed = check_class_labels(y)[1]
            found, scores = scores[: kept.sum()], np.empty((n_rows, *scores.shape[1:]))
            scores[kept], scores[~kept] = found, self._scores_in_blocks(X[~kept])
        scores, votes = scores[:n_rows], self._vote_calibration
        self.label_issue_probability_ = votes.issue_probability(scores, observed)
        self.true_class_ = self.classes_[votes.true_class(scores, observed)]

    def _warn_of_one_class(self) -> None:
        """Say so when nothing was learnt, or only which class is the more frequent."""
        remedy = "try other base learners or features."
        if not len(self._ensemble):
            warnings.warn(
                f"No base learner was kept ({self.stop_reason_}), so every row is predicted as "
                f"{self.classes_.tolist()[0]!r}; {remedy}",
                stacklevel=3,
            )
        elif self.out_of_bag:
            decisions = self._decision_rule(self._row_votes.scores, self._row_votes.total)
            warn_of_one_class(self._to_classes(decisions), remedy, stacklevel=4)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_ensemble")

    @property
    def estimators_(self) -> list[Any]:  # type: ignore[override]
        """The base learners that were kept, fitted on the positions of the classes."""
        return self._ensemble.listed

    @property
    def estimator_weights_(self) -> Floats:
        """Their step sizes α, with the learning rate applied."""
        return self._ensemble.steps

    @property
    def estimator_errors_(self) -> Floats:
        """The share of the loss that grows with the step."""
        return self._ensemble.errors

    @property
    def noise_matrix_history_(self) -> Floats:
        """The noise matrix after each kept round."""
        return self._ensemble.noise_matrices

    @property
    def feature_importances_(self) -> Floats:
        """Mean importance over the base learners, weighted by their step sizes."""
        check_is_fitted(self)
        return self._ensemble.feature_importances()

    @available_if(attrgetter("out_of_bag"))  # type: ignore[untyped-decorator]
    def score_rows(self, X: Any) -> Floats:
        """Scores on the scale of ``held_out_scores_``, before the noise is taken into account."""
        check_is_fitted(self)
        return self._vote_calibration.row_scores(self._scores(self._check_X(X)))

    def _scores_in_blocks(self, X: Any) -> Floats:
        at_once = self._ensemble.scores_at_once(X, self._votes, effective_n_jobs(self.n_jobs))
        return super()._scores_in_blocks(X) if at_once is None else at_once

    def _n_learners(self) -> int:
        return len(self._ensemble)

    def _contributions(self, X: Any) -> Iterator[Floats]:
        return self._ensemble.contributions(X, self._votes, len(self.classes_))

    def _decision(self, scores: Floats, n_learners: int) -> Floats:
        return self._decision_rule(scores, float(self.estimator_weights_[:n_learners].sum()))

    def _to_probabilities(self, decisions: Floats) -> Floats:
        return self._decision_rule.probability(decisions)
