"""Cases about files and options: mutated tables, trusted rows, arguments, models and folders."""

from __future__ import annotations

import contextlib
import decimal
import json
import shutil
from collections.abc import Callable
from datetime import UTC, date, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from benchmarks.fuzz import world
from benchmarks.fuzz.mutations import NAMES, ODD, damaged, mutate, written
from benchmarks.fuzz.outcome import (
    Ending,
    Failed,
    check_audit,
    check_untouched,
    command,
    contents,
    digest,
    said,
)
from benchmarks.fuzz.tables import LABEL, TABLES, base_table, cells_of
from rboost.audit.disk.request import Request, read_inputs

FAST = ("--model", "linear", "--quiet")


def whole_table(random: Random, folder: Path, name: str = "") -> None:
    """A table as it is, which can be audited."""
    path = folder / "table.csv"
    base_table(name or random.choice(list(TABLES))).to_csv(path, index=False)
    ending = _audit(folder, str(path), "--label", LABEL, *FAST)
    if ending.code:
        raise Failed(f"the table cannot be audited: {ending.errors}")


def audited(random: Random, folder: Path) -> None:
    """A mutated table, audited."""
    path = _mutated_file(random, folder)
    _audit(folder, str(path), "--label", LABEL, *FAST)


def read(random: Random, folder: Path) -> None:
    """A mutated table, read."""
    path = _mutated_file(random, folder)
    label = LABEL if random.random() < 0.9 else random.choice(NAMES)
    id_name = random.choice((None, None, None, "ids", "column 0", "row"))
    said(lambda: read_inputs(Request(path, label, id=id_name)))


def parquet(random: Random, folder: Path) -> None:
    """A Parquet file with columns of odd types, read or audited."""
    name = random.choice(list(TABLES))
    frame = base_table(name).copy()
    for _ in range(random.choice((1, 2, 3))):
        column = random.choice(list(frame.columns))
        kind = random.choice(list(TYPES))
        frame[column] = TYPES[kind](len(frame))
    path = folder / "table.parquet"
    try:
        frame.to_parquet(path)
    except Exception:  # not every type can be written
        return
    if random.random() < 0.2:
        path.write_bytes(damaged(path.read_bytes(), random))
    if random.random() < 0.15:
        _audit(folder, str(path), "--label", LABEL, *FAST)
    else:
        said(lambda: read_inputs(Request(path, LABEL)))


def trusted(random: Random, folder: Path) -> None:
    """A mutated file of checked rows."""
    cells = cells_of(world.NAME)
    data = folder / "data.csv"
    base_table(world.NAME).to_csv(data, index=False)
    own = [["row", "checked_label", "drawn_at_random"]]
    if random.random() < 0.3:  # all columns
        own = [["row", *cells[0][:-1], "checked_label"]]
    for _ in range(random.choice((1, 5, 40))):
        k = random.randrange(1, len(cells))
        shown = random.choice((str(k), str(k), str(k), str(-k), "1000", f"{k}.0", f"'{k}", ""))
        more = cells[k][:-1] if len(own[0]) > 3 else []
        last = [] if more else [random.choice(("yes", "no", "", "maybe"))]
        own.append([shown, *more, cells[k][-1], *last])
    name, content = written(mutate(own, random) if random.random() < 0.8 else own, random)
    path = folder / f"checked-{name}"
    path.write_bytes(content)
    request = Request(data, LABEL, trusted=path, trusted_random=random.random() < 0.2)
    said(lambda: read_inputs(request))


