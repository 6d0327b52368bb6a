"""Workbooks: one sheet as a table, and what no table can be made of."""

import datetime
import zipfile
from dataclasses import replace

import pytest
import xlsxwriter

from sfumato.data.files import Source, how_read, read_columns, read_digested, read_table, sample
from sfumato.data.files import source as sources
from tables_on_disk import SECRET, cells, mutants_refused, refusal

PEOPLE = [
    ["name", "age", "born", "kg", "at"],
    [SECRET, 34, datetime.date(1980, 12, 31), 78.5, datetime.datetime(2024, 5, 1, 8, 30)],
    ["Ann", 35, datetime.date(1981, 1, 2), None, datetime.datetime(2024, 5, 2, 9, 0)],
]


def workbook(folder, sheets, name="a.xlsx", merge=None):
    with xlsxwriter.Workbook(folder / name, {"default_date_format": "yyyy-mm-dd hh:mm"}) as book:
        for title, rows in sheets.items():
            sheet = book.add_worksheet(title)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
            if merge:
                sheet.merge_range(merge, "x")
    return Source(folder / name)


def test_a_sheet_is_read_as_a_csv_file_would_be(tmp_path):
    source = workbook(tmp_path, {"people": PEOPLE, "empty": []})
    expected = {
        "age": ["34", "35"],
        "born": ["1980-12-31", "1981-01-02"],
        "kg": ["78.5", ""],
        "at": ["2024-05-01 08:30:00", "2024-05-02 09:00:00"],
    }
    table, _ = read_digested(source, drop=frozenset({"name"}))
    assert cells(table) == expected
    assert read_columns(source) == PEOPLE[0]
    assert sample(source, 1).num_rows == 1
    assert {found.key: found.value for found in how_read(source)} == {
        "format": "excel",
        "sheet": "people",
        "header": True,
    }


def test_text_in_a_sheet_is_respelled_like_text_elsewhere(tmp_path):
    source = workbook(tmp_path, {"a": [["x", "y"], ["31.12.1980", "a"], ["01.02.1981", "b"]]})
    assert cells(read_table(source))["x"] == ["1980-12-31", "1981-02-01"]


def test_the_sheet_is_asked_for_where_there_are_several(tmp_path):
    source = workbook(tmp_path, {"people": PEOPLE, "more": [["a", "b"], ["x", "y"]]})
    assert "2 sheets with content: 'more', 'people'" in refusal(source)
    assert read_columns(replace(source, sheet="more")) == ["a", "b"]
    assert "no sheet 'peple'. Did you mean 'people'?" in refusal(replace(source, sheet="peple"))


@pytest.mark.parametrize(
    ("sheets", "merge", "said"),
    [
        ({"a": []}, None, "no sheet with content"),
        ({"a": PEOPLE[:1]}, None, "no rows"),
        ({"a": PEOPLE[1:]}, None, "no line of column names"),
        ({"a": PEOPLE}, "A5:B6", "1 merged range"),
    ],
)
def test_sheets_that_are_no_tables_are_refused(tmp_path, sheets, merge, said):
    assert said in refusal(workbook(tmp_path, sheets, merge=merge))


def test_workbooks_with_macros_and_damaged_ones_are_refused(tmp_path):
    source = workbook(tmp_path, {"a": PEOPLE})
    with zipfile.ZipFile(source.path, "a") as parts:
        parts.writestr("xl/vbaProject.bin", b"x")
    assert "with macros" in refusal(source)
    source.path.write_bytes(b"PK" + SECRET.encode())
    assert "damaged" in refusal(source)


def test_a_missing_library_is_named_with_the_command_that_installs_it(tmp_path, monkeypatch):
    source = workbook(tmp_path, {"a": PEOPLE})

    def nowhere(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(sources.importlib, "import_module", nowhere)
    assert "pip install 'sfumato[excel]'" in refusal(source)


def test_a_workbook_whose_contents_are_wrongly_listed_is_refused(tmp_path):
    """It has the mark of a packed file, and its list of parts is damaged."""
    path = workbook(tmp_path, {"people": PEOPLE}).path
    content = path.read_bytes()
    path.write_bytes(content.replace(b"PK\x01\x02", b"PK\x01\x03"))
    assert "damaged or cut off" in refusal(Source(path))


@pytest.mark.parametrize("name", ["Basic/Standard/Module1.xml", "Scripts/python/change.py", "xl/vbaProject.bin"])
def test_programs_of_any_office_are_refused(tmp_path, name):
    path = workbook(tmp_path, {"people": PEOPLE}).path
    with zipfile.ZipFile(path, "a") as parts:
        parts.writestr(name, "x")
    assert "with macros" in refusal(Source(path))


def test_programs_in_a_workbook_of_before_2007_are_refused(tmp_path):
    path = tmp_path / "a.xls"
    path.write_bytes(
        bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504) + "_VBA_PROJECT_CUR".encode("utf-16-le") + bytes(99)
    )
    assert "with macros" in refusal(Source(path))


@pytest.mark.slow
def test_flipped_bits_never_end_the_process(tmp_path):
    assert mutants_refused(workbook(tmp_path, {"people": PEOPLE}).path, 300) > 50
