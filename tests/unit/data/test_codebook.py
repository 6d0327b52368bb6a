"""Codebooks: kinds, orders, hierarchies and missing values, decided from distinct values with their counts."""

import numpy as np
import pyarrow as pa
import pytest

from columns_in_codes import coded, shown
from sfumato.data.builders import Dates, Flat, Given, NestedHierarchy, Prefix, Widths
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.kinds import infer_kind
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, HierarchyError

SECRET = "Xylophonist"


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


def test_a_hierarchy_of_words_for_numbers_is_not_called_empty():
    with pytest.raises(HierarchyError, match="is about 3 words, but the column holds numbers"):
        coded(["1", "2"], hierarchy=NestedHierarchy({"x": ["a", "b"], "y": ["c"]}))


@pytest.mark.parametrize(("role", "visible"), [(Role.QUASI_IDENTIFIER, True), (Role.SENSITIVE, False)])
def test_values_that_a_hierarchy_misses_are_counted(role, visible, monkeypatch):
    monkeypatch.setenv("SFUMATO_SHOW_VALUES", "1")
    with pytest.raises(HierarchyError) as caught:
        coded(["a", SECRET], hierarchy=Given(Hierarchy.flat(["a", "b"])), role=role)
    assert "misses 1 of the 2 values" in str(caught.value)
    assert (SECRET in str(caught.value)) is visible


def test_a_group_of_the_hierarchy_is_no_value():
    with pytest.raises(HierarchyError, match="misses 1 of the 1"):
        coded(["x"], hierarchy=NestedHierarchy({"x": ["a", "b"], "y": ["c"]}))


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
