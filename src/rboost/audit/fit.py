"""The model of an audit: held-out scores of every row, and what is inferred from them.

A scorer is a classifier with ``fit_labels``, which takes every statement about rows, and then with
``held_out_scores_``, ``score_rows``, ``label_noise`` and ``group_noise``. An audit infers once, a
review after every few answers.

Shapes: ``scores`` (n_rows,) for two classes, larger for the second; else (n_rows, n_classes).
``posterior[i, j]`` = p(true class j | row i, its label), ``probability[i, j]`` the same without its
label.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from rboost._typing import Floats, Integers
from rboost.audit.labels import NO_LABEL, TableLabels, counted_rows, first_copies
from rboost.model import RBoostClassifier
from rboost.native.threads import one_blas_thread
from rboost.noise import NoisePosterior
from rboost.noise.annotators import AnnotatorNoise
from rboost.noise.answers import answer_likelihood
from rboost.noise.groups import GroupedNoise
from rboost.noise.inference import (
    LEAST_LIKELIHOOD,
    infer_by_group,
    infer_with_answers,
    judge,
    wrong_probability,
)
from rboost.noise.majorities import wrong_majorities
from rboost.noise.posterior import Doubt
from rboost.table.columns import NAME, Column, read_columns
from rboost.table.delimited import reprs
from rboost.table.features import (
    ColumnEncoder,
    Features,
    TableEncoder,
    find_copies,
    learn_encoder,
)
from rboost.wrappers import NoiseCalibratedClassifier

# Names for the command line.
DEFAULT = "rboost"
MODELS: dict[str, Callable[[int], Any]] = {
    DEFAULT: lambda seed: RBoostClassifier(random_state=seed),
    "linear": lambda seed: LogisticRegression(max_iter=1000),
    "forest": lambda seed: ExtraTreesClassifier(300, min_samples_leaf=5, random_state=seed),
}
# Scores of a class absent from the training labels are this far below the largest of the row.
ABSENT = 10.0


def learn_features(table: Any, known: TableEncoder | None = None) -> Features:
    """The table in numbers, infinite ones missing, with what its columns are.

    Columns of the encoder ``known``, that of a model, are encoded by it.
    """
    if not table.shape[1]:
        return Features(np.empty((len(table), 0)), {}, TableEncoder(()))
    columns = _finite_columns(table)
    learnt = {own.name: own for own in ([] if known is None else known.columns)}
    unknown = [column for column in columns if column.name not in learnt]
    learnt |= {own.name: own for own in learn_encoder(unknown).columns}
    encoder = TableEncoder(tuple(learnt[column.name] for column in columns))
    return encoder.features_of(columns)


def used_columns(features: Features) -> list[int]:
    """The positions of columns that are not empty, constant or names of rows."""
    return features.encoder.used


def why_unused(own: ColumnEncoder) -> str:
    """Why the model does not use a column; empty if it does."""
    if own.is_empty:
        return "empty"
    if own.is_constant:
        return "the same in every row"
    return "another word in nearly every row, like a name" if own.kind == NAME else ""


def _finite_columns(table: Any) -> list[Column]:
    """The columns; numbers too large for single precision, in which trees compute, are missing."""
    columns, too_large = read_columns(table), []
    for place, column in enumerate(columns):
        if column.numbers is not None:
            is_large = np.abs(column.numbers) > np.finfo(np.float32).max
            if np.isfinite(column.numbers[is_large]).any():
                too_large.append(column.name)
            numbers = np.where(is_large, np.nan, column.numbers)
            columns[place] = replace(column, numbers=numbers)
    if too_large:
        warnings.warn(
            f"Numbers of {reprs(too_large, 5)} beyond ±3.4e38 count as missing; divide the column "
            "by a large number.",
            stacklevel=4,
        )
    return columns


def merged_copies(features: Features, labels: TableLabels, n_extra: int) -> Integers | None:
    """For each row the first that it is a copy of, label and all; None where there are few.

    Rows without a label are themselves, as are trusted rows at the end, which may well repeat rows
    of the table. Rows that several annotators labelled are no copies.
    """
    given = labels.given
    if labels.n_annotators:
        return None
    labelled = np.flatnonzero(given[: len(given) - n_extra] >= 0)
    first = find_copies(features[labelled], given[labelled])
    if first is None:
        return None
    copy_of = np.arange(len(given))
    copy_of[labelled] = labelled[first]
    return copy_of


def make_scorer(
    model: Any, seed: int, n_jobs: int | None, verbose: int, device: str = "cpu"
) -> Any:
    """The scorer that a name or a classifier stands for."""
    if device != "cpu" and model != DEFAULT:
        raise ValueError(f"device={device!r} is for the model {DEFAULT!r}; leave one of them out.")
    if isinstance(model, str):
        if model not in MODELS:
            raise ValueError(f"There is no model {model!r}; choose one of {', '.join(MODELS)}.")
        model = MODELS[model](seed)
    if not hasattr(model, "fit_labels"):
        return NoiseCalibratedClassifier(model, random_state=seed, n_jobs=n_jobs, verbose=verbose)
    scorer = clone(model)
    options: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose}
    if device != "cpu":
        options["device"] = device
    return scorer.set_params(**{k: v for k, v in options.items() if k in scorer.get_params()})


def rows_for(scorer: Any, features: Features) -> Any:
    """The rows in the form that a scorer takes."""
    if isinstance(scorer, RBoostClassifier):
        return features
    is_linear = isinstance(scorer.estimator, LogisticRegression)
    return features.sparse if is_linear else features.dense


def fit_scorer(
    scorer: Any, features: Features, labels: TableLabels, copy_of: Integers | None = None
) -> tuple[Floats, bool]:
    """Fit to labels and answers; score all rows.

    ``copy_of`` has, for each row, the first that it is a copy of. Copies are fitted to once, as a
    row of which there is another is never held out, and have the same scores. Also returned:
    whether the scorer saw exactly these labels. It does not if a class has no row (it is left out)
    or is named by answers only (these answers replace the given labels).
    """
    kept, rows = first_copies(labels, copy_of), counted_rows(labels, copy_of)
    own = labels.take(rows)
    is_given = True
    while (new := (own.checked != NO_LABEL) & ~np.isin(own.checked, own.observed)).any():
        if own.n_annotators:
            break
        own, is_given = own.with_given(np.where(new, own.checked, own.given)), False
    present = np.unique(own.stated if own.n_annotators else own.observed)
    # Linear models do many small products, for which threads of BLAS only wait.
    with one_blas_thread():
        seen = rows_for(scorer, features if len(rows) == len(features) else features[rows])
        scorer.fit_labels(seen, own.of_classes(present))
    scores = np.empty((len(labels), *scorer.held_out_scores_.shape[1:]))
    scores[rows] = scorer.held_out_scores_
    scores = scores[kept]
    others = np.flatnonzero(labels.observed == NO_LABEL)
    if len(others):
        scores[others] = scorer.score_rows(rows_for(scorer, features[others]))
    is_of_labels = is_given and len(present) == len(labels.classes)
    return _of_all_classes(scores, present, len(labels.classes)), is_of_labels


def _of_all_classes(scores: Floats, present: Integers, n_classes: int) -> Floats:
    """Scores of all classes, from those of the classes that a scorer was fitted to."""
    if len(present) == n_classes:
        return scores
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    found = np.tile(scores.max(axis=1, keepdims=True) - ABSENT, n_classes)
    found[:, present] = scores
    return found


@dataclass(eq=False, repr=False)
class TableModel(ClassifierMixin, BaseEstimator):
    """From frames to probabilities of classes: an encoder, a fitted scorer, the noise.

    ``noise`` is what the audit inferred, so that a row with the same scores gets the probabilities
    that the report has.
    """

    encoder: TableEncoder
    scorer: Any
    classes: NDArray[Any]
    noise: NoisePosterior

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, sorted."""
        return self.classes

    def features(self, table: Any) -> Features:
        """The rows of a frame with the columns that the model was fitted to, in any order."""
        return self.encoder.features_of(self.encoder.matched(_finite_columns(table)))

    def score(self, features: Features) -> Floats:
        """Scores of all classes, for rows that are encoded, unused columns and all."""
        names = features.encoder.names
        if names != self.encoder.names:
            features = features.only([names.index(name) for name in self.encoder.names])
        scores = self.scorer.score_rows(rows_for(self.scorer, features))
        return _of_all_classes(scores, self.scorer.classes_, len(self.classes))

    def probability(self, features: Features) -> Floats:
        """Probability of each true class, for rows as :meth:`score` takes them."""
        return self.noise.probability(self.score(features))

    def predict_proba(self, table: Any) -> Floats:
        """Probability of each true class, shape (n_rows, n_classes)."""
        return self.probability(self.features(table))

    def predict(self, table: Any) -> NDArray[Any]:
        """The most probable true class of each row."""
        return self.classes[self.predict_proba(table).argmax(axis=1)]


