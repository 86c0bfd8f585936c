"""Does an audit say no more than it knows? Intervals, ranking and promises beside the truth.

    python -m benchmarks.honesty --data ../shared           # all tables
    python -m benchmarks.honesty --data ../shared --quick   # two of each kind

reads ``real_noise/`` and ``probabilities/`` of that folder and writes ``honesty.md`` to
docs/honesty. Errors are planted, or labels were really wrong. Each table is fitted once; what
answers change is inferred from the same held-out scores, with 0, 30 and 100 labels that are drawn
at random and checked by a reviewer who errs in 0, 5 and 10 % of them. It needs the extras ``audit``
and ``dev``. A run can be killed and resumed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from benchmarks.code import code_fingerprint
from benchmarks.generators import clusters
from benchmarks.markdown import number, table
from benchmarks.pages import write_page
from benchmarks.paper.protocol import seed_of
from benchmarks.planted_noise import MATRICES, RARE, TWENTY, Case, by_matrix, plant, source
from benchmarks.promises import CLOSE, rates_held
from benchmarks.real_noise.measures import average_precision
from benchmarks.real_noise.tables import COLLECTIONS, SOURCES, data_fingerprint, load
from benchmarks.store import Record, ResultStore
from benchmarks.suites import OVERLAPPING, load_table
from rboost._typing import Floats, Integers
from rboost.audit import LabelAudit, audit_labels
from rboost.audit.insight.checked import RANDOM_CHECKS, interval_of_wrong
from rboost.audit.insight.summary import WIDEST_PROMISE
from rboost.audit.labels import NO_LABEL
from rboost.progress import track


class Stage(NamedTuple):
    """How many answers there are, which share of them is wrong, and what they were drawn from."""

    n_answers: int
    error: float
    of_list: bool = False


# Answers drawn from all labels, and from the list that an audit without answers makes.
NO_ANSWERS = Stage(0, 0.0)
OF_LIST = 20
STAGES = (NO_ANSWERS, *(Stage(*each) for each in product((30, 100), (0.0, 0.05, 0.1))))
LIST_STAGES = (Stage(OF_LIST, 0.0, True), Stage(OF_LIST, 0.05, True))
# Kinds of tables.
FLIPS, BOUNDARY, RARE_CLASS = "flips at random", "near the boundary", "a rare class"
CLASSES, CLEAN = "2 to 30 classes", "no errors planted"
REAL, NETWORKS = "real: {}", "real: networks"
# Networks' probabilities of labels that were flipped on purpose.
SYNTHETIC = "synthetic_resnet18"
BOUNDARY_SHARE = 0.2
RATIOS, RARE_TABLES = (10, 30, 100), ("clusters", "magic", "penbased")
N_CLASSES, MOST_ROWS, CLASSES_SHARE = (2, 3, 5, 10, 20, 30), 3000, 0.15
MORE_CLASSES = ("texture", "movement_libras", "letter")
# With fewer rows a class is left out.
FEWEST_OF_CLASS = 10
PER_KIND, QUICK_ROWS = 2, 600


@dataclass(frozen=True, eq=False)
class Rows:
    """Columns, or probabilities by a model that was not fitted to the row, and both labels."""

    X: Any
    true: Integers
    given: Integers
    probabilities: Floats | None = None

    def take(self, rows: Integers) -> Rows:
        """Some of the rows."""
        X = None if self.X is None else self.X.iloc[rows].reset_index(drop=True)
        own = None if self.probabilities is None else self.probabilities[rows]
        return Rows(X, self.true[rows], self.given[rows], own)

    def usable(self) -> Rows:
        """Without classes of which there are too few rows; the others are counted from 0."""
        counts = np.minimum(
            np.bincount(self.true), np.bincount(self.given, minlength=1 + max(self.true))
        )
        kept = counts >= FEWEST_OF_CLASS
        if kept.all():
            return self
        found = self.take(np.flatnonzero(kept[self.true] & kept[self.given]))
        position = np.cumsum(kept) - 1
        return Rows(found.X, position[found.true], position[found.given], found.probabilities)


@dataclass(frozen=True)
class Job:
    """A table of one kind; ``make`` returns its rows."""

    kind: str
    name: str
    make: Callable[[], Rows]


def _planted(case: Case) -> Rows:
    X, true, given = plant(case)
    return Rows(X, true, given)


def _of_many_classes(name: str, n_classes: int, noise: str) -> Rows:
    random = np.random.RandomState(seed_of(f"{name} {n_classes} {noise}"))
    if name == "clusters":
        values, true = clusters(
            MOST_ROWS, seed_of(name), n_features=20, n_informative=12, n_classes=n_classes,
            n_clusters_per_class=1, class_sep=1.5,
        )  # fmt: skip
        X = pd.DataFrame(values, columns=[f"column {k}" for k in range(values.shape[1])])
    else:
        X, true = source(name)
        rows = np.sort(random.permutation(len(true))[:MOST_ROWS])
        X, true = X.iloc[rows].reset_index(drop=True), true[rows]
    matrix = MATRICES[noise](int(true.max()) + 1, random)
    return Rows(X, true, by_matrix(true, matrix, CLASSES_SHARE, random))


def _untouched(name: str) -> Rows:
    values, true = load_table("classes", name)
    rows = np.random.RandomState(0).permutation(len(true))[:MOST_ROWS]
    X = pd.DataFrame(values[rows], columns=[f"column {k}" for k in range(values.shape[1])])
    return Rows(X, true[rows], true[rows])


def _real(data: Path, collection: str, name: str) -> Rows:
    found = load(data, collection)[name].reset_index(drop=True)
    labels = (found[column].to_numpy().astype(np.intp) for column in ("true", "given"))
    return Rows(found.drop(columns=["true", "given"]), *labels)


def _network(path: Path) -> Rows:
    with np.load(path) as file:
        true, given = (file[name].astype(np.intp) for name in ("true", "given"))
        return Rows(None, true, given, file["probabilities"].astype(np.float64))


def networks(data: Path) -> list[Path]:
    """Files with networks' probabilities."""
    found = sorted((data / "probabilities").glob("*.npz"))
    if not found:
        raise FileNotFoundError(
            f"{data / 'probabilities'} has no .npz file; each holds probabilities, given and true, "
            "as of the benchmarks of cleanlab (Kuan & Mueller 2022)."
        )
    return found


