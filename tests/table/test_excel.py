import gzip
import re
import warnings
import zipfile
from datetime import date, datetime, time

import openpyxl
import pytest

from rboost.table import reading
from rboost.table import sources as unpacking
from rboost.table.reading import read_table
from tests.table.test_unpacking import zipped

ENTITIES = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1 or str()};" * 10}">' for n in range(1, 12))
    + "]>"
)


def book_of(*sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {number}")
        for row in rows:
            sheet.append(row)
    return book


def saved(tmp_path, book):
    book.save(tmp_path / "table.xlsx")
    return tmp_path / "table.xlsx"


def changed(path, member, change):
    """Write the archive again with one member changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members[member] = change(members.get(member, b""))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_types(tmp_path):
    rows = [
        ["whole", "number", "yes", "day", "time", "at", "zip", "word", "mixed", "amount", "none"],
        [1, 1.5, True, date(2024, 1, 31), datetime(2024, 1, 31, 10, 30), time(9, 5), "007", "a", 1,
         "$1,200.50", None],
        [-2, 3, False, None, datetime(2024, 2, 1), time(23, 0), "012", None, "x", "$3", None],
        ["#N/A", "#DIV/0!", None, date(1999, 12, 1), None, None, None, " b ", 2.5, None, None],
    ]  # fmt: skip
    table = read_table(saved(tmp_path, book_of(rows)))
    read = table.astype(object).where(table.notna(), None).to_dict("list")
    assert read == {
        "whole": [1, -2, None],
        "number": [1.5, 3.0, None],
        "yes": [True, False, None],
        "day": ["2024-01-31", None, "1999-12-01"],
        "time": ["2024-01-31 10:30:00", "2024-02-01 00:00:00", None],
        "at": ["09:05:00", "23:00:00", None],
        "zip": ["007", "012", None],
        "word": ["a", None, " b "],
        "mixed": ["1", "x", "2.5"],
        "amount": ["$1,200.50", "$3", None],
        "none": [None, None, None],
    }
    assert str(table["whole"].dtype) == "Int64"
    assert str(table["yes"].dtype) == "boolean"


def test_formulas_are_what_they_gave(tmp_path):
    path = saved(tmp_path, book_of([["a", "b"], [1, "=A2+1"], [2, 5]]))
    sheet = "xl/worksheets/sheet1.xml"
    changed(path, sheet, lambda text: re.sub(rb"(</f>)<v ?/?>(</v>)?", rb"\1<v>2</v>", text))
    assert read_table(path)["b"].tolist() == [2, 5]


def test_the_first_sheet_with_a_table(tmp_path):
    table = [["a", "b"], [1, 2]]
    book = book_of([["only a note"]], table, [], table)
    book.create_sheet("hidden", 0).sheet_state = "hidden"
    for row in table:
        book["hidden"].append(row)
    with pytest.warns(UserWarning, match="several sheets with tables; 'sheet 1' was read, not "
                                         "'sheet 3'"):  # fmt: skip
        assert read_table(saved(tmp_path, book)).to_dict("list") == {"a": [1], "b": [2]}
    with pytest.raises(ValueError, match="no sheet with a header, rows and at least two columns"):
        read_table(saved(tmp_path, book_of([["a"], [1]], [["a", "b"]])))


def test_titles_merged_cells_and_gaps(tmp_path):
    book = book_of(
        [
            ["Sales of 2024"],
            [],
            [None, "person", None, "money", None],
            [None, "name", "age", "spent", "saved", None],
            [0, "Ann", 30, 5, 6.5],
            [],
            [1, "Bob", None, 7],
        ]
    )
    book.active.merge_cells("B3:C3")
    book.active.merge_cells("D3:E3")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = read_table(saved(tmp_path, book))
    assert list(table.columns) == ["name", "age", "spent", "saved"]
    assert table["name"].tolist() == ["Ann", "Bob"]
    assert [str(one.message).partition(".xlsx ")[2][:28] for one in caught] == [
        "does not begin with its tabl",
        "has an index, a first column",
    ]


def test_an_archive_that_is_made_to_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "HARMLESS_BYTES", 2**20)
    path = saved(tmp_path, book_of([["a", "b"], [1, 2]]))
    changed(path, "xl/media/x.bin", lambda _: bytes(2**23))
    inner = path.read_bytes()
    for content in (inner, gzip.compress(inner), zipped(inner)):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"unpacks to .* or more, as files do that are made"):
            read_table(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "member", ["xl/workbook.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml", "xl/other"]
)
def test_entities_that_are_made_to_fill_the_memory(tmp_path, member, encoding):
    path = saved(tmp_path, book_of([["a", "b"], [1, 2]]))
    bomb = f'<?xml version="1.0" encoding="{encoding}"?>\n{ENTITIES}<sst><t>&a11;</t></sst>'
    changed(path, member, lambda _: bomb.encode(encoding))
    with pytest.raises(ValueError, match="holds definitions of XML entities"):
        read_table(path)


def test_rows_that_claim_to_be_wide(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_EXCEL_CELLS", 10**6)
    path = saved(tmp_path, book_of([["a", "b"], [1, 2]]))
    wide = "".join(f'<row r="{n}"><c r="XFD{n}"/></row>' for n in range(3, 1000)).encode()
    changed(path, "xl/worksheets/sheet1.xml",
            lambda text: text.replace(b"</sheetData>", wide + b"</sheetData>"))  # fmt: skip
    with pytest.raises(ValueError, match="has more than 1000000 cells; save it as Parquet"):
        read_table(path)


@pytest.mark.parametrize("member", ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/styles.xml"])
def test_damaged_files(tmp_path, member):
    for change in (lambda text: text[:-20], lambda _: b"", lambda _: b"<x/>"):
        path = changed(saved(tmp_path, book_of([["a", "b"], [1, 2]])), member, change)
        said = ""
        try:
            table = read_table(path)
        except ValueError as error:
            said = str(error)
        assert re.fullmatch(r".*table\.xlsx .*; .*\.", said) or table["b"].tolist() == [2]


def test_excel_files_in_any_name(tmp_path):
    path = saved(tmp_path, book_of([["a", "b"], [1, 2]]))
    (tmp_path / "other.csv").write_bytes(path.read_bytes())
    assert read_table(tmp_path / "other.csv")["a"].tolist() == [1]
    (tmp_path / "other.zip").write_bytes(zipped(path.read_bytes()))
    assert read_table(tmp_path / "other.zip")["a"].tolist() == [1]
