"""Releases for other programs: they read back label for label, with labels where a program has such."""

import pyarrow as pa
import pyreadstat
import pytest
from python_calamine import load_workbook

from sfumato.data.encoding import encode
from sfumato.data.files import export
from sfumato.data.files.release import read_release, write_release
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError

FORMS = ("csv", "parquet", "excel", "stata", "spss")
SCHEMA = Schema(
    columns={
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMBER),
        "zip": ColumnSpec(name="zip", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORY),
        "costs": ColumnSpec(name="costs", role=Role.SENSITIVE),
        "kg": ColumnSpec(name="kg", role=Role.SENSITIVE),
        "terms": ColumnSpec(name="terms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
        "note": ColumnSpec(name="note", role=Role.OTHER),
    },
    missing=("?", ""),
)
TABLE = pa.table(
    {
        "age": ["34", "35", "?", "34"],
        "zip": ["01234", "=1+1", "01235", "31.12.1980"],
        "costs": ["12.5", "9007199254740993", "7", "-1"],
        "kg": ["78.5", "60", "2.50", "0.1"],
        "terms": [["a", "b"], [], ["b"], ["a"]],
        "note": ["x", "é", "y" * 200, "1,234"],
    }
)


def release_of(table, schema=SCHEMA):
    return publish(encode(table, schema), Recoding(), [])


@pytest.mark.parametrize("form", FORMS)
def test_every_format_reads_back_label_for_label(tmp_path, monkeypatch, form):
    monkeypatch.setattr(export, "_ROWS", 3)
    release = release_of(TABLE)
    write_release(release, tmp_path, form, missing="?")
    for back in (read_release(tmp_path), read_release(tmp_path, SCHEMA)):
        for name in ("age", "zip", "costs"):
            before, after = release.column(name), back.column(name)
            assert [after.labels[code] for code in after.codes] == [before.labels[code] for code in before.codes], name
        kg = back.column("kg")
        assert [float(kg.labels[code]) for code in kg.codes] == [78.5, 60, 2.5, 0.1]
        assert [back.sets("terms").cell(row) for row in range(4)] == [("a", "b"), (), ("b",), ("a",)]
        assert back.carried.column("note").to_pylist() == TABLE.column("note").to_pylist()
        assert not back.strays


@pytest.mark.parametrize(("form", "read"), [("stata", "read_dta"), ("spss", "read_sav")])
def test_categories_are_codes_with_labels_and_numbers_stay_numbers(tmp_path, form, read):
    write_release(release_of(TABLE), tmp_path, form, missing="?")
    path = next(tmp_path.glob("data.*"))
    columns, about = getattr(pyreadstat, read)(str(path), output_format="dict")
    assert about.variable_value_labels["zip"] == {1: "01234", 2: "01235", 3: "31.12.1980", 4: "=1+1"}
    assert list(columns["zip"]) == [1, 4, 2, 3]
    assert list(columns["age"])[:2] == [34, 35]
    assert "age" not in about.variable_value_labels


def test_text_of_a_workbook_is_no_formula_and_numbers_are_numbers(tmp_path):
    write_release(release_of(TABLE), tmp_path, "excel", missing="?")
    rows = load_workbook(str(tmp_path / "data.xlsx")).get_sheet_by_index(0).to_python()
    assert rows[0] == list(TABLE.column_names)
    assert [row[1] for row in rows[1:]] == TABLE.column("zip").to_pylist()
    assert [row[0] for row in rows[1:]] == [34, 35, "?", 34]


@pytest.mark.parametrize(
    ("form", "table", "said"),
    [
        ("stata", {"a b": ["1", "2"]}, "names Stata cannot have: 'a b'"),
        ("spss", {"1a": ["1", "2"]}, "names SPSS cannot have: '1a'"),
        ("excel", {"a": ["1", ""]}, "every cell is missing"),
        ("excel", {"a": ["1", "x" * 40_000]}, "more than 32,767 characters"),
        ("excel", {"a": [{"x": 1}, {"x": 2}]}, "values of type struct"),
        ("stata", {"a": [["x|y"], ["z"]]}, "members that contain '|'"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(tmp_path, form, table, said):
    role, kind = (Role.QUASI_SENSITIVE, Kind.SET) if "members" in said else (Role.OTHER, None)
    schema = Schema(columns={name: ColumnSpec(name=name, role=role, kind=kind) for name in table})
    with pytest.raises(DataError, match=said.replace("|", r"\|")):
        write_release(release_of(pa.table(table), schema), tmp_path, form)
