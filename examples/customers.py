"""The table of docs/ten_minutes.md: made-up customers, some of whose labels are wrong.

Writes customers.csv, 600 customers whom four agents have labelled, and test.csv, 200 others whose
labels are right. As the truth is known, ``--answer DIR`` answers the first 50 questions of
``rboost review DIR``.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd

N_LABELLED, N_TEST, N_ANSWERS = 600, 200, 50
# How often each agent labels a customer wrongly.
AGENTS = {"Ana": 0.03, "Ben": 0.03, "Chloé": 0.03, "Dirk": 0.25}


def make_customers() -> tuple[pd.DataFrame, pd.Series]:
    """All customers with the labels they were given, and the true labels."""
    random = np.random.default_rng(16)
    n = N_LABELLED + N_TEST
    plan = random.choice(["basic", "family", "business"], n, p=[0.5, 0.3, 0.2])
    months = random.integers(1, 61, n)
    calls = random.poisson(2, n)
    hours = random.gamma(4, 5, n)
    spent = random.gamma(3, 60, n) * np.where(plan == "business", 8, 1)
    discount = random.choice([0, 5, 10, 20], n)
    score = 1.6 * (calls - 2) - 0.25 * (hours - 18) - 0.08 * (months - 25)
    score += np.where(plan == "basic", 1.5, -1.5)
    churned = random.logistic(size=n) < 5 * score
    agent = random.choice([*AGENTS], n)
    is_wrong = random.random(n) < pd.Series(agent).map(AGENTS).to_numpy()
    start = pd.Timestamp("2026-01-01 09:00", tz="Europe/Berlin")
    joined = start - pd.to_timedelta(30 * months + random.integers(0, 30, n), unit="D")
    table = pd.DataFrame(
        {
            "customer": [f"C{1001 + row}" for row in range(n)],
            "joined": [day.isoformat() for day in joined],
            "plan": plan,
            "spent": [f"${amount:,.2f}" for amount in spent],
            "discount": [f"{percent} %" for percent in discount],
            "hours_a_week": hours.round(1),
            "support_calls": calls,
            "agent": agent,
        }
    )
    for column in ("plan", "hours_a_week", "spent"):
        table.loc[random.random(n) < 0.04, column] = None
    truth = pd.Series(np.where(churned, "yes", "no"), index=table["customer"], name="churn")
    table["churn"] = np.where(churned != is_wrong, "yes", "no")
    return table, truth


def write_tables() -> None:
    table, truth = make_customers()
    table[:N_LABELLED].to_csv("customers.csv", index=False)
    table.assign(churn=truth.to_numpy())[N_LABELLED:].to_csv("test.csv", index=False)
    print(f"customers.csv: {N_LABELLED} customers, test.csv: {N_TEST} others")


def answer(folder: Path) -> None:
    """Say the truth of the rows that the page would show first."""
    from rboost.audit.disk.folder import STORE, read_audit
    from rboost.review import AnswerStore, fingerprint
    from rboost.review.queue import mixed

    audit = read_audit(folder)
    truth = make_customers()[1]
    n_changed = 0
    with closing(AnswerStore(folder / STORE, fingerprint(audit))) as store:
        for row in mixed(audit, np.arange(len(audit))).rows[:N_ANSWERS].tolist():
            label = audit.classes.tolist().index(truth[audit.ids[row]])
            is_kept = label == audit.labels.given[row]
            store.add(f"answer {row}", row, "keep" if is_kept else "change", label)
            n_changed += not is_kept
    print(f"{N_ANSWERS} answers: {N_ANSWERS - n_changed} labels kept, {n_changed} changed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answer", type=Path, metavar="DIR", help="folder of an audit")
    folder = parser.parse_args().answer
    if folder is None:
        write_tables()
    else:
        answer(folder)


if __name__ == "__main__":
    main()
