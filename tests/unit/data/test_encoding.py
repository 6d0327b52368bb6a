"""Tables in codes: kinds, orders, missing values, sets, and what does not fit."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data import encoding
from sfumato.data.builders import Dates, Flat, Given, HierarchyFile, NestedHierarchy, Prefix, Widths
from sfumato.data.encoding import carry, encode, encode_column, infer_kind, text_codes, unify
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, HierarchyError

SECRET = "Xylophonist"


def coded(values, kind=None, *, type=None, missing=("",), role=Role.QUASI_IDENTIFIER, **spec):  # noqa: A002
    array = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([pa.array(values, type)])
    return encode_column(array, ColumnSpec(name="a", role=role, kind=kind, **spec), missing)


def shown(column):
    return [column.labels[code] for code in column.codes]


# Tables.


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


# Kinds and orders.


def test_numbers_are_in_order_and_equal_ones_are_one():
    column = coded(["10", "9", "1.0", "1", "01", "-5", "", "1e1"], Kind.NUMBER)
    assert column.labels == ("-5", "1", "9", "10", "")
    assert column.values[:4].tolist() == [-5, 1, 9, 10]
    assert np.isnan(column.values[4])
    assert column.missing == 4
    assert shown(column) == ["10", "9", "1", "1", "1", "-5", "", "10"]


def test_numbers_that_a_float_cannot_tell_apart_stay_apart():
    column = coded(["9007199254740993", "9007199254740992", "9007199254740992.0"])
    assert column.kind is Kind.NUMBER
    assert column.labels == ("9007199254740992", "9007199254740993")
    assert shown(column) == ["9007199254740993", "9007199254740992", "9007199254740992"]


@pytest.mark.parametrize("odd", ["x", "1_000", "inf", "nan", "1e999", "1,5", "0x10", "--1"])
def test_what_is_no_number_is_counted_not_shown(odd):
    with pytest.raises(DataError) as caught:
        coded(["1", "2", odd], Kind.NUMBER)
    assert "1 of its 3 distinct values" in str(caught.value)
    assert odd not in str(caught.value).replace("distinct", "").replace("number", "")[:40]
    assert infer_kind(["1", odd], pa.string()) is Kind.CATEGORY


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["1", "2.5", "-3", "+4", "1e5", ".5", "0"], Kind.NUMBER),
        (["01", "02"], Kind.CATEGORY),
        (["1", "x"], Kind.CATEGORY),
        ([" 1"], Kind.CATEGORY),
        (["٣"], Kind.CATEGORY),
        ([], Kind.CATEGORY),
    ],
)
def test_kinds_are_inferred_with_care(labels, kind):
    assert infer_kind(labels, pa.string()) is kind


def test_categories_are_in_the_order_of_text_or_of_their_hierarchy():
    assert coded(["b", "c", "a", "b"]).labels == ("a", "b", "c")
    tree = NestedHierarchy({"x": ["c", "a"], "y": ["b", "z"]})
    column = coded(["b", "c", "a", None], hierarchy=tree, missing=("?",))
    assert column.labels == ("c", "a", "b", "?")
    assert column.tree.labels == ("c", "a", "b", "?", "x", "y", "*")


def test_ordered_columns_follow_their_domain():
    domain = ("low", "mid", "high")
    assert coded(["high", "low", "high"], Kind.ORDERED, domain=domain).labels == ("low", "high")
    column = coded(
        ["high", "low"],
        Kind.ORDERED,
        domain=domain,
        hierarchy=NestedHierarchy({"top": ["high", "mid"], "rest": ["low"]}),
    )
    assert column.labels == ("low", "high")
    with pytest.raises(HierarchyError, match="reach into one another"):
        coded(
            ["high", "low", "mid"],
            Kind.ORDERED,
            domain=domain,
            hierarchy=NestedHierarchy({"a": ["high", "low"], "b": ["mid"]}),
        )
    with pytest.raises(DataError, match=r"1 distinct .* outside its declared domain of 3"):
        coded(["high", SECRET], Kind.ORDERED, domain=domain)
    with pytest.raises(DataError, match="nothing says in which order"):
        coded(["high"], Kind.ORDERED)


def test_a_number_hierarchy_is_sorted_and_spelled_as_in_the_data():
    tree = Given(Hierarchy.from_nested({"old": ["40", "50"], "young": ["20", "30"], "unknown": ["?"]}))
    column = coded(["50.0", "20", "30"], Kind.NUMBER, hierarchy=tree)
    assert column.labels == ("20", "30", "50.0")
    assert column.hierarchy.leaves == ("20", "30", "40", "50.0")
    with pytest.raises(HierarchyError, match="reach into one another"):
        coded(["1", "2", "3"], hierarchy=Given(Hierarchy.from_nested({"odd": ["1", "3"], "even": ["2", "4"]})))


@pytest.mark.parametrize(("role", "visible"), [(Role.QUASI_IDENTIFIER, True), (Role.SENSITIVE, False)])
def test_values_that_a_hierarchy_misses_are_counted(role, visible):
    with pytest.raises(HierarchyError) as caught:
        coded(["a", SECRET], hierarchy=Given(Hierarchy.flat(["a", "b"])), role=role)
    assert "misses 1 of the 2 values" in str(caught.value)
    assert (SECRET in str(caught.value)) is visible


def test_a_group_of_the_hierarchy_is_no_value():
    with pytest.raises(HierarchyError, match="misses 1 of the 1"):
        coded(["x"], hierarchy=NestedHierarchy({"x": ["a", "b"], "y": ["c"]}))


def test_a_broken_hierarchy_file_is_a_problem_of_the_data(tmp_path):
    with pytest.raises(DataError, match="not found"):
        encode(
            pa.table({"a": ["x"]}),
            Schema(
                columns={"a": ColumnSpec(name="a", role=Role.SENSITIVE, hierarchy=HierarchyFile(tmp_path / "no.csv"))}
            ),
        )


# Missing values.


def test_null_nan_and_markers_are_one_missing_value():
    column = coded(["a", None, "?", "", "b"], missing=("?", ""))
    assert column.labels == ("a", "b", "?")
    assert column.codes.tolist() == [0, 2, 2, 2, 1]
    numbers = coded([1.5, float("nan"), None, 0.0], missing=("?",))
    assert numbers.labels == ("0", "1.5", "?")
    assert numbers.codes.tolist() == [1, 2, 2, 0]


def test_without_markers_null_and_the_empty_text_are_one():
    assert coded(["a", "", None], missing=()).labels == ("a", "")
    column = coded(["a", ""], missing=())
    assert (column.labels, column.missing) == (("", "a"), -1)


@pytest.mark.parametrize("type", [pa.null(), pa.string(), pa.int64(), pa.float64(), pa.date32()])
@pytest.mark.parametrize(
    "hierarchy", [None, Flat(), Widths([5]), Prefix(2), Dates("year"), Given(Hierarchy.flat(["1", "2"]))], ids=repr
)
def test_a_column_may_be_missing_throughout(type, hierarchy):  # noqa: A002
    column = coded([None, None], type=type, hierarchy=hierarchy)
    assert column.labels == ("",)
    assert column.codes.tolist() == [0, 0]
    assert column.missing == 0
    if hierarchy is not None:
        assert column.tree.labels == ("", "*")


def test_an_empty_table_has_empty_columns():
    dataset = encode(
        pa.table({"a": pa.array([], pa.string()), "s": pa.array([], pa.list_(pa.string()))}),
        Schema(rest=Role.SENSITIVE),
    )
    assert dataset.columns["a"].codes.size == 0
    assert dataset.columns["s"].start.tolist() == [0]


# Types.

DAY = datetime.date(2024, 5, 31)


@pytest.mark.parametrize(
    ("array", "labels"),
    [
        (pa.array([3, 1, 3], pa.int8()), ("1", "3")),
        (pa.array([3, 1, 3], pa.uint64()), ("1", "3")),
        (pa.array([0.1, 1e20, 3.0]), ("0.1", "3", "1e+20")),
        (pa.array([1.5, 0.1], pa.float32()), ("0.1", "1.5")),
        (pa.array([True, False]), ("false", "true")),
        (pa.array([DAY]), ("2024-05-31",)),
        (pa.array([datetime.datetime(2024, 5, 31, 12)]), ("2024-05-31 12:00:00.000000",)),
        (pa.array([datetime.time(12, 30)]), ("12:30:00.000000",)),
        (pa.array([decimal.Decimal("1.50")]), ("1.50",)),
        (pa.array([decimal.Decimal("1.50")], pa.decimal32(5, 2)), ("1.50",)),
        (pa.array(["b", "a"], pa.large_string()), ("a", "b")),
        (pa.array(["b", "a"], pa.string_view()), ("a", "b")),
        (pa.array([b"b", b"a"]), ("a", "b")),
        (pa.array(pd.Categorical(["b", "a"], categories=["z", "b", "a"])), ("a", "b")),
        (pa.array(pd.Categorical([20, 3])), ("3", "20")),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["a", "a", None])), ("a", "")),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_every_type_has_labels(array, labels):
    column = coded(pa.chunked_array([array, array[:1]]))
    assert column.labels == labels
    assert len(column.codes) == len(array) + 1


@pytest.mark.parametrize("array", [pa.array([{"x": SECRET}]), pa.array([b"\xff\xfe"])], ids=["struct", "bytes"])
def test_types_without_labels_are_refused(array):
    with pytest.raises(DataError, match="Column 'a': Values of type"):
        coded(pa.chunked_array([array]))


def test_codes_do_not_depend_on_how_a_column_is_cut():
    values = ["b", "a", None, "c", "a", "b"]
    whole = coded(values)
    for kind in (pa.string(), pa.dictionary(pa.int8(), pa.string())):
        pieces = [pa.array(values[at : at + 2], pa.string()) for at in range(0, 6, 2)]
        pieces = [piece.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else piece for piece in pieces]
        cut = coded(pa.chunked_array(pieces))
        assert cut.labels == whole.labels
        assert cut.codes.tolist() == whole.codes.tolist()


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "c", "?", None]), max_size=6), max_size=4),
    st.sampled_from([1, 3, 1 << 20]),
)
def test_text_codes_equal_a_plain_walk(chunks, step):
    array = pa.chunked_array(
        [pa.array(chunk, pa.string()).dictionary_encode() for chunk in chunks], pa.dictionary(pa.int32(), pa.string())
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "_STEP", step)
        codes, labels, has_missing = text_codes(array, ("?",))
    cells = [cell for chunk in chunks for cell in chunk]
    assert [labels[code] if code < len(labels) else None for code in codes] == [
        None if cell == "?" else cell for cell in cells
    ]
    assert set(labels) == set(cells) - {None, "?"}
    assert has_missing == any(cell in (None, "?") for cell in cells)
    assert codes.flags.writeable


def test_many_distinct_numbers_are_coded_at_once():
    values = np.random.default_rng(1).permutation(200_000)
    column = coded(pa.chunked_array([pa.array(values)]))
    assert np.array_equal(column.values[column.codes], values)
    assert column.codes.dtype == np.int32


def test_dictionaries_with_nulls_are_unified():
    shared, places = unify([pa.array(["a", None]), pa.array(["b", "a"])])
    assert [[shared[int(at)].as_py() for at in place] for place in places] == [["a", None], ["b", "a"]]
    assert unify([])[1] == []


def test_carried_text_says_nothing_of_its_order_or_of_what_is_gone():
    array = pa.chunked_array(
        [pa.DictionaryArray.from_arrays(pa.array([3, 1, None], pa.int8()), pa.array(["q", "c", "p", "d"]))]
    )
    carried = carry(array)
    assert carried.to_pylist() == ["d", "c", None]
    assert carried.chunk(0).dictionary.to_pylist() == ["c", "d"]
    assert carry(pa.chunked_array([pa.array(["", None])])).to_pylist() == ["", None]
    assert carry(pa.chunked_array([[1, 2]])).type == pa.int64()
    assert carry(pa.chunked_array([pa.array([5, 6]).dictionary_encode()])).type == pa.int64()
    lists = pa.array([["a"], None]).cast(pa.list_(pa.dictionary(pa.int32(), pa.string())))
    assert carry(pa.chunked_array([lists])).type == pa.large_list(pa.string())


# Sets.


def cells(sets):
    return [sets.cell(row) for row in range(sets.start.size - 1)]


def test_set_cells_are_cut_trimmed_and_sorted():
    sets = coded(["b| a |b", "", None, "?", "c", "|"], Kind.SET, missing=("?", ""), sensitive_items=("c", "z"))
    assert cells(sets) == [("a", "b"), (), (), (), ("c",), ()]
    assert sets.labels == ("a", "b", "c")
    assert sets.sensitive.tolist() == [False, False, True]
    assert coded(["b, a"], Kind.SET, separator=",").labels == ("a", "b")


@pytest.mark.parametrize(
    "type",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_view(pa.string()),
        pa.list_(pa.dictionary(pa.int32(), pa.string())),
    ],
    ids=str,
)
def test_lists_are_sets(type):  # noqa: A002
    values = [["b", "a", "b"], [], None, [None, "", "c", " a"]]
    array = pa.array(values, type)
    sets = coded(pa.chunked_array([array, array[1:]]), role=Role.ITEMS)
    assert cells(sets) == [("a", "b"), (), (), ("a", "c"), (), (), ("a", "c")]
    assert sets.items.dtype == np.int32
    assert sets.start.dtype == np.int64


def test_lists_are_not_single_values():
    with pytest.raises(DataError, match="declared as number but holds lists"):
        coded([["a"]], Kind.NUMBER)
    with pytest.raises(DataError, match="Column 'a'"):
        coded([[{"x": 1}]])


def test_numbers_in_lists_keep_their_type():
    assert coded([[3, 1], [2]]).type == pa.int64()


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.none() | st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=8),
    st.sampled_from([1, 4, 1 << 20]),
)
def test_sets_equal_plain_sets(rows, step):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "_STEP", step)
        listed = coded(pa.chunked_array([pa.array(rows, pa.list_(pa.string()))]), Kind.SET)
        joined = coded(
            pa.chunked_array([pa.array([None if row is None else "|".join(row) for row in rows], pa.string())]),
            Kind.SET,
        )
    plain = [tuple(sorted(set(row or ()))) for row in rows]
    assert cells(listed) == plain
    assert cells(joined) == plain


def test_sorting_the_numbers_of_a_hierarchy_keeps_its_levels():
    given = Hierarchy.from_paths(
        [("1", "a", "A", "*"), ("3", "b", "A", "*"), ("2", "a", "A", "*"), ("9", "z", "Z", "*"), ("8", "y", "Z", "*")]
    )
    spec = ColumnSpec(name="n", role=Role.QUASI_IDENTIFIER, hierarchy=Given(given))

    found = encode(pa.table({"n": [1, 2, 3, 8, 9]}), Schema({"n": spec})).column("n").hierarchy

    assert found is not None
    assert found.leaves == ("1", "2", "3", "8", "9")
    level_of = dict(zip(found.labels, found.level, strict=True))
    assert level_of == dict(zip(given.labels, given.level, strict=True))