def jobs(data: Path) -> Iterator[Job]:
    """All tables, kind by kind."""
    planted = [case for cases in TWENTY.values() for case in cases]
    boundary = [case for case in planted if case.noise == "boundary"]
    planted = [case for case in planted if case.noise != "boundary"]
    boundary += [Case(case.table, case.noise, BOUNDARY_SHARE) for case in boundary]
    rare = [
        Case(name, noise, ratio=ratio)
        for ratio, name, noise in product(RATIOS, RARE_TABLES, RARE)
        if noise != "none"
    ]
    clean = [Case(name, "none", ratio=ratio) for ratio, name in product(RATIOS[:1], RARE_TABLES)]
    kinds = {FLIPS: planted, BOUNDARY: boundary, RARE_CLASS: rare, CLEAN: clean}
    for kind, cases in kinds.items():
        for case in cases:
            yield Job(
                kind,
                f"{case.table} {case.noise} {case.share} {case.ratio}",
                partial(_planted, case),
            )
    for name in OVERLAPPING:
        yield Job(CLEAN, name, partial(_untouched, name))
    several = [*product(["clusters"], N_CLASSES, ("symmetric", "pairs"))]
    for name, n_classes, noise in [*several, *((name, 0, "symmetric") for name in MORE_CLASSES)]:
        make = partial(_of_many_classes, name, n_classes, noise)
        yield Job(CLASSES, f"{name} {n_classes} {noise}", make)
    for collection in COLLECTIONS:
        for name in load(data, collection):
            yield Job(REAL.format(collection), name, partial(_real, data, collection, name))
    for path in networks(data):
        yield Job(FLIPS if path.stem == SYNTHETIC else NETWORKS, path.stem, partial(_network, path))


def first_of_each(found: Sequence[Job]) -> list[Job]:
    """Two tables of each kind, cut to few rows."""
    quick: dict[str, list[Job]] = {}
    for job in found:
        if len(quick.setdefault(job.kind, [])) < PER_KIND:
            quick[job.kind].append(Job(job.kind, f"{job.name} (cut)", partial(_cut, job.make)))
    return [job for of_kind in quick.values() for job in of_kind]


