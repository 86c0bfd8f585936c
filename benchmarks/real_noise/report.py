"""The page: tables by collection, what was asked and whether it is so."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.markdown import number, table
from benchmarks.real_noise.figures import draw_methods, draw_review, ranked
from benchmarks.real_noise.jobs import Options, Results
from benchmarks.real_noise.methods import (
    FOREST,
    FOREST_RANKINGS,
    FOREST_VERIFIED,
    METHODS,
    RANKINGS,
    RBOOST,
)
from benchmarks.real_noise.review import (
    OURS,
    PROTOTYPE,
    RANDOM,
    RANDOM_ERRS,
    REVIEWS,
    STAGES,
)
from benchmarks.real_noise.summary import answers_needed, curve, difference, gap_closed, mean
from benchmarks.real_noise.tables import SOURCES

INTERVALS = {"0 to 1": "0 labelled as 1", "1 to 0": "1 labelled as 0", "wrong share": "wrong share"}
# What is asked: intervals that hold the truth, the gap that 100 random answers close, that which
# they close where 10 % of them are wrong, and the answers of our queue as a share of those that
# random order needs.
LEAST_HELD, LEAST_CLOSED, LEAST_CLOSED_BY_CARELESS, MOST_ANSWERS = 0.75, 0.75, 0.65, 0.7


def overview(results: Results, options: Options) -> str:
    """Log loss by collection: all methods, and rBoost after a hundred answers in random order."""
    rows = [
        [name, *(number(mean(results, one, name, "log loss"), 3) for one in options.collections)]
        for name in METHODS
        if name != FOREST_RANKINGS
    ]
    if options.review:
        after = [curve(results, one, RANDOM, "log loss")[STAGES.index(100)]
                 for one in options.collections]  # fmt: skip
        rows.append([f"{RBOOST}, 100 rows checked at random", *(number(one, 3) for one in after)])
    return table(["log loss", *options.collections], rows)


def methods_table(results: Results, collection: str) -> str:
    """Quality on verified labels."""
    measures = ("log loss", "AUC", "MCC")
    rows = [
        [name, *(number(mean(results, collection, name, measure), 3) for measure in measures)]
        for name in METHODS
        if name != FOREST_RANKINGS
    ]
    return table(["method", "log loss", "AUC", "Matthews correlation"], rows)


def ranking_table(results: Results, collection: str) -> str:
    """How well wrong labels come first."""
    rows = [[name, number(value, 3)] for name, value in ranked(results, collection).items()]
    return table(["ranking", "average precision"], rows)


def interval_table(results: Results, collection: str) -> str:
    """Rates and shares as they are and as they are estimated, and what intervals hold."""
    rows = []
    for key, words in INTERVALS.items():
        found = [
            mean(results, collection, RBOOST, f"{key} {kind}")
            for kind in ("true", "estimated", "held")
        ]
        rows.append([words, *(number(value, 3) for value in found[:2]), f"{found[2]:.0%}"])
    return table(["rBoost", "true", "estimated", "90 % intervals that hold the truth"], rows)


def _is_met(met: bool) -> str:
    return "yes" if met else "**no**"


def harm(results: Results, collection: str) -> Iterator[str]:
    """Whether rBoost without answers is as good as a plain forest."""
    for measure, sign in {"log loss": 1, "MCC": -1}.items():
        gap, error = difference(results, collection, (RBOOST, FOREST), (measure, measure))
        yield (
            f"- {measure}: rBoost − forest {gap:+.3f} ± {error:.3f} (standard error over tables), "
            f"no worse asked: {_is_met(sign * gap <= 0)}."
        )
    confidence = next(iter(RANKINGS))
    names, measures = (RBOOST, FOREST_RANKINGS), ("average precision", confidence)
    gap, error = difference(results, collection, names, measures)
    yield (
        f"- Ranking: rBoost − {confidence} {gap:+.3f} ± {error:.3f}, at least as good asked: "
        f"{_is_met(gap >= 0)}."
    )
    shares = {words: mean(results, collection, RBOOST, f"{key} held")
              for key, words in INTERVALS.items()}  # fmt: skip
    listed = ", ".join(f"{words} {share:.0%}" for words, share in shares.items())
    met = min(shares.values()) >= LEAST_HELD
    yield f"- Intervals that hold the truth: {listed}; {LEAST_HELD:.0%} asked: {_is_met(met)}."


def stages_table(results: Results, collection: str, measure: str) -> str:
    """A measure at every stage of a review in every order."""
    rows = [
        [order, *(number(value, 3) for value in curve(results, collection, order, measure))]
        for order in REVIEWS
    ]
    return table([measure, *(f"{stage} answers" for stage in STAGES)], rows)


def _ends(results: Results, collection: str) -> tuple[float, float]:
    without, with_all = (
        mean(results, collection, name, "log loss") for name in (FOREST, FOREST_VERIFIED)
    )
    return without, with_all


def gap_table(results: Results, collection: str) -> str:
    """The share of the gap in log loss between forests on given and on verified labels."""
    ends = _ends(results, collection)
    rows = [
        [order, *(f"{gap_closed(value, *ends):.0%}" for value in found)]
        for order in REVIEWS
        for found in [curve(results, collection, order, "log loss")]
    ]
    return table(["gap closed", *(f"{stage} answers" for stage in STAGES)], rows)


def needed_table(results: Results, collection: str) -> str:
    """The answers that our queue needs for what random order reaches."""
    rows = []
    for measure in ("log loss", "MCC", "found"):
        ours, at_random = (curve(results, collection, one, measure) for one in (OURS, RANDOM))
        for stage in (100, 200):
            target = float(at_random[STAGES.index(stage)])
            needed = answers_needed(ours, target, less_is_better=measure == "log loss")
            rows.append([measure, str(stage), number(target, 3), *_of(needed, stage)])
    return table(
        ["measure", "answers in random order", "reached", "answers of our queue", "ratio"], rows
    )


def _of(needed: float, stage: int) -> tuple[str, str]:
    """The answers needed and their ratio; what no answer was needed for was no gain."""
    if needed == 0:
        return "0: random order gained nothing", "–"
    if np.isinf(needed):
        return f"more than {STAGES[-1]}", f"> {STAGES[-1] / stage:.2f}"
    return f"{needed:.0f}", f"{needed / stage:.2f}"


def help_of_people(results: Results, collection: str) -> Iterator[str]:
    """Whether answers help as much as is asked."""
    at_random = curve(results, collection, RANDOM, "log loss")
    reached = float(at_random[STAGES.index(100)])
    without, with_all = _ends(results, collection)
    closed = gap_closed(reached, without, with_all)
    # On the commits given labels are nearly as good as verified ones: there is no gap to close.
    asked = f", {LEAST_CLOSED:.0%} asked: {_is_met(closed >= LEAST_CLOSED)}"
    yield (
        f"- 100 random answers: log loss {reached:.3f}, forests on given and on verified labels "
        f"{without:.3f} and {with_all:.3f}. {closed:.0%} of the gap is closed"
        f"{asked if collection == 'defects' else ''}. No harm asked: {_is_met(reached <= without)}."
    )
    careless = curve(results, collection, RANDOM_ERRS, "log loss")
    reached_by_careless = float(careless[STAGES.index(100)])
    closed = gap_closed(reached_by_careless, without, with_all)
    asked = f", {LEAST_CLOSED_BY_CARELESS:.0%} asked: {_is_met(closed >= LEAST_CLOSED_BY_CARELESS)}"
    yield (
        f"- 100 random answers of which 10 % are wrong: log loss {reached_by_careless:.3f}. "
        f"{closed:.0%} of the gap is closed{asked if collection == 'defects' else ''}. No harm "
        f"asked: {_is_met(reached_by_careless <= without)}."
    )
    ours = curve(results, collection, OURS, "log loss")
    needed = answers_needed(ours, reached, less_is_better=True)
    ratio = _of(needed, 100)
    met = 0 < needed <= 100 * MOST_ANSWERS
    yield (
        f"- Answers of our queue for the same log loss: {ratio[0]} (ratio {ratio[1]}), at most "
        f"{MOST_ANSWERS:.0%} asked: {_is_met(met)}."
    )


def _review_sections(results: Results, options: Options) -> Iterator[str]:
    yield "## What answers of people are worth\n"
    if not options.review:
        yield "Not measured in this run; `python -m benchmarks.real_noise --review` does.\n"
        return
    yield (
        "A reviewer who knows the verified labels of the half that is learnt from answers, in "
        "five ways: in the order of our queue, at random, at random with one answer in ten wrong, "
        "and in cleanlab's order (each time the "
        "model is `audit_labels` fitted to what was answered); and, for reference, a prototype of "
        f"ten lines ({PROTOTYPE}): a logistic regression of the answers on a forest's held-out "
        "score, the given label and their product makes soft labels, to which a forest is fitted. "
        "Small tables run out of rows before 200 answers. Average precision: of the ranking of "
        "rows that are still unchecked; found: wrong labels among the answers; wrong share held: "
        "tables whose 90 % interval for the share of wrong labels, of unchecked ones, holds it.\n"
    )
    yield "![Quality over the number of answers, by order.](review.png)\n"
    for collection in options.collections:
        yield f"### {collection}\n"
        yield "\n".join(help_of_people(results, collection)) + "\n"
        for measure in ("log loss", "MCC", "average precision", "found", "wrong share held"):
            yield stages_table(results, collection, measure)
        yield gap_table(results, collection)
        yield needed_table(results, collection)


def page(results: Results, options: Options) -> str:
    """All of it as Markdown."""
    n_tables = {c: len({job.table for job in results if job.collection == c})
                for c in options.collections}  # fmt: skip
    cuts = "once" if options.repeats == 1 else f"{options.repeats} times"
    listed = " and ".join(f"{n} tables of {name}" for name, n in n_tables.items())
    parts = [
        "# Labels that were really wrong\n",
        f"{listed}, each cut in halves {cuts} (seed {options.seed}): one half is "
        "learnt from with labels as they were collected, the other judges by verified ones. "
        "Matthews correlation: every method predicts as many positives as its own probabilities "
        "sum to. "
        f"The tables: {SOURCES}. "
        "rBoost's prior of kinds of noise was settled with both "
        "collections in view, and the order of its queue on the defects.\n",
        "![Log loss, AUC, Matthews correlation and ranking of all methods.](methods.png)\n",
        overview(results, options),
    ]
    for collection in options.collections:
        parts += [
            f"## {collection}\n",
            "\n".join(harm(results, collection)) + "\n",
            methods_table(results, collection),
            ranking_table(results, collection),
            interval_table(results, collection),
        ]
    return "\n".join([*parts, *_review_sections(results, options)])


def draw(results: Results, options: Options) -> dict[str, bytes]:
    """The figures of the page, by the names of their files."""
    drawn = {"methods.png": draw_methods(results, options.collections)}
    if options.review:
        drawn["review.png"] = draw_review(results, options.collections)
    return drawn
