import bz2
import gzip
import io
import lzma
import sys
import zipfile

import pyarrow
import pytest

from rboost.table.reading import read_table

TEXT = "a,b\n1,é\n".encode()


def table_of(tmp_path, content, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(content)
    return read_table(path)


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


PACKED = {
    "gz": gzip.compress(TEXT, mtime=0),
    "bz2": bz2.compress(TEXT),
    "xz": lzma.compress(TEXT),
    "zst": pyarrow.compress(TEXT, codec="zstd", asbytes=True),
    "zip": zipped(**{"table.csv": TEXT, "__MACOSX/._table.csv": b"\0"}),
}


@pytest.mark.parametrize("kind", PACKED)
def test_compressed_files_whatever_their_name(tmp_path, kind):
    for name in (f"table.csv.{kind}", "table.txt"):
        assert table_of(tmp_path, PACKED[kind], name).to_dict("list") == {"a": [1], "b": ["é"]}


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_compressed_files_that_are_cut_short(tmp_path, kind):
    with pytest.raises(ValueError, match="compressed but damaged or cut short; copy or download"):
        table_of(tmp_path, PACKED[kind][:-5])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_that_are_sure(tmp_path, encoding):
    assert table_of(tmp_path, TEXT.decode().encode(encoding))["b"].tolist() == ["é"]


@pytest.mark.parametrize(
    ("content", "encoding"), [(b"a,b\n1,\xe9\n", "Windows-1252"), (b"a,b\n1,\xe9\x81\n", "Latin-1")]
)
def test_encodings_that_are_guessed(tmp_path, content, encoding):
    with pytest.warns(UserWarning, match=f"is not in UTF-8 and was read as {encoding}; save it"):
        assert table_of(tmp_path, content)["b"][0].startswith("é")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\x00\x01\x02\x03,a\n", "holds binary data"),
        (bytes(range(1, 256)) * 3, "holds binary data"),
        ("a,b\n".encode("utf-16-le"), "holds binary data.*UTF-8"),
        (b"\xff\xfea\x00\xd8", "is damaged UTF-16 text"),
        (b"%PDF-1.7 ...", "is a PDF document"),
        (b"\x89PNG\r\n\x1a\n", "is an image"),
        (b"\xff\xd8\xff\xe0", "is an image"),
        (b"\n <!DOCTYPE html><html>", "is a web page"),
        (b'{"a": 1}', "has one column only"),
        (b'<?xml version="1.0"?>', "is an XML document"),
        (b"\xd0\xcf\x11\xe0", "is an old Excel"),
        (zipped(**{"[Content_Types].xml": "x", "word/document.xml": "x"}), "is an office document"),
        (zipped(**{"xl/workbook.xml": "x"}), "is an Excel file, but damaged"),
        (zipped(**{"a.csv": "x", "b.csv": "x"}), "holds 2 files; unpack it"),
        (zipped(), "holds binary data"),
        (b"PK\x03\x04rubbish", "damaged or cut short"),
        (gzip.compress(b"", mtime=0), "is empty"),
    ],
)
def test_what_holds_no_table(tmp_path, content, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        table_of(tmp_path, content)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(OSError, match=r"no file .*tabel\.csv; did you mean .*table\.csv\?"):
        read_table(tmp_path / "tabel.csv")
    with pytest.raises(OSError, match="is a folder, not a file"):
        read_table(tmp_path)


@pytest.mark.parametrize("name", ["pandas", "pyarrow"])
def test_what_is_not_installed_is_named(tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"needs {name}, .* pip install 'rboost\[audit\]'"):
        table_of(tmp_path, TEXT)