def _cut(make: Callable[[], Rows]) -> Rows:
    rows = make()
    some = np.random.RandomState(0).permutation(len(rows.true))[:QUICK_ROWS]
    return rows.take(np.sort(some))


def answers_of(true: Integers, stage: Stage, listed: Integers, seed: int) -> Integers:
    """The class that a reviewer finds on rows drawn at random, ``NO_LABEL`` elsewhere."""
    random = np.random.RandomState(seed)
    drawn, n_classes = random.permutation(len(true))[: stage.n_answers], int(true.max()) + 1
    if stage.of_list:
        drawn = random.permutation(listed)[: stage.n_answers]
    errs = random.uniform(size=len(drawn)) < stage.error
    other = true[drawn] + random.randint(1, n_classes, len(drawn))
    checked = np.full(len(true), NO_LABEL)
    checked[drawn] = np.where(errs, other % n_classes, true[drawn])
    return checked


def measure(job: Job) -> list[Record]:
    """Audit a table once; compare with the truth what is said at each stage."""
    rows = job.make().usable()
    # One thread: processes compete already. Warnings are about single tables.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        audit = audit_labels(
            rows.X, rows.given, probabilities=rows.probabilities, n_jobs=1, check_columns=False
        )
        found, listed = [], audit.suspects().rows
        for stage in (*STAGES, *LIST_STAGES):
            later = audit
            if stage.n_answers:
                checked = answers_of(rows.true, stage, listed, seed_of(job.name))
                later = audit.with_checked(checked, (checked != NO_LABEL) & (not stage.of_list))
            found.append(compare(later, rows))
        found[0] |= peers(audit, rows)
    return found


def compare(audit: LabelAudit, rows: Rows) -> Record:
    """What an audit says of labels that nobody checked, beside what is true."""
    unchecked, is_wrong = audit.labels.is_observed, rows.given != rows.true
    issue, wrong = audit.issue_probability[unchecked], is_wrong[unchecked]
    low, high, origin = interval_of_wrong(
        audit.labels, audit.inference.wrong_share, audit.inference.noise.largest_error_rate
    )
    flips = np.zeros((len(audit.classes),) * 2)
    np.add.at(flips, (rows.true, rows.given), 1)
    interval = audit.noise_interval
    rates = flips / flips.sum(axis=1, keepdims=True)
    off_diagonal = ~np.eye(len(flips), dtype=bool)
    suspects = audit.suspects()
    least, most, _ = audit.precision_interval(suspects.rows)
    promised, precision = suspects.expected_precision, float(is_wrong[suspects.rows].mean())
    return {
        "share held": bool(low <= wrong.mean() <= high),
        "share width": high - low,
        "by random checks": origin == RANDOM_CHECKS,
        "rates held": float(np.mean(rates_held(interval, rates))),
        "rates width": float((interval[1] - interval[0])[off_diagonal].mean()),
        "average precision": average_precision(issue, wrong),
        "list held": bool(least <= precision <= most),
        "list width": most - least,
        "list known": bool(most - least <= WIDEST_PROMISE),
        "promised": promised,
        "precision": precision,
    }


def peers(audit: LabelAudit, rows: Rows) -> Record:
    """How well the usual orders rank wrong labels, by the same held-out scores."""
    scores, given, each = audit.scores, rows.given, np.arange(len(rows.given))
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    probability = softmax(scores, axis=1)
    confidence = probability[each, given]
    probability[each, given] = -1
    margin = confidence - probability.max(axis=1)
    wrong = given != rows.true
    return {
        "self-confidence": average_precision(-confidence, wrong),
        "margin": average_precision(-margin, wrong),
    }


Results = dict[Job, list[Record]]


def run(data: Path, quick: bool, out: Path, n_jobs: int) -> Results:
    """Measure what is not yet done and return the results of all."""
    wanted, store = list(jobs(data)), ResultStore(out / "results.jsonl")
    if quick:
        wanted = first_of_each(wanted)
    files = " ".join(
        [
            *(data_fingerprint(data, collection) for collection in COLLECTIONS),
            *(f"{zlib.crc32(path.read_bytes()):08x}" for path in networks(data)),
        ]
    )

    def key(job: Job) -> str:
        return f"{job.kind}/{job.name}/{files}/{code_fingerprint('benchmarks.honesty')}"

    todo = [job for job in wanted if key(job) not in store.results]
    found = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_numbered)(place, job) for place, job in enumerate(todo)
    )
    for place, stages in track(found, len(todo), "Measuring", enabled=sys.stderr.isatty()):
        store.add(key(todo[place]), {"stages": stages})
    return {job: store.results[key(job)]["stages"] for job in wanted}


