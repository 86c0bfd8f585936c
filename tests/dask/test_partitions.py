import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rboost.dask import partitions as module
from rboost.dask.blocks import summarize
from rboost.dask.partitions import joined, partitions_of
from rboost.table.reading import label_column, read_table
from tests.dask.tables import Here, cut, make_table, write_files

TABLE = make_table(60)
CUTS = st.lists(st.integers(0, 60), max_size=5)


def read(partitions):
    """All partitions under each other: features, labels, weights, whole tables."""
    whole, X = (
        joined(Here().compute(partitions.tables(names))).reset_index(drop=True)
        for names in (None, partitions.features)
    )
    weight = None if partitions.weight is None else whole[partitions.weight].to_numpy()
    return X, whole[partitions.label].to_numpy(), weight, whole


def check_is_table(partitions, table=TABLE):
    X, y, weight, whole = read(partitions)
    features = ["number", "whole", "word", "day"]
    assert partitions.features == features
    for found, names in ((X, features), (whole, list(table.columns))):
        assert sorted(found.columns) == sorted(names)
        for name in names:
            missing = table[name].isna()
            assert (found[name].isna() == missing).all()
            assert (found[name][~missing] == table[name][~missing]).all()
    np.testing.assert_array_equal(y, table["y"])
    np.testing.assert_array_equal(weight, table["weight"])


@given(CUTS)
@settings(max_examples=10)
def test_a_frame_is_read_wherever_it_is_cut(cuts):
    check_is_table(partitions_of(cut(TABLE, cuts), "y", "weight", drop=["id"]))


@given(CUTS, st.integers(1, 40), st.sampled_from([1, 2000, 5000, 10**6]))
@settings(max_examples=10)
def test_files_are_read_whatever_their_row_groups(tmp_path_factory, cuts, row_group, largest):
    folder = write_files(TABLE, tmp_path_factory.mktemp("data"), cuts, row_group_size=row_group)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGEST_SPAN", largest)
        patch.setattr(module, "ROWS_AT_A_TIME", 7)
        partitions = partitions_of(folder, "y", "weight", drop=["id"])
        check_is_table(partitions, TABLE)
        sizes = list(map(len, Here().compute(partitions.tables())))
    most = max(1, largest // (5 * 8 + 2 * 64))
    assert max(sizes) <= most
    if most >= 60:  # small row groups are read together
        assert len(sizes) == np.count_nonzero(np.diff([0, *sorted(cuts), 60]))


def test_files_are_named_in_every_way(tmp_path, monkeypatch):
    folder = write_files(TABLE, tmp_path / "a [1] folder", [50, 50])
    names = [str(path) for path in sorted(folder.iterdir())]
    monkeypatch.chdir(tmp_path)
    for paths in (str(folder), folder, names, "a*/*.parquet"):
        partitions = partitions_of(paths, "y", "weight", drop=["id"])
        assert [source[-10:] for source in partitions.sources] == ["00.parquet", "02.parquet"]
        check_is_table(partitions, TABLE)


def test_files_may_have_their_columns_in_any_order_and_an_index_of_pandas(tmp_path):
    TABLE[:40].to_parquet(tmp_path / "a.parquet")
    TABLE[TABLE.columns[::-1]][40:].to_parquet(tmp_path / "b.parquet", index=True)
    check_is_table(partitions_of(tmp_path, "y", "weight", drop=["id"]), TABLE)


def test_whole_numbers_that_are_missing_in_one_file_stay_whole(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4], "y": pd.array([1, 2, None, 1], dtype="Int64")})
    partitions = partitions_of(write_files(frame, tmp_path, [2]), "y")
    values = [one for table in Here().compute(partitions.tables()) for one in table["y"].tolist()]
    assert values == [1, 2, pd.NA, 1]
    assert all(isinstance(value, (int, type(pd.NA))) for value in values)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), "str")])
