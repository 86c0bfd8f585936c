"""A small table with hostile cells, its audit, and a server of its review."""

import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from rboost import RBoostClassifier
from rboost.audit import audit_labels
from rboost.datasets import make_banana
from rboost.noise import flip_labels, symmetric

N_ROWS = 150
HOSTILE = (
    "<img src=x onerror=\"document.body.dataset.hacked='yes'\">",
    "<script>document.body.dataset.hacked='yes'</script>",
    "\"'><svg onload=document.body.dataset.hacked='yes'>",
    "\u202eright to left\u2066 \u05e9\u05dc\u05d5\u05dd",
    '=HYPERLINK("http://127.0.0.1:1/")',
    "half a character \ud800",
    "line\nbreak\tand\0nul",
)


def table(n_rows=N_ROWS):
    """Rows, noisy labels and names; notes and names hold what should do no harm."""
    X, y = make_banana(n_rows, random_state=0)
    noisy, _ = flip_labels(y, symmetric(0.2), random_state=1)
    rows = pd.DataFrame(X.round(3), columns=["width", "<b>height</b>"])
    # Half a character is held by objects alone: text of pandas 3 cannot.
    notes = [HOSTILE[k % len(HOSTILE)] for k in range(n_rows)]
    rows["note"] = pd.Series(notes, dtype=object)
    rows.loc[::10, "width"] = np.nan
    rows.loc[3, "note"] = "long " * 1000
    labels = np.array(["cat", "<i>dog</i>"], dtype=object)[noisy]
    names = [f"{k} {HOSTILE[k % 3]}" if k % 5 == 0 else f"r{k}" for k in range(n_rows)]
    return rows, labels, names


def model():
    return RBoostClassifier(engines="pool", max_iter=20, random_state=0)


def make_audit(y_checked=None, at_random=(), without=(), n_rows=N_ROWS):
    """The audit of the table; rows of ``without`` have no label."""
    rows, labels, names = table(n_rows)
    labels[list(without)] = None
    return audit_labels(
        rows, labels, y_checked=y_checked, ids=names, id_name="name", model=model(),
        checked_at_random=np.isin(np.arange(n_rows), list(at_random)),
    )  # fmt: skip


@cache
def two_classes():
    return make_audit(without=(7, 8))


@cache
def three_classes():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(N_ROWS, 3))
    y = X.argmax(axis=1)
    y[:20] = (y[:20] + 1) % 3
    return audit_labels(X, np.array(["a", "b", "c"])[y], model=model())


@cache
def annotators():
    """Three annotators, one of whom has a hostile name; the third errs in 30 % of cases."""
    rng = np.random.RandomState(0)
    rows = pd.DataFrame({"width": np.linspace(-3, 3, N_ROWS), "height": rng.normal(size=N_ROWS)})
    true = rows["width"].to_numpy() > 0
    wrong = rng.uniform(size=(N_ROWS, 3)) < [0.05, 0.1, 0.3]
    said = np.where(true[:, None] != wrong, "cat", "dog").astype(object)
    said[rng.uniform(size=said.shape) < 0.2] = None
    names = ["ann", HOSTILE[0], "carl"]
    return audit_labels(rows, pd.DataFrame(said, columns=names), model=model())


def saved_after(event):
    """Keeps a new fit once the event is set, so that a test decides what happens before."""

    def save(audit):
        assert event.wait(60)

    return save


AUDITS = {"two": two_classes, "three": three_classes}

if __name__ == "__main__":
    from rboost.review import Review, serve

    folder, which, port, *is_opened = sys.argv[1:]
    review = Review(AUDITS[which](), Path(folder), save=lambda audit: time.sleep(0.5))
    serve(review, port=int(port), open_browser=bool(is_opened))