def _numbered(place: int, job: Job) -> tuple[int, list[Record]]:
    return place, measure(job)


def mean(results: Results, measure: str, stage: int = 0, kind: str | None = None) -> float:
    """The mean over tables, of one kind or all; NaN where nothing was measured."""
    found = [stages[stage][measure] for job, stages in results.items() if kind in (None, job.kind)]
    values = np.array(found, dtype=float)
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else float("nan")


def in_words(stage: Stage) -> str:
    """The head of a column."""
    n_answers, error, of_list = stage
    if not n_answers:
        return "no answers"
    drawn = f"{n_answers} of the list" if of_list else f"{n_answers} answers"
    return f"{drawn.removesuffix(' answers')}, {error:.0%} wrong" if error else drawn


def _percent(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.0%}"


def _by_kind(
    results: Results, cell: Callable[[int, str | None], str], stages: Sequence[int] | None = None
) -> str:
    """A row for each kind of table and one for all, a column for each stage."""
    stages = range(len(STAGES)) if stages is None else stages
    every = (*STAGES, *LIST_STAGES)
    kinds = dict.fromkeys(job.kind for job in results)
    rows = [(f"{kind} ({sum(job.kind == kind for job in results)})", kind) for kind in kinds]
    return table(
        ["tables", *(in_words(every[k]) for k in stages)],
        [
            [name, *(cell(k, kind) for k in stages)]
            for name, kind in [*rows, (f"**all** ({len(results)})", None)]
        ],
    )


def interval_section(results: Results, of: str, title: str) -> str:
    """How often intervals hold what they are about, and how wide they are."""

    def cell(stage: int, kind: str | None) -> str:
        held = mean(results, f"{of} held", stage, kind)
        return f"{_percent(held)} / {number(100 * mean(results, f'{of} width', stage, kind))}"

    kinds = list(dict.fromkeys(job.kind for job in results))
    worst = min(kinds, key=lambda kind: mean(results, f"{of} held", 0, kind))
    last, erring = STAGES.index(Stage(100, 0.0)), STAGES.index(Stage(100, 0.1))
    verdict = (
        f"Without answers {_percent(mean(results, f'{of} held'))} of the intervals hold the truth "
        f"(asked: 90%), least of {worst} ({_percent(mean(results, f'{of} held', 0, worst))}); with "
        f"100 answers {_percent(mean(results, f'{of} held', last))}, with 10% of them wrong "
        f"{_percent(mean(results, f'{of} held', erring))}."
    )
    if of == "share":
        by_checks = _percent(mean(results, "by random checks", last))
        verdict += f" With 100 answers {by_checks} of the intervals are those of random checks."
    return (
        f"## {title}\n\n{verdict} Cells: how many hold it / mean width in points.\n\n"
        + _by_kind(results, cell)
    )


def ranking_section(results: Results) -> str:
    """Average precision beside the usual orders."""
    kinds = [kind for kind in dict.fromkeys(job.kind for job in results) if kind != CLEAN]
    names = ("average precision", "self-confidence", "margin")
    later = [k for k, stage in enumerate(STAGES) if stage.n_answers]
    rows = [
        [kind or "**all**", *(number(mean(results, name, 0, kind), 3) for name in names),
         *(number(mean(results, names[0], k, kind), 3) for k in later)]
        for kind in [*kinds, None]
    ]  # fmt: skip
    ours, confidence, margin = (mean(results, name) for name in names)
    behind = [
        kind
        for kind in kinds
        if mean(results, names[0], 0, kind)
        < max(mean(results, name, 0, kind) for name in names[1:]) - 0.005
    ]
    where = f"it is behind the better of the two on {', '.join(behind)}" if behind else (
        "on no kind of table it is behind the better of the two by more than .005"
    )  # fmt: skip
    verdict = (
        f"Average precision is {ours:.3f} by issue probability, {confidence:.3f} by "
        f"self-confidence and {margin:.3f} by margin; {where}."
    )
    note = (
        "Of two classes both orders are the same. Columns with answers are of rows that nobody "
        "checked."
    )
    head = ["tables", "rBoost", *names[1:], *(in_words(STAGES[k]) for k in later)]
    return f"## Are wrong labels ranked first?\n\n{verdict} {note}\n\n{table(head, rows)}"


