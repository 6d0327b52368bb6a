"""Lines above the names of columns: found where it is sure, left out, and set by hand."""

from dataclasses import replace

import pytest
import xlsxwriter
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import app
from sfumato.data.files import Source, how_read, read_columns, read_digested, read_table, sample
from sfumato.data.files.preamble import lines_above
from sfumato.data.files.release import read_release
from sfumato.data.files.source import digest
from sfumato.data.schema import Schema
from sfumato.drafting import draft
from sfumato.errors import DataError
from tables_on_disk import cells, refusal, write

NAMES = ["age", "sex", "city"]
PEOPLE = [["34", "m", "Rome"], ["35", "f", "Oslo"], ["36", "f", "Bonn"]]


def joined(rows, separator=";"):
    return "".join(separator.join(row) + "\n" for row in rows)


def row_of(source):
    return {found.key: found.value for found in how_read(source)}.get("header_row", 1)


@pytest.mark.parametrize(
    ("above", "line"),
    [
        ("Export of the ward\n", 2),
        ("Export of the ward\nAs of;18.11.2026\n", 3),
        ("Export, of all wards, today\n\n\n", 4),
        ("Export;;\n;;\n", 3),
        ('"An export\nof the ward";;\n', 3),
        ("sep=;\nExport\n", 3),
        ("Person;;\n", 2),
    ],
)
def test_lines_above_the_names_are_left_out_and_named(tmp_path, above, line):
    source = write(tmp_path, "a.csv", above + joined([NAMES, *PEOPLE * 5]))

    assert read_columns(source) == NAMES
    assert row_of(source) == line
    table, sha256 = read_digested(source)
    assert cells(table)["city"] == ["Rome", "Oslo", "Bonn"] * 5
    assert sha256 == digest(source.path)
    assert sample(source, 2).num_rows == 2
    by_hand = replace(source, header_row=line)
    assert read_table(by_hand).equals(read_table(source))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "windows-1252"])
def test_lines_above_may_be_in_any_encoding(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(("Städtische Klinik\n" + joined([NAMES, *PEOPLE])).encode(encoding))
    assert cells(read_table(Source(path)))["age"] == ["34", "35", "36"]


@pytest.mark.parametrize(
    "rows",
    [
        [NAMES, *PEOPLE],
        [["sex", "city"], ["Ann", "m", "Rome"], ["Eve", "f", "Oslo"]],  # as R writes the names of rows
        [["", "city", "job"], ["Ann", "Rome", "cook"], ["Eve", "Oslo", "nurse"]],  # as pandas does
        [["name", "city", ""], ["Ann", "", "x"], ["Bob", "Rome", "y"]],
        [["name", "city", "city"], ["Ann", "Oslo", "Rome"], ["Bob", "Rome", "Bonn"]],
        [["title"], ["34", "m", "Rome"], ["35", "f", "Oslo"]],
        [["title"], ["a"], ["b"]],
        [["title"]],
        [],
    ],
    ids=repr,
)
def test_a_record_never_becomes_the_names_of_columns(rows):
    assert lines_above(rows) == 0


def test_a_line_set_by_hand_is_taken_as_it_is(tmp_path):
    text = "Questions\n" + joined([["Q1", "Q2"], ["How old?", "Where?"], ["34", "Rome"], ["35", "Oslo"]])
    source = write(tmp_path, "a.csv", text)

    assert cells(read_table(replace(source, header_row=3))) == {"How old?": ["34", "35"], "Where?": ["Rome", "Oslo"]}
    unnamed = read_table(replace(source, header_row=4, header=False))
    assert cells(unnamed) == {"column_1": ["34", "35"], "column_2": ["Rome", "Oslo"]}
    assert "line 9, but that line and all below it are empty" in refusal(replace(source, header_row=9))


def test_an_error_below_names_the_line_of_the_file(tmp_path):
    source = write(tmp_path, "a.csv", "Title\n\n" + joined([NAMES, *PEOPLE, ["37", "f"]]))
    assert "on line 7, with 2" in refusal(source)


def sheet(folder, rows, *merges):
    with xlsxwriter.Workbook(folder / "a.xlsx") as book:
        page = book.add_worksheet()
        for number, row in enumerate(rows):
            page.write_row(number, 0, row)
        for merge in merges:
            page.merge_range(merge, rows[int(merge[1]) - 1]["ABC".index(merge[0])])
    return Source(folder / "a.xlsx")


@pytest.mark.parametrize(
    ("above", "merges", "line"),
    [
        ([["Export", "", ""]], [], 2),
        ([["Export", "", ""]], ["A1:C1"], 2),
        ([[], ["Export", "", ""], []], ["A2:B2"], 4),
        ([["Person", "", "Place"]], ["A1:B1"], 2),
    ],
)
def test_titles_and_merged_cells_above_the_names_of_a_sheet_are_left_out(tmp_path, above, merges, line):
    source = sheet(tmp_path, [*above, NAMES, *PEOPLE], *merges)

    assert read_columns(source) == NAMES
    assert row_of(source) == line
    assert cells(read_table(source))["city"] == ["Rome", "Oslo", "Bonn"]
    assert read_columns(replace(source, header_row=line)) == NAMES
    assert "line 99" in refusal(replace(source, header_row=99))


def test_a_name_that_reaches_down_from_the_groups_is_that_of_its_column(tmp_path):
    rows = [["age", "Person", ""], ["", "sex", "city"], *PEOPLE]
    assert read_columns(sheet(tmp_path, rows, "A1:A2", "B1:C1")) == NAMES


def test_merged_cells_outside_of_the_table_move_nothing(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        page = book.add_worksheet()
        for number, row in enumerate([NAMES, *PEOPLE]):
            page.write_row(number + 2, 1, row)
        page.merge_range("A1:A2", "")
        page.merge_range("Z1:Z2", "")
    assert read_columns(Source(tmp_path / "a.xlsx")) == NAMES


def test_merged_cells_below_the_names_are_refused(tmp_path):
    assert "1 merged range" in refusal(sheet(tmp_path, [["Export"], NAMES, *PEOPLE], "A3:A4"))
    assert "1 merged range" in refusal(sheet(tmp_path, [["Export"], NAMES, *PEOPLE], "A2:B2"))


def test_lines_above_a_published_table_are_not_overlooked(tmp_path):
    source = write(tmp_path, "a.csv", "Tom Roth and others\n" + joined([NAMES, *PEOPLE]))
    schema = Schema.of(age="quasi-identifier", sex="quasi-identifier", city="sensitive")

    for like in (None, Source(tmp_path / "original.csv", header_row=2)):
        with pytest.raises(DataError, match=r"more or\s+fewer cells"):
            read_release(source.path, schema, like=like)
    assert read_release(source.path, schema, like=replace(source, header_row=2)).n_rows == 3


@pytest.mark.slow
def test_a_draft_says_which_line_names_the_columns(tmp_path):
    source = write(tmp_path, "a.csv", "Export\nQ1;Q2;Q3\n" + joined([NAMES, *PEOPLE * 5]))
    plan = tmp_path / "plan.toml"

    CliRunner().invoke(app, ["init", str(source.path), "--out", str(plan), "--header-row", "3"], catch_exceptions=False)

    assert sf.Plan.load(plan).source.header_row == 3
    assert list(sf.Plan.load(plan).schema.columns) == NAMES
    assert draft(Source(source.path), tmp_path).plan.source.header_row == 2  # to be found out is not to be sure
    wrong = CliRunner().invoke(app, ["init", str(source.path), "--out", str(plan), "--header-row", "0"])
    assert wrong.exit_code == 2
