"""check_table: whether a labelled table is fit for use, as a list of checks that pass or fail.

An audit finds the rows to look at; a check answers a pipeline. Each check says what it found in one
sentence, with the number and, where it failed, the remedy.
"""

from __future__ import annotations

import json
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Integers
from rboost._validation import Number
from rboost.audit.arguments import FEWEST_ROWS as FEWEST_UNCHECKED
from rboost.audit.arguments import Arguments, check_arguments
from rboost.audit.audit import SEED, audit_labels
from rboost.audit.fit import learn_features, used_columns
from rboost.audit.insight.suspicion import FEWEST_ROWS, SuspiciousColumn, find_suspicious_columns
from rboost.audit.labels import NO_LABEL, TableLabels, plain_values, spelling
from rboost.audit.render.text import describe_suspicious_column
from rboost.audit.wording import listed, percent, quoted, visible, with_noun
from rboost.packages import package
from rboost.table.columns import NAME, as_frame
from rboost.table.features import Features

OK, FAIL, UNKNOWN = "ok", "fail", "cannot tell"
NAMES = WRONG, LEAKS, REPEATED, SHARED, CLASSES, MISSING = (
    "wrong-labels", "label-copies", "contradictions", "shared-rows", "classes", "missing-labels",
)  # fmt: skip
# The largest share of wrong labels that passes, unless another one is asked for.
LIMIT = 0.05
# Pairs of equal rows are no accident if there are more than this many times those expected.
MORE_THAN_CHANCE = 3.0
# Where most different rows of a table occur at least this often, few rows are possible.
MANY_TIMES = 5
# Rows that are named in the figures of a check.
MOST_NAMED = 20
WIDTH = 100
# Arguments of an audit that say what the rows and labels are.
ARGUMENTS = (
    "y_checked", "checked_at_random", "X_trusted", "y_trusted", "context", "ids", "label_name",
)  # fmt: skip


