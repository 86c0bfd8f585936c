"""RBoostClassifier: engines on a likelihood that knows of label flips, and infers their rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import Tags, check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from rboost._typing import Floats
from rboost._validation import (
    NO_CONTEXT,
    SWITCH,
    Number,
    OneOf,
    Requirements,
    Threads,
    all_or_nothing,
    are_annotations,
    as_counts,
    check_annotations,
    check_checked_labels,
    check_class_labels,
    check_lengths,
    check_order,
    check_parameters,
    check_sample_weight,
    check_trusted_labels,
    check_trusted_rows,
    check_weighed,
    on_host,
    warn_of_one_class,
)
from rboost.engines import ENGINES, LINEAR
from rboost.engines.engine import EngineSettings, Table, check_engines, chosen_engines
from rboost.fitting import Savable, ScoreClassifier
from rboost.labels import NO_CLASS, Labels, group_rows, without_rare_classes
from rboost.model.fit import Fitted, fit_rows
from rboost.native.boosters import DEVICES, arrays_on
from rboost.native.threads import one_blas_thread
from rboost.noise.annotators import AnnotatorNoise, annotator_table
from rboost.noise.groups import GroupedNoise
from rboost.noise.inference import infer_by_group, judge
from rboost.noise.matrix import check_noise_parameter
from rboost.noise.posterior import NoisePosterior
from rboost.table.columns import (
    NAME,
    as_table,
    check_names,
    is_numeric,
    read_columns,
    under_each_other,
)
from rboost.table.features import (
    Features,
    TableEncoder,
    learn_encoder,
    many_terms_in,
    varying_features,
    warn_of_copies,
    warn_of_names,
)

# Training rows that are predicted at a time.
PREDICTED_ROWS = 2**14


@dataclass(eq=False, repr=False, kw_only=True)
class RBoostClassifier(Savable, ScoreClassifier):
    """Boosting that models label flips, and finds out how many there are.

    Several engines are run and weighed by the data. Algorithm 1 of Bootkrajang & Kabán minimises a
    mixture of exponential losses, weighed by how likely each label is to be right, with one base
    learner a round. Boosted trees, grown by LightGBM, minimise the likelihood of the labels given
    the noise. Either way rows are scored by learners that were not fitted to them. From these
    scores the noise matrix and the probabilities of the true classes, two or more, are inferred
    without a single clean label. :class:`AdaRBoostClassifier` is the paper's own version, with base
    learners of your choice.

    Parameters
    ----------
    engines : {"auto", "pool", "trees", "logistic", "linear", "xgboost"} or list, default="auto"
        "pool": Algorithm 1 with trees, trees with random cuts and kernel machines in turn. "trees":
        boosted trees by LightGBM. "logistic": robust logistic regression on numbers, categories and
        the words of texts. "linear": Algorithm 1 with robust logistic regression. "xgboost": trees
        by XGBoost, slower on a CPU and the same on every device and number of machines. Several
        engines are stacked. "auto": pool and trees up to 20 000 rows, trees on more, the pool on
        few or sparse rows. Beside them "logistic" where there are texts, categories of more than 20
        levels, or more columns than rows or than 2000; alone where all columns are texts, or where
        sparse rows have more columns than that.
    max_iter : int, default=None
        Largest number of rounds of each engine. None means 400 for trees, which stop before where
        the held-out likelihood rises no more; 300 for Algorithm 1, fewer beside trees; 6 fits for
        "logistic".
    learning_rate : float, default=None
        Shrinkage of the steps of trees and, where no trees grow, of Algorithm 1. None means 0.1 for
        trees and, for Algorithm 1, 0.015 with two classes and 0.045 with more.
    noise_matrix : "estimate" or array-like of shape (n_classes, n_classes), default="estimate"
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order. An array fixes it,
        but for what answers of people (``y_checked``) correct.
    device : {"cpu", "cuda"}, default="cpu"
        Where trees are grown. "cuda" is a GPU of NVIDIA, by XGBoost (``rboost[gpu]``); Algorithm 1
        runs on the CPU, also where "auto" chooses it alone.
    random_state : int, RandomState instance or None, default=None
        Seed of samples, folds and base learners.
    n_jobs : int, default=None
        Threads used by prediction, by trees, and by rounds in the native core; other rounds are
        sequential. Results do not depend on it.
    verbose : int, default=0
        Whether to show progress bars on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    engine_weights_ : dict
        The weight of each engine in the score; those without weight were not kept.
    noise_matrix_ : ndarray of shape (n_classes, n_classes)
        The fixed or inferred noise matrix; of several annotators that of their majority.
    noise_interval_ : ndarray of shape (2, n_classes, n_classes)
        Lower and upper ends of intervals that hold the entries of the noise matrix with probability
        .9, where it was inferred. Wide ones say that the data cannot tell noise from overlap.
    noise_by_group_ : list of dict
        With ``context``, one record a group: "name", "n_rows", "wrong_share" with "low" and "high"
        (90 %), "noise_matrix" and "interval", as above. Groups of few rows are called "(other)".
    label_issue_probability_ : ndarray of shape (n_samples,)
        How likely the label of each training row is to be wrong; of several that of the majority.
    true_class_ : ndarray of shape (n_samples,)
        The most probable true class of each training row.
    true_class_probability_ : ndarray of shape (n_samples, n_classes)
        How probable each class is to be that of each training row, given its columns and labels.
    annotators_ : list of dict
        With several labels a row, one record an annotator: "name", "n_labels", "accuracy" (the
        share of right labels in the long run) with "low" and "high" (90 %), and "kind":
        "informative", "guesses", "always says k" or "reversed".
    held_out_scores_ : ndarray of shape (n_samples + n_trusted,) or (…, n_classes)
        Log-odds (of more classes logarithms) by learners that were not fitted to the row, from
        which the noise is inferred; those of trusted rows come last; rows of weight 0, and rows
        that no annotator labelled, have none.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in what trees gained and in the mean importance of base learners.
    stop_reason_ : str
        Why each engine ended.
    n_iter_ : int
        Rounds run, of the engine with most.
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

    engines: Any = "auto"
    max_iter: int | None = None
    learning_rate: float | None = None
    noise_matrix: Any = "estimate"
    device: str = "cpu"
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    verbose: int = 0

    _requirements: ClassVar[Requirements] = {
        "max_iter": Number(1, integer=True, closed=True, optional=True),
        "learning_rate": Number(0, optional=True),
        "device": OneOf(DEVICES),
        "n_jobs": Threads(),
        "verbose": SWITCH,
    }
    # Of training rows, which prediction does not need; a model file leaves them out.
    _training_only: ClassVar[tuple[str, ...]] = (
        "label_issue_probability_", "true_class_", "true_class_probability_", "held_out_scores_",
        "annotators_", "_by_group", "_unjudged",
    )  # fmt: skip

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_checked: Any = None,
        context: Any = None,
        X_trusted: Any = None,
        y_trusted: ArrayLike | None = None,
    ) -> Self:
        """Fit to observed, possibly wrong labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} or data frame of shape (n_samples, n_features)
            Features: numbers, and in frames also words, categories and dates; any may be missing.
            As in scikit-learn, names of columns count where all are words; a frame whose columns
            have numbers for names is read by position.
        y : array-like of shape (n_samples,) or (n_samples, n_annotators)
            Observed labels of two or more classes. Or labels of several annotators, one column
            each, missing (None, NaN, NA) where one did not label a row; rows without any label are
            not trained on. :func:`rboost.annotation_columns` makes such columns of a list.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; a row with weight 0 is left out, one with weight 2 counts twice.
            Weights that are no counts, with a mean below 1 or above a million, are divided by it.
        y_checked : array-like of shape (n_samples,), default=None
            What people said who looked at rows of X, missing (None, NaN) where nobody did; they
            may have chosen rows as they liked. From a few dozen answers follows how far to believe
            all other labels, and the model is fitted to that.
        context : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
            What labels may depend on but classes do not: who labelled a row, its source, the date.
            Words, numbers or dates, no features; each group of rows has its own noise matrix.
        X_trusted : {array-like, sparse matrix} of shape (n_trusted, n_features), default=None
            Further rows, whose labels are known to be right. They are trained on as such, and help
            to tell noise from overlap.
        y_trusted : array-like of shape (n_trusted,), default=None
            Their labels.

        Returns
        -------
        self : RBoostClassifier
            The fitted estimator.
        """
        with all_or_nothing(self):
            self._check_parameters()
            given = y, sample_weight, y_checked, context, y_trusted
            y, sample_weight, y_checked, context, y_trusted = map(on_host, given)
            for values, name in ((y_checked, "y_checked"), (context, "context")):
                check_order(values, name, X, y)
            X = self._check_X(X, reset=True)
            labels = self._check_labels(X, y, y_checked, context)
            given_weight = check_sample_weight(sample_weight, labels.given)
            if labels.n_annotators:
                given_weight = np.where(labels.observed == NO_CLASS, 0.0, given_weight)
            else:
                check_weighed(labels.given, given_weight, labels.classes)
            used, n_rows = given_weight > 0, len(labels)
            weight = np.zeros(n_rows)
            weight[used] = as_counts(given_weight[used])
            warn_of_copies(X if used.all() else X[used], labels.given[used])
            trusted = check_trusted_labels(X_trusted, y_trusted, labels.classes)
            if trusted is not None:
                trusted_rows = check_trusted_rows(X_trusted, self._check_X)
                X = under_each_other(X, trusted_rows)
                labels = labels.followed_by_trusted(trusted)
                weight = np.append(weight, np.full(len(trusted), weight[used].mean()))
            predicted = self._fit_labels(X, labels, weight, n_rows)
        warn_of_one_class(predicted, "try other engines or features.", stacklevel=3)
        return self

    @property
    def label_noise(self) -> NoisePosterior:
        """What is known of the noise, with intervals."""
        check_is_fitted(self)
        return self._model.noise

    @property
    def group_noise(self) -> GroupedNoise | None:
        """The noise of each context group; None without a context."""
        check_is_fitted(self)
        return vars(self).get("_by_group")

    def fit_labels(self, X: Any, labels: Labels) -> Self:
        """Fit to statements about the rows of X, as audits do; each row has at least one."""
        with all_or_nothing(self):
            self._check_parameters()
            X = self._check_X(X, reset=True)
            labels.check_rows(X)
            self._fit_labels(X, labels, np.ones(len(labels)), len(labels))
        return self

    def _fit_labels(self, X: Any, labels: Labels, weight: Floats, n_judged: int) -> NDArray[Any]:
        """Fit to rows with a weight; the first rows are judged later. Return what is predicted."""
        known_noise = check_noise_parameter(self.noise_matrix, labels.n_classes)
        if labels.n_groups and known_noise is not None:
            raise ValueError(
                "context needs noise_matrix='estimate', as the noise of groups is inferred; set "
                "it, or leave context out."
            )
        if labels.n_annotators and known_noise is not None:
            raise ValueError(
                "Several labels a row need noise_matrix='estimate', as every annotator has a noise "
                "matrix; set it, or pass one label a row."
            )
        used = weight > 0
        rows, own = (X, labels) if used.all() else (X[used], labels.take(used))
        engines = self._chosen_engines(X, labels.n_classes)
        with one_blas_thread():
            fitted = fit_rows(rows, own, weight[used], engines, known_noise, self._settings())
        self._keep(fitted, labels.classes)
        noise, scores = fitted.model.noise, fitted.held_out
        assert scores is not None
        by_group = infer_by_group(noise, scores, own, weight[used])
        predicted = self.classes_[_predicted(noise, scores)]
        if not used.all():
            held_out, scores = scores, np.empty((len(used), *scores.shape[1:]))
            scores[used], scores[~used] = held_out, fitted.model.scores(X[~used], self.n_jobs)
        self._unjudged = scores, labels, by_group, n_judged
        if isinstance(noise, AnnotatorNoise):
            self.annotators_ = annotator_table(labels, noise)
        self._by_group = by_group
        if by_group is not None:
            self.noise_by_group_ = noise_table(labels, by_group)
        return predicted

    def _judge_training_rows(self) -> None:
        """Say how likely each label is to be wrong, which may take as long as a fit to few rows."""
        unjudged = vars(self).get("_unjudged")
        if unjudged is None:
            return
        *said, n_judged = unjudged
        judged = judge(self._model.noise, *said)
        self.label_issue_probability_ = judged.issue[:n_judged]
        self.true_class_ = self.classes_[judged.likeliest[:n_judged]]
        self.true_class_probability_ = judged.posterior[:n_judged]
        self.__dict__.pop("_unjudged", None)  # last, as reading may be interrupted

    def _check_parameters(self) -> None:
        """Fail with one sentence when a parameter is wrong."""
        check_parameters(self, self._requirements)
        check_engines(self.engines, self.device, ENGINES)
        arrays_on(self.device)  # raises where the device cannot be used

    def _check_labels(self, X: Any, y: Any, y_checked: Any, context: Any) -> Labels:
        """All that was said of the rows of X, by positions of classes."""
        if are_annotations(y):
            if context is not None:
                raise ValueError(NO_CONTEXT)
            classes, position, names = check_annotations(y)
            check_lengths(X, position)
            answers = check_checked_labels(y_checked, len(position), classes)
            classes, position, answers = without_rare_classes(classes, position, answers)
            return Labels.of_annotators(classes, position, names).with_answers(answers)
        classes, position = check_class_labels(y)
        check_lengths(X, position)
        answers = check_checked_labels(y_checked, len(position), classes)
        groups = None if context is None else group_rows(context, len(position))
        return Labels.of(classes, position, groups).with_answers(answers)

    def _check_X(self, X: Any, reset: bool = False) -> Any:
        """Validate features; tables with words are encoded as the training rows were."""
        X = on_host(X)
        check_names(X)
        if reset:
            self._allows_nan = self._takes_nan()
            self._encoder: TableEncoder | None = None
        rows = self._as_features(X, reset)
        if rows is not None:
            rows = self._used_columns(rows)
            if not self._allows_nan:
                rows.check_complete()
            return rows
        array = validate_data(
            self,
            X,
            accept_sparse="csr",
            ensure_all_finite="allow-nan" if self._allows_nan else True,
            reset=reset,
        )
        if not (reset and hasattr(self, "feature_names_in_")) or issparse(array):
            return array
        rows = varying_features(array, self.feature_names_in_.tolist())
        if rows is None:
            return array
        self._encoder = rows.encoder
        return self._used_columns(rows)

    def _used_columns(self, rows: Features) -> Features:
        """The rows without columns that told no training rows apart, as audits leave them out."""
        used = rows.encoder.used
        return rows if len(used) in (0, rows.shape[1]) else rows.only(used)

    def _as_features(self, X: Any, reset: bool) -> Features | None:
        """The rows of a table that holds more than numbers; None where its array is as good."""
        if isinstance(X, Features):
            if reset:
                self._encoder, self.n_features_in_ = X.encoder, X.shape[1]
                self.feature_names_in_ = np.array(X.encoder.names, dtype=object)
            return X
        encoder = self._encoder
        if encoder is None and (is_numeric(X) or not reset):
            return None
        X = as_table(X)
        columns = read_columns(X)
        if encoder is None:
            encoder = self._encoder = learn_encoder(columns)
            if all(kind == NAME for kind in encoder.kinds):
                raise ValueError(
                    "X has no column to learn from: each has another word in nearly every row, "
                    "like a name; add others."
                )
            warn_of_names(encoder)
        validate_data(self, X, skip_check_array=True, reset=reset)
        return encoder.features_of(columns)

    def _takes_nan(self) -> bool:
        """Whether engines take missing numbers; linear learners take none."""
        chosen = self.engines if isinstance(self.engines, (list, tuple)) else [self.engines]
        return LINEAR not in chosen

    def _chosen_engines(self, X: Any, n_classes: int) -> list[str]:
        table = Table(X.shape[0], X.shape[1], n_classes, issparse(X), many_terms_in(X))
        chosen = chosen_engines(self.engines, table, self.device)
        return [name for name in ENGINES if name in chosen]

    def _settings(self) -> EngineSettings:
        return EngineSettings(
            None if self.max_iter is None else int(self.max_iter),
            None if self.learning_rate is None else float(self.learning_rate),
            self.random_state,
            check_random_state(self.random_state).randint(2**31 - 1),
            None if self.n_jobs is None else int(self.n_jobs),
            bool(self.verbose),
            self.device,
        )

    def _keep(self, fitted: Fitted, classes: NDArray[Any]) -> None:
        """Keep what a fit found, and nothing of an earlier one."""
        for name in ("noise_by_group_", *self._training_only):
            self.__dict__.pop(name, None)
        self.classes_, self._model = classes, fitted.model
        self.noise_matrix_ = fitted.model.noise.noise_matrix
        self.engine_weights_ = fitted.model.stack.weights
        self.stop_reason_, self.n_iter_ = fitted.stop_reason, fitted.n_iter
        if fitted.held_out is not None:
            self.held_out_scores_ = fitted.held_out

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = np.shape(self.noise_matrix) != (2, 2)
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_nan()
        return tags

    @property
    def noise_interval_(self) -> Floats:
        """90 % intervals of the entries of the noise matrix, where it was inferred."""
        check_is_fitted(self)
        if not isinstance(self.noise_matrix, str):
            raise AttributeError("A noise matrix that was given has no noise_interval_.")
        return self._model.noise.interval()

    @property
    def feature_importances_(self) -> Floats:
        """Importances of the columns, as shares."""
        check_is_fitted(self)
        importance = self._model.stack.feature_importances()
        if self._encoder is None or len(importance) == self.n_features_in_:
            return importance
        found = np.zeros(self.n_features_in_)
        found[self._encoder.used] = importance
        return found

    def score_rows(self, X: Any) -> Floats:
        """Scores on the scale of ``held_out_scores_``, before the noise is taken into account."""
        check_is_fitted(self)
        return self._model.scores(self._check_X(X), self.n_jobs)

    def decision_function(self, X: Any) -> Floats:
        """Log-odds of ``classes_[1]`` being the true class; of more classes one score for each.

        Of more than two classes scores are log-probabilities less their mean, of which the largest
        decides.
        """
        check_is_fitted(self)
        return self._model.decisions(self._check_X(X), self.n_jobs)


def _predicted(noise: NoisePosterior, scores: Floats) -> list[int]:
    """Classes that training rows are predicted as, as soon as two are known to be."""
    found: set[int] = set()
    for block in gen_batches(len(scores), PREDICTED_ROWS):
        found.update(noise.probability(scores[block]).argmax(axis=1).tolist())
        if len(found) > 1:
            break
    return sorted(found)


def noise_table(labels: Labels, noise: GroupedNoise) -> list[dict[str, Any]]:
    """One record a context group: its name, and what is known of its labels."""
    counts = np.bincount(labels.group[labels.group >= 0], minlength=labels.n_groups)
    low, high = noise.wrong_share_interval
    return [
        {
            "name": labels.sources[g].name,
            "n_rows": int(counts[g]),
            "wrong_share": float(noise.wrong_share[g]),
            "low": float(low[g]),
            "high": float(high[g]),
            "noise_matrix": noise.noise_matrix[g],
            "interval": noise.interval[:, g],
        }
        for g in range(labels.n_groups)
    ]
