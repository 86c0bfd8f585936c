"""RBoostClassifier: Algorithm 1 of the paper as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from rboost._typing import Floats
from rboost._validation import all_or_nothing
from rboost.boosting.answers import fit_rows, with_answers
from rboost.boosting.choice import TREES
from rboost.boosting.fitting import Fitted, begin, resume, warn_of_nothing_learnt
from rboost.boosting.groups import check_context, noise_table, with_groups
from rboost.boosting.judgement import judge_rows
from rboost.boosting.parameters import BoostingParameters, engines_for, noise_update_name
from rboost.encoding import learn_encoding, needs_encoding
from rboost.native.xgboost import on_host
from rboost.noise.matrix import check_noise_parameter
from rboost.tables import arranged, training_rows, trusted_rows, warn_of_copies


class RBoostClassifier(BoostingParameters):
    """Boosting that models label flips, and finds out how many there are.

    Two engines are run and weighed by the data. Algorithm 1 of Bootkrajang & Kabán minimises a
    mixture of exponential losses, weighed by how likely each label is to be right, with one base
    learner a round. Boosted trees, grown by LightGBM, minimise the likelihood of the labels given
    the noise. Either way rows are scored by learners that were not fitted to them. From these
    scores the noise matrix and the probabilities of the true classes, two or more, are inferred
    without a single clean label. ``RBoostClassifier(estimator, **ALGORITHM_1)`` is the paper's
    version, and AdaBoost (SAMME) when its noise matrix is the identity.

    Parameters
    ----------
    estimator : {"pool", "trees", "xgboost"}, classifier or list of these, default=None
        The engines. "pool": Algorithm 1 with trees, trees with random cuts and kernel machines in
        turn. "trees": boosted trees. "xgboost": those that XGBoost grows, slower on a CPU and the
        same on every device and number of machines. Classifiers, one or several in turn: Algorithm
        1 with them; they need ``predict_proba`` (not with ``votes="class"``) and ``sample_weight``
        (not with ``sampling="weights"``), and with ``out_of_bag`` those with ``boosting_settings``
        get them where they have their defaults. Several engines are stacked. None means what suits
        the table: both up to 20 000 rows, trees on more, the pool on few or sparse rows, with
        ``warm_start`` and without ``out_of_bag``.
    n_estimators : int, default=None
        Number of rounds, of trees the most. None means 300 for Algorithm 1 alone, less beside
        trees, which grow up to 400 rounds while labels left out become likelier.
    learning_rate : float, default=None
        Factor on every step of Algorithm 1, and of trees where they are alone. With small steps
        the learners are nearly an average. None means 0.015 for the exponential loss, 0.045 for the
        likelihood and 0.1 for trees. What follows up to ``votes`` is of Algorithm 1 alone.
    loss : {"auto", "exponential", "likelihood"}, default="auto"
        What is minimised: the paper's mixture of exponentials, or the likelihood of the observed
        labels, which is consistent for any number of classes. "auto": the former for two classes,
        the latter for more.
    sampling : {"uniform", "weights", "none"}, default="uniform"
        What a base learner sees. "uniform": a fraction ``max_samples`` of the rows, weighted.
        "weights": ``max_samples``·n rows drawn with replacement in proportion to their weights,
        unweighted, as in the paper's experiments. "none": all rows, weighted.
    max_samples : float, default=0.5
        Fraction of the rows that "uniform" (at most 1) and "weights" draw.
    out_of_bag : bool, default=True
        Whether a row's score, hence its weight, is what learners say that were not fitted to it,
        and a learner's step comes from the rows that it has not seen. Predictions are then
        calibrated on these scores. If not, all learners judge all rows, and the sign of the score
        or the largest score is predicted.
    votes : {"probability", "class"}, default="probability"
        What a learner says of a row: its probabilities, or the class that it predicts.
    noise_matrix : "estimate" or array-like of shape (n_classes, n_classes), default="estimate"
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order. An array fixes it.
    noise_estimator : {"noise-aware", "paper"}, default="noise-aware"
        How to estimate the noise matrix. "noise-aware": from the out-of-bag scores, by
        :func:`rboost.noise.infer_noise`. "paper": steps 5 and 6 of Algorithm 1, which without a
        trusted set find rates near 0 whatever the truth.
    mixing : {"posterior", "paper"}, default="posterior"
        How the noise matrix mixes the exponential losses. "posterior" is consistent for two
        classes: with enough data it finds the best rule for the true ones. "paper" is eq. (10) as
        printed, which is the same for symmetric noise only. The likelihood does not use it.
    negative_weights : {"flip", "keep"}, default="flip"
        What a base learner is given for a row that is more certain than its label deserves, whose
        weight is negative: the opposite label (of more classes, all but the worst), which is exact,
        or the label as it is. The paper does not say; its results look like "keep".
    calibration : {"platt", "logistic", "isotonic"}, default="platt"
        How scores become probabilities, in ``predict_proba`` and in step 5 of the "paper" noise
        estimator; the prediction does not depend on it. "platt" of out-of-bag scores is averaged
        over what the noise may be. For more than two classes there is "platt", and without
        ``out_of_bag`` also "logistic".
    device : {"cpu", "cuda"}, default="cpu"
        Where trees are grown. "cuda" is a GPU of NVIDIA, by XGBoost (``rboost[gpu]``); Algorithm 1
        and what comes before and after the trees runs on the CPU.
    random_state : int, RandomState instance or None, default=None
        Seed of the sampling and of the base learners.
    n_jobs : int, default=None
        Threads used by prediction, by trees, and by rounds in the native core; other rounds are
        sequential. Results do not depend on it.
    warm_start : bool, default=False
        Whether the next ``fit``, on the same rows, continues with more rounds of Algorithm 1.
    verbose : int, default=0
        Whether to show a progress bar on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    engine_weights_ : dict
        The weight of each engine in the score; those without weight were not kept.
    estimators_ : list of classifiers
        The base learners of Algorithm 1 that were kept, fitted on positions of classes.
    estimator_weights_ : ndarray of shape (n_kept,)
        Their step sizes α, with the learning rate applied.
    estimator_errors_ : ndarray of shape (n_kept,)
        Their weighted errors on what they were to fit; AdaBoost's without noise.
    noise_matrix_ : ndarray of shape (n_classes, n_classes)
        The fixed or estimated noise matrix.
    noise_matrix_history_ : ndarray of shape (n_kept, n_classes, n_classes)
        The noise matrix after each kept round.
    noise_interval_ : ndarray of shape (2, n_classes, n_classes)
        Lower and upper ends of intervals that hold the entries of the noise matrix with probability
        .9, where it was inferred. Wide ones say that the data cannot tell noise from overlap.
    noise_by_group_ : list of dict
        With ``context``, one record a group: "name", "n_rows", "wrong_share" with "low" and "high"
        (90 %), "noise_matrix" and "interval", as above. Groups of few rows are called "(other)".
    label_issue_probability_ : ndarray of shape (n_samples,)
        How likely the label of each training row is to be wrong; with ``out_of_bag`` only.
    true_class_ : ndarray of shape (n_samples,)
        The most probable true class of each training row; with ``out_of_bag`` only.
    held_out_scores_ : ndarray of shape (n_samples + n_trusted,) or (…, n_classes)
        Log-odds (of more classes logarithms) by learners that were not fitted to the row, from
        which the noise is inferred; those of trusted rows come last, rows of weight 0
        have none. With ``out_of_bag`` only.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in what trees gained and in the mean importance of base learners.
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

    # What only a fit that goes on needs; a model file leaves it out.
    _training_only: ClassVar[tuple[str, ...]] = (
        "_training", "label_issue_probability_", "true_class_", "held_out_scores_"
    )  # fmt: skip

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        X_trusted: Any = None,
        y_trusted: ArrayLike | None = None,
        y_checked: Any = None,
        context: Any = None,
    ) -> Self:
        """Fit to observed, possibly wrong labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} or data frame of shape (n_samples, n_features)
            Features: numbers, and in frames also words, categories and dates; any may be missing.
        y : array-like of shape (n_samples,)
            Observed labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; a row with weight 0 is left out, one with weight 2 counts twice.
            Weights that are no counts, with a mean below 1 or above a million, are divided by it.
        X_trusted : {array-like, sparse matrix} of shape (n_trusted, n_features), default=None
            Rows whose labels are known to be right. With ``out_of_bag`` they are trained on as
            such, and help to tell noise from overlap. Without, probabilities are calibrated on
            them and not on X, which also repairs the "paper" estimate of the noise matrix
            (section 4.3).
        y_trusted : array-like of shape (n_trusted,), default=None
            Their labels; without ``out_of_bag``, of all classes.
        y_checked : array-like of shape (n_samples,), default=None
            What people said who looked at rows of X, missing (None, NaN) where nobody did; they
            may have chosen rows as they liked. From a few dozen answers follows how far to believe
            all other labels, and the model is fitted to that.
        context : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
            What labels may depend on but classes do not: who labelled a row, its source, the date.
            Words, numbers or dates, no features; each group of rows has its own noise matrix.

        Returns
        -------
        self : RBoostClassifier
            The fitted estimator.
        """
        with all_or_nothing(self):
            self._check_parameters()
            given = y, sample_weight, y_trusted, y_checked, context
            y, sample_weight, y_trusted, y_checked, context = map(on_host, given)
            resumes = bool(self.warm_start and self.__sklearn_is_fitted__())
            X = self._check_X(X, reset=not resumes)
            rows, classes = training_rows(X, y, sample_weight)
            groups = check_context(self, context, X.shape[0])
            rows = with_groups(rows, groups, sample_weight)
            fixed_noise = check_noise_parameter(self.noise_matrix, len(classes))
            rows = with_answers(self, rows, y_checked, X.shape[0], classes, sample_weight)
            trusted = trusted_rows(X_trusted, y_trusted, classes, self._check_X)
            if self.out_of_bag:
                warn_of_copies(rows.X, rows.observed)
            rows, checked = arranged(rows, trusted, bool(self.out_of_bag))
            names = engines_for(self, X, rows.n_classes)
            begun = begin(self, rows, classes, fixed_noise)
            if resumes:
                begun = resume(self, begun, vars(self).get("_training"))
            fitted = fit_rows(self, names, classes, rows, fixed_noise, begun, checked)
            self._keep(fitted, classes)
            found = judge_rows(fitted, rows, (X, y, sample_weight), groups, self.n_jobs)
            if found is not None:
                issues, true_class = found.issues, classes[found.likeliest]
                self.label_issue_probability_, self.true_class_ = issues, true_class
            if groups is not None and found is not None:
                self.noise_by_group_ = noise_table(groups, found.by_group)
        warn_of_nothing_learnt(fitted, classes)
        return self

    def _keep(self, fitted: Fitted, classes: NDArray[Any]) -> None:
        """Keep what a fit found, and nothing of an earlier one."""
        for name in ("noise_interval_", "noise_by_group_", *self._training_only):
            self.__dict__.pop(name, None)
        self.classes_, self._model, self._training = classes, fitted.model, fitted.training
        ensemble = fitted.model.ensemble
        self.estimator_weights_, self.estimator_errors_ = ensemble.steps, ensemble.errors
        self.noise_matrix_history_ = ensemble.noise_matrices
        self.noise_matrix_, self.engine_weights_ = fitted.noise_matrix, fitted.model.engine_weights
        self.stop_reason_, self.n_iter_ = fitted.stop_reason, fitted.n_iter
        if fitted.held_out is not None:
            self.held_out_scores_ = fitted.held_out
        if fitted.noise is not None and noise_update_name(self) == "noise-aware":
            self.noise_interval_ = fitted.noise.interval()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _check_X(self, X: Any, reset: bool = False) -> Any:
        """Validate features; tables with words are encoded as the training rows were."""
        X = on_host(X)
        if reset:
            self._encoder = learn_encoding(X) if needs_encoding(X) else None
            encodes = self._encoder is not None
            self._encodes_for_pool = encodes and engines_for(self, X, 2) != [TREES]
        if self._encoder is None:
            return super()._check_X(X, reset=reset)
        validate_data(self, X, skip_check_array=True, reset=reset)
        return self._encoder.rows(X, with_pool=self._encodes_for_pool)

    @property
    def estimators_(self) -> list[Any]:  # type: ignore[override]
        """The base learners of Algorithm 1 that were kept."""
        return self._model.ensemble.listed

    @property
    def feature_importances_(self) -> Floats:
        """How much each column told, as shares."""
        check_is_fitted(self)
        return self._model.feature_importances()

    @available_if(attrgetter("out_of_bag"))  # type: ignore[untyped-decorator]
    def score_rows(self, X: Any) -> Floats:
        """Scores on the scale of ``held_out_scores_``, before the noise is taken into account."""
        check_is_fitted(self)
        return self._model.row_scores(self._check_X(X), self.n_jobs)

    def decision_function(self, X: Any) -> Floats:
        """Positive for ``classes_[1]``; of more than two classes the largest decides.

        Of one pool or classifier the score H(x), eq. (8), less the threshold; of trees and of
        several engines the log-odds of the true class.
        """
        check_is_fitted(self)
        return self._model.decisions(self._check_X(X), self.n_jobs)

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield the decisions after each round."""
        check_is_fitted(self)
        return self._model.staged_decisions(self._check_X(X))

    def _to_probabilities(self, decisions: Floats) -> Floats:
        return self._model.probability(decisions)