def promise_section(results: Results) -> str:
    """Lists of suspects: intervals of how many are wrong, and promises where these are narrow."""
    every = (*STAGES, *LIST_STAGES)

    def held(stage: int, kind: str | None) -> str:
        share = _percent(mean(results, "list held", stage, kind))
        return f"{share} / {number(100 * mean(results, 'list width', stage, kind))}"

    def gaps(stage: int, kind: str | None, known: bool = True) -> Floats:
        chosen = (
            stages[stage]
            for job, stages in results.items()
            if kind in (None, job.kind) and (stages[stage]["list known"] or not known)
        )
        return np.array([one["promised"] - one["precision"] for one in chosen])

    def made(stage: int, kind: str | None) -> str:
        found = gaps(stage, kind)
        if not len(found):
            return "–"
        return f"{np.sum(np.abs(found) <= CLOSE)} of {len(found)}, {100 * found.max():+.0f}"

    shown = [k for k, stage in enumerate(every) if stage.error in (0.0, 0.05)]
    checked, everywhere = (
        every.index(LIST_STAGES[0]),
        gaps(every.index(LIST_STAGES[0]), None, False),
    )
    verdict = (
        "The list is that of an audit that nobody asked for another length. Without answers "
        f"{_percent(mean(results, 'list held'))} of the intervals of its share of wrong labels "
        f"hold the truth (asked: 90%); with {OF_LIST} rows of the list checked "
        f"{_percent(mean(results, 'list held', checked))}, and then the expected share is within "
        f"10 points of the truth on {np.mean(np.abs(everywhere) <= 0.1):.0%} of the tables and "
        f"within {100 * CLOSE:.0f} on {np.mean(np.abs(everywhere) <= CLOSE):.0%}."
    )
    return (
        "## How many of the list are wrong?\n\n"
        f"{verdict} Cells: how many hold it / mean width in points.\n\n"
        + _by_kind(results, held, shown)
        + "\n\nA number is promised only where the interval is at most "
        f"{100 * WIDEST_PROMISE:.0f} points wide. Cells: promises within {100 * CLOSE:.0f} points "
        "of the truth, of how many, and how many points the highest lies above it.\n\n"
        + _by_kind(results, made, shown)
    )


def page(results: Results) -> str:
    """The page."""
    return "\n".join(
        [
            "# Honesty\n",
            "Each table is audited once with all defaults; answers are of rows drawn at random, "
            "and what they change is inferred from the same held-out scores. Intervals are meant "
            "to hold nine times in ten. Planted are flips at random, flips near the boundary, "
            f"errors beside a class as rare as 1:{RATIOS[0]} to 1:{RATIOS[-1]}, and errors of 2 to "
            f"{N_CLASSES[-1]} classes; an error of such a table as it came counts as right. Labels "
            f"that were really wrong: {SOURCES}; and pictures (CIFAR-10N, Wei et al. 2022) with "
            "networks' probabilities from cleanlab's benchmarks (Kuan & Mueller 2022). Constants "
            "of the inference were chosen with some of these tables in view: expect a little less "
            "on others.\n",
            interval_section(results, "share", "Does the interval hold the share of wrong labels?"),
            interval_section(results, "rates", "Do the intervals hold the rates of each class?"),
            ranking_section(results),
            promise_section(results),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, write the page, say where it is."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.honesty", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR",
        help="folder that holds real_noise/ and probabilities/",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="two small tables of each kind")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument(
        "--out", type=Path, default=Path("build/honesty"), help="folder of finished results"
    )
    parser.add_argument(
        "--page", type=Path, default=Path("docs/honesty"), help="folder of the page"
    )
    given = parser.parse_args(arguments)
    if given.jobs < 1:
        parser.error("--jobs must be at least 1")
    try:
        results = run(given.data, given.quick, given.out, given.jobs)
    except FileNotFoundError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    path = given.page / "honesty.md"
    write_page(path, page(results), "benchmarks.honesty", arguments, ("pandas",))
    print(path)


if __name__ == "__main__":
    main()
