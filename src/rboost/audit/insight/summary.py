"""Rows whose labels are worth a look, and the numbers that report, terminal and audit.json share.

The accuracy of the model is estimated without true labels: if the noise model holds, the posterior
of a row is the probability that its prediction is right, and the mean over rows is the expected
accuracy. Predictions are made without the row's own label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from rboost._typing import Floats, Integers
from rboost._validation import Number
from rboost.audit.insight.annotators import (
    AnnotatorSummary,
    CopySummary,
    LabelsSummary,
    Question,
)
from rboost.audit.insight.checked import (
    MODEL,
    PredictiveCheck,
    RandomChecks,
    count_random_checks,
    exact_interval,
)
from rboost.audit.insight.suspicion import SuspiciousColumn
from rboost.audit.labels import NO_LABEL, TableLabels
from rboost.labels import Groups
from rboost.noise import NoisePosterior
from rboost.noise.groups import GroupedNoise

# Numbers of rows that a person may want to check.
BUDGETS = (10, 20, 50, 100, 200, 500)
# More points than this cannot be told apart in a picture.
MOST_ROWS, MOST_SUSPECTS = 3000, 500
# A label is probably wrong from this probability on. An interval that this many random checks would
# make narrower says that the share of wrong labels cannot be told yet.
PROBABLY, FEW_CHECKS = 0.5, 30
# How many of a list are wrong is said where the interval of the share is at most so wide; else the
# interval alone.
WIDEST_PROMISE = 0.3
# The length of a list that nobody asked to be longer or shorter, where fewer labels are expected to
# be wrong: what a person checks at a sitting.
USUAL_LIST = 50
PROBABLY_WRONG, WORTH_A_LOOK = "probably wrong", "worth a look"
ASSUMPTIONS = (
    "labels are flipped at random within a true class (and context, if any is named); beside that, "
    "where the columns leave a class open, none to all of the labels that disagree may be wrong",
    "every row was labelled by itself, unless it repeats another one, label and all",
    "the probability of a class follows a sigmoid of its score, roughly",
)


@dataclass(frozen=True, eq=False)
class Suspects:
    """The most suspicious rows, the most suspicious first.

    Attributes
    ----------
    rows : ndarray of shape (n_suspects,)
        Their positions in the table, counted from 0.
    probability_wrong : ndarray of shape (n_suspects,)
        How likely the label of each is to be wrong.
    expected_wrong_labels : float
        How many of all labels that nobody checked are expected to be wrong.
    """

    rows: Integers
    probability_wrong: Floats
    expected_wrong_labels: float

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        first = ", ".join(map(str, self.rows[:5].tolist())) + (", …" if len(self) > 5 else "")
        return f"Suspects: {len(self)} rows ({first or 'none'})"

    @property
    def n_probable(self) -> int:
        """How many are more likely wrong than right; the others are worth a look."""
        return int(np.count_nonzero(self.probability_wrong >= PROBABLY))

    @property
    def bands(self) -> list[str]:
        """Whether each is "probably wrong" or "worth a look"."""
        return [band_of(probability) for probability in self.probability_wrong]

    @property
    def expected_precision(self) -> float:
        """The share of the suspects that is expected to be wrong; NaN without suspects."""
        return float(self.probability_wrong.mean()) if len(self) else float("nan")

    @property
    def expected_found(self) -> float:
        """How many wrong labels a check of all suspects is expected to find."""
        return float(self.probability_wrong.sum())

    @property
    def expected_recall(self) -> float:
        """The share of all wrong labels that is expected to be among the suspects."""
        total = self.expected_wrong_labels
        return self.expected_found / total if total > 0 else float("nan")


def band_of(probability_wrong: float) -> str:
    """In a word, how far to doubt a label; nothing for rows without one."""
    if np.isnan(probability_wrong):
        return ""
    return PROBABLY_WRONG if probability_wrong >= PROBABLY else WORTH_A_LOOK


def choose_suspects(
    issue_probability: Floats,
    n: int | None = None,
    threshold: float | None = None,
    expected_precision: float | None = None,
) -> Suspects:
    """The most suspicious rows; those with NaN are not suspected.

    As many as ``n``, or all that are at least as suspicious as ``threshold``, or as many as keep
    their mean at ``expected_precision``; else as many as are expected to be wrong, at least 50.
    """
    given = [x for x in (n, threshold, expected_precision) if x is not None]
    if len(given) > 1:
        raise ValueError("Pass only one of n, threshold and expected_precision.")
    count = Number(0, integer=True, closed=True, optional=True)
    share = Number(0, closed=True, high=1, optional=True)
    for name, value, requirement in (
        ("n", n, count),
        ("threshold", threshold, share),
        ("expected_precision", expected_precision, share),
    ):
        if not requirement.accepts(value):
            raise ValueError(f"{name} must be {requirement}, not {value!r}.")
    probability = np.nan_to_num(issue_probability, nan=-1.0)
    order = np.argsort(-probability, kind="stable")
    order = order[probability[order] > 0]
    ordered = probability[order]
    if threshold is not None:
        n_chosen = int(np.count_nonzero(ordered >= threshold))
    elif expected_precision is not None:
        running = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
        # The running mean never rises; the margin keeps rounding from cutting off equal rows.
        n_chosen = int(np.count_nonzero(running >= expected_precision - 1e-12))
    else:
        n_chosen = min(usual_length(ordered.sum()) if n is None else n, len(order))
    return Suspects(order[:n_chosen], ordered[:n_chosen], float(ordered.sum()))


def usual_length(expected_wrong: float) -> int:
    """How many rows are listed where nobody asked for another number."""
    return max(USUAL_LIST, round(expected_wrong))


@dataclass(frozen=True)
class Budget:
    """A number of rows to check, and what that is expected to find.

    ``found_low`` to ``found_high`` holds the number of wrong labels with probability .9, where it
    was computed; neither falls when more rows are checked.
    """

    n_rows: int
    expected_found: float
    expected_precision: float
    expected_recall: float
    found_low: float = float("nan")
    found_high: float = float("nan")


def review_gain(unchecked: Floats) -> Floats:
    """``gain[n]`` wrong labels are expected among the ``n`` most suspicious rows, 0 ≤ n ≤ all.

    ``unchecked`` has the probability that each label nobody checked is wrong; NaN is left out.
    """
    known = np.sort(unchecked[np.isfinite(unchecked)])[::-1]
    return np.concatenate([[0.0], np.cumsum(known)])


def usual_budgets(gain: Floats) -> tuple[Budget, ...]:
    """The usual numbers of rows to check, as far as the table has them."""
    return tuple(
        Budget(n, float(gain[n]), float(gain[n] / n), float(gain[n] / (gain[-1] or np.nan)))
        for n in BUDGETS
        if n < len(gain)
    )


def project(
    standardized: Floats, labels: TableLabels, suspects: Suspects
) -> tuple[Integers, Floats, float]:
    """A sample of the labelled rows, and the suspects, in the plane in which rows differ most.

    Returns positions in the table (suspects last, the most suspicious at the very end; always the
    same sample), points of shape (n, 2), and the share of all variance that this plane keeps.
    """
    doubted = suspects.rows[:MOST_SUSPECTS][::-1]
    others = np.setdiff1d(np.flatnonzero(labels.current != NO_LABEL), doubted)
    if len(others) > MOST_ROWS:
        others = np.sort(np.random.RandomState(0).choice(others, MOST_ROWS, replace=False))
    rows = np.concatenate([others, doubted]).astype(np.intp)
    features = np.asarray(standardized[rows], dtype=np.float64)
    points = np.zeros((len(rows), 2))
    if not np.ptp(features, axis=0).any():  # all rows are equal
        return rows, points, 1.0
    n_components = min(2, *features.shape)
    fitted = PCA(n_components, random_state=0).fit(features)
    points[:, :n_components] = fitted.transform(features)
    return rows, points, float(fitted.explained_variance_ratio_.sum())


@dataclass(frozen=True)
class FlipRate:
    """How often rows of a true class carry a label, and the interval that holds it (90 %).

    ``expected_rows`` is how many rows that is, where they are counted.
    """

    true: str
    given: str
    rate: float
    low: float
    high: float
    expected_rows: float | None = None


@dataclass(frozen=True)
class ClassSummary:
    """Rows that carry one label, of which nobody checked ``n_unchecked``, and how many are wrong.

    ``expected_rows`` is how many rows truly belong to the class, ``expected_lost`` how many of
    these carry another label.
    """

    name: str
    n_rows: int
    n_unchecked: int
    expected_wrong: float
    probably_wrong: int
    expected_rows: float
    expected_lost: float


@dataclass(frozen=True)
class GroupSummary:
    """The labels of one group: the share of those nobody checked that is wrong, with its interval.

    ``noise`` has its rates in the order of that of the whole table.
    """

    name: str
    n_rows: int
    n_unchecked: int
    wrong_share: float
    low: float
    high: float
    noise: tuple[FlipRate, ...]


@dataclass(frozen=True)
class AuditSummary:
    """What an audit found, in numbers.

    ``n_missing`` rows have no label and ``n_checked`` one that a person confirmed or corrected.
    What is expected or probably wrong is among the other ``n_unchecked``; ``share_low`` to
    ``share_high`` holds the share of wrong labels among these with probability .9. It is that
    of the "model" or that of "random checks", as ``share_source`` says; what is expected is
    always of the model. ``list_low`` to ``list_high`` holds the share of wrong labels among the
    suspects, by ``list_source``; where it is wide, ``expected_precision`` is no promise.
    ``is_uncertain`` says that wrong labels cannot be told from classes that overlap.
    ``unused_columns`` are empty, constant, or names of rows; ``column_warnings`` name those that
    hide wrong labels. ``groups`` are those of the ``context``, the columns that labels depend on.
    ``random_checks`` is what checked labels say without any model, of all labels given;
    ``predictive_check`` is whether they were to be expected. ``annotators``, the least accurate
    first, are there where rows have several labels, and all else is said of their majority;
    ``copies`` are pairs who agree too often, ``questions`` whom to ask next, ``labels_a_row`` how
    often a consensus of 1, 2, ... labels would be right where there are ``mean_labels`` today.
    """

    label_name: str
    n_rows: int
    n_missing: int
    n_checked: int
    n_corrected: int
    n_unchecked: int
    classes: tuple[ClassSummary, ...]
    noise: tuple[FlipRate, ...]
    expected_wrong: float
    expected_share: float
    share_low: float
    share_high: float
    probably_wrong: int
    n_suspects: int
    expected_precision: float
    expected_recall: float
    expected_found: float
    list_low: float
    list_high: float
    budgets: tuple[Budget, ...]
    is_uncertain: bool
    unused_columns: tuple[str, ...] = ()
    context: str = ""
    groups: tuple[GroupSummary, ...] = ()
    column_warnings: tuple[SuspiciousColumn, ...] = ()
    random_checks: RandomChecks | None = None
    predictive_check: PredictiveCheck | None = None
    share_source: str = MODEL
    list_source: str = MODEL
    doubtful_answers: tuple[str, ...] = ()
    annotators: tuple[AnnotatorSummary, ...] = ()
    copies: tuple[CopySummary, ...] = ()
    questions: tuple[Question, ...] = ()
    labels_a_row: tuple[LabelsSummary, ...] = ()
    mean_labels: float = 1.0

    @property
    def is_list_known(self) -> bool:
        """Whether it is roughly known how many of the suspects are wrong."""
        return self.list_high - self.list_low <= WIDEST_PROMISE

    # The diagonal is found by position, as the number 1 and the word "1" are called the same.
    @property
    def kept(self) -> tuple[FlipRate, ...]:
        """Rates of right labels, in the order of the classes."""
        return self.noise[:: len(self.classes) + 1]

    @property
    def mislabelled(self) -> tuple[FlipRate, ...]:
        """How often rows of each true class carry another label, in the order of the classes.

        Of two classes these are the rates of the flips, interval and all. Of more, ``given`` is
        empty: it is any other label.
        """
        if len(self.classes) == 2:
            return self.noise[1:3]
        return tuple(
            FlipRate(one.true, "", 1 - one.rate, 1 - one.high, 1 - one.low) for one in self.kept
        )

    @property
    def flips(self) -> tuple[FlipRate, ...]:
        """Rates of wrong labels, the highest first."""
        wrong = (rate for i, rate in enumerate(self.noise) if i % (len(self.classes) + 1))
        return tuple(sorted(wrong, key=lambda entry: -entry.rate))

    def __repr__(self) -> str:
        return (
            f"AuditSummary: {self.n_rows} rows, {len(self.classes)} classes, {self.share_low:.1%} "
            f"to {self.share_high:.1%} of the labels wrong, {self.n_suspects} suspects; as_dict() "
            "has all"
        )

    def as_dict(self) -> dict[str, Any]:
        """The same in plain types, for JSON; what is not known is None."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def summarize(audit: Any, suspects: Suspects, of_annotators: bool = True) -> AuditSummary:
    """Sum up an audit and the suspects that were chosen from it.

    What is said of several annotators takes time, and may be left out.
    """
    labels, found, issue = audit.labels, audit.inference, audit.issue_probability
    observed = labels.is_observed
    gain = review_gain(issue[observed])
    corrected = labels.is_checked & (labels.given >= 0) & (labels.checked != labels.given)
    n_unchecked, expected_wrong = len(gain) - 1, float(gain[-1])
    low, high, share_source = audit.wrong_share_interval()
    list_low, list_high, list_source = audit.precision_interval(suspects.rows)
    return AuditSummary(
        label_name=labels.name,
        n_rows=len(labels),
        n_missing=int(np.count_nonzero(labels.current < 0)),
        n_checked=int(labels.is_checked.sum()),
        n_corrected=int(corrected.sum()),
        n_unchecked=n_unchecked,
        classes=_classes(labels, found.posterior, issue),
        noise=flip_rates(
            labels.class_names,
            *expected_rates(found.noise),
            expected_flips(found.posterior, labels),
        ),
        expected_wrong=expected_wrong,
        expected_share=expected_wrong / (n_unchecked or float("nan")),
        share_low=low,
        share_high=high,
        probably_wrong=int(np.count_nonzero(issue[observed] >= PROBABLY)),
        n_suspects=len(suspects),
        expected_precision=suspects.expected_precision,
        expected_recall=suspects.expected_recall,
        expected_found=suspects.expected_found,
        list_low=list_low,
        list_high=list_high,
        budgets=usual_budgets(gain),
        is_uncertain=n_unchecked > 0 and checks_would_tell(expected_wrong / n_unchecked, low, high),
        unused_columns=audit.unused_columns,
        context="" if audit.groups is None else audit.groups.column,
        groups=_groups(labels, found.by_group, audit.groups),
        column_warnings=audit.column_warnings,
        random_checks=count_random_checks(labels),
        predictive_check=audit.predictive_check,
        doubtful_answers=tuple(map(str, audit.ids[audit.doubtful_answers].tolist())),
        share_source=share_source,
        list_source=list_source,
        **(audit.of_annotators if of_annotators else {}),
    )


