"""LabelAudit: what an audit found, frozen; all else is computed from it, and shown."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost._validation import Number
from rboost.audit.arguments import check_answers, check_enough
from rboost.audit.cleaning import THRESHOLD, clean_labels, cleaned_frame, labelled_table
from rboost.audit.fit import (
    Inference,
    fit_model,
    infer,
    infer_noise,
    issue_probability,
    suggested_classes,
    used_columns,
    why_unused,
)
from rboost.audit.insight.annotators import ask_next, summarize_annotators
from rboost.audit.insight.checked import (
    MODEL,
    AnswersContradictWarning,
    CalibrationBin,
    PredictiveCheck,
    check_calibration,
    check_predictions,
    controlled_list,
    interval_of_wrong,
)
from rboost.audit.insight.columns import ColumnReading, Segment, find_segments, read_columns
from rboost.audit.insight.explanation import Explainer, Explanation
from rboost.audit.insight.likeness import Points
from rboost.audit.insight.summary import (
    AuditSummary,
    Budget,
    Quality,
    Suspects,
    choose_suspects,
    estimate_quality,
    find_budgets,
    summarize,
)
from rboost.audit.insight.suspicion import SuspiciousColumn
from rboost.audit.insight.unusual import row_fit
from rboost.audit.labels import NO_LABEL, TableLabels
from rboost.audit.render.plots import (
    AnnotatorDisplay,
    GroupNoiseDisplay,
    IssueDistributionDisplay,
    NoiseMatrixDisplay,
    ProjectionDisplay,
    ReviewGainDisplay,
)
from rboost.audit.render.report import InlineReport, Origin, render_report, render_summary
from rboost.audit.render.tasks import LABEL_STUDIO, label_studio_config, make_tasks
from rboost.audit.render.text import as_lines, describe, describe_contradiction, list_rows
from rboost.labels import Answers, Groups
from rboost.noise import NoisePosterior
from rboost.noise.annotators import AnnotatorNoise
from rboost.noise.answers import LearntFromAnswers
from rboost.noise.likelihood import likeliest
from rboost.packages import package
from rboost.table.features import Features, standardized
from rboost.table.writing import write_csv

# The largest share of false alarms that a list may be kept to.
SHARE = Number(0, high=0.5)
# Suspects that terminal and notebook show.
MOST_ROWS = 10
# Reasons take time; beyond this many suspects, and rows without a label, the list goes on without.
MOST_EXPLAINED = 500


@dataclass(frozen=True, eq=False, repr=False)
class LabelAudit:
    """The labels of a table, and how far to believe each.

    Attributes
    ----------
    table : DataFrame
        The columns that were used, as they were given.
    labels : TableLabels
        Classes, given labels and labels that a person checked.
    ids : ndarray of shape (n_rows,)
        What each row is called.
    id_name : str
        What the names of rows are: a column, or "row", which counts from 1.
    features : Features
        The table in numbers, with what its columns are.
    scores : ndarray of shape (n_rows,), of more than two classes (n_rows, n_classes)
        What models say of each row that were not fitted to it.
    inference : Inference
        The noise and the true class of each row, as inferred from scores and labels.
    model : TableModel or None
        Fitted to the table, unless probabilities were given; its ``predict_proba`` takes frames
        with the same columns and gives probabilities of the true classes.
    n_extra : int
        How many rows at the end are trusted rows that are not of the table itself.
    groups : Groups or None
        The group of each row, as the context says that labels came about, with names.
    column_warnings : tuple of SuspiciousColumn
        Columns that hide wrong labels; leave them out, or name them as context, and audit again.
    copy_of : ndarray of shape (n_rows,) or None
        For each row the first that it is a copy of; None where copies were not merged.
    scorer : classifier or None
        What :meth:`refit` fits a clone of; None if probabilities were given.
    """

    table: Any
    labels: TableLabels
    ids: NDArray[Any]
    id_name: str
    features: Features
    scores: Floats
    inference: Inference
    model: Any
    n_extra: int = 0
    groups: Groups | None = None
    column_warnings: tuple[SuspiciousColumn, ...] = ()
    copy_of: Integers | None = None
    scorer: Any = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def classes(self) -> NDArray[Any]:
        """The class labels, sorted."""
        return self.labels.classes

    @property
    def noise_matrix(self) -> Floats:
        """``noise_matrix[j, k] = p(given k | true j)``, classes in the order of ``classes``.

        That of the likeliest kind of noise. Report and ``plot_noise_matrix`` show the mean over all
        kinds, which agrees with the number of labels that are expected to be wrong.
        """
        return self.inference.noise.noise_matrix

    @property
    def noise_interval(self) -> Floats:
        """Lower and upper ends, shape (2, n_classes, n_classes); they hold with probability .9."""
        return self.inference.noise.interval()

    @cached_property
    def issue_probability(self) -> Floats:
        """How likely each label is to be wrong: 0 if checked, NaN for rows without a label."""
        return issue_probability(self.inference.posterior, self.labels)

    @cached_property
    def suggested(self) -> Integers:
        """Position of the likeliest class other than the given one."""
        return suggested_classes(self.inference.posterior, self.inference.probability, self.labels)

    @cached_property
    def unused_columns(self) -> tuple[str, ...]:
        """Columns that say nothing: empty, constant, or names of rows."""
        return tuple(own.name for own in self.features.encoder.columns if why_unused(own))

    @property
    def expected_wrong_labels(self) -> float:
        """How many of the labels that nobody checked are expected to be wrong."""
        return float(np.nansum(self.issue_probability))

    @cached_property
    def quality(self) -> Quality:
        """How good the model is, estimated without clean labels."""
        return estimate_quality(self.inference.posterior, self.inference.probability, self.labels)

    @cached_property
    def _issue_without_answers(self) -> Floats:
        """How likely each given label is to be wrong by scores and labels, without answers."""
        labels = self.labels
        if not labels.has_answers:
            return self.issue_probability
        checked = np.where(labels.given == NO_LABEL, labels.checked, NO_LABEL)
        labels = labels.with_checked(checked, np.zeros(len(labels), dtype=bool))
        return issue_probability(infer(self.scores, labels, self.copy_of).posterior, labels)

    @cached_property
    def _issue_unchecked(self) -> Floats:
        """How likely each given label would be to be wrong if nobody had checked it."""
        found, labels = self.issue_probability.copy(), self.labels
        rows = np.flatnonzero(labels.is_checked & (labels.given != NO_LABEL))
        noise = self.inference.noise
        found[rows] = noise.issue_probability(self.scores[rows], labels.given[rows])
        return found

    @property
    def _unanswered(self) -> NoisePosterior | None:
        """The noise as it was inferred without answers, if these are to be compared with it."""
        noise = self.inference.noise
        if not isinstance(noise, LearntFromAnswers) or self.groups is not None:
            return None  # nobody answered, or answers are expected to differ between groups
        return noise.before

    @cached_property
    def predictive_check(self) -> PredictiveCheck | None:
        """How many checked labels were wrong, and how many were expected to be without answers."""
        before = self._unanswered
        return None if before is None else check_predictions(before, self.scores, self.labels)

    @cached_property
    def doubtful_answers(self) -> Integers:
        """Rows whose answer is rather a mistake than right, by the model, the least likely first.

        Reviewers err in a few per cent of cases. Ask again of these rows, best somebody else. Where
        several people answered, the answer is that of most of them, of as many the most probable.
        """
        noise, labels = self.inference.noise, self.labels
        rows = np.flatnonzero(labels.is_checked & (labels.given != NO_LABEL))
        if isinstance(noise, AnnotatorNoise):
            found = noise.answered(self.scores[rows], labels.take(rows))
        elif not isinstance(noise, LearntFromAnswers) or self.groups is not None or not len(rows):
            return rows[:0]
        else:
            answers = labels.answers.columns[rows]
            found = noise.posterior(self.scores[rows], labels.given[rows], answers)
        right = found[np.arange(len(rows)), labels.checked[rows]]
        return rows[np.argsort(right, kind="stable")][: np.count_nonzero(right < 0.5)]

    @property
    def reviewer_errors(self) -> dict[str, float]:
        """The share of the answers of each reviewer that are expected to be wrong, by their names.

        Learnt where the model is sure of a row, and where several people answered it. Empty where
        nobody checked a label.
        """
        noise, answers = self.inference.noise, self.labels.answers
        if not isinstance(noise, LearntFromAnswers):
            return {}
        each = zip(answers.names, noise.error_rates.tolist(), noise.n_answers, strict=True)
        return {name: error for name, error, n_answers in each if n_answers}

    @cached_property
    def calibration(self) -> tuple[CalibrationBin, ...]:
        """Predicted probabilities of checked labels to be wrong, and what people found."""
        before = self._unanswered
        return () if before is None else check_calibration(before, self.scores, self.labels)

    @cached_property
    def columns(self) -> tuple[ColumnReading, ...]:
        """How each column was read, and how much it matters to the model."""
        return read_columns(self.features, self.model)

    @cached_property
    def budgets(self) -> tuple[Budget, ...]:
        """How many wrong labels a review of the first 10, 20, … 500 rows finds, with intervals."""
        return find_budgets(self)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """Where wrong labels concentrate, most of them first."""
        unchecked = np.where(self.labels.is_checked, np.nan, self.issue_probability)
        return find_segments(self.features, unchecked)

    @cached_property
    def standardized(self) -> Floats:
        """Features on one scale, for distances between rows."""
        of_rows = self.scores.reshape(len(self), -1)
        return standardized(self.features.dense if used_columns(self.features) else of_rows)

    @cached_property
    def points(self) -> Points:
        """Rows between which distances are those of columns that matter."""
        return self._explainer.neighbours.points

    def row_fit(self, rows: Integers | None = None) -> NDArray[Any]:
        """Whether rows fit a class: "fits no class", "between classes", or "" of all others.

        A row that is farther from the rows of every class than about 99 in 100 of its own rows are
        fits no class; one whose two likeliest classes are nearly as probable is between them.
        Neither says that its label is wrong, and neither changes any probability.

        Parameters
        ----------
        rows : array-like of int, default=None
            Positions of rows; all, if left out.

        Returns
        -------
        fit : ndarray of shape (n_rows,)
        """
        return self._fit_of_all if rows is None else self._fit_of(np.asarray(rows, dtype=np.intp))

    @cached_property
    def _fit_of_all(self) -> NDArray[Any]:
        return self._fit_of(np.arange(len(self)))

    def _fit_of(self, rows: Integers) -> NDArray[Any]:
        points = self.points if used_columns(self.features) else None
        found = self.inference
        return row_fit(rows, points, found.posterior, found.probability, self.copy_of)

    def suspects(
        self,
        n: int | None = None,
        threshold: float | None = None,
        expected_precision: float | None = None,
        false_alarms: float | None = None,
    ) -> Suspects:
        """The rows to look at first.

        Parameters
        ----------
        n : int, default=None
            How many.
        threshold : float, default=None
            All whose labels are at least this likely to be wrong.
        expected_precision : float, default=None
            As many as possible while this share of them is expected to be wrong.
        false_alarms : float, default=None
            The longest of a few lists of which at most this share is right. With probability .9
            over the draw of random checks that is so, whatever the columns, the labels and the
            probabilities are, if rows marked ``at_random`` were drawn from all labelled rows alike
            and their answers are right. Fix their number before the first check: checking on until
            a list is long enough loses the guarantee. Rows are ordered by the probabilities
            without answers. The list is empty where the answers speak for none. Among its rows it
            takes at least 22 random checks for a share of 0.1, and 45 for 0.05.

        Returns
        -------
        suspects : Suspects
            Their positions and probabilities. Without any of the four arguments: as many as are
            expected to be wrong, at least 50. Checked rows are never among them.

        Raises
        ------
        ValueError
            If too few random checks are among the most suspicious rows to bound false alarms; the
            message says how many more it takes.
        """
        if false_alarms is not None:
            if (n, threshold, expected_precision) != (None, None, None):
                raise ValueError(
                    "Pass only one of n, threshold, expected_precision and false_alarms."
                )
            if not SHARE.accepts(false_alarms):
                raise ValueError(f"false_alarms must be {SHARE}, not {false_alarms!r}.")
            issue = self._issue_without_answers
            rows = controlled_list(issue, self.labels, float(false_alarms))
            rows = rows[np.argsort(-self.issue_probability[rows], kind="stable")]
            return Suspects(rows, self.issue_probability[rows], self.expected_wrong_labels)
        unchecked = np.where(self.labels.is_checked, np.nan, self.issue_probability)
        return choose_suspects(unchecked, n, threshold, expected_precision)

    def precision_interval(self, rows: Any) -> tuple[float, float, str]:
        """The share of some labels that is wrong: a 90 % interval, and where it comes from.

        ``rows`` are positions of labels that nobody checked, such as those of suspects, or a mask.
        The interval is that of the model; or, if at least 10 random checks lie among the rows that
        are ranked as high as a list of the most suspicious, that of these checks where it is
        narrower. The latter is nearly exact: the answers have helped to rank the rows, too. No list
        holds more wrong labels than the table at the upper end of its interval.
        """
        labels, rows = self.labels, np.asarray(rows)
        if rows.dtype == bool and rows.shape == (len(self),):
            rows = np.flatnonzero(rows)
        inside = rows[(rows >= 0) & (rows < len(self))] if len(rows) else rows.astype(np.intp)
        if len(np.unique(inside)) < len(rows) or not labels.is_observed[inside].all():
            raise ValueError(
                "rows must be different positions of rows whose label nobody checked, counted from "
                "0, or a mask of them."
            )
        low, high, source = self._list_interval(inside)
        if len(inside):
            n_rows = np.count_nonzero(labels.is_observed)
            most = self.wrong_share_interval()[1] * (n_rows / len(inside))
            low, high = min(low, most), min(high, most)
        return low, high, source

    def _list_interval(self, inside: Integers) -> tuple[float, float, str]:
        """The same, whatever is known of the table."""
        labels, found = self.labels, self.inference
        by_model = found.wrong_share_among(self.scores, labels, inside, self.copy_of)
        is_learnt = isinstance(found.noise, LearntFromAnswers) and found.by_group is None
        if not len(inside) or not is_learnt:
            return (*by_model, MODEL)
        wrong = self._issue_unchecked
        among = wrong >= wrong[inside].min()
        if np.count_nonzero(among & labels.is_observed) > len(inside):
            return (*by_model, MODEL)  # others are as suspicious, and may be wrong more seldom
        return interval_of_wrong(labels, by_model, found.noise.largest_error_rate, among)

    @cached_property
    def of_annotators(self) -> dict[str, Any]:
        """Fields of the summary about annotators; none where rows have one label each."""
        return summarize_annotators(self)

    def wrong_share_interval(self, labels: TableLabels | None = None) -> tuple[float, float, str]:
        """The share of wrong labels among those nobody checked: a 90 % interval, and its source.

        With other ``labels``, of which more are checked, no row is judged anew.
        """
        if labels is None:
            found = self.inference
            return interval_of_wrong(self.labels, found.wrong_share, found.noise.largest_error_rate)
        noise, observed = infer_noise(self.scores, labels, self.copy_of), labels.is_observed
        _, *ends = noise.wrong_share_interval(self.scores[observed], labels.given[observed])
        return interval_of_wrong(labels, (ends[0], ends[1]), noise.largest_error_rate)

    def summary(self, suspects: Suspects | None = None) -> AuditSummary:
        """The numbers of the audit and of the suspects that were chosen from it."""
        return summarize(self, self.suspects() if suspects is None else suspects)

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self)

    def explain(self, row: int) -> Explanation:
        """Say why the label of the row at this position, counted from 0, is doubted."""
        return self.explain_all(np.array([row]))[0]

    def explain_all(self, rows: Integers, verbose: bool = False) -> list[Explanation]:
        """Explain several rows at once, which is much faster than one by one."""
        return self._explainer.explain(rows, verbose)

    def with_checked(self, checked: Answers | Integers, at_random: Any = None) -> Self:
        """The same audit after a person checked more rows; the model is not fitted again.

        ``checked`` holds positions of classes, −1 where nobody looked, or answers of several
        people; ``at_random`` marks rows that were drawn at random. The noise and the probabilities
        follow at once; after :meth:`refit` the model has learnt from them too.
        """
        labels = self.labels.with_checked(checked, at_random)
        found = infer(self.scores, labels, self.copy_of)
        model = None if self.model is None else replace(self.model, noise=found.noise)
        return replace(self, labels=labels.settled(found.posterior), inference=found, model=model)

    def refit(self, answers: Any, at_random: Any = None) -> Self:
        """A new audit of the same table, with the model fitted again to answers of people.

        The result is that of :func:`rboost.audit_labels` with ``y_checked``, but columns are
        neither encoded nor examined again. Where probabilities were given instead of a model, only
        the noise is inferred again.

        Parameters
        ----------
        answers : mapping, array-like of shape (n_rows,) or data frame
            The class that a person chose, by the name of the row as in ``ids``, which without names
            counts rows from 1 as files do; or one entry for each row of the table, missing where
            there is no answer. Such answers are your decision: they replace all earlier ones to
            these rows, whoever gave them. Of several people a frame with a line for each answer,
            the oldest first, like ``checked.csv``: the name of the row in a column called like the
            ids, "row" or "id", the class in "checked_label" or "label", and who chose it in
            "reviewer"; "drawn_at_random" may say yes or no. These add to earlier answers, and
            replace only those of the same person to the same row. Other rows stay as they are.
        at_random : bool or array-like of bool of shape (n_rows,), default=None
            Which of these rows were drawn for the check at random.
        """
        ids = self.ids[: len(self) - self.n_extra]
        audit = self.refitted(check_answers(answers, at_random, self.labels, ids, self.id_name))
        warn_of(audit)
        return audit

    def refitted(self, labels: TableLabels) -> Self:
        """The same audit, with the model fitted again to labels of which others are checked."""
        if self.scorer is None:
            return self.with_checked(labels.answers, labels.at_random)
        check_enough(labels)
        scores, found, model = fit_model(self.scorer, self.features, labels, self.copy_of)
        labels = labels.settled(found.posterior)
        return replace(self, labels=labels, scores=scores, inference=found, model=model)

    def clean(self, how: str = "relabel", threshold: float = THRESHOLD) -> Any:
        """The table with its labels mended, as a pandas frame.

        Never measure accuracy on rows that were cleaned without a person's check: where the model
        decided, it is right by definition.

        Parameters
        ----------
        how : {"relabel", "drop", "weigh"}, default="relabel"
            Whether to write the suggested label where it is probable enough, to leave out rows
            whose label is so likely wrong, or to keep all rows with the probability that the label
            is right as ``weight``. An answer of a person replaces the label in any case.
        threshold : float, default=0.9
            The probability from which on a label is changed, or a row left out.

        Returns
        -------
        frame : DataFrame
            Names of rows, the columns that were used, the label, and ``given_label``,
            ``label_source`` ("given", "answer", "suggested", "missing") and ``probability_wrong``.
        """
        n_rows = len(self) - self.n_extra
        table = labelled_table(self.table.iloc[:n_rows], self.labels, self.ids, self.id_name)
        mended = clean_labels(self.labels, self.inference.posterior, how, threshold)
        return cleaned_frame(table, self.labels, self.inference.posterior, mended)

    def consensus(self) -> Any:
        """The most probable class of each row and its probability, rows in dispute first.

        A pandas frame with the names of rows, ``consensus``, ``probability``, the label that was
        given (of several annotators that of the majority), and how many name each class.
        """
        n_rows = len(self) - self.n_extra
        posterior, labels = self.inference.posterior[:n_rows], self.labels
        best = likeliest(posterior, np.maximum(labels.given[:n_rows], 0))
        probability = posterior[np.arange(n_rows), best]
        names = labels.class_names
        votes = [
            ", ".join(f"{names[k]} {own[k]:.0f}" for k in np.argsort(-own, kind="stable") if own[k])
            for own in labels.votes[:n_rows]
        ]
        found = {
            self.id_name: self.ids[:n_rows],
            "consensus": labels.names(best),
            "probability": probability.round(4),
            labels.name: labels.names(labels.given[:n_rows]),
        }
        table = package("pandas").DataFrame(found | ({"votes": votes} if any(votes) else {}))
        return table.iloc[np.argsort(probability, kind="stable")].reset_index(drop=True)

    def ask_next(self, n: int = 20, *, annotators: Any = None, most_each: int | None = None) -> Any:
        """Which annotator to ask about which row next: where one answer is worth most.

        Parameters
        ----------
        n : int, default=20
            How many answers are to be had, each of another row.
        annotators : sequence of str, default=None
            The names of those who can be asked; None means all.
        most_each : int, default=None
            About how many rows each is asked at most; None sets no bound.

        Returns
        -------
        questions : DataFrame
            Names of rows, ``annotator``, the ``consensus`` so far with its ``probability``, and
            ``gain``: by how many bits the entropy of the row's class is expected to fall. The most
            valuable come first; rows that were checked, and answers that would say nothing, are
            left out.
        """
        return ask_next(self, n, annotators, most_each)

    def missing(self) -> Integers:
        """Positions of rows without a label, for which there is only a suggestion."""
        return np.flatnonzero(self.labels.current == NO_LABEL)

    # ---- What an audit can be shown as ----

    def to_frame(self, suspects: Suspects | None = None, verbose: bool = False) -> Any:
        """Suspects, then rows without a label, as a pandas frame; 500 of each with reasons.

        The values of the rows come last, after the group of each where there is a context.
        """
        chosen = self.suspects() if suspects is None else suspects
        listed = []
        for rows in (chosen.rows, self.missing()):
            listed += self.explain_all(rows[:MOST_EXPLAINED], verbose)
            listed += self._explainer.without_reasons(rows[MOST_EXPLAINED:])
        table = self.table
        if self.groups is not None:
            names = np.array([*self.groups.names, ""], dtype=object)[self.groups.position]
            table = table.copy(deep=False)
            table.insert(0, self.groups.column, names, allow_duplicates=True)
        fit = self.row_fit(np.array([one.row for one in listed], dtype=np.intp))
        return list_rows(listed, fit, self.ids, self.id_name, table)

    def to_csv(self, path: str | Path, suspects: Suspects | None = None) -> None:
        """Write the suspects to a file that a spreadsheet may open."""
        write_csv(self.to_frame(suspects), Path(path))

    def to_tasks(
        self, tool: str = LABEL_STUDIO, suspects: Suspects | None = None
    ) -> list[dict[str, Any]]:
        """Suspects, then rows without a label, as tasks for "label-studio" or "argilla".

        Each has the row, its given label, and the most probable one as a suggestion. A file of
        them is JSON; what people answered there is read by :func:`rboost.table.reading.read_table`.
        """
        chosen = self.suspects() if suspects is None else suspects
        return make_tasks(self, np.concatenate([chosen.rows, self.missing()]), tool)

    def label_studio_config(self) -> str:
        """The labelling configuration that a project of Label Studio needs for these tasks."""
        return label_studio_config(self)

    def to_text(self, suspects: Suspects | None = None) -> str:
        """What was found, and the ten most suspicious rows, for the terminal."""
        chosen = self.suspects() if suspects is None else suspects
        first = chosen.rows[:MOST_ROWS]
        explained, fit = self.explain_all(first), self.row_fit(first)
        return describe(self.summary(chosen), explained, fit, self.ids, self.id_name)

    def to_html(
        self,
        suspects: Suspects | None = None,
        title: str = "Label audit",
        origin: Origin | None = None,
    ) -> str:
        """The report, a page that needs nothing but itself.

        ``origin`` says what it is of, and with which commands to go on.
        """
        return render_report(self, self.suspects() if suspects is None else suspects, title, origin)

    def report(self, suspects: Suspects | None = None, title: str = "Label audit") -> InlineReport:
        """The report of :meth:`to_html`, which a notebook shows in place; ``save`` writes it."""
        return InlineReport(self.to_html(suspects, title))

    def __repr__(self) -> str:
        return as_lines(self.summary())

    def _repr_html_(self) -> str:
        """What a notebook shows: findings and the most suspicious rows; all of it escaped."""
        return render_summary(self, MOST_ROWS)

    def plot_noise_matrix(self, ax: Any = None) -> NoiseMatrixDisplay:
        """Draw how often each true class carries each label, on ``ax`` if given."""
        return NoiseMatrixDisplay.from_audit(self).plot(ax)

    def plot_distribution(self, ax: Any = None) -> IssueDistributionDisplay:
        """Draw how many labels are how likely to be wrong, by the label given."""
        return IssueDistributionDisplay.from_audit(self).plot(ax)

    def plot_gain(self, suspects: Suspects | None = None, ax: Any = None) -> ReviewGainDisplay:
        """Draw how many wrong labels one finds by checking rows in order of suspicion."""
        return ReviewGainDisplay.from_audit(self, suspects).plot(ax)

    def plot_projection(
        self, suspects: Suspects | None = None, ax: Any = None
    ) -> ProjectionDisplay:
        """Draw the rows in the plane in which they differ most, suspects marked."""
        return ProjectionDisplay.from_audit(self, suspects).plot(ax)

    def plot_annotators(self, ax: Any = None) -> AnnotatorDisplay:
        """Draw how often each of several annotators is right."""
        if not self.labels.n_annotators:
            raise ValueError("Each row has one label; audit one column of labels an annotator.")
        return AnnotatorDisplay.from_audit(self).plot(ax)

    def plot_groups(self, ax: Any = None) -> GroupNoiseDisplay:
        """Draw the share of wrong labels in each group of the context."""
        if self.groups is None:
            raise ValueError(
                "There are no groups to draw; name the columns that labels depend on as context."
            )
        return GroupNoiseDisplay.from_audit(self).plot(ax)


def warn_of(audit: Any) -> None:
    """Warn where all rows have the same prediction, or answers contradict the inferred noise.

    The warning points at the line that called the caller of this function.
    """
    labels, predicted = audit.labels, np.unique(audit.inference.probability.argmax(axis=1))
    if len(predicted) == 1:
        warnings.warn(
            f"Every row is predicted as {labels.names(predicted)[0]!r}: the columns say too little "
            f"about {labels.name!r}, so that rates and suspects mean little; add columns.",
            stacklevel=3,
        )
    if contradiction := describe_contradiction(audit.predictive_check):
        warnings.warn(contradiction, AnswersContradictWarning, stacklevel=3)
