"""A reviewer answers until the page says enough; whether the share of wrong labels is known then.

    python -m benchmarks.stopping --data ../shared           # all tables
    python -m benchmarks.stopping --data ../shared --quick   # two of each kind

reads ``real_noise/`` and ``probabilities/`` of that folder and writes ``stopping.md`` to
docs/audit. Each table is audited with all defaults. A simulated reviewer, of whose answers 5 % are
wrong, then answers the rows that the review page shows, in its default order; the page infers
again after every five answers, and fits the model again when it would. In random order the rows are
drawn at random, and all else is the same. It needs the extras ``audit`` and ``dev``. A run can be
killed and resumed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.code import code_fingerprint
from benchmarks.honesty import REAL, Job, Rows, first_of_each, jobs, networks
from benchmarks.markdown import number, table
from benchmarks.pages import write_page
from benchmarks.paper.protocol import seed_of
from benchmarks.real_noise.measures import MOST_CERTAIN
from benchmarks.real_noise.review import OURS, RANDOM, SORTED_EVERY
from benchmarks.real_noise.summary import answers_needed
from benchmarks.real_noise.tables import COLLECTIONS, SOURCES, data_fingerprint
from benchmarks.store import Record, ResultStore
from rboost._typing import Floats
from rboost.audit import LabelAudit, audit_labels
from rboost.audit.arguments import FEWEST_ROWS
from rboost.audit.labels import NO_LABEL
from rboost.progress import track
from rboost.review.answers import CHANGE, KEEP
from rboost.review.precision import FEWEST_ANSWERS, UNTIL, points
from rboost.review.session import LEARN_EVERY, LEARN_SHARE, Review
from rboost.review.snapshot import Snapshot

# The share of answers that are wrong: another class, at random.
ERROR = 0.05
# The reviewer gives up after so many answers.
MOST_ANSWERS = 400
# Log losses are compared after so many answers in random order, so that every review gets there.
COMPARED = 100
# In random order the share is inferred after so many answers more.
RANDOM_EVERY = 10
STAGES = tuple(range(0, COMPARED + 1, SORTED_EVERY))
# Of planted tables every tenth is reviewed. How the lower end allows for errors of reviewers was
# chosen on five tables of benchmarks.planted_noise with other shares of errors.
EVERY = 10
# What is asked: intervals that hold the truth when the page says enough, and the answers of our
# queue as a share of those that random order needs for the same log loss.
LEAST_HELD, MOST_OF_RANDOM = 0.85, 0.8


class Unattended(Review):
    """A review without what only people see: reasons, forecasts and the file of answers."""

    def export(self) -> None:
        """Nobody reads checked.csv."""

    def _forecast(self) -> float | None:
        return None

    def _explain_first(self, snapshot: Snapshot) -> None:
        pass


class Reviewer:
    """Somebody who knows the true classes, and errs."""

    def __init__(self, rows: Rows, seed: int) -> None:
        self._true, self._random = rows.true, np.random.RandomState(seed)
        self._n_classes = int(rows.true.max()) + 1

    def says(self, row: int) -> int:
        """The class that is named, each time anew."""
        true, errs = int(self._true[row]), self._random.random_sample() < ERROR
        other = (true + self._random.randint(1, self._n_classes)) % self._n_classes
        return other if errs else true


def state(live: LabelAudit, n_answers: int, rows: Rows) -> Record:
    """What is said after some answers, beside what is true."""
    unchecked, is_wrong = live.labels.is_observed, rows.given != rows.true
    low, high, source = live.wrong_share_interval() if unchecked.any() else (0.0, 0.0, "")
    right = live.inference.probability[np.arange(len(rows.true)), rows.true]
    return {
        "answers": n_answers,
        "low": low,
        "high": high,
        "source": source,
        "model": live.inference.wrong_share,
        "drawn": int(live.labels.at_random.sum()),
        "true": float(is_wrong[unchecked].mean()) if unchecked.any() else 0.0,
        "log loss": float(-np.log(np.maximum(right, MOST_CERTAIN)).mean()),
    }


def follow_page(audit: LabelAudit, rows: Rows, until: float) -> Iterator[Record]:
    """Answer what the page shows; it infers and learns before it shows other rows."""
    reviewer = Reviewer(rows, seed_of(OURS))
    with tempfile.TemporaryDirectory() as folder:
        review = Unattended(audit, Path(folder), until=until, learns=True)
        while True:
            log = review.store.log()
            now = state(review.snapshot.live, len(log.current), rows)
            yield now | {"enough": review.is_enough}
            shown = review.next_rows(count=SORTED_EVERY)
            if not shown:
                break
            for row in shown:
                label, before = reviewer.says(row), log.current.get(row)
                is_kept = label == rows.given[row]
                review.answer(
                    f"{log.version} {row}", row, KEEP if is_kept else CHANGE,
                    None if is_kept else label, expects=before.number if before else None,
                )  # fmt: skip
            for task in (review.updating, review.refit_job, review.updating):
                task.wait(None)
                if task.error is not None:
                    raise RuntimeError(task.error)
        review.finish()


def at_random(audit: LabelAudit, rows: Rows, until: float) -> Iterator[Record]:
    """Answer rows drawn at random; all else as the page does."""
    reviewer, n_rows = Reviewer(rows, seed_of(RANDOM)), len(rows.true)
    order = np.random.RandomState(seed_of(RANDOM)).permutation(n_rows)
    checked, n_answers, n_learnt, live = np.full(n_rows, NO_LABEL), 0, 0, audit
    while n_answers < n_rows:
        now = state(live, n_answers, rows)
        is_narrow = points(now["low"], now["high"]) <= until
        yield now | {"enough": is_narrow and n_answers >= FEWEST_ANSWERS}
        drawn = order[n_answers : n_answers + RANDOM_EVERY]
        checked[drawn] = [reviewer.says(row) for row in drawn.tolist()]
        n_answers += len(drawn)
        labels = live.labels.with_checked(checked, checked != NO_LABEL)
        n_new, n_left = n_answers - n_learnt, int(labels.is_observed.sum())
        if n_new >= max(LEARN_EVERY, LEARN_SHARE * n_answers) and n_left >= FEWEST_ROWS:
            live, n_learnt = live.refitted(labels), n_answers
        else:
            live = live.with_checked(labels.answers, labels.at_random)


ORDERS = {OURS: follow_page, RANDOM: at_random}


def measure(job: Job, until: float = UNTIL) -> Record:
    """Audit a table once, and review it in both orders."""
    rows = job.make().usable()
    # One thread: processes compete already. Warnings are about single tables.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        audit = audit_labels(
            rows.X, rows.given, probabilities=rows.probabilities, n_jobs=1, check_columns=False
        )
        found = {name: up_to_enough(follow(audit, rows, until)) for name, follow in ORDERS.items()}
    return found | {"true of all": float((rows.given != rows.true).mean())}


def up_to_enough(looks: Iterator[Record]) -> list[Record]:
    """What was said until it was enough, and on to the number of answers that is compared."""
    found, is_enough = [], False
    for look in looks:
        found.append(look)
        is_enough |= look["enough"]
        n_answers = look["answers"]
        if n_answers >= MOST_ANSWERS or (is_enough and n_answers >= COMPARED):
            break
    return found


def chosen(data: Path) -> list[Job]:
    """Every tenth planted table, and all of both collections of real noise; no networks."""
    pictures = {path.stem for path in networks(data)}
    found = [job for job in jobs(data) if job.name not in pictures]
    real = {REAL.format(collection) for collection in COLLECTIONS}
    planted = [job for job in found if job.kind not in real]
    return planted[::EVERY] + [job for job in found if job.kind in real]


Results = dict[Job, Record]


def run(data: Path, quick: bool, out: Path, n_jobs: int) -> Results:
    """Measure what is not yet done and return the results of all."""
    wanted, store = chosen(data), ResultStore(out / "results.jsonl")
    if quick:
        wanted = first_of_each(wanted)
    files = " ".join(data_fingerprint(data, collection) for collection in COLLECTIONS)

    def key(job: Job) -> str:
        return f"{job.kind}/{job.name}/{files}/{code_fingerprint('benchmarks.stopping')}"

    todo = [job for job in wanted if key(job) not in store.results]
    found = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_numbered)(place, job) for place, job in enumerate(todo)
    )
    for place, result in track(found, len(todo), "Measuring", enabled=sys.stderr.isatty()):
        store.add(key(todo[place]), result)
    return {job: store.results[key(job)] for job in wanted}


def _numbered(place: int, job: Job) -> tuple[int, Record]:
    return place, measure(job)


def stop(looks: Sequence[Record]) -> Record | None:
    """What was said when it was first enough; None if it never was."""
    return next((look for look in looks if look["enough"]), None)


def is_held(look: Record) -> bool:
    """Whether the interval holds the share of wrong labels among those that nobody checked."""
    return bool(look["low"] <= look["true"] <= look["high"])


def curve(looks: Sequence[Record]) -> Floats:
    """Log loss after 0, 5, … answers up to those that are compared, interpolated."""
    each = np.array([[look["answers"], look["log loss"]] for look in looks])
    return np.interp(STAGES, each[:, 0], each[:, 1])


def needed(results: Sequence[Record]) -> tuple[Floats, Floats, float]:
    """Mean log losses of our queue and of random order, and the answers of ours for the last."""
    ours, random = (
        np.mean([curve(result[name]) for result in results], axis=0) for name in (OURS, RANDOM)
    )
    return ours, random, answers_needed(ours, random[-1], less_is_better=True, stages=STAGES)


def _by_kind(results: Results) -> Iterator[tuple[str, list[Record]]]:
    """The results of each kind of table, of planted and real ones, and of all."""
    for kind in dict.fromkeys(job.kind for job in results):
        found = [result for job, result in results.items() if job.kind == kind]
        yield f"{kind} ({len(found)})", found
    if len(results) > 1:
        yield f"**all** ({len(results)})", [*results.values()]


def _share(of: Sequence[bool]) -> str:
    return f"{np.mean(of):.0%}" if len(of) else "–"


def _median_answers(results: Sequence[Record], order: str) -> str:
    stops = [stop(result[order]) for result in results]
    answers = [np.inf if one is None else one["answers"] for one in stops]
    middle = float(np.median(answers))
    return f"{middle:.0f}" if np.isfinite(middle) else f"> {MOST_ANSWERS}"


def interval_section(results: Results) -> str:
    """Whether intervals hold when the page says enough."""
    rows = []
    for name, found in _by_kind(results):
        stops = [one for result in found if (one := stop(result[OURS]))]
        at_random = [one for result in found if (one := stop(result[RANDOM]))]
        rows.append([
            name, str(len(stops)), _share([is_held(one) for one in stops]),
            _share([one["true"] < one["low"] for one in stops]),
            _share([one["true"] > one["high"] for one in stops]),
            _share([one["low"] <= result["true of all"] <= one["high"]
                    for result in found if (one := stop(result[OURS]))]),
            str(len(at_random)), _share([is_held(one) for one in at_random]),
        ])  # fmt: skip
    stops = [one for result in results.values() if (one := stop(result[OURS]))]
    held = float(np.mean([is_held(one) for one in stops])) if stops else float("nan")
    verdict = (
        f"The page says enough on {len(stops)} of {len(results)} tables within {MOST_ANSWERS} "
        f"answers; the interval then holds the share of wrong labels among those nobody checked, "
        f"which is what the page says of it, on {number(100 * held, 0)}% ({LEAST_HELD:.0%} asked: "
        f"{_is_met(held >= LEAST_HELD)})."
    )
    head = [
        "tables", "enough", "hold", "truth below", "truth above", "hold the share of all labels",
        "enough in random order", "hold",
    ]  # fmt: skip
    return f"## Does the interval hold when the page says enough?\n\n{verdict}\n\n" + table(
        head, rows
    )


def answers_section(results: Results) -> str:
    """How many answers it takes."""
    rows = [
        [name, *(_median_answers(found, order) for order in ORDERS)]
        for name, found in _by_kind(results)
    ]
    return (
        "## How many answers are enough?\n\nMedians. Small tables need a large share of their rows "
        "checked: an interval of ± 3 points takes some hundred labels whatever the table.\n\n"
        + table(["tables", *ORDERS], rows)
    )


def loss_section(results: Results) -> str:
    """Answers of our queue for the log loss that random order reaches."""
    rows, ratio = [], float("nan")
    for name, found in _by_kind(results):
        ours, random, n_answers = needed(found)
        ratio = n_answers / COMPARED
        rows.append([
            name, number(ours[0], 3), number(random[-1], 3), number(ours[-1], 3), _ratio(ratio),
        ])  # fmt: skip
    head = [
        "tables", "no answers", f"random order, {COMPARED}", f"our queue, {COMPARED}", "ratio",
    ]  # fmt: skip
    verdict = (
        f"Of all tables our queue needs {_ratio(ratio)} of the answers that random order needs "
        f"(at most {MOST_OF_RANDOM:.2f} asked: {_is_met(0 < ratio <= MOST_OF_RANDOM)})."
    )
    return (
        "## How many answers for the same log loss?\n\n"
        f"{verdict} Log loss of the model on the true classes of all rows, each by a model that "
        f"was not fitted to it; the ratio is of answers of our queue to {COMPARED} in random "
        "order.\n\n" + table(head, rows)
    )


def _ratio(value: float) -> str:
    if np.isinf(value):
        return "> 1"
    return f"{value:.2f}" if value else "–"


def _is_met(met: bool) -> str:
    return "yes" if met else "**no**"


def page(results: Results) -> str:
    """The page."""
    return "\n".join(
        [
            "# When the review page says enough\n",
            f"Each table is audited once with all defaults. A simulated reviewer, of whose answers "
            f"{ERROR:.0%} are wrong, answers what the page shows in its default order until it "
            f"says that the share of wrong labels is known to ± {UNTIL:g} points (the default), at "
            f"most {MOST_ANSWERS} answers. The page infers again after every {SORTED_EVERY} "
            "answers (for people after each), and fits the model again by itself when it would; "
            "rows that it asks once more are answered once more. In random order the share is "
            f"inferred after every {RANDOM_EVERY} answers, which all count as random checks. "
            f"Planted tables are every {EVERY}th of those on the page of honesty; an error of such "
            "a table as it came counts as right. How the lower end of an interval allows for "
            "errors of reviewers was chosen on planted tables with other shares of errors. Labels "
            f"that were really wrong: {SOURCES}.\n",
            interval_section(results),
            answers_section(results),
            loss_section(results),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, write the page, say where it is."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.stopping", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR",
        help="folder that holds real_noise/ and probabilities/",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="two small tables of each kind")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument(
        "--out", type=Path, default=Path("build/stopping"), help="folder of finished results"
    )
    parser.add_argument("--page", type=Path, default=Path("docs/audit"), help="folder of the page")
    given = parser.parse_args(arguments)
    if given.jobs < 1:
        parser.error("--jobs must be at least 1")
    try:
        results = run(given.data, given.quick, given.out, given.jobs)
    except FileNotFoundError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    path = given.page / "stopping.md"
    write_page(path, page(results), "benchmarks.stopping", arguments, ("pandas",))
    print(path)


if __name__ == "__main__":
    main()
