"""Fit on a table with wrong labels and compare with AdaBoost.

400 rows of two interlocked bananas, 30 % of the negatives observed as positive. No method is told
so unless it says. Accuracy is measured on rows with true labels.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from rboost import RBoostClassifier
from rboost.boosting import ALGORITHM_1
from rboost.datasets import make_banana
from rboost.noise import asymmetric, flip_labels
from rboost.progress import track

NOISE = asymmetric(0.3, from_class=0)
N_TRUSTED = 20
REPEATS = 10
FIGURE = Path("build") / "wrong_labels.png"

TREE = DecisionTreeClassifier(max_depth=3)
METHODS: dict[str, Any] = {
    "AdaBoost": AdaBoostClassifier(TREE, n_estimators=150),
    "rBoost as in the paper": RBoostClassifier(TREE, **ALGORITHM_1),
    "the same, noise known": RBoostClassifier(TREE, **ALGORITHM_1, noise_matrix=NOISE),
    "rBoost": RBoostClassifier(),
    f"rBoost, {N_TRUSTED} trusted rows": RBoostClassifier(),
    "rBoost, noise known": RBoostClassifier(noise_matrix=NOISE),
}
SHOWN = ("AdaBoost", "rBoost")


def fit_all(seed: int) -> tuple[dict[str, Any], Any, Any, Any]:
    """Make a table, make labels wrong, fit every method."""
    X, y = make_banana(400, random_state=seed)
    X_trusted, y_trusted = make_banana(N_TRUSTED, random_state=1000 + seed)
    noisy, flipped = flip_labels(y, NOISE, random_state=seed)
    models = {}
    for name, method in METHODS.items():
        trusted = {"X_trusted": X_trusted, "y_trusted": y_trusted} if "trusted" in name else {}
        models[name] = clone(method).set_params(random_state=seed).fit(X, noisy, **trusted)
    return models, X, noisy, flipped


def draw(path: Path, models: dict[str, Any], X: Any, noisy: Any, flipped: Any) -> None:
    """Show what two of the methods make of the plane."""
    import matplotlib.pyplot as plt  # only the figure needs it

    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    grid = np.meshgrid(np.linspace(low[0], high[0], 300), np.linspace(low[1], high[1], 300))
    points = np.column_stack([axis.ravel() for axis in grid])
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True, layout="constrained")
    for axis, name in zip(axes, SHOWN, strict=True):
        positive = models[name].predict(points).reshape(grid[0].shape)
        axis.contourf(*grid, positive, levels=[-1, 0.5, 2], colors=["#dbe9f6", "#fde0c5"])
        for label, color, marker in [(0, "#1f5a99", "o"), (1, "#c4570e", "^")]:
            rows = (noisy == label) & ~flipped
            axis.scatter(*X[rows].T, s=14, c=color, marker=marker, label=f"observed {label}")
        axis.scatter(
            *X[flipped].T, s=26, facecolors="none", edgecolors="black", marker="^",
            label="observed 1, truly 0",
        )  # fmt: skip
        axis.set(title=name, xlabel="feature 1", aspect="equal")
    axes[0].set_ylabel("feature 2")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    X_test, y_test = make_banana(5000, random_state=12345)
    accuracy: dict[str, list[float]] = {name: [] for name in METHODS}
    rates: dict[str, list[Any]] = {name: [] for name in METHODS}
    shown: tuple[Any, ...] = ()
    for seed in track(range(REPEATS), REPEATS, "Fitting", enabled=sys.stderr.isatty()):
        fitted = fit_all(seed)
        shown = shown or fitted
        for name, model in fitted[0].items():
            accuracy[name].append(100 * model.score(X_test, y_test))
            rates[name].append(getattr(model, "noise_matrix_", np.full((2, 2), np.nan)))

    print(f"400 rows, 30 % of class 0 labelled 1; mean of {REPEATS} repeats, 5000 test rows\n")
    print(f"{'':28}{'accuracy %':>14}{'noise 0→1':>12}{'noise 1→0':>12}")
    print(f"{'the truth':28}{'':>14}{NOISE[0, 1]:12.2f}{NOISE[1, 0]:12.2f}")
    for name in METHODS:
        matrix = np.mean(rates[name], axis=0)
        flips = "".join(f"{'–' if np.isnan(r) else f'{r:.2f}':>12}" for r in matrix[[0, 1], [1, 0]])
        print(f"{name:28}{np.mean(accuracy[name]):8.1f} ± {np.std(accuracy[name]):3.1f}{flips}")
    draw(FIGURE, *shown)
    print(f"\nFigure: {FIGURE.resolve()}")


if __name__ == "__main__":
    main()