def options(random: Random, folder: Path) -> None:
    """A good table with odd arguments."""
    name = random.choice(list(TABLES))
    path = folder / "table.csv"
    base_table(name).to_csv(path, index=False)
    own = list(base_table(name).columns)
    columns = [*own * 10, *NAMES, *ODD[:40]]  # most often one that there is
    numbers = ("0", "-1", "1", "7", "1e3", "99999999999999999999", "", "x", "½", "٣", "2147483648")
    texts: dict[str, Callable[[], list[str]]] = {
        "--id": lambda: [random.choice(columns)],
        "--drop": lambda: random.choices(columns, k=random.randint(0, 3)),
        "--context": lambda: random.choices(columns, k=random.randint(0, 3)),
        "--budget": lambda: [random.choice(numbers)],
        "--seed": lambda: [random.choice(numbers)],
        "--model": lambda: [random.choice(("linear", "forrest", "", "rBoost", "../x", "😀"))],
        "--trusted": lambda: [random.choice(("table.csv", "none.csv", "", ".", "/dev/null"))],
        "--trusted-random": list,
        "--no-column-check": list,
        "--label": lambda: [random.choice(columns)],
        "--out": lambda: [random.choice(OUTS)],
        "--probabilities": lambda: [_probabilities(random, folder, name)],
        "--nonsense": lambda: ["1"],
    }
    data = random.choice(DATA)
    arguments = [*data, "--label", LABEL, *FAST]
    for option in random.choices(list(texts), k=random.choice((1, 2, 3))):
        arguments += [option, *texts[option]()]
    _audit(folder, *arguments)


def predicted(random: Random, folder: Path) -> None:
    """Predictions for a mutated table, or by a damaged model."""
    model, data = folder / "model.rboost", folder / "table.csv"
    shutil.copy(world.audit_folder() / "model.rboost", model)
    if random.random() < 0.7:
        name, content = written(mutate(cells_of(world.NAME), random), random)
        data = folder / name
        data.write_bytes(content)
    else:
        base_table(world.NAME).to_csv(data, index=False)
        model.write_bytes(damaged(model.read_bytes(), random))
    before, out = contents(folder), folder / "predictions.csv"
    ending = command("predict", str(model), str(data), "--out", str(out))
    if ending.code:
        check_untouched(before, folder)


def audit_folder(random: Random, folder: Path) -> None:
    """A damaged folder of an audit, opened for a review."""
    own = folder / "audit"
    shutil.copytree(world.audit_folder(), own)
    for _ in range(random.choice((1, 1, 2))):
        path = random.choice([path for path in sorted(own.iterdir()) if path.is_file()])
        how = random.randrange(5)
        if how == 0:
            path.unlink()
        elif how == 1:
            other = random.choice([path for path in sorted(own.iterdir()) if path.is_file()])
            path.write_bytes(other.read_bytes())
        elif how < 4 and path.name != "audit.json":
            path.write_bytes(damaged(path.read_bytes(), random))
            if random.random() < 0.6:
                _vouch_for(path)
        elif (own / "audit.json").exists():
            _change_record(own / "audit.json", random)
        if not any(own.iterdir()):
            break
    cleaned = folder / f"cleaned{random.choice(('.csv', '.tsv', '.parquet', '.xlsx'))}"
    asked = random.choice(
        (
            ("review", str(own)),
            ("review", str(own), "--export"),
            ("clean", str(own), "--out", str(cleaned), "--how", random.choice(("drop", "weigh"))),
        )
    )
    before = contents(folder)
    with mock.patch("rboost.review.serve"):
        ending = command(*asked)
    if ending.code and asked[0] == "clean":
        check_untouched(before, folder)


def _vouch_for(path: Path) -> None:
    """Have audit.json say that a damaged file is right, so that its content is looked at."""
    record_path = path.parent / "audit.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        record = json.loads(record_path.read_text(encoding="utf-8"))
        record["files"][path.name] = digest(path)
        record_path.write_text(json.dumps(record), encoding="utf-8")


def _change_record(path: Path, random: Random) -> None:
    """Another value somewhere in audit.json, or damaged text."""
    text = path.read_bytes()
    try:
        record = json.loads(text)
    except ValueError:
        return
    if not isinstance(record, dict) or random.random() < 0.2:
        path.write_bytes(damaged(text, random))
        return
    inside: Any = record
    while isinstance(inside, (dict, list)) and inside:
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        key = random.choice(keys)
        if isinstance(inside[key], (dict, list)) and inside[key] and random.random() < 0.75:
            inside = inside[key]
            continue
        if random.random() < 0.3:
            del inside[key]
        else:
            inside[key] = random.choice(VALUES)
        break
    path.write_text(json.dumps(record), encoding="utf-8")


