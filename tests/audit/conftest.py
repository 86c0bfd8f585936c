"""A small table with wrong, missing and checked labels, and one whose every text is hostile."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rboost import RBoostClassifier
from rboost.audit import SuspiciousColumn, audit_labels

HOSTILE = (
    "<script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=2">',
    "\x1b[31mred\x1b]0;title\x07",
    "\x9b2J",
    "\u202egnp.exe",
    "שלום",
    "a\nb\r\nc\td",
    "😀",
    "$\\frac{1$",
    "_under",
    "{{ 7 * 7 }}",
    "</style></table><script>window.pwned=3</script>",
    "\udc80\x00",
    "\u2028line",
    "x" * 100_000,
)
HOSTILE_CLASSES = ("<script>window.pwned=4</script>", "_$\\alpha\x1b[2J שלום\x00" + "y" * 1000)


def make_table(n_rows, n_classes, seed=0):
    """Two informative columns, the true classes, and the classes of which 15 % are wrong."""
    random = np.random.RandomState(seed)
    true = random.randint(0, n_classes, n_rows)
    angle = 2 * np.pi * true / n_classes
    X = 2.5 * np.column_stack([np.cos(angle), np.sin(angle)]) + random.randn(n_rows, 2)
    given = np.where(random.rand(n_rows) < 0.15, (true + 1) % n_classes, true)
    return X, true, given


def quick(X, y, **options):
    """An audit that takes a moment."""
    return audit_labels(X, y, **{"model": "linear", "check_columns": False, **options})


@pytest.fixture(scope="session")
def small_model():
    return RBoostClassifier(max_iter=20, random_state=0)


@pytest.fixture(scope="session")
def small_audit(small_model):
    """150 rows of three classes; 5 labels are missing and 10 were checked."""
    X, true, given = make_table(150, 3)
    names = np.array(["ash", "birch", "cedar"], dtype=object)
    labels, checked = names[given], np.full(150, None)
    labels[:5], checked[5:15] = None, names[true[5:15]]
    table = pd.DataFrame({"height": X[:, 0], "girth": X[:, 1], "year": np.arange(150) % 7 + 2000})
    return audit_labels(table, labels, y_checked=checked, label_name="tree", model=small_model)


@pytest.fixture(scope="session")
def hostile_audit(small_model):
    """Two classes; names of rows, columns and classes, and cells, all try something."""
    X, _, given = make_table(150, 2, seed=1)
    words = [HOSTILE[i % len(HOSTILE)] for i in range(150)]
    labels = np.array(HOSTILE_CLASSES, dtype=object)[given]
    labels[:4] = None
    table = pd.DataFrame(
        {
            "<b onclick=window.pwned=5>": X[:, 0],
            "q\"'&\x1b[1m": X[:, 1],
            "words": pd.Series(words, dtype=object),  # text of Arrow has no lone surrogates
        }
    )
    audit = audit_labels(
        table, labels, ids=[f"{word[:40]}-{i}" for i, word in enumerate(words)],
        id_name="<i>id", label_name="<u>label", model=small_model, check_columns=False,
    )  # fmt: skip
    suspicious = tuple(
        SuspiciousColumn(str(name), kind, 0.1, 0.2, word, alike=(word,))
        for name, kind, word in zip(
            table.columns, ("copy", "groups", "groups"), words[-3:], strict=True
        )
    )
    return replace(audit, column_warnings=suspicious)
