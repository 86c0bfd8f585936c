import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from hypothesis import given, settings
from hypothesis import strategies as st

from rboost.audit.cleaning import clean_labels, cleaned_frame
from rboost.audit.fit import issue_probability
from rboost.audit.labels import encode_labels
from rboost.dask.blocks import make_blocks, summarize
from rboost.dask.outputs import (
    cleaned_table,
    fetch_rows,
    issue_frame,
    judge,
    with_names,
    worst_rows,
    write_parts,
)
from rboost.dask.partitions import joined, partitions_of
from rboost.table.columns import read_columns
from rboost.table.features import learn_encoder
from tests.dask.tables import Here, cut, make_table, on_a_cluster

TABLE = make_table(120).assign(y=np.random.RandomState(1).choice([1, 2, 4], 120))
CUTS = st.lists(st.integers(0, 120), max_size=5)
POSTERIOR = np.random.RandomState(0).dirichlet([0.2] * 3, size=120)


def partitioned(cuts, table=TABLE, client=None):
    partitions = partitions_of(cut(table, cuts), "y")
    return partitions, summarize(client or Here(), partitions)


def split(values, cuts):
    return np.split(values, sorted(cuts))


def frames_of(*numbers, frame=None):
    """Delayed frames of these numbers of rows."""
    return [delayed(frame or frame_of)(number) for number in numbers]


def frame_of(number):
    return pd.DataFrame({"number": [number] * number, "word": [None] * number})


def test_parts_are_a_data_set_that_appears_when_it_is_complete(tmp_path):
    def frame(number):
        assert not (tmp_path / "out").exists()
        return pd.DataFrame({"a": np.arange(number), "b": [None] * number, "y": "p"})

    paths = write_parts(Here(), frames_of(3, 0, 2, frame=frame), tmp_path / "out")
    assert [path.name for path in paths] == [f"part-0000{k}.parquet" for k in range(3)]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    tables = Here().compute(partitions_of(tmp_path / "out", "y").tables())
    assert [table["a"].tolist() for table in tables] == [[0, 1, 2], [0, 1]]
    assert pd.read_parquet(tmp_path / "out")["a"].tolist() == [0, 1, 2, 0, 1]


