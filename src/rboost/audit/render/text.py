"""What an audit found, in words: sentences for report and terminal, suspects as a table."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np

from rboost.audit.insight.checked import MODEL, CalibrationBin, PredictiveCheck
from rboost.audit.insight.explanation import Explanation, Reason
from rboost.audit.insight.summary import (
    FEW_CHECKS,
    AuditSummary,
    FlipRate,
    band_of,
    width_after_checks,
)
from rboost.audit.insight.suspicion import COPY, EMPTY, FILLED, SuspiciousColumn
from rboost.audit.insight.words import ReadText
from rboost.audit.wording import (
    end_at_word,
    format_count,
    format_estimate,
    listed,
    measured,
    one_line,
    percent,
    quoted,
    visible,
    with_noun,
)
from rboost.labels import FEWEST_OF_CLASS
from rboost.noise.annotators import INFORMATIVE
from rboost.packages import package

# Fewer expected rows of a confusion than this are not worth a line.
FEWEST_ROWS = 1.0
WIDTH = 100
MOST_FLIPS, MOST_GROUPS, MOST_DOUBTED = 6, 12, 5
# Numbers of labels a row of which the consensus is described.
SHOWN_LABELS = (1, 2, 3, 5, 10)
# Widest columns: name of the row, label given, label suggested, probability.
WIDEST = (18, 16, 18, 7)
NO_REASON, NO_WORD = "no single column stands out", "no single word or column stands out"
# Characters of a text that are shown at first.
SHOWN_TEXT = 300
NEXT = "report() shows all, to_frame() lists the suspects, explain(row) gives reasons."
_CUT = "…"
_ISOLATES = {0x2068: None, 0x2069: None}


def describe_findings(summary: AuditSummary) -> list[str]:
    """What is in the table, how many labels are wrong, and which are listed."""
    return [describe_rows(summary), describe_wrong_labels(summary), describe_suspects(summary)]


def describe_rows(summary: AuditSummary) -> str:
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
        sentences.append(
            f"{with_noun(summary.n_checked, 'label')} {_were(summary.n_checked)} checked by a "
            f"person; {format_count(summary.n_corrected)} of them differed from the label given."
        )
    if summary.unused_columns:
        named = [quoted(name) for name in summary.unused_columns]
        sentences.append(
            f"Not used, as they are empty, constant or names of rows: {listed(named)}."
        )
    return " ".join(sentences)


def describe_wrong_labels(summary: AuditSummary) -> str:
    """How many labels are wrong, as far as it is known."""
    if not summary.n_unchecked:
        return "A person has checked every label."
    checked = " that nobody has checked" if summary.n_checked else ""
    labels = f"the {with_noun(summary.n_unchecked, 'label')}{checked}"
    of_labels = f"of {labels} {_are(summary.n_unchecked)} wrong"
    ends = _between(summary.share_low, summary.share_high, summary.n_unchecked)
    expected = f"about {format_estimate(summary.expected_wrong, summary.n_unchecked)}"
    if summary.share_source != MODEL:
        said = f"{ends} {of_labels} (90 % interval by random checks alone; the model: {expected})."
    elif summary.is_uncertain:
        said = f"Cannot tell yet how many of {labels} are wrong: {ends} (90 % interval)."
    else:
        share = percent(summary.expected_share)
        said = f"{expected} {of_labels} ({share}; 90 % interval: {ends})."
    return f"{said[0].upper()}{said[1:]}{_describe_random_checks(summary)}"


def _describe_random_checks(summary: AuditSummary) -> str:
    """What labels that were drawn at random say without any model; nothing without them."""
    found = summary.random_checks
    if found is None:
        return ""
    return (
        f" Of {with_noun(found.n_checked, 'label')} drawn at random and checked, "
        f"{format_count(found.n_wrong)} {_were(found.n_wrong)} wrong; by this count alone, without "
        f"any model, {_interval(found.low, found.high)} of all labels given are wrong (90 % "
        "interval)."
    )


def describe_contradiction(found: PredictiveCheck | None) -> str:
    """Whether people found what was expected; nothing where they did."""
    if found is None or not found.contradicts:
        return ""
    n_wrong, expected = format_count(found.n_wrong), format_count(found.expected)
    return (
        f"Of {with_noun(found.n_checked, 'checked label')} {n_wrong} {_were(n_wrong)} wrong where "
        f"about {expected} {_were(expected)} expected: labels are not wrong in the way that was "
        "assumed, or answers are mistaken; all figures now follow the answers."
    )


def describe_suspects(summary: AuditSummary) -> str:
    """What is on the list of suspects, and how many of them are wrong, as far as it is known."""
    n = summary.n_suspects
    if not n:
        return "No label is listed."
    ends = _between(summary.list_low, summary.list_high, n)
    listed_ = f"Listed {_are(n)} the {with_noun(n, 'label')} most worth checking"
    by_checks = " by random checks alone" if summary.list_source != MODEL else ""
    doubt = " They are the most suspicious ones, not known to be wrong."
    caution = doubt if summary.is_uncertain else ""
    if summary.is_list_known:
        share = np.clip(summary.expected_found / n, summary.list_low, summary.list_high)
        found = format_estimate(share * n, n)
        return (
            f"{listed_}: about {found} of them are wrong (90 % interval{by_checks}: "
            f"{ends}).{caution}"
        )
    return (
        f"{listed_}. How many of them are wrong cannot be told yet: {ends} (90 % "
        f"interval{by_checks}).{caution} Checking some of them narrows this."
    )


@dataclass(frozen=True)
class Confusion:
    """Labels that rows of a true class carry equally often, and the number of these rows."""

    true: str
    given: tuple[str, ...]
    rate: str
    interval: str
    expected_rows: float

    @property
    def names(self) -> str:
        """The labels in a sentence."""
        return listed([quoted(name) for name in self.given])

    @property
    def each(self) -> str:
        """What a rate needs if it is of several labels."""
        return " each" if len(self.given) > 1 else ""


def find_confusions(summary: AuditSummary, is_brief: bool = False) -> list[Confusion]:
    """Kinds of wrong labels, those with the most rows first; of two classes all.

    Labels of a true class with the same rate and interval share a line; without ``is_brief`` only
    if they also have the same number of rows.
    """
    together: dict[tuple[str, ...], list[FlipRate]] = {}
    for flip in summary.flips:
        if len(summary.classes) == 2 or _rows(flip) >= FEWEST_ROWS:
            number = "" if is_brief else format_count(_rows(flip))
            together.setdefault((flip.true, *_rate(flip), number), []).append(flip)
    found = [
        Confusion(true, tuple(one.given for one in flips), rate, interval, sum(map(_rows, flips)))
        for (true, rate, interval, _), flips in together.items()
    ]
    return sorted(found, key=lambda one: -one.expected_rows / len(one.given))


def describe_confusions(summary: AuditSummary, most: int) -> list[str]:
    """The most frequent kinds of wrong labels, and how many are not named."""
    rates = {_rate(flip) for flip in summary.flips}
    if len(summary.classes) > 2 and len(rates) == 1:
        ((rate, interval),) = rates
        share, interval = _as_known(summary, rate, interval, sum(map(_rows, summary.flips)), True)
        return [
            f"Whatever the true class, {share} of its rows are given each of the other labels "
            f"({interval})."
        ]
    found = find_confusions(summary, is_brief=True)
    if not found:
        return ["No two classes are expected to be confused in even one row."]
    are = "were" if summary.n_corrected else "are"  # labels as given, some are corrected by now
    sentences = []
    for one in found[:most]:
        share, interval = _as_known(
            summary, one.rate, one.interval, one.expected_rows, bool(one.each)
        )
        sentences.append(
            f"Of true {quoted(one.true)}, {share}{one.each} {are} labelled {one.names} "
            f"({interval})."
        )
    if len(found) > most:
        sentences.append(f"… and {with_noun(len(found) - most, 'rarer confusion')}.")
    return sentences


def _as_known(
    summary: AuditSummary, rate: str, interval: str, n_rows: float, is_sum: bool
) -> tuple[str, str]:
    """A rate and what is said of it in brackets; the interval alone where no more is known."""
    if summary.is_uncertain:
        return interval, "90 % interval"
    number = format_estimate(n_rows)
    rows = f"{'row' if number == '1' else 'rows'}{' in all' if is_sum else ''}"
    about = "less than one row" if n_rows < 0.5 else f"about {number} {rows}"
    return rate, f"90 % interval: {interval}; {about}"


def describe_groups(summary: AuditSummary) -> list[str]:
    """The share of wrong labels in each group, the largest first."""
    sentences = []
    for one in sorted(summary.groups, key=lambda group: -group.wrong_share):
        rows = with_noun(one.n_rows, "row")
        if one.n_unchecked < one.n_rows:
            rows = f"{format_count(one.n_unchecked)} of {rows} not checked"
        sentences.append(
            f"Labels by {one_line(summary.context, 60)} {quoted(one.name)}: "
            f"{percent(one.wrong_share)} wrong (90 % interval: {_interval(one.low, one.high)}; "
            f"{rows})."
        )
    return sentences


def describe_annotators(summary: AuditSummary) -> list[str]:
    """How often annotators are right, the least accurate first; what they do instead."""
    sentences = []
    for one in summary.annotators:
        kind = "" if one.kind == INFORMATIVE else f"; {one_line(one.kind, 60)}"
        sentences.append(
            f"Labels of {quoted(one.name)}: {percent(one.accuracy)} right (90 % interval: "
            f"{_interval(one.low, one.high)}; {with_noun(one.n_labels, 'label')}{kind})."
        )
    return sentences


def describe_copies(summary: AuditSummary) -> list[str]:
    """Pairs of annotators who agree too often."""
    return [
        f"{quoted(one.first)} and {quoted(one.second)} gave the same label to "
        f"{format_count(one.n_same)} of the {with_noun(one.n_rows, 'row')} that both labelled, "
        f"where about {format_count(one.expected_same)} were to be expected: they copy from each "
        "other or from one source, and count as two opinions; leave one of them out."
        for one in summary.copies
    ]


def describe_labels_needed(summary: AuditSummary) -> str:
    """How many labels a row are enough; nothing where rows have one each."""
    if not summary.labels_a_row:
        return ""
    one, *more = [each for each in summary.labels_a_row if each.n_labels in SHOWN_LABELS]
    shares = [
        f"{percent(one.accuracy)} of the rows with one label each",
        *(f"{percent(each.accuracy)} with {each.n_labels}" for each in more),
    ]
    return (
        f"A consensus would be right in about {listed(shares)}; rows that are labelled have "
        f"{summary.mean_labels:.1f} on average."
    )


def describe_questions(summary: AuditSummary) -> list[str]:
    """Whom to ask about which row next."""
    return [
        f"Ask {quoted(one.annotator)} about row {quoted(one.row)}: {one_line(one.consensus, 40)} "
        f"with {percent(one.probability)} so far."
        for one in summary.questions
    ]


def describe_cautions(summary: AuditSummary) -> list[str]:
    """Cautions: answers that contradict the model, overlap, columns that hide wrong labels."""
    columns = map(describe_suspicious_column, summary.column_warnings)
    first = (
        *describe_copies(summary)[:MOST_DOUBTED],
        describe_contradiction(summary.predictive_check),
        _describe_doubtful_answers(summary.doubtful_answers),
        _describe_uncertainty(summary),
    )
    return [sentence for sentence in (*first, *columns) if sentence]


def _describe_doubtful_answers(names: tuple[str, ...]) -> str:
    """Which answers are to be looked at again; nothing where none is."""
    if not names:
        return ""
    shown = listed([quoted(name) for name in names[:MOST_DOUBTED]])
    more = len(names) - MOST_DOUBTED
    others = f" and {with_noun(more, 'other row')}" if more > 0 else ""
    return (
        f"Please look again at {shown}{others}: the label that was given and the model both "
        "disagree with the answer, so it counts less."
    )


def _describe_uncertainty(summary: AuditSummary) -> str:
    """Why the share of wrong labels is not identified, and a remedy; empty where it is."""
    if not summary.is_uncertain:
        return ""
    width = width_after_checks(summary.expected_share)
    return (
        "The classes overlap: where the columns do not settle the class, a label that disagrees "
        f"with them may be wrong or right. Check {FEW_CHECKS} labels drawn at random (rboost "
        "review), and the share of wrong labels is known to about "
        f"±{100 * width / 2:.0f} points."
    )


def describe_suspicious_column(found: SuspiciousColumn) -> str:
    """Why one column hides wrong labels, and the remedy."""
    name, option = quoted(found.column), shlex.quote(one_line(found.column, 40))
    drop = f"leave it out (--drop {option})"
    if found.kind == COPY:
        return (
            f"The column {name} alone predicts all but {percent(found.rate)} of the labels; all "
            f"others together miss {percent(found.other_rate)}. It looks like a copy of the "
            f"label, beside which no label seems wrong; unless it was known before the label was, "
            f"{drop}."
        )
    same = [quoted(other) for other in found.alike]
    if found.kind in (FILLED, EMPTY):
        others = f"{percent(found.rate)} have" if found.rate else "none has"
        options = " ".join(shlex.quote(one_line(one, 40)) for one in (found.column, *found.alike))
        return (
            f"The column {name}{f' (and {listed(same)} likewise)' if same else ''} is {found.kind} "
            f"nearly only where the label is {quoted(found.value)}: of the rows where it is, "
            f"{others} another label, while all other columns together miss "
            f"{percent(found.other_rate)}. It looks like a copy of that label, beside which no "
            "such label seems wrong; unless it was known before the label was, leave it out "
            f"(--drop {options})."
        )
    says = f" (and {listed(same)}, which say the same)" if same else ""
    return (
        f"The column {name}{says} seems to tell which labels are wrong: without it, about "
        f"{percent(found.rate)} of the labels are wrong where it is {quoted(found.value)}, "
        f"elsewhere {percent(found.other_rate)}; with it, the classes only seem to overlap. "
        "If it says who labelled a row, where it comes from or when, and nothing of its class, "
        f"name it as context (--context {option}), else {drop}."
    )


def describe_calibration(bins: tuple[CalibrationBin, ...]) -> str:
    """Whether checked labels were wrong as often as was predicted without the answers."""
    if not bins:
        return ""
    n_checked = sum(one.n_checked for one in bins)
    n_wrong = sum(one.n_wrong for one in bins)
    expected = sum(one.predicted * one.n_checked for one in bins)
    outside = [
        f"{_interval(one.low, one.high)} (predicted {percent(one.predicted)}, found "
        f"{percent(one.found)})"
        for one in bins
        if not one.is_consistent
    ]
    verdict = (
        "The predicted share lies outside the 90 % interval of the share that was found at "
        f"{listed(outside)}."
        if outside
        else "Every predicted share lies in the 90 % interval of the share that was found."
    )
    return (
        f"Of {with_noun(n_checked, 'checked label')} {format_count(n_wrong)} {_were(n_wrong)} "
        f"wrong; before anybody checked, {format_count(expected)} {_were(format_count(expected))} "
        f"expected. {verdict}"
    )


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _were(number: int | str) -> str:
    return "was" if number in (1, "1") else "were"


def _interval(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"


def _between(low: float, high: float, n_rows: int) -> str:
    """The ends of an interval of a share, in rows; whole ones around it if both round to one."""
    ends = low * n_rows, high * n_rows

    def said(end: float) -> str:
        return "all" if round(end) == n_rows > 99 else format_estimate(round(end), n_rows)

    least, most = map(said, ends)
    if least == most:
        first, last = floor(round(ends[0], 6)), min(ceil(round(ends[1], 6)), n_rows)
        least, most = map(format_count, (first, last))
    return f"about {most}" if least == most else f"{least} to {most}"


def _rate(flip: FlipRate) -> tuple[str, str]:
    return percent(flip.rate), _interval(flip.low, flip.high)


def _rows(flip: FlipRate) -> float:
    return flip.expected_rows or 0.0


def describe(
    summary: AuditSummary, most_suspicious: list[Explanation], fit: Any, ids: Any, id_name: str
) -> str:
    """Rows, classes, flip rates, and the most suspicious rows, 100 columns wide.

    ``fit`` says of each of these rows whether it fits a class. No cell of the table can make the
    terminal do anything: control characters are spelt out.
    """
    groups = describe_groups(summary)
    if len(groups) > MOST_GROUPS:
        groups[MOST_GROUPS:] = [f"… and {len(groups) - MOST_GROUPS} groups with fewer."]
    annotators = describe_annotators(summary)
    if len(annotators) > MOST_GROUPS:
        left = with_noun(len(annotators) - MOST_GROUPS, "annotator")
        annotators[MOST_GROUPS:] = [f"… and {left} right more often."]
    rows, wrong_labels, suspects = map(wrapped, describe_findings(summary))
    parts = [
        rows,
        wrong_labels,
        *(
            "\n".join(wrapped(line, "  ", "    ") for line in lines)
            for lines in (describe_confusions(summary, MOST_FLIPS), groups, annotators)
        ),
        wrapped(describe_labels_needed(summary)),
        "\n".join(wrapped(line, "  ", "    ") for line in describe_questions(summary)),
        *map(wrapped, describe_cautions(summary)),
        suspects,
    ]
    if most_suspicious:
        has_texts = any(one.texts for one in most_suspicious)
        show = _below_texts if has_texts else _aligned
        parts.append(show(most_suspicious, fit, ids, id_name))
        if summary.n_suspects > len(most_suspicious):
            n_more = summary.n_suspects - len(most_suspicious)
            parts[-1] += f"\n… and {with_noun(n_more, 'more suspect')}"
    # Marks around words that are written from right to left are for browsers.
    return "\n\n".join(filter(None, parts)).translate(_ISOLATES) + "\n"


def as_lines(summary: AuditSummary) -> str:
    """A few lines instead of all arrays: rows, classes, wrong labels, and what to call next."""
    first = (
        f"LabelAudit of {one_line(summary.label_name, 40)!r}: "
        f"{with_noun(summary.n_rows, 'row')}, "
        f"{with_noun(len(summary.classes), 'class', 'classes')}, "
        f"{with_noun(summary.n_suspects, 'suspect')}"
    )
    found = wrapped(describe_wrong_labels(summary), "  ", "  ")
    return "\n".join([first, found, f"  {NEXT}"])


def _aligned(rows: list[Explanation], fit: Any, ids: Any, id_name: str) -> str:
    """A table in bands; its last column takes what room is left, in lines below one another."""
    head = [id_name, "given", "→ suggested", "wrong"]
    cells = [
        [ids[one.row], one.given, f"→ {one.suggested}", percent(one.probability_wrong)]
        for one in rows
    ]
    texts = [[one_line(cell, 120) for cell in row] for row in (head, *cells)]
    columns = zip(WIDEST, zip(*texts, strict=True), strict=True)
    widths = [min(most, max(map(width, column))) for most, column in columns]
    indent = " " * (sum(widths) + 2 * len(widths))
    begun = [
        "  ".join(fitted(cell, w) for cell, w in zip(row, widths, strict=True)) for row in texts
    ]
    lines, band = [f"{begun[0]}  strongest reason"], ""
    for one, first, own_fit in zip(rows, begun[1:], fit, strict=True):
        if band_of(one.probability_wrong) != band:
            band = band_of(one.probability_wrong)
            lines.append(f"{band}:")
        said = f"{own_fit}; {_strongest(one)}" if own_fit else _strongest(one)
        lines.append(wrapped(said, f"{first} ", indent))
    return "\n".join(lines)


def _below_texts(rows: list[Explanation], fit: Any, ids: Any, id_name: str) -> str:
    """The text of each row, then what is said of it."""
    blocks = ["Words between * speak for the suggested label."]
    for one, own_fit in zip(rows, fit, strict=True):
        label = f"{one_line(one.given, 40)} → {one_line(one.suggested, 40)}"
        name = f"{one_line(id_name, 24)} {one_line(ids[one.row], 40)}"
        said = f"{band_of(one.probability_wrong)} ({percent(one.probability_wrong)})"
        first = f"{name}: {label}, {said}{f', {own_fit}' if own_fit else ''}"
        below = (first, _strongest(one))
        lines = [wrapped(_starred(text)) for text in one.texts] or ["(no text)"]
        blocks.append("\n".join([*lines, *(wrapped(line, "  ", "    ") for line in below)]))
    return "\n\n".join(blocks)


def _starred(read: ReadText) -> str:
    """The beginning of a text as a single line, words that speak for the suggested label marked."""
    end = end_at_word(read.text, SHOWN_TEXT)
    marked = "".join(f"*{part}*" if side == "suggested" else part for part, side in read.parts(end))
    cut = f" {_CUT}" if end < len(read.text) else ""
    return " ".join(visible(marked).split()) + cut


def _strongest(explanation: Explanation) -> str:
    said = describe_words(explanation)
    if not explanation.reasons:
        return said or no_reason(explanation)
    reason = describe_reason(explanation, explanation.reasons[0])
    return f"{said}; {reason}" if said else reason


def no_reason(explanation: Explanation) -> str:
    """What is said of a row of which nothing speaks against its label."""
    return NO_WORD if explanation.texts else NO_REASON


def describe_words(explanation: Explanation) -> str:
    """Which words speak for the suggested label; empty where none does."""
    words = [quoted(word, 24) for word in explanation.words]
    if not words:
        return ""
    given, suggested = quoted(explanation.given), quoted(explanation.suggested)
    speak = "speaks" if len(words) == 1 else "speak"
    return f"{', '.join(words)} {speak} for {suggested}, not for {given}"


def describe_reason(explanation: Explanation, reason: Reason) -> str:
    """What the row has in a column, and what rows of either label usually have there."""
    given, suggested = quoted(explanation.given, 24), quoted(explanation.suggested, 24)
    return (
        f"{one_line(reason.column, 40)} is {measured(reason.value, 40)}; of those labelled "
        f"{given} usually {one_line(reason.typical)}, {suggested} "
        f"{one_line(reason.typical_suggested)}"
    )


def width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(map(_width_of, text))


def fitted(text: str, columns: int) -> str:
    """A text cut in the middle, or padded, to a number of columns."""
    if width(text) > columns:
        head = _beginning(text, columns // 2)
        text = head + _CUT + _beginning(text[::-1], columns - width(head) - 1)[::-1]
    return text + " " * (columns - width(text))


def _beginning(text: str, columns: int) -> str:
    ends = np.cumsum([_width_of(character) for character in text])
    return text[: int(np.searchsorted(ends, columns, side="right"))]


def wrapped(text: str, first: str = "", indent: str = "") -> str:
    """A text in lines that fit; the first begins with ``first``, the others with ``indent``.

    No line ends within a number, or between it and its percent sign.
    """
    lines, line = [], first
    for word in _breakable(text, WIDTH - width(indent)):
        joined = f"{line}{word}" if not line.strip() else f"{line} {word}"
        if line.strip() and width(joined) > WIDTH:
            lines.append(line)
            joined = indent + word
        line = joined
    return "\n".join([*lines, line])


def _breakable(text: str, room: int) -> Iterator[str]:
    """The words of a text; those that are wider than this in pieces."""
    for word in re.findall(r"[^ \n]+(?: %[^ \n]*)?", text):  # thousands are set apart by \u202f
        while width(word) > room:
            ends = np.cumsum([_width_of(character) for character in word])
            fits = max(1, int(np.searchsorted(ends, room, side="right")))
            yield word[:fits]
            word = word[fits:]
        yield word


def _width_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def list_rows(explanations: list[Explanation], fit: Any, ids: Any, id_name: str, table: Any) -> Any:
    """A pandas frame of rows: what they are labelled, what is suggested, why, and their values."""
    columns = {
        id_name: [ids[one.row] for one in explanations],
        "given_label": [one.given for one in explanations],
        "suggested_label": [one.suggested for one in explanations],
        "probability_wrong": np.round([one.probability_wrong for one in explanations], 4),
        "band": [band_of(one.probability_wrong) for one in explanations],
        "fit": fit,
        "probability_suggested": np.round([one.probability_suggested for one in explanations], 4),
        "against_given_label": [in_words(one) for one in explanations],
        "nearest_agreeing_rows": [
            ", ".join(str(ids[k]) for k in one.agreeing) for one in explanations
        ],
    }
    pandas = package("pandas")
    listed = pandas.DataFrame(columns)
    values = table.iloc[[one.row for one in explanations]].reset_index(drop=True)
    values.columns = renamed(values.columns, list(listed.columns))
    return pandas.concat([listed, values], axis=1)


def renamed(columns: Any, taken: list[str]) -> list[str]:
    """Names of columns, with something before those that are taken."""
    names = [str(name) for name in columns]
    used = {*taken, *names}
    for place, name in enumerate(names):
        if name in taken:
            while names[place] in used:
                names[place] = f"table_{names[place]}"
            used.add(names[place])
    return names


def in_words(explanation: Explanation) -> str:
    """The reasons in one line; nothing where none were looked for, which leaves no neighbours."""
    said = (describe_reason(explanation, one) for one in explanation.reasons)
    found = ". ".join(filter(None, [describe_words(explanation), *said]))
    is_explained = explanation.given and explanation.agreeing
    return found or (no_reason(explanation) if is_explained else "")
