"""A table to audit, and what a command says of it."""

import re

import numpy as np
import pandas as pd

from rboost.cli import main

N_ROWS = 120
HOSTILE = ["<script>alert(1)</script>", "=HYPERLINK(1)", "\x1b[31mred", "naïve, “quoted”\nline"]
# For a process of its own, which may be killed.
COMMAND = "import sys; from rboost.cli import main; sys.exit(main(sys.argv[1:]))"


def make_table(n_rows=N_ROWS, seed=0):
    random = np.random.RandomState(seed)
    amount = random.standard_normal(n_rows)
    likes = amount + 0.2 * random.standard_normal(n_rows) > 0
    wrong = random.uniform(size=n_rows) < 0.1
    return pd.DataFrame(
        {
            "key": [f"k{i:04}" for i in range(n_rows)],
            "amount": amount,
            "kind": random.choice(["a", "b", None], n_rows),
            "note": random.choice(HOSTILE, n_rows),
            "since": pd.date_range("2020-01-01", periods=n_rows).astype(str),
            "empty": np.nan,
            "churn": np.where(likes ^ wrong, "yes", "no"),
        }
    )


def run(capsys, *arguments):
    """The exit code and what was said on standard error."""
    code = main([str(one) for one in arguments])
    return code, capsys.readouterr().err


def refused(capsys, *arguments):
    """The sentence in which a command ends; else only what is being opened may be said."""
    code, said = run(capsys, *arguments)
    said = re.sub(r"^rboost: Opening .*\n", "", said)
    assert code == 2
    assert said.startswith("rboost: ")
    assert said.count("\n") == 1
    assert "Traceback" not in said
    return said