@dataclass(frozen=True, eq=False)
class Inference:
    """What is known of the noise and of every row; intervals hold with probability .9.

    ``wrong_share`` has the ends of that for the share of wrong labels among those nobody checked.
    ``by_group`` is the noise of context groups, where there are any.
    """

    noise: NoisePosterior
    probability: Floats
    posterior: Floats
    wrong_share: tuple[float, float]
    by_group: GroupedNoise | None = None

    def wrong_share_among(
        self,
        scores: Floats,
        labels: TableLabels,
        rows: Integers,
        copy_of: Integers | None = None,
    ) -> tuple[float, float]:
        """An interval of the share of wrong labels among some rows that nobody checked.

        Rows that repeat each other count once, as one label is as wrong as the other.
        """
        if not len(rows):
            return np.nan, np.nan
        wrong = 1 - self.posterior[np.arange(len(labels)), labels.given]
        mean = float(wrong[rows].mean())
        everything = _first_of_copies(np.flatnonzero(labels.is_observed), copy_of)
        own = _first_of_copies(rows, copy_of)
        is_list = len(own) < len(everything)
        is_joint = self.by_group is not None or isinstance(self.noise, AnnotatorNoise)
        if isinstance(self.noise, AnnotatorNoise) and not is_list:
            low, high = wrong_majorities(scores, labels, own)
        elif is_joint and is_list:
            low, high = Doubt.of(wrong[everything]).interval(wrong[own], self.wrong_share)
        else:
            _, low, high = self.noise.wrong_share_interval(
                scores[everything], labels.given[everything],
                listed=np.searchsorted(everything, own) if is_list else None,
            )  # fmt: skip
        return min(low, mean), max(high, mean)