def test_labels_in_files_are_missing_where_they_are_in_memory(tmp_path, kind):
    words = ["x", "NA", "y", "", "x ", "n/a", " y", "?", None, " null ", "Nan", "no ne"]
    values = pa.array(words).cast(kind)
    table = pa.table({"word": values, "key": values, "y": values, "number": range(len(words))})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=5)
    partitions = partitions_of(tmp_path, "y", drop=["key"])
    in_memory = read_table(tmp_path / "t.parquet", label="y")
    _, y, _, whole = read(partitions)
    labels = label_column(in_memory, "y").astype(object)
    assert labels.dropna().tolist() == ["x", "y", "x", "y", "no ne"]
    assert pd.Series(y).isna().tolist() == labels.isna().tolist()
    assert pd.Series(y).dropna().tolist() == labels.dropna().tolist()
    assert whole["key"].where(whole["key"].notna(), None).tolist() == words
    assert summarize(Here(), partitions).classes.tolist() == ["no ne", "x", "y"]


@pytest.mark.parametrize("values", [[[1.0, 2.0], [3.0]], [{"a": 1}, {"a": 2}]])
def test_columns_of_more_than_single_values_are_refused_before_anything_is_read(tmp_path, values):
    frame = pd.DataFrame({"x": [1.0, 2.0], "several": values, "y": ["p", "q"]})
    frame.drop(columns="several").to_parquet(tmp_path / "a.parquet")
    frame.to_parquet(tmp_path / "b.parquet")
    problem = r"'several' of \S+b.parquet holds (list|struct).*; leave it out"
    with pytest.raises(ValueError, match=problem):
        partitions_of(tmp_path, "y")
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(ValueError, match=problem):
        partitions_of(tmp_path, "y", drop=["several"])


def test_binary_data_in_columns_that_are_no_features_are_carried_along(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "image": [b"\xff\xd8", b"\xff"], "y": ["p", "q"]})
    frame.to_parquet(tmp_path / "t.parquet")
    *_, whole = read(partitions_of(tmp_path, "y", drop=["image"]))
    pd.testing.assert_frame_equal(whole, frame, check_dtype=False)
    with pytest.raises(ValueError, match=r"'image' of \S+ holds binary data; leave it out"):
        read(partitions_of(tmp_path, "y"))


@given(CUTS, CUTS, st.integers(1, 3))
@settings(max_examples=20)
def test_arrays_are_cut_like_X_where_lengths_are_known(cuts, others, width):
    X = np.random.RandomState(0).normal(size=(60, 3))
    y = X[:, 0] > 0
    lengths, other_lengths = (np.diff([0, *sorted(of), 60]).tolist() for of in (cuts, others))
    X_cut = da.from_array(X, chunks=(tuple(lengths), width))
    y_cut = da.from_array(y, chunks=(tuple(other_lengths),))
    partitions = partitions_of(X_cut, y_cut, X_cut[:, 1])
    found, labels, weight, whole = read(partitions)
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(weight, X[:, 1])
    assert whole.columns.tolist() == ["x0", "x1", "x2", "label", "sample_weight"]
    assert not partitions.has_names
    assert len(partitions.parts) == len(lengths)


def test_chunks_of_unknown_length():
    X = da.from_array(np.arange(40.0).reshape(20, 2), chunks=(6, 1))
    some = X[X[:, 0] > 10]
    X_found, y_found, *_ = read(partitions_of(some, some[:, 1:] > 20))
    np.testing.assert_array_equal(X_found["x1"] > 20, y_found)
    with pytest.raises(ValueError, match=r"partition 0 has 0 rows in X but 6 in 'label'; give y"):
        read(partitions_of(some, X[:, 1] > 20))


def test_labels_beside_a_frame():
    frame = cut(TABLE, [20, 50])
    X = frame[["number", "whole"]]
    for y, name in ((frame["y"], "y"), (frame["whole"].to_dask_array(), "label")):
        partitions = partitions_of(X, y)
        _, labels, _, whole = read(partitions)
        np.testing.assert_array_equal(labels, TABLE["y" if name == "y" else "whole"])
        np.testing.assert_array_equal(whole[name], labels)
        assert whole.columns.tolist() == ["number", "whole", name]
        assert partitions.label == name
    with pytest.raises(ValueError, match="X has 3 partitions but y has 1; make y a column"):
        partitions_of(X, dd.from_pandas(TABLE["y"], npartitions=1))


