"""Small files that unpack to large ones end in one sentence, and in little memory."""

import bz2
import gzip
import io
import lzma
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow
import pytest

from rboost.table import reading as parquet
from rboost.table import sources as unpacking
from rboost.table.reading import read_table

LARGE = bytes(2**26)


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", content)
    return buffer.getvalue()


def zstd(content):
    return pyarrow.compress(content, codec="zstd", asbytes=True)


PACKERS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd,
    "zip": zipped,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PACKERS)
def test_a_file_that_is_made_to_fill_the_memory(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(unpacking, "HARMLESS_BYTES", 2**20)
    path = tmp_path / f"table.csv.{kind}"
    path.write_bytes(PACKERS[kind](LARGE))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"unpacks to .* or more, as files do that are made"):
            read_table(path)
        assert tracemalloc.get_traced_memory()[1] < len(LARGE) / 2
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", PACKERS)
def test_no_file_unpacks_without_end(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(unpacking, "MOST_BYTES", 10)
    path = tmp_path / "table.csv"
    path.write_bytes(PACKERS[kind](b"a,b\n" + b"1,2\n" * 5))
    with pytest.raises(ValueError, match="unpacks to 24 or more"):
        read_table(path)


def test_an_archive_of_a_later_version(tmp_path):
    path, content = tmp_path / "table.zip", bytearray(zipped(b"a,b\n1,2\n"))
    content[content.index(b"PK\x01\x02") + 6] = 255  # the version that is needed to unpack it
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is encrypted or packed oddly; unpack it first"):
        read_table(path)


def test_an_archive_whose_member_is_nowhere(tmp_path):
    path, content = tmp_path / "table.zip", bytearray(zipped(b"a,b\n1,2\n"))
    end = content.index(b"PK\x05\x06")  # says where the directory begins: later than it does
    content[end + 16 : end + 20] = (2**31).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is compressed but damaged or cut short"):
        read_table(path)


def test_parquet_that_repeats_a_value(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "MOST_CELLS", 10**6)
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": np.zeros(10**6), "b": 1}).to_parquet(path)
    with pytest.raises(ValueError, match="says that it holds 2000000 cells, as files do that are"):
        read_table(path)


def test_archives_that_say_less_than_they_hold(tmp_path):
    packed = bytearray(zipped(b"a,b\n" + b"1,2\n" * 1000))
    place = packed.rindex(b"PK\x01\x02") + 24  # the size in the list at the end
    packed[place : place + 4] = (100).to_bytes(4, "little")
    (tmp_path / "table.zip").write_bytes(packed)
    with pytest.raises(ValueError, match="compressed but damaged or cut short"):
        read_table(tmp_path / "table.zip")


def test_tables_that_shrink_a_lot_are_read(tmp_path):
    (tmp_path / "table.csv").write_bytes(bz2.compress(b"a,b\n" + b"1,2\n" * 100_000))
    assert len(read_table(tmp_path / "table.csv")) == 100_000
