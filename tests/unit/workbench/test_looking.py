"""The first look at a source."""

from __future__ import annotations

import sqlite3

import pytest

from sfumato.data.files import Source
from sfumato.errors import DataError
from sfumato.workbench.looking import SHOWN_ROWS, looked_at, not_read


def test_a_look_says_how_a_file_is_read_and_what_its_columns_look_like(tmp_path):
    rows = "".join(f"Ann{n};{20 + n},5;{'x' * 80};2024-01-{1 + n % 28:02}\n" for n in range(40))
    (tmp_path / "people.csv").write_text("name;weight;note;admission\n" + rows, encoding="utf-8")
    found = looked_at(Source(tmp_path / "people.csv"))

    assert found.how["separator"][0] == ";"
    assert found.how["decimal"][0] == ","
    assert found.names == ["name", "weight", "note", "admission"]
    assert (found.kinds["weight"], found.kinds["admission"]) == ("number", "date")
    assert "name" in found.secrets
    assert len(found.rows) == SHOWN_ROWS
    assert len(found.rows[0][2]) == 60
    assert found.count is None
    assert found.lines(covered=True)[:2] == ["name;weight;note;admission", f"•••;20,5;{'x' * 80};2024-01-01"]
    assert found.lines(covered=False)[1] == f"Ann0;20,5;{'x' * 80};2024-01-01"
    assert len(found.lines(covered=True)) == SHOWN_ROWS + 1


def test_a_file_without_names_of_columns_has_no_line_that_is_not_covered(tmp_path):
    (tmp_path / "bare.csv").write_text("".join(f"Ann{n},{20 + n % 9},Bern\n" for n in range(40)), encoding="utf-8")
    found = looked_at(Source(tmp_path / "bare.csv", header=False))

    assert found.secrets == {"column_1", "column_3"}  # a capital, and nothing that says what it is: perhaps a name
    assert found.lines(covered=True)[0] == "•••,20,•••"


def test_baskets_are_covered_line_by_line(tmp_path):
    (tmp_path / "baskets.dat").write_text("".join(f"{n} {n + 1} 7\n" for n in range(30)), encoding="utf-8")
    found = looked_at(Source(tmp_path / "baskets.dat", format="transactions"))

    assert found.lines(covered=True) == ["•••"] * (SHOWN_ROWS + 1)
    assert found.lines(covered=False)[0] == "0 1 7"


def test_of_a_single_row_everything_is_covered(tmp_path):
    (tmp_path / "one.csv").write_text("name,age\nAnn,31\n", encoding="utf-8")
    found = looked_at(Source(tmp_path / "one.csv"))

    assert found.secrets == {"name", "age"}
    assert found.lines(covered=True) == ["name,age", "•••,•••"]


def test_a_look_at_a_table_of_a_database_counts_its_rows(tmp_path):
    with sqlite3.connect(tmp_path / "stays.sqlite") as connection:
        connection.execute("create table stays (name text, age integer)")
        connection.executemany("insert into stays values (?, ?)", [(f"Ann{n}", n) for n in range(30)])
    connection.close()
    found = looked_at(Source(tmp_path / "stays.sqlite", database="stays.sqlite", table="stays"))

    assert found.count == 30
    assert found.rows[1] == ["Ann1", "1"]


def test_what_cannot_be_read_is_told(tmp_path):
    (tmp_path / "odd.csv").write_bytes(b"a,b\n1,2,3\n4\n")
    with pytest.raises(DataError):
        looked_at(Source(tmp_path / "odd.csv"))
    found = not_read(Source(tmp_path / "odd.csv"))

    assert found.lines(covered=True) == []
    assert found.lines(covered=False) == ["a,b", "1,2,3", "4", ""]
