"""Records as they stand in a file, and what of them is covered."""

from __future__ import annotations

import csv
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.files import Source
from sfumato.workbench.raw import Raw, _records, raw_of

CELLS = st.text(st.sampled_from('ab ,;"\n\r'), max_size=6)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=6), st.sampled_from(",;\t"))
def test_records_are_those_that_python_reads_and_joined_they_are_the_file(rows, separator):
    quoted = [['"' + cell.replace('"', '""') + '"' for cell in row] for row in rows]
    text = "".join(separator.join(row) + "\r\n" for row in quoted)
    found = _records(text, separator, 100)

    assert found == quoted
    assert [next(csv.reader([separator.join(row)], delimiter=separator)) for row in found if not _breaks(row)] == [
        row for row, raw in zip(rows, quoted, strict=True) if not _breaks(raw)
    ]


def _breaks(row):
    return any(character in cell for cell in row for character in "\r\n")


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("a,b\n1,2", [["a", "b"], ["1", "2"]]),
        ("a,b,\n1,2,", [["a", "b", ""], ["1", "2", ""]]),
        ('5" pipe,x\r\n', [['5" pipe', "x"]]),
        ('a,"b\n', []),  # not closed: what follows could be any column's
        ('x,y\n1,"2\n3,4\n', [["x", "y"]]),
        ("a\n\nb\n", [["a"], [""], ["b"]]),
        ("", []),
    ],
)
def test_records_end_where_lines_do_and_quotes_hold_together(text, records):
    assert _records(text, ",", 10) == records


def test_no_more_records_are_taken_than_were_asked_for():
    assert _records("a\nb\nc\n", None, 2) == [["a"], ["b"]]
    assert _records("a\nb\nc\n", ",", 2) == [["a"], ["b"]]


def test_cells_of_secret_columns_are_covered_and_records_that_do_not_fit_whole():
    raw = Raw(
        records=[["name", "age"], ["Ann", "31"], ["Bob", "32", ""], ["Eve", "Ann", "33"], ["Ida"], [""]], separator=","
    )

    covered = raw.covered(["name", "age"], {"name"}, named=True)
    assert covered == ["name,age", "•••,31", "•••,32,", "•••", "•••", ""]
    assert raw.covered(["name", "age"], {"name"}, named=False)[0] == "•••,age"


def test_long_records_are_cut():
    (line,) = Raw(records=[["x" * 1000]]).lines()
    assert len(line) == 300


def test_packed_files_and_other_encodings_are_made_out(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress("\ufeffname,town\nAnn,Zürich\n".encode()))
    (tmp_path / "old.csv").write_bytes("town\nZürich\n".encode("cp1252"))

    assert raw_of(Source(tmp_path / "t.csv.gz"), ",", 5).lines() == ["name,town", "Ann,Zürich"]
    assert raw_of(Source(tmp_path / "old.csv"), ",", 5).lines() == ["town", "Zürich"]


@pytest.mark.parametrize("name", ["t.parquet", "none.csv", "zeros.csv"])
def test_what_is_no_text_has_no_lines(tmp_path, name):
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    (tmp_path / "zeros.csv").write_bytes(b"a,b\n\0\0,1\n")

    assert raw_of(Source(tmp_path / name), ",", 5) == Raw()
