"""What an audit found, in sentences: for the report, for the terminal, beside pictures."""

from __future__ import annotations

import shlex

from rboost.audit.insight.checked import PredictiveCheck, Promise, RandomChecks
from rboost.audit.insight.columns import COPY, SuspiciousColumn
from rboost.audit.insight.projection import Projection
from rboost.audit.insight.quality import Quality
from rboost.audit.insight.summary import WIDE, AuditSummary, GroupSummary
from rboost.audit.labels import FEWEST_OF_CLASS
from rboost.audit.numbers import format_count, percent
from rboost.audit.render.wording import listed, one_line, quoted, with_noun


def of_everything(summary: AuditSummary) -> list[str]:
    """What is in the table, how many labels are wrong, and which are listed."""
    return [of_rows(summary), of_wrong_labels(summary), of_suspects(summary)]


def of_rows(summary: AuditSummary) -> str:
    """What is in the table."""
    classes = sorted(summary.classes, key=lambda one: -one.n_rows)
    named = [f"{quoted(one.name)} ({format_count(one.n_rows)})" for one in classes]
    sentences = [
        f"The table has {with_noun(summary.n_rows, 'row')} and {len(classes)} classes: "
        f"{listed(named)}."
    ]
    if summary.n_missing:
        have = "has" if summary.n_missing == 1 else "have"
        sentences.append(
            f"{with_noun(summary.n_missing, 'row')} {have} no label, or one that fewer than "
            f"{FEWEST_OF_CLASS} rows carry."
        )
    if summary.n_checked:
        were = "was" if summary.n_checked == 1 else "were"
        sentences.append(
            f"{with_noun(summary.n_checked, 'label')} {were} checked by a person; "
            f"{format_count(summary.n_corrected)} of them differed from the label given."
        )
    if summary.unused_columns:
        named = [quoted(name) for name in summary.unused_columns]
        sentences.append(f"Left aside, as empty, constant or names of rows: {listed(named)}.")
    return " ".join(sentences)


def of_wrong_labels(summary: AuditSummary) -> str:
    """How many labels are expected to be wrong."""
    if not summary.n_unchecked:
        return "A person has checked every label."
    checked = " that nobody has checked" if summary.n_checked else ""
    are = "is" if summary.probably_wrong == 1 else "are"
    return (
        f"Of the {with_noun(summary.n_unchecked, 'label')}{checked}, about "
        f"{format_count(summary.expected_wrong)} ({percent(summary.expected_share)}, 90 % interval "
        f"{percent(summary.share_low)} to {percent(summary.share_high)}) are expected to be wrong. "
        f"{format_count(summary.probably_wrong)} {are} more likely wrong than right."
        f"{of_random_checks(summary.random_checks)}"
    )


def of_random_checks(found: RandomChecks | None) -> str:
    """What labels that were drawn at random say without any model; nothing without them."""
    if found is None:
        return ""
    were = "was" if found.n_wrong == 1 else "were"
    return (
        f" Of {with_noun(found.n_checked, 'label')} drawn at random and checked, "
        f"{format_count(found.n_wrong)} {were} wrong; by this count alone, without any model, "
        f"{percent(found.low)} to {percent(found.high)} of all labels given are wrong (90 % "
        "interval)."
    )


def of_contradiction(found: PredictiveCheck | None) -> str:
    """Whether people found what was expected; nothing where they did."""
    if found is None or not found.contradicts:
        return ""
    n_wrong, expected = format_count(found.n_wrong), format_count(found.expected)
    were, was = ("was" if number == "1" else "were" for number in (n_wrong, expected))
    return (
        f"Of {with_noun(found.n_checked, 'checked label')} {n_wrong} {were} wrong where about "
        f"{expected} {was} expected: labels are not wrong in the way that was assumed; figures "
        "now rest on the answers."
    )


def of_suspects(summary: AuditSummary) -> str:
    """What is on the list of suspects."""
    if not summary.n_suspects:
        return "No label is suspicious enough to be listed."
    are = "is" if summary.n_suspects == 1 else "are"
    return (
        f"{with_noun(summary.n_suspects, 'label')} {are} listed as suspicious: about "
        f"{format_count(summary.expected_found)} of them ({percent(summary.expected_precision)}) "
        f"are expected to be wrong, which would be {percent(summary.expected_recall)} of all "
        "wrong labels."
    )


def of_groups(summary: AuditSummary) -> list[str]:
    """How often the labels of each group are wrong, the worst first."""
    worst_first = sorted(summary.groups, key=lambda one: -one.wrong_share)
    return [
        f"Labels by {one_line(summary.context, 60)} {quoted(one.name)}: "
        f"{percent(one.wrong_share)} wrong "
        f"(90 % interval: {percent(one.low)} to {percent(one.high)}; "
        f"{_rows_of(one)})."
        for one in worst_first
    ]


def _rows_of(group: GroupSummary) -> str:
    rows = with_noun(group.n_rows, "row")
    if group.n_unchecked == group.n_rows:
        return rows
    return f"{format_count(group.n_unchecked)} of {rows} not checked"


def of_group_picture(summary: AuditSummary) -> str:
    """What the picture of groups shows."""
    return "The share of wrong labels in each group. " + " ".join(of_groups(summary)[:1])