def find_budgets(audit: Any) -> tuple[Budget, ...]:
    """The usual numbers of rows to check, with the interval of what is found.

    What is found among the first rows is also found among more: no end falls with their number.
    """
    rows = audit.suspects(n=BUDGETS[-1]).rows
    found, least, most = list[Budget](), 0.0, 0.0
    for one in usual_budgets(review_gain(audit.issue_probability[audit.labels.is_observed])):
        low, high, _ = audit.precision_interval(rows[: one.n_rows])
        least, most = max(least, low * one.n_rows), max(most, high * one.n_rows)
        found.append(replace(one, found_low=least, found_high=most))
    return tuple(found)


def width_after_checks(share: float, n_checked: int = FEW_CHECKS) -> float:
    """The width of the exact interval of a share after as many random checks."""
    low, high = exact_interval(round(share * n_checked), n_checked)
    return high - low


def checks_would_tell(share: float, low: float, high: float) -> bool:
    """Whether a few random checks would tell more of the share of wrong labels than is known."""
    return bool(high - low > width_after_checks(share))


def _classes(labels: TableLabels, posterior: Floats, issue: Floats) -> tuple[ClassSummary, ...]:
    observed, current = labels.is_observed, labels.current
    posterior, carried = posterior[current >= 0], current[current >= 0]
    unchecked = [issue[observed & (current == k)] for k in range(len(labels.classes))]
    return tuple(
        ClassSummary(
            name,
            n_rows=int(np.count_nonzero(current == k)),
            n_unchecked=len(unchecked[k]),
            expected_wrong=float(unchecked[k].sum()),
            probably_wrong=int(np.count_nonzero(unchecked[k] >= PROBABLY)),
            expected_rows=float(posterior[:, k].sum()),
            expected_lost=float(posterior[carried != k, k].sum()),
        )
        for k, name in enumerate(labels.class_names)
    )


