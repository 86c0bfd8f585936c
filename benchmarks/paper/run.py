"""Run the experiments piece by piece, in any order and on any number of processes.

A piece of work is a :class:`Job`. Its result depends on the job and the options alone, so pieces
can be run in parallel, killed and resumed without changing a number.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.code import code_of, fingerprint_of
from benchmarks.paper.datasets import BENCHMARKS
from benchmarks.paper.methods import METHODS
from benchmarks.paper.protocol import SETTINGS, Trial, make_trial
from benchmarks.store import Record, ResultStore
from rboost._typing import Floats
from rboost.files import write_atomically
from rboost.progress import track

TABLE_SETTINGS = ("sym10", "sym30", "asym10", "asym30")
CURVE_DATASETS = ("Banana", "Diabetes", "Twonorm", "Waveform")
CURVE_METHODS = ("AdaBoost LR", "AdaBoost rLR", "rBoost-fixed rLR", "ModestBoost tree")
BOUNDARY_METHODS = ("AdaBoost rLR", "rBoost-fixed rLR")
BOUNDARY_GRID = 120
TRUSTED_DATASETS = ("Banana", "Image", "Twonorm")
TRUSTED_SIZES = (0, 10, 20, 50, 100)
TRUSTED_METHOD = "rBoost rLR"
PARTS = ("tables", "curves", "boundaries", "trusted")


@dataclass(frozen=True)
class Options:
    """What a run is asked for."""

    repeats: int = 10
    rounds: int = 150
    protocol: str = "ida"
    seed: int = 0
    datasets: tuple[str, ...] = tuple(BENCHMARKS)
    parts: tuple[str, ...] = PARTS


@dataclass(frozen=True)
class Job:
    """One fit: a method on one split of one set with one kind of noise."""

    part: str
    dataset: str
    setting: str
    repeat: int
    method: str
    trusted: int = 0

    def key(self, options: Options) -> str:
        """Everything that the result depends on."""
        run = (options.protocol, options.rounds, options.seed)
        return "/".join(map(str, (*run, *asdict(self).values())))


def methods_of(setting: str) -> list[str]:
    """The columns of a table. Under symmetric noise both mixings are one, so ours would repeat."""
    symmetric = SETTINGS[setting].kind == "symmetric"
    return [name for name, method in METHODS.items() if not (symmetric and method.ours)]


# What each part fits: on which sets, with which noise, method and number of trusted rows.
PLANS: dict[str, list[tuple[Collection[str], str, str, int]]] = {
    "tables": [
        (BENCHMARKS, noise, name, 0) for noise in TABLE_SETTINGS for name in methods_of(noise)
    ],
    "curves": [(CURVE_DATASETS, "asym30", method, 0) for method in CURVE_METHODS],
    "boundaries": [
        (("Banana",), name, method, 0)
        for name in ("clean", "asym30")
        for method in BOUNDARY_METHODS
    ],
    "trusted": [(TRUSTED_DATASETS, "asym30", TRUSTED_METHOD, size) for size in TRUSTED_SIZES],
}


def jobs(options: Options) -> list[Job]:
    """All pieces of work; the slow ones first, so that no process ends up alone with one."""
    found = [
        Job(part, dataset, setting, repeat, method, trusted)
        for part in options.parts
        for repeat in range(options.repeats)
        for datasets, setting, method, trusted in PLANS[part]
        for dataset in options.datasets
        if dataset in datasets
    ]
    return sorted(found, key=lambda job: -BENCHMARKS[job.dataset].n_train)


def run_job(job: Job, options: Options) -> Record:
    """Fit and measure."""
    trial = make_trial(job.dataset, job.setting, job.repeat, options.protocol, options.seed)
    rounds = 2 * options.rounds if job.part == "curves" else options.rounds
    model = METHODS[job.method].build(trial.noise_matrix, rounds)
    model.set_params(random_state=trial.seed)
    measure = {"curves": _curves, "boundaries": _boundary}.get(job.part, _error)
    # One thread: how a sum is shared out changes its last digits, and processes compete already.
    with threadpool_limits(1), warnings.catch_warnings():
        # The base learners stop after a few steps on purpose.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="No base learner was kept")
        return measure(_fit(model, trial, job), trial)


def _fit(model: Any, trial: Trial, job: Job) -> Any:
    """Fit; where trusted rows are studied, as many training rows are held out for every size."""
    if job.part != "trusted":
        return model.fit(trial.X, trial.observed)
    # Alternating classes: any two of the rows held out hold both.
    held_out = np.concatenate(
        list(zip(*(np.flatnonzero(trial.true == k) for k in (0, 1)), strict=False))
    )[: max(TRUSTED_SIZES)]
    rest = np.setdiff1d(np.arange(len(trial.true)), held_out)
    chosen = held_out[: job.trusted]
    trusted = {"X_trusted": trial.X[chosen], "y_trusted": trial.true[chosen]} if len(chosen) else {}
    return model.fit(trial.X[rest], trial.observed[rest], **trusted)


def _percent(wrong: Any) -> float:
    return round(100 * float(np.mean(wrong)), 6)


def _error(model: Any, trial: Trial) -> Record:
    record: Record = {"error": _percent(model.predict(trial.X_test) != trial.y_test)}
    if hasattr(model, "noise_matrix_"):
        rates = model.noise_matrix_[[0, 1], [1, 0]]
        record["rates"] = [round(float(rate), 6) for rate in rates]
    return record


def _curves(model: Any, trial: Trial) -> Record:
    """Errors after each round, on the observed training labels and on the true test labels."""
    rows = {"train": (trial.X, trial.observed), "test": (trial.X_test, trial.y_test)}
    return {
        name: [_percent(predicted != y) for predicted in model.staged_predict(X)]
        or [_percent(model.predict(X) != y)]  # of a model that kept no learner
        for name, (X, y) in rows.items()
    }


def boundary_grid() -> tuple[Floats, Floats]:
    """The grid on which decision boundaries on Banana are drawn."""
    axis = np.linspace(-3.2, 3.2, BOUNDARY_GRID)
    first, second = np.meshgrid(axis, axis)
    return first, second


def _boundary(model: Any, trial: Trial) -> Record:
    """Predictions on the grid, packed, and the length of the boundary in steps of the grid."""
    points = np.column_stack([axis.ravel() for axis in boundary_grid()])
    positive = (model.predict(points) == 1).reshape(BOUNDARY_GRID, BOUNDARY_GRID)
    length = sum(int(np.count_nonzero(np.diff(positive, axis=axis))) for axis in (0, 1))
    packed = np.packbits(positive).tobytes().hex()
    return {**_error(model, trial), "length": length, "grid": packed}


def unpack_grid(packed: str) -> Floats:
    """The predictions that :func:`_boundary` packed, as 0.0 and 1.0."""
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(packed), dtype=np.uint8))
    return bits[: BOUNDARY_GRID**2].reshape(BOUNDARY_GRID, BOUNDARY_GRID).astype(np.float64)


def run(options: Options, out: Path, n_jobs: int = 1, progress: bool = False) -> ResultStore:
    """Run what is not yet done and return the store; ``out`` remembers the options."""
    check_options(options)
    _check_same_code(out)
    saved = {"options": asdict(options), "code": code_fingerprint()}
    write_atomically(out / "options.json", json.dumps(saved, indent=1) + "\n")
    store = ResultStore(out / "results.jsonl")
    todo = [job for job in jobs(options) if job.key(options) not in store.results]
    keyed = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_run_keyed)(job, options) for job in todo
    )
    for key, result in track(keyed, len(todo), "Running experiments", enabled=progress):
        store.add(key, result)
    return store


def _run_keyed(job: Job, options: Options) -> tuple[str, Record]:
    return job.key(options), run_job(job, options)


def code_fingerprint() -> str:
    """A number that changes with the source that measures and with what it computes with."""
    sources = (path for path in code_of(__name__) if path.suffix == ".py")  # templates only show
    return fingerprint_of(sources, [np.__version__, scipy.__version__, sklearn.__version__])


def _check_same_code(out: Path) -> None:
    """Refuse to add to results of other code, which would mix two experiments in one table."""
    path = out / "options.json"
    if path.exists() and json.loads(path.read_text()).get("code") != code_fingerprint():
        raise ValueError(
            f"The results in {out} come from another version of the code; "
            "choose another folder with --out, or delete that one."
        )


def check_options(options: Options) -> None:
    """Fail with one sentence on what cannot be run."""
    for name, chosen, known in [
        ("set", options.datasets, tuple(BENCHMARKS)),
        ("part", options.parts, PARTS),
    ]:
        for value in chosen:
            if value not in known:
                raise ValueError(f"There is no {name} {value!r}; choose from {', '.join(known)}.")
    if options.repeats < 1 or options.rounds < 1:
        raise ValueError("repeats and rounds must be at least 1.")


def load_run(out: Path) -> tuple[Options, dict[Job, Record]]:
    """Read the options of a finished or unfinished run and what it has measured so far."""
    path = out / "options.json"
    if not path.exists():
        raise FileNotFoundError(
            f"{out} holds no run; make one with: python -m benchmarks.paper --out {out}"
        )
    saved = json.loads(path.read_text())["options"]
    options = replace(Options(), **{**saved, "datasets": tuple(saved["datasets"])})
    options = replace(options, parts=tuple(saved["parts"]))
    store = ResultStore(out / "results.jsonl")
    measured = {job: store.results.get(job.key(options)) for job in jobs(options)}
    return options, {job: result for job, result in measured.items() if result is not None}
