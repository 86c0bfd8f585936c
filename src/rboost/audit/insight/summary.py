"""The numbers of an audit that its report, the terminal and audit.json share."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from rboost._typing import Floats
from rboost.audit.inference import Inference
from rboost.audit.insight.checked import PredictiveCheck, RandomChecks
from rboost.audit.insight.columns import SuspiciousColumn
from rboost.audit.insight.doubts import issue_probability
from rboost.audit.insight.gain import Budget, review_gain
from rboost.audit.insight.suspects import Suspects
from rboost.audit.labels import TableLabels
from rboost.labels import Groups
from rboost.noise import NoisePosterior
from rboost.noise.groups import GroupedNoise

# An interval wider than this says little; classes overlap where the columns leave the class of so
# many rows open; a label is probably wrong from this probability on.
WIDE, OVERLAP, PROBABLY = 0.2, 0.05, 0.5


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
    ``share_high`` holds the share of wrong labels with probability .9. ``is_uncertain`` says that
    wrong labels cannot be told from classes that overlap. ``unused_columns`` are empty, constant,
    or names of rows; ``column_warnings`` name those that hide wrong labels. ``groups`` are those
    of the ``context``, the columns that labels depend on. ``random_checks`` is what checked labels
    say without any model, ``predictive_check`` whether they were to be expected.
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
    budgets: tuple[Budget, ...]
    is_uncertain: bool
    unused_columns: tuple[str, ...] = ()
    context: str = ""
    groups: tuple[GroupSummary, ...] = ()
    column_warnings: tuple[SuspiciousColumn, ...] = ()
    random_checks: RandomChecks | None = None
    predictive_check: PredictiveCheck | None = None

    # The diagonal is found by position, as the number 1 and the word "1" are called the same.
    @property
    def kept(self) -> tuple[FlipRate, ...]:
        """Rates of right labels, in the order of the classes."""
        return self.noise[:: len(self.classes) + 1]

    @property
    def flips(self) -> tuple[FlipRate, ...]:
        """Rates of wrong labels, the highest first."""
        wrong = (rate for i, rate in enumerate(self.noise) if i % (len(self.classes) + 1))
        return tuple(sorted(wrong, key=lambda entry: -entry.rate))

    def __repr__(self) -> str:
        return (
            f"AuditSummary: {self.n_rows} rows, {len(self.classes)} classes, about "
            f"{self.expected_wrong:.1f} wrong labels, {self.n_suspects} suspects; as_dict() has all"
        )

    def as_dict(self) -> dict[str, Any]:
        """The same in plain types, for JSON; what is not known is None."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def summarize(
    labels: TableLabels,
    found: Inference,
    suspects: Suspects,
    unused_columns: tuple[str, ...] = (),
    groups: Groups | None = None,
    column_warnings: tuple[SuspiciousColumn, ...] = (),
    random_checks: RandomChecks | None = None,
    predictive_check: PredictiveCheck | None = None,
) -> AuditSummary:
    """Sum up an audit and the suspects that were chosen from it."""
    observed = labels.is_observed
    issue = issue_probability(found.posterior, labels)
    gain = review_gain(issue[observed])
    corrected = labels.is_checked & (labels.given >= 0) & (labels.checked != labels.given)
    low, high = found.wrong_share
    return AuditSummary(
        label_name=labels.name,
        n_rows=len(labels),
        n_missing=int(np.count_nonzero(labels.current < 0)),
        n_checked=int(labels.is_checked.sum()),
        n_corrected=int(corrected.sum()),
        n_unchecked=gain.n_rows,
        classes=_classes(labels, found.posterior, issue),
        noise=_expected_noise(labels, found),
        expected_wrong=gain.expected_wrong,
        expected_share=gain.expected_wrong / gain.n_rows if gain.n_rows else float("nan"),
        share_low=low,
        share_high=high,
        probably_wrong=int(np.count_nonzero(issue[observed] >= PROBABLY)),
        n_suspects=len(suspects),
        expected_precision=suspects.expected_precision,
        expected_recall=suspects.expected_recall,
        expected_found=suspects.expected_found,
        budgets=gain.budgets(),
        is_uncertain=_is_uncertain(labels, found),
        unused_columns=unused_columns,
        context="" if groups is None else groups.column,
        groups=_groups(labels, found.by_group, groups),
        column_warnings=column_warnings,
        random_checks=random_checks,
        predictive_check=predictive_check,
    )