def _groups(
    labels: TableLabels, noise: GroupedNoise | None, groups: Groups | None
) -> tuple[GroupSummary, ...]:
    if noise is None or groups is None:
        return ()
    low, high = noise.wrong_share_interval
    members = [groups.position == g for g in range(len(groups))]
    return tuple(
        GroupSummary(
            name,
            int(members[g].sum()),
            int(np.count_nonzero(members[g] & labels.is_observed)),
            float(noise.wrong_share[g]),
            float(low[g]),
            float(high[g]),
            flip_rates(labels.class_names, noise.noise_matrix[g], noise.interval[:, g]),
        )
        for g, name in enumerate(groups.names)
    )


def expected_flips(posterior: Floats, labels: TableLabels) -> Floats:
    """``[j, k]``: how many rows of class j are expected to carry the label k, as it was given.

    Off the diagonal these add up to the wrong labels that are expected and those corrected; of rows
    on which people disagree, to how likely their labels are to be wrong.
    """
    n_classes = len(labels.classes)
    rows = np.flatnonzero(labels.given >= 0)
    columns = [np.bincount(labels.given[rows], own, n_classes) for own in posterior[rows].T]
    return np.array(columns)


def expected_rates(noise: NoisePosterior) -> tuple[Floats, Floats]:
    """Rates of labels in each true class, (K, K), and 90 % intervals, (2, K, K).

    ``noise_matrix`` is what was flipped at random. These are the means over all that may be wrong,
    as are the wrong labels that are expected.
    """
    rates = noise.mean_rates
    low, high = noise.interval()
    return rates, np.stack([np.minimum(low, rates), np.maximum(high, rates)])


