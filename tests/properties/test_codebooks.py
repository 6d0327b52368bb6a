"""The codebook of a table is that of its parts, added up: whoever codes parts codes the whole."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.bins import Bins
from sfumato.data.bit_sets import BitSets
from sfumato.data.builders import Dates, Flat, Given, NestedHierarchy, Prefix, Widths
from sfumato.data.dataset import CodedSets
from sfumato.data.encoding import Codebooks, add_tallies, encode, tally
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError

NUMBERS = ["1", "1.0", "01", "2", "10", "-3", "9007199254740992", "9007199254740993", "9007199254740993.0", "0.5", "?"]
DAYS = ["2024-05-31", "2024-05-31 12:00", "2023-01-01", "2024-02-29", "", "?"]
WORDS = ["a", "b", "c", "é", "B", "", " ", "?", "10"]
JOBS = ["cook", "nurse", "doctor", "?"]
SETS = ["a|b", "b|a", "a||a", "", " b ", "?", "c", "|"]


def text(cells, **spec):
    return st.lists(st.sampled_from([*cells, None]), max_size=12).map(lambda found: pa.array(found, pa.string())), spec


def typed(values, kind, **spec):
    return st.lists(st.none() | values, max_size=12).map(lambda found: pa.array(found, kind)), spec


# Cells as they may come, and what the plan says of them.
COLUMNS = {
    "inferred": text(WORDS),
    "numbers inferred": text(NUMBERS),
    "numbers": text(NUMBERS, kind=Kind.NUMBER),
    "numbers in ranges": text(NUMBERS, kind=Kind.NUMBER, hierarchy=Widths([5, 10])),
    "numbers with gaps": typed(st.integers(-(2**60), 2**60), pa.int64(), hierarchy=Widths([1000])),
    "floats": typed(st.floats(allow_infinity=False, width=32), pa.float64()),
    "bins": text(NUMBERS[:6], bins=Bins.of([-5, 0, 5, 20])),
    "a tree of numbers": text(
        ["1", "1.0", "2", "?"], hierarchy=Given(Hierarchy.from_nested({"few": ["1", "2"], "many": ["3.0", "40"]}))
    ),
    "prefixes": text(WORDS, kind=Kind.CATEGORY, hierarchy=Prefix(1)),
    "flat": text(WORDS, hierarchy=Flat()),
    "a tree": text(JOBS, hierarchy=NestedHierarchy({"health": ["nurse", "doctor"], "food": ["cook", "baker"]})),
    "ordered": text(JOBS, kind=Kind.ORDERED, domain=("nurse", "cook", "doctor", "baker")),
    "dates": text(DAYS, hierarchy=Dates(["month", "year"])),
    "dates inferred": text(DAYS),
    "days": typed(st.dates(datetime.date(2000, 1, 1), datetime.date(2030, 1, 1)), pa.date32()),
    "truth": typed(st.booleans(), pa.bool_()),
    "dictionary": (text(WORDS)[0].map(lambda array: array.dictionary_encode()), {}),
    "sets of text": text(SETS, kind=Kind.SET),
    "sets as lists": typed(st.lists(st.sampled_from(["a", " a", "b", "", None]), max_size=3), pa.list_(pa.string())),
    "items": text(SETS, role=Role.ITEMS, sensitive_items=("a", "z")),
    "randomized": text(SETS, kind=Kind.SET, role=Role.SENSITIVE_QUASI_IDENTIFIER, domain=("c", "b", "a", "z")),
}


def like(column):
    """What can be compared of a column, without its rows."""
    if isinstance(column, CodedSets):
        sensitive = None if column.sensitive is None else column.sensitive.tolist()
        return (column.name, column.role, column.labels, column.separator, sensitive, column.type)
    values = None if column.values is None else [repr(value) for value in column.values.tolist()]
    hierarchy = column.hierarchy and (column.hierarchy.labels, column.hierarchy.parent, column.hierarchy.level)
    tree = column.tree and column.tree.labels
    about = (column.name, column.role, column.kind, column.missing, column.type, column.kind_inferred, column.dates)
    return (*about, column.labels, values, hierarchy, tree)


def refusal(work):
    try:
        work()
    except DataError as error:
        return str(error)
    return None


def rows(column):
    if isinstance(column, CodedSets):
        return [column.cell(row) for row in range(len(column.start) - 1)]
    return column.codes.tolist()


@pytest.mark.parametrize("name", COLUMNS)
@settings(max_examples=25, deadline=None)
@given(data=st.data(), missing=st.sampled_from([("",), ("?", ""), ("?",), ()]))
def test_merged_parts_equal_the_whole(name, data, missing):
    cells, about = COLUMNS[name]
    array = data.draw(cells)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(array)), max_size=3)))
    schema = Schema({"a": ColumnSpec(name="a", **{"role": Role.QUASI_IDENTIFIER, **about})}, missing=missing)
    whole = pa.table({"a": array})
    parts = [whole.slice(start, end - start) for start, end in zip([0, *cuts], [*cuts, len(array)], strict=True)]
    tallies = add_tallies(tally(part, schema) for part in parts)
    refused = refusal(lambda: encode(whole, schema))
    assert refusal(lambda: Codebooks.of(tallies, schema)) == refused
    if refused:
        return
    plain = encode(whole, schema)
    backwards = add_tallies(tally(part, schema) for part in reversed(parts))
    for books in (Codebooks.of(tallies, schema), Codebooks.of(backwards, schema)):
        coded = [books.encode(part).columns["a"] for part in parts]
        assert all(like(part) == like(plain.columns["a"]) for part in coded)
        assert [row for part in coded for row in rows(part)] == rows(plain.columns["a"])
        if not isinstance(coded[0], CodedSets):
            assert (
                books.by_column["a"].counts.tolist()
                == np.bincount(plain.column("a").codes, minlength=len(plain.column("a").labels)).tolist()
            )
        if isinstance(plain.columns["a"], BitSets):
            assert all(part.in_order for part in coded) == plain.columns["a"].in_order


def test_a_value_that_the_codebook_does_not_know_is_counted_and_not_shown():
    schema = Schema(rest=Role.SENSITIVE)
    known = pa.table({"a": ["x", "y"], "s": [["p"], ["q"]]})
    books = Codebooks.of(tally(known, schema), schema)
    for column, odd in (("a", ["x", "Xylophonist"]), ("a", ["x", None]), ("s", [["p"], ["Xylophonist"]])):
        other = known.set_column(known.column_names.index(column), column, [odd])
        with pytest.raises(
            DataError, match=r"Column '.' has 1 distinct \w+\(s\) that its codebook does not know"
        ) as caught:
            books.encode(other)
        assert "Xylophonist" not in str(caught.value)


def test_every_column_that_does_not_fit_is_said_at_once():
    columns = {name: ColumnSpec(name=name, role=Role.SENSITIVE, kind=Kind.NUMBER) for name in "ab"}
    with pytest.raises(DataError) as caught:
        Codebooks.of(tally(pa.table({"a": ["x"], "b": ["y"]}), Schema(columns)), Schema(columns))
    assert "'a' shall hold numbers" in str(caught.value)
    assert "'b' shall hold numbers" in str(caught.value)


def test_parts_without_any_value_fit_every_type_and_others_do_not():
    schema = Schema(rest=Role.QUASI_IDENTIFIER)
    nothing, lists = pa.table({"a": pa.nulls(2)}), pa.table({"a": [["x"], ["y", "x"]]})
    for parts in ([nothing, lists], [lists, nothing]):
        books = Codebooks.of(add_tallies(tally(part, schema) for part in parts), schema)
        assert [len(rows(books.encode(part).columns["a"])) for part in parts] == [2, 2]
    with pytest.raises(DataError, match="disagree about the type of a column: int64 and string"):
        add_tallies(tally(part, schema) for part in (pa.table({"a": [1]}), pa.table({"a": ["1"]})))
    with pytest.raises(DataError, match="disagree about the type of a column: sets of string and string"):
        add_tallies(tally(part, schema) for part in (pa.table({"a": [["1"]]}), pa.table({"a": ["1"]})))