@dataclass(frozen=True)
class Check:
    """What one check found.

    ``status`` is "ok", "fail" or "cannot tell"; ``figures`` has the numbers of the sentence
    ``found``, and names of rows, as plain values.
    """

    name: str
    status: str
    found: str
    remedy: str = ""
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TableCheck:
    """All checks of a table, which printed are a list; ``source`` is what the table is called."""

    checks: tuple[Check, ...]
    source: str = "table"

    @property
    def passed(self) -> bool:
        """Whether no check failed; one that cannot tell is no failure."""
        return all(check.status != FAIL for check in self.checks)

    def __getitem__(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    def __str__(self) -> str:
        lines = []
        for check in self.checks:
            start = f"{check.status:<12} {check.name:<15} "
            body = f"{check.found} {check.remedy}".strip().replace(" %", "\u00a0%")
            indent = " " * len(start)
            lines += textwrap.wrap(
                body, WIDTH, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
            )
        failed = sum(check.status == FAIL for check in self.checks)
        n_checks = with_noun(len(self.checks), "check")
        said = [line.replace("\u00a0%", " %") for line in lines]
        return "\n".join([*said, f"{self.source}: {failed or 'none'} of {n_checks} failed."])

    def to_json(self) -> str:
        """The checks for programs."""
        record = {
            "rboost": version("rboost"),
            "source": self.source,
            "passed": self.passed,
            "checks": [asdict(check) for check in self.checks],
        }
        return json.dumps(record, indent=1, ensure_ascii=False) + "\n"

    def to_junit(self) -> str:
        """The checks as JUnit XML, which services for continuous integration show as tests."""
        counts = Counter(check.status for check in self.checks)
        suite = ElementTree.Element(
            "testsuite", name="rboost check", tests=str(len(self.checks)), errors="0",
            failures=str(counts[FAIL]), skipped=str(counts[UNKNOWN]),
        )  # fmt: skip
        for check in self.checks:
            case = ElementTree.SubElement(suite, "testcase", classname=self.source, name=check.name)
            if check.status == OK:
                ElementTree.SubElement(case, "system-out").text = check.found
                continue
            kind = "failure" if check.status == FAIL else "skipped"
            ElementTree.SubElement(case, kind, message=check.found).text = check.remedy
        ElementTree.indent(suite)
        return f"{ElementTree.tostring(suite, encoding='unicode', xml_declaration=True)}\n"


def check_table(
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    fail_above: float = LIMIT,
    strict: bool = False,
    skip: Sequence[str] = (),
    source: str = "table",
    random_state: int = 0,
    **audit: Any,
) -> TableCheck:
    """Check a labelled table, and optionally a test table against it.

    Parameters
    ----------
    X : data frame or array-like of shape (n_rows, n_columns)
        The columns, without names of rows.
    y : array-like of shape (n_rows,)
        Labels; missing ones are counted.
    X_test, y_test : like X and y, default=None
        A test table, whose rows and classes are compared with those of the table. Its labels are
        not checked: check it as a table of its own.
    fail_above : float, default=0.05
        The largest share of wrong labels that passes. The check fails if the lower end of the 90 %
        interval of the share is above it, and cannot tell if only the upper end is.
    strict : bool, default=False
        Whether the upper end must not be above ``fail_above`` either.
    skip : sequence of str, default=()
        Checks to leave out: "wrong-labels", "label-copies" (wrong labels are then measured with all
        columns), "contradictions", "shared-rows", "classes", "missing-labels".
    source : str
        What to call the table.
    random_state : int, default=0
        Seed; the same seed gives the same result.
    **audit
        Further arguments of :func:`rboost.audit_labels`, such as ``y_checked``, ``context``,
        ``ids`` and ``model``. Columns that give the label away are left out of this audit.

    Returns
    -------
    checks : TableCheck
        Its ``passed`` says whether no check failed.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rboost.audit import check_table
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = check_table(X[:400], y[:400], X[350:], y[350:], skip=["wrong-labels"])
    >>> found.passed, found["shared-rows"].found
    (False, '50 of 219 test rows are in the table, 0 of them with another label.')
    """
    _check_options(fail_above, skip, random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the audit gives them, too
        given = {name: value for name, value in audit.items() if name in ARGUMENTS}
        asked = check_arguments(X, y, **given)
    features = learn_features(asked.table)
    labels, tables = _with_test(asked, X_test, y_test)
    equal, ids = _equal_rows(tables, features), asked.ids[: len(tables[0])]
    leaks = [] if LEAKS in skip else _leaks(asked, features, random_state)
    audit |= {"check_columns": False, "random_state": random_state}
    possible: dict[str, Callable[[], Check]] = {
        WRONG: lambda: (
            _known_labels(asked.labels, fail_above, strict)
            if _are_known(asked.labels)
            else _wrong_labels(X, y, features, leaks or [], fail_above, strict, audit)
        ),
        LEAKS: lambda: _label_copies(leaks),
        REPEATED: lambda: _contradictions(equal, labels[0], ids),
        SHARED: lambda: _shared_rows(equal, labels),
        CLASSES: lambda: _classes(labels),
        MISSING: lambda: _missing_labels(labels[0], ids),
    }
    left_out = {
        *skip,
        *([SHARED] if X_test is None else []),
        *([CLASSES] if y_test is None else []),
    }
    checks = tuple(check() for name, check in possible.items() if name not in left_out)
    return TableCheck(checks, " ".join(visible(source).split()))


def _check_options(fail_above: float, skip: Sequence[str], random_state: int) -> None:
    """Fail with one sentence where options are wrong."""
    for name in skip:
        if name not in NAMES:
            raise ValueError(f"There is no check {name!r}; skip some of {', '.join(NAMES)}.")
    if not Number(0, closed=True, high=1).accepts(fail_above):
        raise ValueError(f"fail_above must be a share from 0 to 1, not {fail_above!r}.")
    if not SEED.accepts(random_state):
        raise ValueError(f"random_state must be {SEED}, not {random_state!r}.")


def _with_test(asked: Arguments, X_test: Any, y_test: Any) -> tuple[list[list[Any]], list[Any]]:
    """Labels and columns of the table and, if there is one, of the test table."""
    n_rows = len(asked.labels) - asked.n_extra
    names: dict[Any, str] = {}
    labels, table = _spelled(asked.labels.written[:n_rows], names), asked.table[:n_rows]
    if X_test is None:
        if y_test is not None:
            raise ValueError("y_test needs the rows it belongs to; pass X_test too.")
        return [labels], [table]
    test = as_frame(X_test)
    absent = [column for column in table.columns if column not in test.columns]
    if absent:
        raise ValueError(f"X_test lacks the column {absent[0]!r}; pass all columns of X.")
    of_test = [None] * len(test) if y_test is None else _spelled(y_test, names)
    if len(of_test) != len(test):
        raise ValueError(
            f"X_test has {len(test)} rows but y_test has {len(of_test)}; pass one a row."
        )
    return [labels, of_test], [table, test[table.columns]]


def _spelled(y: Any, names: dict[Any, str]) -> list[Any]:
    """The labels as text, those of one class as the first is written; None where there is none."""
    values = np.asarray(y, dtype=object)
    values = values[:, 0] if values.shape[1:] == (1,) else values
    if values.ndim != 1:
        raise ValueError("y_test must have one entry a row, not several; pass a single column.")
    written = ["" if one is None else str(one) for one in plain_values(values)]
    return [names.setdefault(spelling(one), one) if one else None for one in written]


@dataclass(frozen=True, eq=False)
class _EqualRows:
    """Which rows of all tables are equal.

    ``number`` is the same for equal rows, ``others`` for rows that are equal but for the column
    with most values, in which two rows agree by chance with probability ``agree``. The first
    ``n_rows`` are those of the first table; ``aside`` names columns that do not count, and nothing
    is compared where no other is left.
    """

    number: Integers
    others: Integers
    agree: float
    n_rows: int
    aside: list[str]
    is_compared: bool

    def are_by_chance(self, between: bool) -> bool:
        """Whether few rows are possible, or no more pairs are equal than is expected.

        Expected from those that differ in one column: pairs of the first table, or ``between`` it
        and the second.
        """
        times = np.bincount(self.number[: self.n_rows])
        if np.median(times[times > 0]) >= MANY_TIMES:
            return True
        found, nearly = (self._pairs(number, between) for number in (self.number, self.others))
        odds = self.agree / max(1 - self.agree, 1e-12)
        return found <= MORE_THAN_CHANCE * odds * (nearly - found)

    def _pairs(self, number: Integers, between: bool) -> float:
        one, other = (
            np.bincount(part, minlength=number.max() + 1).astype(np.float64)
            for part in (number[: self.n_rows], number[self.n_rows :])
        )
        return float(one @ other if between else one @ (one - 1) / 2)


def _equal_rows(tables: list[Any], features: Features) -> _EqualRows:
    """Compare rows, but for their names: words or numbers, another one in each of the table."""
    pandas = package("pandas")
    kinds = {own.name: own.kind for own in features.encoder.columns}
    columns, aside = [], []
    for name in tables[0].columns:
        parts = [table[name] for table in tables]
        if kinds.get(name) == NAME or _counts_rows(parts[0]):
            aside.append(str(name))
            continue
        are_numbers = all(pandas.api.types.is_numeric_dtype(one) for one in parts)
        cells = pandas.concat([_plain(one, are_numbers) for one in parts], ignore_index=True)
        columns.append(pandas.factorize(cells, use_na_sentinel=False)[0])
    n_rows = len(tables[0])
    # The column with most values comes last; those that it determines tell no more rows apart.
    columns.sort(key=lambda codes: _equal_pairs(codes[:n_rows]))
    last = columns[0] if columns else np.zeros(sum(map(len, tables)), dtype=np.intp)
    others = np.zeros_like(last)
    for codes in columns[:0:-1]:
        if _together(last, codes).max() > last.max():
            others = _together(others, codes)
    number = _together(others, last)
    by_chance = _agreement(number[:n_rows], others[:n_rows], last[:n_rows])
    return _EqualRows(number, others, by_chance, n_rows, aside, bool(columns))


def _together(one: Integers, other: Integers) -> Integers:
    """The number of each pair of codes, which are from 0 to at most the number of rows."""
    found: Integers = package("pandas").factorize(one * (other.max() + 1) + other)[0]
    return found


def _equal_pairs(codes: Integers) -> float:
    """The number of pairs with the same code."""
    counts = np.bincount(codes).astype(np.float64)
    return float(counts @ (counts - 1) / 2)


def _agreement(number: Integers, others: Integers, last: Integers) -> float:
    """The probability that two rows of a table agree in its last column, if others differ.

    Each row counts once, however often it is repeated, so that repeated rows do not raise it.
    """
    _, first = np.unique(number, return_index=True)
    n_differ = len(first) * (len(first) - 1) / 2 - _equal_pairs(others[first])
    return _equal_pairs(last[first]) / n_differ if n_differ else 0.0


def _plain(column: Any, is_number: bool) -> Any:
    if is_number:
        return column.astype("float64")
    return column.astype(object).where(column.notna(), None).map(_as_text, na_action="ignore")


def _as_text(value: Any) -> str:
    """A cell as text; numbers alike, whether read as whole ones or not."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return repr(float(value)) if is_number else str(value).strip()


def _counts_rows(column: Any) -> bool:
    """Whether a column holds the numbers of the rows, in whatever order."""
    is_whole = getattr(column.dtype, "kind", "") in "iu" and not column.hasnans
    return bool(
        is_whole and column.is_unique and int(column.max()) - int(column.min()) == len(column) - 1
    )


def _leaks(asked: Arguments, features: Features, seed: int) -> list[SuspiciousColumn] | None:
    """Columns that give the label away; None where there are too few rows or columns to tell."""
    n_observed = np.count_nonzero(asked.labels.is_observed)
    if n_observed < FEWEST_ROWS or len(used_columns(features)) < 2:
        return None
    return list(find_suspicious_columns(asked.table, features, asked.labels, seed, by_group=False))


def _wrong_labels(
    X: Any,
    y: Any,
    features: Features,
    leaks: list[SuspiciousColumn],
    limit: float,
    strict: bool,
    audit: dict[str, Any],
) -> Check:
    """The share of wrong labels, those that people corrected among them, against the limit."""
    named = [name for one in leaks for name in (one.column, *one.alike)]
    names = features.encoder.names
    if not [k for k in used_columns(features) if names[k] not in named]:
        found = "No column is left that says something about the labels."
        return Check(WRONG, FAIL if strict else UNKNOWN, found, "Add columns.")
    if named:
        X = as_frame(X).drop(columns=named)
        extra = audit.get("X_trusted")
        audit = audit if extra is None else {**audit, "X_trusted": as_frame(extra)[X.columns]}
    done = audit_labels(X, y, **audit)
    summary = done.summary()
    shares = np.array([summary.share_low, summary.expected_share, summary.share_high])
    low, expected, high = _of_all(done.labels, shares, summary.n_unchecked)
    found = (
        f"{percent(low)} to {percent(high)} of the labels are wrong (90 % interval); the limit is "
        f"{100 * limit:g} %."
    )
    if named:
        found += f" Measured without {listed([quoted(name) for name in named])}."
    return _against_limit(found, (low, expected, high), limit, strict)


def _are_known(labels: TableLabels) -> bool:
    """Whether people checked labels, and so many that too few are left for an audit."""
    n_checked = int(np.count_nonzero(labels.is_checked & (labels.given != NO_LABEL)))
    return n_checked > 0 and int(np.count_nonzero(labels.is_observed)) < FEWEST_UNCHECKED


def _known_labels(labels: TableLabels, limit: float, strict: bool) -> Check:
    """The same where people checked nearly all labels: the others may all be right, or wrong."""
    n_unchecked = int(np.count_nonzero(labels.is_observed))
    low, expected, high = _of_all(labels, np.array([0, 0.5, 1]), n_unchecked)
    found = f"{percent(low)} of the labels are wrong, as people checked all of them"
    if n_unchecked:
        found = (
            f"{percent(low)} to {percent(high)} of the labels are wrong, as people checked all but "
            f"{n_unchecked}"
        )
    found += f"; the limit is {100 * limit:g} %."
    return _against_limit(found, (low, expected, high), limit, strict)


def _of_all(labels: TableLabels, shares: NDArray[Any], n_unchecked: int) -> list[float]:
    """The shares of wrong labels among all of the table, from those among unchecked ones."""
    known = labels.is_checked & (labels.given != NO_LABEL)
    n_corrected = np.count_nonzero(known & (labels.given != labels.checked))
    n_labels = n_unchecked + np.count_nonzero(known)
    found: list[float] = ((shares * n_unchecked + n_corrected) / n_labels).tolist()
    return found


def _against_limit(
    found: str, shares: tuple[float, float, float], limit: float, strict: bool
) -> Check:
    low, expected, high = shares
    figures = {"low": low, "expected": expected, "high": high, "limit": limit, "strict": strict}
    if high <= limit:
        return Check(WRONG, OK, found, figures=figures)
    if low <= limit:  # possibly none has to be corrected
        remedy = "Check 30 random labels (rboost audit, rboost review) and pass them as trusted."
        return Check(WRONG, FAIL if strict else UNKNOWN, found, remedy, figures)
    remedy = "List and correct them: rboost audit, rboost review, rboost clean."
    return Check(WRONG, FAIL, found, remedy, figures)


def _label_copies(leaks: list[SuspiciousColumn] | None) -> Check:
    if leaks is None:
        found = (
            f"It takes {FEWEST_ROWS} labels that nobody checked and two columns to tell a copy of "
            "the label."
        )
        return Check(LEAKS, UNKNOWN, found, "Add rows or columns.")
    figures = {"columns": [asdict(one) for one in leaks]}
    if not leaks:
        return Check(LEAKS, OK, "No column gives the label away.", figures=figures)
    return Check(LEAKS, FAIL, " ".join(map(describe_suspicious_column, leaks)), figures=figures)


def _contradictions(equal: _EqualRows, labels: list[Any], ids: NDArray[Any]) -> Check:
    """Equal rows with different labels."""
    if not equal.is_compared:
        return _not_compared(REPEATED)
    number = equal.number[: equal.n_rows].tolist()
    known = _labels_of(number, labels)
    rows = [place for place, row in enumerate(number) if len(known[row]) > 1]
    repeat = "repeats" if len(rows) == 1 else "repeat"
    start = f"{with_noun(len(rows), 'row')} {repeat}" if rows else "No row repeats"
    found = f"{start} another one with a different label{_but(equal)}."
    figures = _figures(rows, ids)
    if not rows:
        return Check(REPEATED, OK, found, figures=figures)
    if equal.are_by_chance(between=False):
        return _coarse(REPEATED, found, figures)
    remedy = f"Correct one of them or leave both out: {_named(figures)}."
    return Check(REPEATED, FAIL, found, remedy, figures)


def _not_compared(name: str) -> Check:
    found = "Every column names or counts the rows, so that there is nothing to compare them by."
    return Check(name, UNKNOWN, found, f"Add columns, or leave this check out (--skip {name}).")


def _coarse(name: str, found: str, figures: dict[str, Any]) -> Check:
    why = "By chance about as many would be equal, as the columns have few values."
    remedy = f"Add columns that tell rows apart, or leave this check out (--skip {name})."
    return Check(name, UNKNOWN, f"{found} {why}", remedy, figures)


def _labels_of(number: list[int], labels: list[Any]) -> dict[int, set[Any]]:
    """The labels that equal rows have, by their number."""
    found: dict[int, set[Any]] = {row: set() for row in number}
    for row, label in zip(number, labels, strict=True):
        if label is not None:
            found[row].add(label)
    return found


def _figures(rows: list[int], ids: NDArray[Any]) -> dict[str, Any]:
    return {"rows": len(rows), "first": [str(one) for one in ids[rows[:MOST_NAMED]]]}


def _named(figures: dict[str, Any]) -> str:
    """The first rows of a check, in a sentence."""
    first = [quoted(name) for name in figures["first"][:5]]
    row = "row" if figures["rows"] == 1 else "rows"
    return f"{row} {listed(first + ['others'] * (figures['rows'] > 5))}"


def _but(equal: _EqualRows) -> str:
    names = [quoted(name) for name in equal.aside]
    return f" ({listed(names)} not compared)" if names else ""


def _shared_rows(equal: _EqualRows, labels: list[list[Any]]) -> Check:
    """Test rows that the table has as well."""
    if not equal.is_compared:
        return _not_compared(SHARED)
    number = equal.number.tolist()
    known, test = _labels_of(number[: equal.n_rows], labels[0]), number[equal.n_rows :]
    rows = [place for place, row in enumerate(test) if row in known]
    n_others = sum(
        labels[1][place] not in (None, *known[test[place]]) for place in rows if known[test[place]]
    )
    figures = _figures(rows, np.arange(1, len(test) + 1)) | {"with_another_label": n_others}
    if not rows:
        found = f"None of {with_noun(len(test), 'test row')} is in the table{_but(equal)}."
        return Check(SHARED, OK, found, figures=figures)
    found = (
        f"{len(rows)} of {with_noun(len(test), 'test row')} {'is' if len(rows) == 1 else 'are'} in "
        f"the table, {n_others} of them with another label{_but(equal)}."
    )
    if equal.are_by_chance(between=True):
        return _coarse(SHARED, found, figures)
    remedy = f"Leave them out of one of both: test {_named(figures)}."
    return Check(SHARED, FAIL, found, remedy, figures)


def _classes(labels: list[list[Any]]) -> Check:
    """Classes that only one of both tables has."""
    table, test = ({label for label in own if label is not None} for own in labels)
    alone = {"table": sorted(table - test), "test": sorted(test - table)}
    said = [
        f"only the {where} has {listed([quoted(name) for name in names])}"
        for where, names in alone.items()
        if names
    ]
    if not said:
        return Check(CLASSES, OK, "Both tables have the same classes.", figures={**alone})
    found = f"{'; '.join(said)}."
    remedy = "Spell them alike, or split the rows so that both tables have every class."
    return Check(CLASSES, FAIL, f"O{found[1:]}", remedy, {**alone})


def _missing_labels(labels: list[Any], ids: NDArray[Any]) -> Check:
    figures = _figures([place for place, label in enumerate(labels) if label is None], ids)
    n_rows = figures["rows"]
    if not n_rows:
        return Check(MISSING, OK, "Every row has a label.", figures=figures)
    have = "has" if n_rows == 1 else "have"
    found = f"{with_noun(n_rows, 'row')} of {len(labels)} {have} no label."
    return Check(MISSING, FAIL, found, f"Label or leave out {_named(figures)}.", figures)