def flip_rates(
    names: Sequence[str], rates: Floats, interval: Floats, rows: Floats | None = None
) -> tuple[FlipRate, ...]:
    """The rates (K, K) with their intervals (2, K, K), true class by true class, as data."""
    return tuple(
        FlipRate(
            names[j],
            names[k],
            float(rates[j, k]),
            float(interval[0, j, k]),
            float(interval[1, j, k]),
            None if rows is None else float(rows[j, k]),
        )
        for j, k in np.ndindex(rates.shape)
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not isfinite(value) else value


@dataclass(frozen=True, eq=False)
class Quality:
    """Shares of rows whose held-out prediction agrees with the label, and with the true class.

    ``accuracy_by_class`` refers to true classes. ``label_accuracy`` is the expected share of
    labels, given or corrected, that are right: where it is below ``accuracy`` the model knows
    better than the table.
    """

    agreement: float
    accuracy: float
    accuracy_by_class: Floats
    label_accuracy: float
    n_rows: int


def estimate_quality(posterior: Floats, probability: Floats, labels: TableLabels) -> Quality:
    """Expected accuracy of the predictions p(true | features) under the posterior."""
    labelled = np.flatnonzero(labels.current != NO_LABEL)
    current, posterior = labels.current[labelled], posterior[labelled]
    predicted, each = probability[labelled].argmax(axis=1), np.arange(len(labelled))
    right = posterior[each, predicted]
    by_class = np.bincount(predicted, right, len(labels.classes))
    return Quality(
        agreement=float(np.mean(predicted == current)),
        accuracy=float(right.mean()),
        accuracy_by_class=by_class / np.maximum(posterior.sum(axis=0), 1e-300),
        label_accuracy=float(posterior[each, current].mean()),
        n_rows=len(labelled),
    )