def _probabilities(random: Random, folder: Path, name: str) -> str:
    """A file of what another model says: a column for each class, right or odd."""
    labels = base_table(name)[LABEL].to_numpy()
    cells = [list(dict.fromkeys(labels))]
    for label in labels:
        right = random.choice((0.6, 0.9, 1.0))
        rest = (1 - right) / max(1, len(cells[0]) - 1)
        cells.append([str(right if one == label else rest) for one in cells[0]])
    file, content = written(mutate(cells, random) if random.random() < 0.7 else cells, random)
    (folder / f"p-{file}").write_bytes(content)
    return f"p-{file}"


def _mutated_file(random: Random, folder: Path) -> Path:
    name, content = written(mutate(cells_of(random.choice(list(TABLES))), random), random)
    path = folder / name
    path.write_bytes(content)
    return path


def _audit(folder: Path, *arguments: str) -> Ending:
    """Run an audit inside a folder; look at what it leaves there."""
    before = contents(folder)
    with contextlib.chdir(folder):
        ending = command("audit", *arguments)
    if ending.code:
        check_untouched(before, folder)
    else:
        for record in folder.rglob("audit.json"):
            check_audit(record.parent)
    return ending


# Names of the table, of several, of none.
DATA = (
    *([("table.csv",)] * 12), ("table.csv", "table.csv"), ("*.csv",), ("*.none",), ("",), (".",),
    ("table.csv", "none.csv"), ("[",), ("t\x00",),
)  # fmt: skip
OUTS = (
    "audit",
    "a/b/c",
    "",
    " ",
    ".",
    "table.csv",
    "/dev/null/x",
    "/proc/x",
    "😀",
    "x" * 300,
    "-x",
)
VALUES: tuple[Any, ...] = (
    None, 0, -1, 1.5, 1e308, float("nan"), 10**30, True, "", "x", "../x", [], {}, [None], {"a": 1},
    ["x", "y"], [1, "x"], "\ud800", "2", "/", "\x00",
)  # fmt: skip
_START = pd.Timestamp(2013, 1, 1)
TYPES: dict[str, Callable[[int], Any]] = {
    "zone": lambda n: pd.date_range("2013-01-01", periods=n, freq="7h", tz="Europe/Berlin"),
    "offset": lambda n: pd.date_range(
        "2013-01-01", periods=n, freq="7h", tz=timezone(timedelta(hours=5, minutes=30))
    ),
    "utc": lambda n: pd.date_range("2013-01-01", periods=n, freq="D", tz=UTC),
    "naive": lambda n: pd.date_range("2013-01-01", periods=n, freq="D"),
    "durations": lambda n: pd.to_timedelta(np.arange(n), unit="h"),
    "days": lambda n: [date(2013, 1, 1 + k % 28) for k in range(n)],
    "decimals": lambda n: [decimal.Decimal(k) / 7 for k in range(n)],
    "bytes": lambda n: [bytes([k % 256, 0, 255]) for k in range(n)],
    "lists": lambda n: [[k, k + 1] for k in range(n)],
    "dicts": lambda n: [{"a": k} for k in range(n)],
    "categories": lambda n: pd.Categorical([f"c{k % 3}" for k in range(n)]),
    "number categories": lambda n: pd.Categorical([k % 4 for k in range(n)]),
    "nullable": lambda n: pd.array([None if k % 3 else k for k in range(n)], dtype="Int64"),
    "nullable truth": lambda n: pd.array(np.resize([True, None], n), dtype="boolean"),
    "large": lambda n: np.arange(n).astype(np.uint64) + np.uint64(2**63),
    "floats": lambda n: np.resize(np.array([np.inf, -np.inf, np.nan, 0, 1e308]), n),
    "half": lambda n: np.arange(n).astype(np.float32),
    "nothing": lambda n: [None] * n,
    "periods": lambda n: pd.period_range("2013-01", periods=n, freq="D"),
    "intervals": lambda n: pd.interval_range(0, n, periods=n),
}  # fmt: skip