def _first_of_copies(rows: Integers, copy_of: Integers | None) -> Integers:
    """The rows, of those that repeat each other one alone, in the order of the table."""
    if copy_of is None:
        return np.sort(rows)
    rows = np.sort(rows)
    return rows[np.unique(copy_of[rows], return_index=True)[1]]


def infer(scores: Floats, labels: TableLabels, copy_of: Integers | None = None) -> Inference:
    """Find the noise, the true class of each row, and how sure that is."""
    return judge_rows(infer_noise(scores, labels, copy_of), scores, labels, copy_of)


def infer_noise(
    scores: Floats, labels: TableLabels, copy_of: Integers | None = None
) -> NoisePosterior:
    """Find the noise alone."""
    rows = counted_rows(labels, copy_of)
    with one_blas_thread():
        return infer_with_answers(scores[rows], labels.take(rows), None)


def judge_rows(
    noise: NoisePosterior,
    scores: Floats,
    labels: TableLabels,
    copy_of: Integers | None = None,
    by_group: GroupedNoise | None = None,
) -> Inference:
    """Judge every row by what was found out about the noise, of all rows and of context groups."""
    if by_group is None:
        rows = counted_rows(labels, copy_of)
        by_group = infer_by_group(noise, scores[rows], labels.take(rows))
    posterior = judge(noise, scores, labels, by_group).posterior
    # What is counted takes answers as they are, unless people disagree; `doubtful_answers` names
    # those that may be wrong.
    disputed = labels.answers.is_disputed
    _judge_unlabelled(posterior, noise, scores, labels, disputed)
    answered = np.flatnonzero(labels.is_checked & ~disputed)
    posterior[answered] = np.eye(posterior.shape[1])[labels.checked[answered]]
    found = Inference(noise, noise.probability(scores), posterior, (np.nan, np.nan), by_group)
    observed = np.flatnonzero(labels.is_observed)
    share = found.wrong_share_among(scores, labels, observed, copy_of)
    return replace(found, wrong_share=share)


def _judge_unlabelled(
    posterior: Floats,
    noise: NoisePosterior,
    scores: Floats,
    labels: TableLabels,
    disputed: NDArray[np.bool_],
) -> None:
    """Judge rows without a label by their answers, where people disagree and none is known."""
    rows = np.flatnonzero(disputed & (labels.given == NO_LABEL))
    if len(rows):
        answers = labels.answers.columns[rows]
        said = answer_likelihood(answers, len(labels.classes), noise.error_rates)
        joint = noise.probability(scores[rows]) * np.maximum(said, LEAST_LIKELIHOOD)
        posterior[rows] = joint / joint.sum(axis=1, keepdims=True)


def issue_probability(posterior: Floats, labels: TableLabels) -> Floats:
    """How likely each label is to be wrong: 0 if checked, NaN for rows without a label."""
    return np.where(labels.is_checked, 0.0, wrong_probability(posterior, labels.given))


def suggested_classes(posterior: Floats, probability: Floats, labels: TableLabels) -> Integers:
    """Position of the likeliest class other than the given one."""
    # Of a confirmed row all other classes have the posterior 0; the features then decide.
    chances = posterior + 1e-9 * probability
    labelled = np.flatnonzero(labels.given != NO_LABEL)
    chances[labelled, labels.given[labelled]] = -1.0
    return chances.argmax(axis=1)


def fit_model(
    scorer: Any,
    features: Features,
    labels: TableLabels,
    copy_of: Integers | None,
) -> tuple[Floats, Inference, TableModel]:
    """Fit a clone of the scorer to features and labels; return scores, inference and model.

    The scorer has inferred the noise from the same scores and labels, unless it was given others,
    or knows the noise.
    """
    used = used_columns(features)
    if len(used) < features.shape[1]:
        features = features.only(used)
    fitted = clone(scorer)
    scores, is_of_labels = fit_scorer(fitted, features, labels, copy_of)
    if is_of_labels and isinstance(fitted.noise_matrix, str):
        found = judge_rows(fitted.label_noise, scores, labels, copy_of, fitted.group_noise)
    else:
        found = infer(scores, labels, copy_of)
    return scores, found, TableModel(features.encoder, fitted, labels.classes, found.noise)
