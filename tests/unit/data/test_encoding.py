"""Tables in codes: roles, carried columns, and everything that does not fit."""

import pyarrow as pa
import pytest

from sfumato.data.builders import HierarchyFile
from sfumato.data.encoding import encode
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError


def test_identifiers_are_dropped_and_others_carried():
    table = pa.table({"name": ["x", "y"], "age": [30, 40], "note": ["q", "p"], "ill": ["flu", None]})
    schema = Schema(
        columns={
            "name": ColumnSpec(name="name", role=Role.IDENTIFIER),
            "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
            "ill": ColumnSpec(name="ill", role=Role.SENSITIVE),
        },
        rest=Role.OTHER,
    )
    for given_table in (table, table.drop_columns(["name"])):  # the reader may have left identifiers out
        dataset = encode(given_table, schema)
        assert dataset.order == ("age", "note", "ill")
        assert list(dataset.columns) == ["age", "ill"]
        assert dataset.carried.to_pydict() == {"note": ["q", "p"]}
        assert dataset.n_rows == 2
        assert [column.name for column in dataset.with_role(Role.SENSITIVE)] == ["ill"]


def test_every_mismatch_of_plan_and_table_is_said_at_once():
    table = pa.table({"age": ["x"], "jobb": ["cook"], "zip": ["1"]})
    schema = Schema(
        columns={
            "job": ColumnSpec(name="job", role=Role.SENSITIVE),
            "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMBER),
        }
    )
    with pytest.raises(DataError) as caught:
        encode(table, schema)
    assert "does not have: 'job'. Did you mean 'jobb'?" in str(caught.value)
    assert "says nothing about 2 column(s)" in str(caught.value)
    named = Schema(columns={**schema.columns, "name": ColumnSpec(name="name", role=Role.IDENTIFIER)})
    with pytest.raises(DataError) as caught:
        encode(pa.table({"age": ["1"], "zip": ["1"]}), named)
    assert "does not have: 'job'. Known: 'age', 'zip'." in str(caught.value), "a name that is not there is not known"
    schema = Schema(
        columns={"age": schema.columns["age"], "zip": ColumnSpec(name="zip", role=Role.SENSITIVE, kind=Kind.ORDERED)}
    )
    with pytest.raises(DataError) as caught:
        encode(table.drop_columns(["jobb"]), schema)
    assert "'age' shall hold numbers" in str(caught.value)
    assert "'zip' is ordered" in str(caught.value)


def test_encoding_lets_go_of_the_table():
    table = pa.table({"a": pa.array(["x", "y"] * 500).dictionary_encode(), "b": list(range(1000))})
    schema = Schema(rest=Role.QUASI_IDENTIFIER)
    box = [table]
    del table
    before = pa.total_allocated_bytes()
    encode(box.pop(), schema)
    assert pa.total_allocated_bytes() < before


def test_a_broken_hierarchy_file_is_a_problem_of_the_data(tmp_path):
    with pytest.raises(DataError, match="not found"):
        encode(
            pa.table({"a": ["x"]}),
            Schema(
                columns={"a": ColumnSpec(name="a", role=Role.SENSITIVE, hierarchy=HierarchyFile(tmp_path / "no.csv"))}
            ),
        )


def test_an_empty_table_has_empty_columns():
    dataset = encode(
        pa.table({"a": pa.array([], pa.string()), "s": pa.array([], pa.list_(pa.string()))}),
        Schema(rest=Role.SENSITIVE),
    )
    assert dataset.columns["a"].codes.size == 0
    assert dataset.columns["s"].start.tolist() == [0]


@pytest.mark.parametrize("role", [Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.OTHER])
@pytest.mark.parametrize(
    ("kind", "in_a_day"), [(pa.date32(), 1), (pa.date64(), 86_400_000), (pa.timestamp("us", "UTC"), 86_400_000_000)]
)
def test_days_without_a_date_are_refused_with_the_column_named(role, kind, in_a_day):
    schema = Schema(columns={"until": ColumnSpec(name="until", role=role)})

    def column(*days):
        numbers = pa.array([day if day is None else day * in_a_day for day in days], pa.int64())
        return pa.table({"until": (numbers.cast(pa.int32()) if in_a_day == 1 else numbers).cast(kind)})

    assert encode(column(-719_162, None, 2_932_896), schema).n_rows == 3  # 0001-01-01 and 9999-12-31
    for far in (-719_163, 2_932_897):
        with pytest.raises(DataError, match="Column 'until': it holds days before the year 1 or after 9999"):
            encode(column(0, far), schema)
