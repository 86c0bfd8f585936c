"""The figures of the paper, drawn from what was measured; legible in grey and at page width."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from benchmarks.paper.protocol import make_trial
from benchmarks.paper.run import (
    BOUNDARY_METHODS,
    CURVE_DATASETS,
    CURVE_METHODS,
    TRUSTED_DATASETS,
    TRUSTED_SIZES,
    Options,
    boundary_grid,
    unpack_grid,
)
from benchmarks.paper.tables import Measured, deviation
from rboost.engines.rounds import ExponentialLoss, mixing_coefficients
from rboost.noise import asymmetric, symmetric
from rboost.noise.likelihood import Likelihood
from rboost.packages import package

# Colours of different lightness, each with its own line style: any two can be told apart in grey.
STYLES: list[dict[str, Any]] = [
    {"color": "#000000", "linestyle": "-"},
    {"color": "#b5531f", "linestyle": "--"},
    {"color": "#2f7fb8", "linestyle": "-."},
    {"color": "#9a9a9a", "linestyle": ":"},
]
# In Figure 1 the last line coincides with one of the others in each panel and lies behind it.
LOSS_STYLES = [*STYLES[:3], {"color": "#cfcfcf", "linestyle": "-", "linewidth": 6, "zorder": 1}]


def _subplots(rows: int, columns: int, **options: Any) -> Any:
    drawing = package("matplotlib.figure", extra="plots")
    figure = drawing.Figure(layout="constrained", **options.pop("figure"))
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def to_png(figure: Any) -> bytes:
    """The figure as a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=140, metadata={"Software": None})
    return buffer.getvalue()


def loss_shapes() -> Any:
    """Figure 1: the mixture loss of a row observed as positive, for several noise matrices."""
    scores = np.linspace(-2, 2, 201)
    figure, axes = _subplots(1, 2, figure={"figsize": (8, 3.4)}, sharey=True)
    noises = [
        ("no noise", np.eye(2)),
        ("γ01 = γ10 = .1", symmetric(0.1)),
        ("γ01 = γ10 = .3", symmetric(0.3)),
        ("γ01 = .3, γ10 = 0", asymmetric(0.3, from_class=0)),
    ]
    for axis, label in zip(axes[0], (1.0, -1.0), strict=True):
        for (name, noise), style in zip(noises, LOSS_STYLES, strict=True):
            observed = np.full(len(scores), int(label > 0))
            mixing = mixing_coefficients(noise, "paper").T
            rows = Likelihood(observed, mixing, np.ones(len(scores)))
            terms = ExponentialLoss().terms(rows, np.column_stack([-scores, scores]))
            loss = terms.class_weights.sum(axis=1) * np.exp(terms.log_scale)
            axis.plot(scores, loss, label=name, **style)
        sign = "positive" if label > 0 else "negative"
        axis.set(title=f"observed {sign}", xlabel="score H", ylim=(0, 7.5))
    axes[0, 0].set_ylabel("loss, eq. (10)")
    axes[0, 0].legend(frameon=False)
    return figure


def error_curves(measured: Measured) -> Any | None:
    """Figure 2: test and training error over rounds, mean of the repeats, 30 % asymmetric noise."""
    curves: dict[tuple[str, str], list[Any]] = {}
    for job, result in measured.items():
        if job.part == "curves":
            curves.setdefault((job.dataset, job.method), []).append(result)
    datasets = [name for name in CURVE_DATASETS if any(key[0] == name for key in curves)]
    if not datasets:
        return None
    length = max(len(result["test"]) for results in curves.values() for result in results)
    size = {"figsize": (8, 2.3 * len(datasets) + 0.6)}
    figure, axes = _subplots(len(datasets), 2, figure=size, sharex=True)
    for row, dataset in zip(axes, datasets, strict=True):
        for axis, which in zip(row, ("test", "train"), strict=True):
            for method, style in zip(CURVE_METHODS, STYLES, strict=True):
                results = curves.get((dataset, method), [])
                if results:
                    mean = mean_curve([result[which] for result in results], length)
                    axis.plot(np.arange(1, len(mean) + 1), mean, label=method, **style)
            labels = "observed labels" if which == "train" else "true labels"
            axis.set_title(f"{dataset}, {which}, {labels}", fontsize=10)
        row[0].set_ylabel("error %")
    for axis in axes[-1]:
        axis.set_xlabel("base learners kept")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def mean_curve(curves: list[list[float]], length: int | None = None) -> Any:
    """Mean over repeats; a run that kept fewer learners than others keeps its last error."""
    length = length or max(map(len, curves))
    return np.mean([curve + curve[-1:] * (length - len(curve)) for curve in curves], axis=0)


