"""Which methods survive the construction of Long & Servedio, and which do not.

    python -m benchmarks.long_servedio

A tenth of the labels is flipped at random, or none. Boosters have stumps, one feature each, as in
the paper; RobustBoost is run with several error goals too. Writes ``long_servedio.md`` and
``long_servedio.png`` to docs/long_servedio.
"""

from __future__ import annotations

import argparse
import io
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from benchmarks.literature import BOOSTERS
from benchmarks.markdown import table
from benchmarks.pages import write_page
from rboost import (
    AdaRBoostClassifier,
    NoiseAwareClassifier,
    NoiseCalibratedClassifier,
    RBoostClassifier,
    RobustLogisticRegression,
)
from rboost._typing import Floats
from rboost.datasets import make_long_servedio
from rboost.files import write_atomically
from rboost.noise import flip_labels, symmetric
from rboost.progress import track
from rboost.rivals import LogitBoostClassifier, RobustBoostClassifier
from rboost.robust import (
    DepurationNeighborsClassifier,
    MultiAnnotatorLogisticRegression,
    RobustDiscriminantClassifier,
    RobustGaussianProcessClassifier,
    RobustKernelLogisticRegression,
    RobustMixtureDiscriminantClassifier,
)

RATES = (0.0, 0.1)
N_TRAIN, N_TEST, N_ROUNDS = 1000, 4000, 300
# An error below this is a survival.
SURVIVAL = 5.0
STUMP = DecisionTreeClassifier(max_depth=1)


def _booster(name: str) -> Callable[[int], Any]:
    return lambda seed: BOOSTERS[name](max_splits=1, n_estimators=N_ROUNDS, random_state=seed)


METHODS: dict[str, Callable[[int], Any]] = {
    "AdaBoost": lambda seed: AdaBoostClassifier(STUMP, n_estimators=N_ROUNDS, random_state=seed),
    **{name: _booster(name) for name in BOOSTERS},
    "LogitBoost without cut-off": lambda seed: LogitBoostClassifier(
        max_response=np.inf, max_splits=1, n_estimators=N_ROUNDS, random_state=seed
    ),
    "rBoost as in the paper, told the noise": lambda seed: AdaRBoostClassifier(
        STUMP,
        n_estimators=N_ROUNDS,
        noise_matrix=symmetric(0.1),
        random_state=seed,
    ),
    "noise-calibrated AdaBoost": lambda seed: NoiseCalibratedClassifier(
        AdaBoostClassifier(STUMP, n_estimators=N_ROUNDS, random_state=seed), random_state=seed
    ),
    "rBoost": lambda seed: RBoostClassifier(random_state=seed),
    "rLR": lambda seed: RobustLogisticRegression(random_state=seed),
    "logistic regression": lambda seed: LogisticRegression(),
    "noise-aware logistic regression (EM)": lambda seed: NoiseAwareClassifier(
        LogisticRegression(), random_state=seed
    ),
    "kernel rLR": lambda seed: RobustKernelLogisticRegression(random_state=seed),
    "robust Gaussian process": lambda seed: RobustGaussianProcessClassifier(),
    "robust discriminant": lambda seed: RobustDiscriminantClassifier(),
    "mixture discriminant": lambda seed: RobustMixtureDiscriminantClassifier(random_state=seed),
    "depuration": lambda seed: DepurationNeighborsClassifier(),
    "rLR of annotators, one of them": lambda seed: MultiAnnotatorLogisticRegression(),
    "random forest": lambda seed: RandomForestClassifier(min_samples_leaf=5, random_state=seed),
}
GOALS = (0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.32)

Errors = dict[str, Floats]