def _is_uncertain(labels: TableLabels, found: Inference) -> bool:
    """Whether all labels might be right although classes overlap, or a rate be anything."""
    if not labels.is_observed.any():
        return False
    low, high = found.noise_interval
    overlap = 1 - found.probability[labels.current >= 0].max(axis=1).mean()
    might_be_right = found.wrong_share[0] == 0 and overlap > OVERLAP
    return bool(might_be_right or (high - low > WIDE).any())


def _classes(labels: TableLabels, posterior: Floats, issue: Floats) -> tuple[ClassSummary, ...]:
    observed, current = labels.is_observed, labels.current
    posterior, carried = posterior[current >= 0], current[current >= 0]
    found = []
    for k, name in enumerate(labels.class_names):
        unchecked = issue[observed & (current == k)]
        found.append(
            ClassSummary(
                name,
                n_rows=int(np.count_nonzero(current == k)),
                n_unchecked=len(unchecked),
                expected_wrong=float(unchecked.sum()),
                probably_wrong=int(np.count_nonzero(unchecked >= PROBABLY)),
                expected_rows=float(posterior[:, k].sum()),
                expected_lost=float(posterior[carried != k, k].sum()),
            )
        )
    return tuple(found)


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
            _noise(labels, noise.noise_matrix[g], noise.interval[:, g]),
        )
        for g, name in enumerate(groups.names)
    )


def expected_flips(posterior: Floats, labels: TableLabels) -> Floats:
    """``[j, k]``: how many rows of class j are expected to carry the label k, as it was given.

    Off the diagonal these add up to the wrong labels that are expected and those corrected.
    """
    n_classes = len(labels.classes)
    rows = np.flatnonzero(labels.given >= 0)
    columns = [np.bincount(labels.given[rows], own, n_classes) for own in posterior[rows].T]
    return np.array(columns)


def expected_rates(noise: NoisePosterior) -> tuple[Floats, Floats]:
    """Rates of labels in each true class, (K, K), and 90 % intervals, (2, K, K).

    ``noise_matrix`` is that of the likelier explanation: no flips at all where labels were rather
    guessed. These are the means over all explanations, as are the wrong labels that are expected.
    """
    n_classes = len(noise.noise_matrix)
    rates = np.empty((n_classes, n_classes))
    for j, k in np.ndindex(n_classes, n_classes):
        low, high, weight = noise.rate_cells(j, k)
        rates[j, k] = np.average((low + high) / 2, weights=weight)
    rates /= rates.sum(axis=1, keepdims=True)  # the cells are of finite width
    low, high = noise.interval()
    return rates, np.stack([np.minimum(low, rates), np.maximum(high, rates)])


def _expected_noise(labels: TableLabels, found: Inference) -> tuple[FlipRate, ...]:
    numbers = expected_flips(found.posterior, labels).ravel().tolist()
    flips = _noise(labels, *expected_rates(found.noise))
    return tuple(
        replace(flip, expected_rows=number) for flip, number in zip(flips, numbers, strict=True)
    )


def _noise(labels: TableLabels, matrix: Floats, interval: Floats) -> tuple[FlipRate, ...]:
    low, high = interval
    return tuple(
        FlipRate(true, given, float(matrix[j, k]), float(low[j, k]), float(high[j, k]))
        for j, true in enumerate(labels.class_names)
        for k, given in enumerate(labels.class_names)
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not isfinite(value) else value
