"""Audit a real table in which every fifth label was flipped on purpose, and count what is found.

The table is scikit-learn's breast cancer set: 569 tumours, 30 measurements each.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from rboost.cli import main as rboost
from rboost.noise import flip_labels, symmetric

FOLDER = Path("demo")


def plant_errors(path: Path) -> tuple[np.ndarray, int]:
    """Write the table with wrong labels; return the ids of the rows that have one."""
    measurements, benign = load_breast_cancer(return_X_y=True, as_frame=True)
    observed, flipped = flip_labels(benign, symmetric(0.2), random_state=1)
    table = measurements.round(4)
    table.insert(0, "tumour", np.arange(1001, 1001 + len(table)))
    table["diagnosis"] = np.where(observed == 1, "benign", "malignant")
    path.parent.mkdir(exist_ok=True)
    table.to_csv(path, index=False)
    return table["tumour"].to_numpy()[flipped], len(table)


def main() -> None:
    data, out = FOLDER / "tumours.csv", FOLDER / "audit"
    planted, n_rows = plant_errors(data)
    print(f"{data}: {n_rows} rows, {len(planted)} of them with a label flipped on purpose\n")
    command = f"audit {data} --label diagnosis --id tumour --budget {len(planted)} --out {out}"
    print(f"$ rboost {command}")
    if rboost(command.split()):
        raise SystemExit("The audit failed.")

    suspects = pd.read_csv(out / "suspects.csv")
    is_planted = suspects["tumour"].isin(planted)
    print(
        f"\nOf {len(planted)} planted errors {is_planted.sum()} are among the {len(suspects)} "
        f"suspects: precision {is_planted.mean():.1%}, expected by the audit "
        f"{suspects['probability_wrong'].mean():.1%}."
    )
    certain = suspects["probability_wrong"] >= 0.9
    print(
        f"Of the {certain.sum()} suspects with a probability of 0.9 or more, "
        f"{is_planted[certain].mean():.1%} were planted."
    )
    print(f"\nCheck some of them yourself: .venv/bin/rboost review {out}")
    print(f"Open the report: {(out / 'report.html').resolve()}")


if __name__ == "__main__":
    main()
