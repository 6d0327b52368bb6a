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
        "decimal": ".",
        "dates": "year-month-day",
    }


def test_text_in_a_sheet_is_respelled_like_text_elsewhere(tmp_path):
    day = datetime.date(1981, 2, 1)
    source = workbook(tmp_path, {"a": [["x", "y", "z"], ["31.12.1980", "78,4", "a"], [day, 80.125, "b"]]})
    assert cells(read_table(source)) == {"x": ["1980-12-31", "1981-02-01"], "y": ["78.4", "80.125"], "z": ["a", "b"]}
    assert {found.key: found.value for found in how_read(source)}["decimal"] == ","


def test_numbers_in_a_sheet_are_no_text_whatever_the_decimal_mark(tmp_path):
    source = workbook(tmp_path, {"a": [["x", "y"], [1.234, "a"], [2.345, "b"]]})
    assert cells(read_table(replace(source, decimal=",")))["x"] == ["1.234", "2.345"]


def test_text_that_may_be_one_number_or_another_is_asked_for(tmp_path):
    source = workbook(tmp_path, {"a": [["x", "y"], ["1,234", SECRET], ["5,678", SECRET]]})
    assert "[source] decimal =" in refusal(source)
    assert cells(read_table(replace(source, decimal=",")))["x"] == ["1.234", "5.678"]
    assert cells(read_table(replace(source, decimal=".")))["x"] == ["1234", "5678"]


def changed(source, name, change):
    """Change a part of a packed workbook."""
    with zipfile.ZipFile(source.path) as parts:
        contents = {part: parts.read(part) for part in parts.namelist()}
    with zipfile.ZipFile(source.path, "w") as parts:
        for part, content in contents.items():
            parts.writestr(part, change(content) if part == name else content)
    return source


@pytest.mark.parametrize(("cell", "refused"), [(b"<v></v>", True), (b"<v />", True), (b"", True), (b"<v>7</v>", False)])
def test_formulas_that_nobody_worked_out_are_refused(tmp_path, cell, refused):
    source = workbook(tmp_path, {"a": [["x", "y"], [1, "=A2*7"], [2, SECRET]]})
    changed(
        source,
        "xl/worksheets/sheet1.xml",
        lambda content: content.replace(b'<v>0</v></c></row><row r="3"', cell + b'</c></row><row r="3"'),
    )
    if refused:
        assert "1 formulas without a result" in refusal(source)
    else:
        assert cells(read_table(source))["y"] == ["7", SECRET]


def test_a_formula_whose_result_is_an_empty_text_is_a_missing_cell(tmp_path):
    source = workbook(tmp_path, {"a": [["x", "y"], [1, "=A2*7"], [2, "z"]]})
    changed(
        source,
        "xl/worksheets/sheet1.xml",
        lambda content: content.replace(b'<c r="B2"><f>A2*7</f><v>0</v>', b'<c r="B2" t="str"><f>A2*7</f><v></v>'),
    )
    assert cells(read_table(source))["y"] == ["", "z"]


def open_document(folder, rows):
    """Write a workbook as LibreOffice does; each cell is given with its attributes."""
    spaces = "".join(
        f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"' for short in ("office", "table", "text")
    )
    lines = "".join(f"<table:table-row>{''.join(row)}</table:table-row>" for row in rows)
    with zipfile.ZipFile(folder / "a.ods", "w") as parts:
        parts.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        parts.writestr(
            "META-INF/manifest.xml",
            '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"></m:manifest>',
        )
        parts.writestr(
            "content.xml",
            f"<office:document-content{spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="A &amp; B">{lines}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return Source(folder / "a.ods")


def odf(text, more=""):
    return f'<table:table-cell office:value-type="string" {more}><text:p>{text}</text:p></table:table-cell>'


def test_merged_cells_of_libreoffice_are_refused(tmp_path):
    plain = [[odf("name"), odf("ward")], [odf(SECRET), odf("a")], [odf("Ann"), odf("b")]]
    assert cells(read_table(open_document(tmp_path, plain))) == {"name": [SECRET, "Ann"], "ward": ["a", "b"]}
    over = odf("a", 'table:number-rows-spanned="2" table:number-columns-spanned="1"')
    merged = [plain[0], [odf(SECRET), over], [odf("Ann"), "<table:covered-table-cell/>"]]
    assert "merged" in refusal(open_document(tmp_path, merged))
    title = [odf("Export", 'table:number-columns-spanned="2"'), "<table:covered-table-cell/>"]
    assert read_columns(open_document(tmp_path, [title, *plain])) == ["name", "ward"]


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
    assert "pip install python-calamine." in refusal(source)


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