def measure(methods: dict[str, Callable[[int], Any]], n_draws: int) -> Errors:
    """Errors in percent on true labels, for each method of shape (n_rates, n_draws)."""
    jobs = [(name, rate, draw) for draw in range(n_draws) for rate in RATES for name in methods]
    errors = {name: np.empty((len(RATES), n_draws)) for name in methods}
    for name, rate, draw in track(jobs, len(jobs), "Measuring", enabled=sys.stderr.isatty()):
        X, y = make_long_servedio(N_TRAIN + N_TEST, random_state=draw)
        observed, _ = flip_labels(y[:N_TRAIN], symmetric(rate), random_state=draw)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = methods[name](draw).fit(X[:N_TRAIN], observed)
        wrong = model.predict(X[N_TRAIN:]) != y[N_TRAIN:]
        errors[name][RATES.index(rate), draw] = 100 * wrong.mean()
    return errors


def with_goal(goal: float) -> Callable[[int], Any]:
    """RobustBoost of stumps with a given error goal."""
    return lambda seed: RobustBoostClassifier(
        error_goal=goal, max_splits=1, n_estimators=N_ROUNDS, random_state=seed
    )


def _table(errors: Iterable[tuple[str, Floats]]) -> str:
    return table(
        ["", *(f"{rate:.0%} flipped" for rate in RATES), "worst draw, 10%"],
        (
            [name, *(f"{of_rate.mean():.1f}" for of_rate in found), f"{found[-1].max():.1f}"]
            for name, found in errors
        ),
    )


def page(errors: Errors, by_goal: Errors) -> str:
    """The results as Markdown."""
    n_draws = next(iter(errors.values())).shape[1]
    return "\n".join(
        [
            "# Long & Servedio's construction\n",
            f"Error in percent on true labels, mean of {n_draws} draws of {N_TRAIN} training "
            "rows.\n",
            "![Error of every method with a tenth of the labels flipped.](long_servedio.png)\n",
            _table(_ranked(errors)),
            "## RobustBoost by its error goal\n",
            _table(by_goal.items()),
        ]
    )


def _ranked(errors: Errors) -> list[tuple[str, Floats]]:
    return sorted(errors.items(), key=lambda item: float(item[1][-1].mean()))


def draw_figure(errors: Errors) -> bytes:
    """A bar for each method, with its draws as dots."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ranked = _ranked(errors)[::-1]
    figure, axis = plt.subplots(figsize=(8, 1.2 + 0.27 * len(ranked)), layout="constrained")
    axis.set_yticks(np.arange(len(ranked)), [name for name, _ in ranked])
    axis.set_ylim(-0.7, len(ranked) - 0.3)
    for position, (label, (_, found)) in enumerate(
        zip(axis.get_yticklabels(), ranked, strict=True)
    ):
        noisy = found[-1]
        survives = noisy.mean() < SURVIVAL
        label.set_color("#1b6b50" if survives else "#555555")
        axis.barh(position, noisy.mean(), color="#2a7f62" if survives else "#c9c9c9", height=0.7)
        axis.plot(noisy, np.full(len(noisy), position), ".", color="#222222", markersize=4)
    axis.axvline(SURVIVAL, color="#777777", linewidth=1, linestyle=":")
    axis.set_xlabel(
        f"error on true labels, %, with 10 % of the labels flipped (green: below {SURVIVAL:g})"
    )
    axis.set_xlim(left=0)
    axis.spines[["top", "right"]].set_visible(False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    plt.close(figure)
    return buffer.getvalue()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, write the page and the figure, say where they are."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.long_servedio",
        description="Which methods survive the construction of Long & Servedio.",
    )
    parser.add_argument("--draws", type=int, default=5, help="random tables")
    parser.add_argument("--methods", nargs="+", metavar="NAME", choices=METHODS, default=[*METHODS])
    parser.add_argument("--out", type=Path, default=Path("docs/long_servedio"))
    given = parser.parse_args(arguments)
    if given.draws < 1:
        parser.error("--draws must be at least 1")
    errors = measure({name: METHODS[name] for name in given.methods}, given.draws)
    by_goal = measure({f"{goal:g}": with_goal(goal) for goal in GOALS}, given.draws)
    path = given.out / "long_servedio.md"
    write_atomically(path.with_suffix(".png"), draw_figure(errors))
    write_page(path, page(errors, by_goal), "benchmarks.long_servedio", arguments)
    print(path)


if __name__ == "__main__":
    main()