def of_uncertainty(summary: AuditSummary) -> str:
    """What the data cannot tell, and what would help; nothing where they can."""
    if not summary.is_uncertain:
        return ""
    widest = max(summary.noise, key=lambda entry: entry.high - entry.low)
    rate = ""
    if widest.high - widest.low > WIDE:
        is_kept = widest.given == widest.true
        label = "the right label" if is_kept else f"the label {quoted(widest.given)}"
        rate = (
            f", and of rows that are truly {quoted(widest.true)}, anything from "
            f"{percent(widest.low)} to {percent(widest.high)} may carry {label}"
        )
    return (
        "The classes overlap too much to tell wrong labels from overlap: anything from "
        f"{percent(summary.share_low)} to {percent(summary.share_high)} of the labels may be "
        f"wrong{rate}; rows whose labels are known to be right narrow this down, and a few dozen, "
        "checked by a person, already help."
    )


def of_dangers(summary: AuditSummary) -> list[str]:
    """What to take care of: answers nobody expected, overlap, columns that hide wrong labels."""
    columns = map(of_suspicious_column, summary.column_warnings)
    first = of_contradiction(summary.predictive_check), of_uncertainty(summary)
    return [sentence for sentence in (*first, *columns) if sentence]


def of_suspicious_column(found: SuspiciousColumn) -> str:
    """Why one column hides wrong labels, and the remedy."""
    name = quoted(found.column)
    option = shlex.quote(one_line(found.column, 40))
    drop = f"leave it out (--drop {option})"
    if found.kind == COPY:
        return (
            f"The column {name} alone predicts all but {percent(found.rate)} of the labels; all "
            f"others together err on {percent(found.other_rate)}. It looks like a copy of the "
            f"label, next to which no label seems wrong; unless it was known before the label was, "
            f"{drop}."
        )
    same = [quoted(other) for other in found.alike]
    says = f" (and {listed(same)}, which say the same)" if same else ""
    return (
        f"The column {name}{says} seems to tell which labels are wrong: without it, about "
        f"{percent(found.rate)} of the labels are wrong where it is {quoted(found.value)}, "
        f"elsewhere {percent(found.other_rate)}; with it, this looks like classes that overlap. "
        "If it says who labelled a row, where it comes from or when, and nothing of its class, "
        f"name it as context (--context {option}), else {drop}."
    )


def of_matrix(summary: AuditSummary) -> str:
    """What the picture of the flip rates shows."""
    worst = summary.flips[0]
    return (
        "Matrix of true classes (rows) and given labels (columns). The most frequent confusion: "
        f"{percent(worst.rate)} of rows that are truly {quoted(worst.true)} are labelled "
        f"{quoted(worst.given)}, with a 90 % interval from {percent(worst.low)} to "
        f"{percent(worst.high)}."
    )


def of_distribution(summary: AuditSummary, n_left_out: int) -> str:
    """What the picture of probabilities shows."""
    fine = summary.n_unchecked - summary.probably_wrong
    left_out = f" {with_noun(n_left_out, 'class', 'classes')} with fewer wrong labels are left out."
    return (
        f"Bars by label given: {with_noun(fine, 'label')} probably right, "
        f"{with_noun(summary.probably_wrong, 'label')} more likely wrong than right. A bar is as "
        "high as the number above it; labels that are hardly doubted stand at the left as a "
        "number." + (left_out if n_left_out else "")
    )


def of_gain(summary: AuditSummary) -> str:
    """What the picture of a review shows."""
    if not summary.budgets:
        return "Wrong labels found over rows checked; the table is too small for a budget."
    one = summary.budgets[min(2, len(summary.budgets) - 1)]
    at_random = one.n_rows * summary.expected_share
    return (
        f"Wrong labels found over rows checked, most suspicious first: {one.n_rows} rows are "
        f"expected to hold {format_count(one.expected_found)} of "
        f"{format_count(summary.expected_wrong)} wrong labels; as many rows taken at random "
        f"would hold {format_count(at_random)}."
    )


def of_projection(summary: AuditSummary, projection: Projection) -> str:
    """What the picture of the rows shows."""
    n_shown = int(projection.is_suspect.sum())
    return (
        f"{with_noun(len(projection.rows), 'labelled row')} in the plane in which rows differ "
        f"most, which shows {percent(projection.explained)} of the variance; rings mark {n_shown} "
        f"of {with_noun(summary.n_suspects, 'suspect')}. A ring among rows of another colour and "
        "shape is a label that its surroundings contradict."
    )


def of_promises(promises: tuple[Promise, ...]) -> str:
    """Whether labels that people checked were wrong as often as it was said before."""
    n_checked = sum(one.n_checked for one in promises)
    n_wrong = sum(one.n_wrong for one in promises)
    expected = sum(one.promised * one.n_checked for one in promises)
    broken = [
        f"{percent(one.low)} to {percent(one.high)} (promised {percent(one.promised)}, found "
        f"{percent(one.found)})"
        for one in promises
        if not one.is_kept
    ]
    verdict = (
        f"The interval of what was found leaves out what was promised at {listed(broken)}."
        if broken
        else "What was promised lies in the interval of what was found everywhere."
    )
    return (
        f"Of {with_noun(n_checked, 'checked label')} {format_count(n_wrong)} were wrong; without "
        f"the answers {format_count(expected)} were expected. {verdict}"
    )


def of_quality(quality: Quality) -> str:
    """How good the model is, and whether it knows better than the labels."""
    advice = (
        "so the model is expected to be right more often than the table"
        if quality.accuracy > quality.label_accuracy
        else "so the labels are better than the model: look before you change one"
    )
    return (
        f"Predictions made without a row's own label agree with the labels of "
        f"{percent(quality.agreement)} of {with_noun(quality.n_rows, 'labelled row')}. If the "
        f"assumptions below hold, {percent(quality.accuracy)} of the predictions and "
        f"{percent(quality.label_accuracy)} of the labels are right, {advice}."
    )