def decision_boundaries(measured: Measured, options: Options) -> Any | None:
    """Figure 3: decision boundaries on Banana, without noise above and with noise below.

    The points are the training rows of the first repeat, with the labels the models saw. Without
    noise rBoost is AdaBoost, so the upper panels are the same.
    """
    grids = {
        (job.setting, job.method): result["grid"]
        for job, result in measured.items()
        if job.part == "boundaries" and job.repeat == 0
    }
    if len(grids) < 4:
        return None
    settings = {"clean": "no noise", "asym30": "30 % asymmetric noise"}
    figure, axes = _subplots(2, 2, figure={"figsize": (8, 7.6)}, sharex=True, sharey=True)
    for row, (setting, title) in zip(axes, settings.items(), strict=True):
        trial = make_trial("Banana", setting, 0, options.protocol, options.seed)
        for axis, method in zip(row, BOUNDARY_METHODS, strict=True):
            positive = unpack_grid(grids[setting, method])
            axis.contourf(*boundary_grid(), positive, levels=[-1, 0.5, 2], colors=["w", "#c9c9c9"])
            axis.contour(*boundary_grid(), positive, levels=[0.5], colors="k", linewidths=0.8)
            for label, color, marker in [(0, "#2f7fb8", "o"), (1, "#8c3a10", "^")]:
                axis.scatter(*trial.X[trial.observed == label].T, s=7, c=color, marker=marker)
            axis.set_title(f"{method}, {title}", fontsize=10)
            axis.set(xlim=(-3.2, 3.2), ylim=(-3.2, 3.2))
    for axis in axes[-1]:
        axis.set_xlabel("feature 1")
    for axis in axes[:, 0]:
        axis.set_ylabel("feature 2")
    return figure


def trusted_errors(measured: Measured) -> dict[str, dict[int, list[float]]]:
    """Test errors by dataset and size of the trusted set."""
    found: dict[str, dict[int, list[float]]] = {}
    for job, result in measured.items():
        if job.part == "trusted":
            found.setdefault(job.dataset, {}).setdefault(job.trusted, []).append(result["error"])
    return found


def trusted_sweep(measured: Measured) -> Any | None:
    """Test error at 30 % asymmetric noise over the number of trusted rows."""
    found = trusted_errors(measured)
    if not found:
        return None
    figure, axes = _subplots(1, 1, figure={"figsize": (6, 3.6)})
    axis = axes[0, 0]
    for dataset, style in zip(TRUSTED_DATASETS, STYLES, strict=False):
        if dataset in found:
            sizes = [size for size in TRUSTED_SIZES if size in found[dataset]]
            means = [np.mean(found[dataset][size]) for size in sizes]
            spread = [deviation(found[dataset][size]) for size in sizes]
            position = [TRUSTED_SIZES.index(size) for size in sizes]
            axis.errorbar(position, means, spread, label=dataset, capsize=3, marker="o", **style)
    axis.set_xticks(range(len(TRUSTED_SIZES)), TRUSTED_SIZES)
    axis.set(xlabel="trusted rows", ylabel="test error %", ylim=(0, None))
    axis.legend(frameon=False)
    return figure
