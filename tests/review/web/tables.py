"""Audits of tables that a page has to show well: many classes, many rows, pictures, long texts."""

import struct
import zlib
from functools import cache

import numpy as np
import pandas as pd

from rboost.audit import audit_labels

WORDS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "koi", "lynx")

SUBJECTS = (
    "card", "cash", "loan", "bank", "app", "visa", "top_up", "refund", "limit", "fee", "rate",
    "pin", "atm", "sms", "café",
)  # fmt: skip
ENDINGS = (
    "lost", "late", "wrong", "blocked", "arrival", "price", "new", "old", "about", "no",
)  # fmt: skip
MANY = tuple(f"{subject}_{ending}" for subject in SUBJECTS for ending in ENDINGS)  # 150


def clouds(n_rows, n_classes):
    """Points around as many centres, every eleventh with the label of another one."""
    rng = np.random.RandomState(0)
    true = np.arange(n_rows) % n_classes
    X = 3 * rng.normal(size=(n_classes, 4))[true] + rng.normal(size=(n_rows, 4))
    labels = np.where(np.arange(n_rows) % 11 == 3, (true + 1) % n_classes, true)
    return X.round(2), labels


@cache
def labelled(names, n_rows=None):
    """The audit of a table whose classes have these names."""
    X, labels = clouds(n_rows or 12 * len(names), len(names))
    columns = [f"x{k}" for k in range(X.shape[1])]
    return audit_labels(
        pd.DataFrame(X, columns=columns), np.array(names, dtype=object)[labels],
        model="linear", check_columns=False,
    )  # fmt: skip


def write_png(path, colour):
    """A picture of 40 × 30 pixels of one colour."""

    def chunk(kind, content):
        checksum = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + checksum

    size = struct.pack(">IIBBBBB", 40, 30, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + bytes(colour) * 40) * 30)
    content = chunk(b"IHDR", size) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + content)


def with_pictures(folder):
    """The audit of a table with a column of pictures, of which one is missing, and long texts."""
    X, labels = clouds(60, 2)
    table = pd.DataFrame(X[:, :2], columns=["width", "height"])
    table["photo"] = [f"{k}.png" for k in range(60)]
    for k in range(60):
        if k != 5:
            write_png(folder / f"{k}.png", (4 * k, 99, 200 - 3 * k))
    table["story"] = [f"Story {k} <b>begins</b>. " + "It goes on and on. " * 40 for k in range(60)]
    return audit_labels(
        table, np.array(["tame", "wild"])[labels], model="linear", check_columns=False
    )


@cache
def messages():
    """The audit of messages of two classes and a number; the first twenty have a wrong label."""
    rng = np.random.RandomState(0)
    true = np.arange(200) % 2
    own = [("card", "arrived"), ("transfer", "pending")]
    filler = ("my", "the", "is", "still", "why", "has", "not", "<b>today</b>", "it")
    texts = [" ".join(rng.permutation([*rng.choice(filler, 5), *own[k]])) + "?" for k in true]
    table = pd.DataFrame({"amount": rng.normal(size=200).round(2), "message": texts})
    labels = np.where(np.arange(200) < 20, 1 - true, true)
    table["message"] += [f" {k}" for k in range(200)]
    return audit_labels(
        table, np.array(["card", "<i>transfer</i>"], dtype=object)[labels],
        model="linear", check_columns=False,
    )  # fmt: skip