def test_what_is_no_table_of_partitions_is_said_in_one_sentence(tmp_path):
    frame, array = cut(TABLE, [20]), da.ones((20, 2), chunks=5)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 but cut short")
    (tmp_path / "year=2020").mkdir()
    TABLE.to_parquet(tmp_path / "year=2020" / "b.parquet")
    for problem, error, X, y in [
        ("of a table in memory dask.dataframe.from_pandas", TypeError, TABLE, "y"),
        ("no column 'Y' in X .did you mean 'y'", ValueError, frame, "Y"),
        ("must be Dask arrays or series like X, or names", TypeError, frame, np.zeros(60)),
        ("like X, or names .*, not ndarray; dask", TypeError, array, np.zeros(20)),
        ("X has 20 rows but y has 19", ValueError, array, da.ones(19)),
        ("has 1 dimensions; reshape", ValueError, array[:, 0], array[:, 0]),
        ("one value a row", ValueError, array, array),
        (
            "must name columns of the Parquet files, not Array",
            TypeError,
            tmp_path / "a.parquet",
            array,
        ),
        ("a folder that stands for the value of a column", ValueError, tmp_path, "y"),
        ("is no Parquet file, or damaged", ValueError, tmp_path / "a.parquet", "y"),
        ("no column 'z' in .*b.parquet", ValueError, tmp_path / "year=2020" / "b.parquet", "z"),
        ("There is no file", FileNotFoundError, tmp_path / "c.parquet", "y"),
        ("No file matches", FileNotFoundError, str(tmp_path / "*.csv"), "y"),
        ("is not on a disk", ValueError, "s3://bucket/data.parquet", "y"),
    ]:
        with pytest.raises(error, match=problem) as caught:
            partitions_of(X, y)
        assert "\n" not in str(caught.value)


def test_the_version_is_another_of_other_labels():
    X = da.from_array(np.arange(8.0).reshape(4, 2), chunks=(2, 2))
    y, other = (da.from_array(np.array(list(given)), chunks=2) for given in ("abab", "baba"))
    assert partitions_of(X, y).version == partitions_of(X, y).version
    assert partitions_of(X, y).version != partitions_of(X, other).version
    frame = dd.from_pandas(pd.DataFrame({"x": [1.0, 2], "y": [0, 1], "z": [1, 0]}), 1)
    choices = [("y", ()), ("z", ()), ("y", ("z",)), ("z", ("y",))]
    versions = {partitions_of(frame, name, drop=drop).version for name, drop in choices}
    assert len(versions) == 4


def test_one_sentence_where_files_make_no_table(tmp_path):
    plain = pd.DataFrame({"a": [1.0, 2], "b": ["x", "y"], "y": ["p", "q"]})
    for number, (problem, other) in enumerate([
        ("1.parquet has no column 'a', which .*0.parquet has; give", plain.drop(columns="a")),
        ("0.parquet has no column 'c', which .*1.parquet has; give", plain.assign(c=1)),
        ("'a' holds numbers in .*0.parquet but words in .*1.parquet; con", plain.assign(a="1")),
        ("'b' holds words in .*0.parquet but dates in .*1.pa", plain.assign(
            b=pd.to_datetime(["2020-01-01", "2021-01-01"]))),
        ("'y' holds words in .*0.parquet but numbers in .*1.parquet", plain.assign(y=[1, 2])),
    ]):  # fmt: skip
        folder = tmp_path / str(number)
        folder.mkdir()
        plain.to_parquet(folder / "0.parquet")
        other.to_parquet(folder / "1.parquet")
        with pytest.raises(ValueError, match=problem) as caught:
            partitions_of(folder, "y")
        assert "\n" not in str(caught.value)


def test_columns_that_are_empty_in_a_file_are_of_any_kind(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2], "b": ["x", "y"], "y": ["p", "q"]})
    for number, other in enumerate([frame.assign(b=None), frame.assign(b=np.nan), frame[:0]]):
        other.to_parquet(tmp_path / f"{number}.parquet")
    frame.to_parquet(tmp_path / "3.parquet")
    X, *_ = read(partitions_of(tmp_path, "y"))
    assert X["b"].where(X["b"].notna(), None).tolist() == [None] * 4 + ["x", "y"]
