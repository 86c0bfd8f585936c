"""How an audit shows itself: frames, text, pages, notebooks, pictures and warnings."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from rboost.audit.insight.checked import AnswersContradictWarning
from rboost.audit.insight.suspects import Suspects
from rboost.audit.render import findings
from rboost.audit.render.plots import (
    GroupNoiseDisplay,
    IssueDistributionDisplay,
    NoiseMatrixDisplay,
    ProjectionDisplay,
    ReviewGainDisplay,
)
from rboost.audit.render.report import InlineReport, Origin, render_report, render_summary
from rboost.audit.render.terminal import as_lines, describe, list_rows
from rboost.table.writing import write_csv

# Suspects that terminal and notebook show.
MOST_ROWS = 10
# Reasons take time; beyond this many suspects, and rows without a label, the list goes on without.
MOST_EXPLAINED = 500


class AuditViews:
    """What :class:`rboost.audit.LabelAudit` can be shown as; all is computed there."""

    def to_frame(self: Any, suspects: Suspects | None = None, verbose: bool = False) -> Any:
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
        return list_rows(listed, self.ids, self.id_name, table)

    def to_csv(self: Any, path: str | Path, suspects: Suspects | None = None) -> None:
        """Write the suspects to a file that a spreadsheet may open."""
        write_csv(self.to_frame(suspects), Path(path))

    def to_text(self: Any, suspects: Suspects | None = None) -> str:
        """What was found, and the ten most suspicious rows, for the terminal."""
        chosen = self.suspects() if suspects is None else suspects
        most_suspicious = self.explain_all(chosen.rows[:MOST_ROWS])
        return describe(self.summary(chosen), most_suspicious, self.ids, self.id_name)

    def to_html(
        self: Any,
        suspects: Suspects | None = None,
        title: str = "Label audit",
        origin: Origin | None = None,
    ) -> str:
        """The report, a page that needs nothing but itself.

        ``origin`` says what it is of, and with which commands to go on.
        """
        return render_report(self, self.suspects() if suspects is None else suspects, title, origin)

    def report(
        self: Any, suspects: Suspects | None = None, title: str = "Label audit"
    ) -> InlineReport:
        """The report of :meth:`to_html`, which a notebook shows in place; ``save`` writes it."""
        return InlineReport(self.to_html(suspects, title))

    def __repr__(self: Any) -> str:
        return as_lines(self.summary())

    def _repr_html_(self: Any) -> str:
        """What a notebook shows: findings and the most suspicious rows; all of it escaped."""
        return render_summary(self, MOST_ROWS)

    def plot_noise_matrix(self: Any, ax: Any = None) -> NoiseMatrixDisplay:
        """Draw how often each true class carries each label, on ``ax`` if given."""
        return NoiseMatrixDisplay.from_audit(self).plot(ax)

    def plot_distribution(self: Any, ax: Any = None) -> IssueDistributionDisplay:
        """Draw how many labels are how likely to be wrong, by the label given."""
        return IssueDistributionDisplay.from_audit(self).plot(ax)

    def plot_gain(self: Any, suspects: Suspects | None = None, ax: Any = None) -> ReviewGainDisplay:
        """Draw how many wrong labels one finds by checking rows in order of suspicion."""
        return ReviewGainDisplay.from_audit(self, suspects).plot(ax)

    def plot_projection(
        self: Any, suspects: Suspects | None = None, ax: Any = None
    ) -> ProjectionDisplay:
        """Draw the rows in the plane in which they differ most, suspects marked."""
        return ProjectionDisplay.from_audit(self, suspects).plot(ax)

    def plot_groups(self: Any, ax: Any = None) -> GroupNoiseDisplay:
        """Draw the share of wrong labels in each group of the context."""
        if self.groups is None:
            raise ValueError(
                "There are no groups to draw; name the columns that labels depend on as context."
            )
        return GroupNoiseDisplay.from_audit(self).plot(ax)


def warn_of(audit: Any) -> None:
    """Warn where a fit says little: all rows are predicted alike, or the answers contradict it.

    The warning points at the line that called the caller of this function.
    """
    labels, predicted = audit.labels, np.unique(audit.inference.probability.argmax(axis=1))
    if len(predicted) == 1:
        warnings.warn(
            f"Every row is predicted as {labels.names(predicted)[0]!r}: the columns say too little "
            f"about {labels.name!r}, so that rates and suspects mean little; add columns.",
            stacklevel=3,
        )
    if contradiction := findings.of_contradiction(audit.predictive_check):
        warnings.warn(contradiction, AnswersContradictWarning, stacklevel=3)
