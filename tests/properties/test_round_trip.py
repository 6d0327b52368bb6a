"""Encoding and publishing without changes gives the table back, identifiers aside."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.data.dataset import CodedSets
from sfumato.data.encoding import encode
from sfumato.data.files import Source, read_table
from sfumato.data.files.release import read_release, write_release
from sfumato.data.frames import like, to_arrow
from sfumato.data.kinds import is_list
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema

MISSING = ("?", "")
ROLES = (Role.IDENTIFIER, Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.SENSITIVE_QUASI_IDENTIFIER, Role.OTHER)
SOME_TIME = {"min_value": datetime.datetime(1700, 1, 1), "max_value": datetime.datetime(2200, 1, 1)}

words = st.text(st.characters(codec="utf-8", exclude_characters="\0|"), max_size=5)
texts = words | st.sampled_from(["?", "", "*", "007", "1", "1.0", "[1, 2]", "a|b", 'say "x"', " x ", "a\nb", "NA"])
values = {
    pa.string(): texts,
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int8(): st.integers(-128, 127),
    pa.float64(): st.floats(allow_infinity=False, allow_nan=False),
    pa.float32(): st.floats(allow_infinity=False, allow_nan=False, width=32),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(**SOME_TIME),
    pa.timestamp("us", "UTC"): st.datetimes(**SOME_TIME, timezones=st.just(datetime.UTC)),
    pa.decimal128(9, 2): st.decimals(-99999, 99999, places=2),
    pa.large_list(pa.string()): st.lists(words, max_size=3),
}
quick = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def tables(draw):
    """A table and a schema with a role for each column."""
    n_rows = draw(st.integers(1, 6))
    columns, specs = {}, {}
    for position in range(draw(st.integers(1, 4))):
        name, kind = f"column {position}", draw(st.sampled_from(list(values)))
        cell = values[kind] if draw(st.booleans()) else st.none() | values[kind]
        columns[name] = pa.array(draw(st.lists(cell, min_size=n_rows, max_size=n_rows)), kind)
        specs[name] = ColumnSpec(name=name, role=draw(st.sampled_from(ROLES)))
    columns["last"] = pa.array(range(n_rows))
    specs["last"] = ColumnSpec(name="last", role=Role.SENSITIVE)
    return pa.table(columns), Schema(columns=specs, missing=MISSING)


def unchanged(table, schema):
    return publish(encode(table, schema), Recoding(), [])


def cells_of(table, schema):
    """The cells that are published, in the form in which they can be compared."""
    result = {}
    for name in table.column_names:
        spec, cells = schema.spec(name), table.column(name).to_pylist()
        if spec.role is Role.IDENTIFIER:
            continue
        cells = [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells]
        if spec.role is not Role.OTHER:
            if spec.kind is Kind.SET or is_list(table.column(name).type):  # a missing set is the empty one
                cells = [members(cell, spec.separator) for cell in cells]
            else:
                cells = without_spelling([None if cell in MISSING else cell for cell in cells])
        result[name] = cells
    return result


def members(cell, separator):
    parts = cell.split(separator) if isinstance(cell, str) else cell or []
    return sorted({part.strip() for part in parts if part is not None and part.strip()})


def without_spelling(cells):
    """Numbers instead of text if all cells are such: then 1 and 1.0 are the same."""
    try:
        return [None if cell is None else decimal.Decimal(cell) for cell in cells if not isinstance(cell, bool)]
    except (TypeError, ValueError, decimal.InvalidOperation):
        return cells


FRAMES = {
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "pandas, arrow types": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table: pl.from_arrow(table),
    "polars, lazy": lambda table: pl.from_arrow(table).lazy(),
}


def types_of(frame):
    match frame:
        case pd.DataFrame():
            return dict(frame.dtypes)
        case pl.LazyFrame():
            return dict(frame.collect_schema())
        case pl.DataFrame():
            return dict(frame.schema)
        case _:
            return {field.name: field.type for field in frame.schema}


@pytest.mark.parametrize("kind", FRAMES)
@quick
@given(made=tables())
def test_a_frame_comes_back_as_it_went_in(kind, made):
    table, schema = made
    frame = FRAMES[kind](table)
    found = to_arrow(frame)

    back = like(frame, unchanged(found, schema).table())

    assert type(back) is type(frame)
    assert cells_of(to_arrow(back), schema) == cells_of(found, schema)
    kept = {name: kind for name, kind in types_of(frame).items() if schema.spec(name).role is not Role.IDENTIFIER}
    assert types_of(back) == kept


def rows_of(release):
    """What a release shows in each row, by column; numbers as numbers."""
    shown = {}
    for name, column in release.columns.items():
        if isinstance(column, CodedSets):
            shown[name] = [column.cell(row) for row in range(release.n_rows)]
        else:
            labels = [None if code == column.missing else label for code, label in enumerate(column.labels)]
            shown[name] = without_spelling([labels[code] for code in column.codes])
    return shown


@pytest.mark.parametrize("form", ["csv", "parquet"])
@quick
@given(made=tables())
def test_a_written_release_is_read_back_as_it_was(tmp_path_factory, form, made):
    table, schema = made
    release, folder = unchanged(table, schema), tmp_path_factory.mktemp("release")

    write_release(release, folder, form, missing=MISSING[0])

    for back in (read_release(folder, schema), read_release(folder)):
        assert back.order == release.order
        assert back.n_rows == release.n_rows
        assert rows_of(back) == rows_of(release)
    if form == "parquet":
        written = pq.read_table(folder / "data.parquet")
        assert written.schema.metadata is None
        assert cells_of(written, schema) == cells_of(table, schema)


@st.composite
def csv_files(draw):
    """The header and the records of a CSV file, and a schema for it."""
    width, n_rows = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    kinds = draw(st.lists(st.sampled_from(["text", "number", "set"]), min_size=width, max_size=width))
    cells = {
        "text": texts,
        "number": st.integers(-99, 99).map(str) | st.sampled_from(["", "?", "1.50", "1.5", "+7", "1e3"]),
        "set": st.lists(words, max_size=3).map("|".join),
    }
    rows = draw(st.lists(st.tuples(*(cells[kind] for kind in kinds)), min_size=n_rows, max_size=n_rows))
    names = [f"{kind}, {position}" for position, kind in enumerate(kinds)]
    specs = {
        name: ColumnSpec(
            name=name,
            role=draw(st.sampled_from([Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.OTHER])),
            kind=Kind.SET if kind == "set" else None,
        )
        for name, kind in zip(names, kinds, strict=True)
    }
    return names, rows, Schema(columns=specs, missing=MISSING)


@quick
@given(made=csv_files())
def test_a_csv_file_comes_back_as_it_went_in(tmp_path_factory, made):
    names, rows, schema = made
    folder = tmp_path_factory.mktemp("csv")
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    (folder / "in.csv").write_text(text.getvalue(), encoding="utf-8", newline="")
    table = read_table(Source(folder / "in.csv", separator=","))

    write_release(unchanged(table, schema), folder, "csv", missing=MISSING[0])

    back = read_table(Source(folder / "data.csv", separator=","))
    assert cells_of(back, schema) == cells_of(table, schema)
    # What Python's own reader sees is the same: the file is ordinary CSV.
    seen = list(csv.reader(io.StringIO((folder / "data.csv").read_bytes().decode(), newline="")))
    assert seen[0] == names
    assert [list(row.values()) for row in back.to_pylist()] == seen[1:]


@quick
@given(made=tables(), seed=st.integers(0, 2**32))
def test_shuffling_moves_whole_rows_and_nothing_else(made, seed):
    table, schema = made
    dataset = encode(table, schema)

    plain = publish(dataset, Recoding(), []).table()
    mixed = publish(dataset, Recoding(), [], np.random.default_rng(seed).bytes(32)).table()

    order = mixed.column("last").to_pylist()
    assert mixed.to_pylist() == [plain.to_pylist()[row] for row in order]


@quick
@given(made=tables(), data=st.data())
def test_nothing_of_a_dropped_row_is_left(made, data):
    table, schema = made
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=table.num_rows, max_size=table.num_rows)))

    release = publish(encode(table, schema), Recoding(keep_row=keep), [])

    kept = table.filter(pa.array(keep))
    assert cells_of(release.table(), schema) == cells_of(kept, schema)
    for column in release.table().columns:
        for chunk in column.chunks:
            if pa.types.is_dictionary(chunk.type):
                assert set(chunk.dictionary.to_pylist()) == set(chunk.drop_null().to_pylist())
    for column in release.columns.values():
        used = column.items if isinstance(column, CodedSets) else column.codes
        assert set(used.tolist()) == set(range(len(column.labels)))