def test_parts_stay_until_all_others_are_there(tmp_path):
    def killed_at_3(number):
        if number == 3:
            raise RuntimeError("killed")
        return frame_of(number)

    out = tmp_path / "out"
    paths = write_parts(Here(), frames_of(1, 2, 3, 4), out)
    with pytest.raises(RuntimeError, match="killed"):
        write_parts(Here(), frames_of(4, 3, 2, 1, frame=killed_at_3), out)
    assert [len(pd.read_parquet(path)) for path in paths] == [1, 2, 3, 4]
    write_parts(Here(), frames_of(2, 1), out)
    assert sorted(out.glob("part*")) == paths[:2]
    assert [len(pd.read_parquet(path)) for path in paths[:2]] == [2, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_folders_of_others_are_left_alone(tmp_path):
    others, foreign, file = tmp_path / "others", tmp_path / "foreign", tmp_path / "file"
    write_parts(Here(), frames_of(1), others)
    (others / "notes.txt").write_text("mine")
    foreign.mkdir()
    (foreign / "part-00000.parquet").write_text("mine")
    file.write_text("mine")
    for folder, problem in [
        (others, "holds files that rboost has not written; choose"),
        (foreign, "holds files that rboost has not written; choose"),
        (file, "holds files that rboost has not written; choose"),
    ]:
        with pytest.raises(FileExistsError, match=problem):
            write_parts(Here(), frames_of(1), folder)
    (tmp_path / "empty").mkdir()
    assert len(write_parts(Here(), frames_of(1), tmp_path / "empty")) == 1


def test_workers_whose_disk_is_elsewhere(tmp_path):
    class Elsewhere(Here):
        def compute(self, tasks):
            return [None for _ in tasks]

    with pytest.raises(FileNotFoundError, match=r"part-00000\S+ was .* choose a folder that all"):
        write_parts(Elsewhere(), frames_of(1), tmp_path / "out")


@given(CUTS, st.integers(0, 130), st.integers(1, 4))
@settings(max_examples=30)
def test_the_largest_are_those_of_the_whole(cuts, n_rows, n_values):
    values = np.random.RandomState(0).choice([*range(n_values), np.nan], 120)
    number = np.arange(120, dtype=np.int16)
    whole = pd.DataFrame({"row": number, "label": number, "suggested": 0, "probability": values})
    parts = [delayed(whole.iloc[rows]) for rows in split(np.arange(120), cuts)]
    found = worst_rows(Here(), parts, n_rows)
    expected = sorted(np.flatnonzero(values >= 0), key=lambda row: (-values[row], row))[:n_rows]
    assert found["row"].tolist() == expected


@given(CUTS, st.lists(st.integers(0, 119), max_size=10, unique=True))
@settings(max_examples=30)
def test_rows_are_fetched_in_the_order_that_is_asked_for(cuts, rows):
    partitions, summary = partitioned(cuts)
    found = fetch_rows(Here(), partitions.tables(), summary, np.array(rows, dtype=int))
    assert found.index.tolist() == rows
    assert found["id"].tolist() == rows
    assert found.columns.tolist() == TABLE.columns.tolist()


def test_only_partitions_with_such_rows_are_read():
    partitions, summary = partitioned([40, 80])
    first, _, last = partitions.tables()
    found = fetch_rows(Here(), [first, None, last], summary, np.array([100, 3]))
    assert found["id"].tolist() == [100, 3]


@given(CUTS, st.sampled_from(["relabel", "drop", "weigh"]))
@settings(max_examples=15)
def test_cleaned_tables_are_what_an_audit_cleans(cuts, how):
    table = TABLE.astype({"y": "Int64"}).assign(y=lambda t: t["y"].where(t["id"] % 9 > 0))
    partitions, summary = partitioned(cuts, table)
    parts = [
        cleaned_table(part, posterior, "y", summary, how, 0.8)
        for part, posterior in zip(
            Here().compute(partitions.tables()), split(POSTERIOR, cuts), strict=True
        )
    ]
    labels = encode_labels(table["y"], name="y")
    mended = clean_labels(labels, POSTERIOR, how, 0.8)
    expected = cleaned_frame(table, labels, POSTERIOR, mended).reset_index(drop=True)
    found = joined(parts).reset_index(drop=True)
    assert found.columns.tolist() == expected.columns.tolist()
    for name in ("id", "y", "given_label", "label_source", "probability_wrong"):
        missing = expected[name].isna()
        assert (found[name].isna() == missing).all()
        assert (found[name][~missing] == expected[name][~missing]).all()


def test_parts_of_futures_on_a_cluster(tmp_path):
    table = TABLE.assign(y=TABLE["y"].where(TABLE["id"] != 7))
    encoder = learn_encoder(read_columns(table.drop(columns="y")))
    with on_a_cluster() as client:
        partitions, summary = partitioned([50, 50, 90], table, client)
        blocks = make_blocks(client, partitions, summary, encoder, NoBins())
        posteriors = client.scatter(split(POSTERIOR, [50, 50, 90]))
        issues = client.map(issues_of, blocks, posteriors, summary=summary)
        named = client.map(with_names, issues, classes=summary.classes)
        write_parts(client, named, tmp_path / "issues")
        rows = worst_rows(client, issues, 5)["row"].to_numpy() - 1
        suspects = fetch_rows(client, partitions.tables(), summary, rows)
        cleaned = [
            delayed(cleaned_table)(table, posterior, "y", summary)
            for table, posterior in zip(partitions.tables(), posteriors, strict=True)
        ]
        write_parts(client, cleaned, tmp_path / "cleaned")
    found = pd.read_parquet(tmp_path / "issues")
    labels = encode_labels(table["y"])
    wrong = issue_probability(POSTERIOR, labels)
    assert found["row"].tolist() == list(range(1, 121))
    np.testing.assert_array_equal(found["probability"], wrong)
    np.testing.assert_array_equal(found["label"], table["y"])
    assert (found["suggested"] != found["label"]).all()
    assert rows.tolist() == np.argsort(-np.nan_to_num(wrong), kind="stable")[:5].tolist()
    assert suspects["id"].tolist() == rows.tolist()
    cleaned = pd.read_parquet(tmp_path / "cleaned")
    sure = np.nan_to_num(POSTERIOR.max(axis=1)) >= 0.9
    best = summary.classes[POSTERIOR.argmax(axis=1)]
    np.testing.assert_array_equal(cleaned["y"], np.where(sure, best, table["y"]))


class NoBins:
    edges = ()

    def codes(self, columns):
        return np.zeros(columns.shape, dtype=np.uint8)


def issues_of(block, posterior, summary):
    return issue_frame(block, judge(block, posterior, summary))
