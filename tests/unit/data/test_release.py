"""What an outsider gets, and what must not be in it."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.dataset import CodedSets
from sfumato.data.encoding import encode
from sfumato.data.keystream import KEY
from sfumato.data.kinds import typed
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError

TABLE = pa.table(
    {
        "name": ["a", "b", "c", "d"],
        "age": [30, 20, None, 40],
        "terms": [["q", "p"], [], ["r"], ["p"]],
        "note": ["z", "y", "x", "z"],
        "ill": ["flu", "cold", "flu", "gout"],
    }
)
SCHEMA = Schema(
    columns={
        "name": ColumnSpec(name="name", role=Role.IDENTIFIER),
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "terms": ColumnSpec(name="terms", role=Role.ITEMS, sensitive_items=("r",)),
        "note": ColumnSpec(name="note", role=Role.OTHER),
        "ill": ColumnSpec(name="ill", role=Role.SENSITIVE),
    },
    missing=("?",),
)
DATASET = encode(TABLE, SCHEMA)


def published(**recoding):
    return publish(DATASET, Recoding(**recoding), [{"model": "k-anonymity", "k": 2}])


def test_a_release_shows_what_was_not_changed():
    release = published()
    assert release.order == ("age", "terms", "note", "ill")
    assert release.table().to_pydict() == {
        "age": [30, 20, None, 40],
        "terms": [["p", "q"], [], ["r"], ["p"]],
        "note": ["z", "y", "x", "z"],
        "ill": ["flu", "cold", "flu", "gout"],
    }
    assert release.table().schema.field("age").type == pa.int64()
    assert [column.name for column in release.quasi_identifiers] == ["age"]
    assert release.column("ill").spec == SCHEMA.columns["ill"]


def test_publishing_does_not_touch_the_original():
    before = {name: column.codes.copy() for name, column in DATASET.columns.items() if name != "terms"}
    published(keep_row=np.array([True, False, False, False])).table()
    for name, codes in before.items():
        assert DATASET.column(name).codes.tolist() == codes.tolist()


def test_nothing_of_dropped_rows_is_left_not_even_in_a_dictionary():
    release = published(keep_row=np.array([True, False, False, True]))
    assert release.n_rows == 2
    assert release.column("age").labels == ("30", "40")
    assert release.column("age").missing == -1
    assert release.column("ill").labels == ("flu", "gout")
    assert release.sets("terms").labels == ("p", "q")
    assert release.sets("terms").sensitive.tolist() == [False, False]
    assert release.carried.column("note").chunk(0).dictionary.to_pylist() == ["z"]


def test_all_rows_may_be_dropped():
    release = published(keep_row=np.zeros(4, dtype=bool))
    assert release.table().num_rows == 0
    assert release.table().column_names == list(release.order)


def test_new_labels_are_merged_sorted_and_text():
    codes = np.array([0, 1, 2, 3], dtype=np.int32)
    release = published(columns={"age": Labelled(codes=codes, labels=("[20, 30]", "[20, 30]", "?", "*", "unused"))})
    age = release.column("age")
    assert age.labels == ("*", "?", "[20, 30]")
    assert age.missing == 1
    assert release.table().column("age").to_pylist() == ["[20, 30]", "[20, 30]", None, "*"]
    assert age.kind is Kind.NUMBER
    assert pa.types.is_dictionary(release.table().schema.field("age").type)


def test_single_values_may_become_sets():
    sets = CodedSets(
        name="ill",
        role=Role.SENSITIVE,
        items=np.array([0, 1, 1, 2, 0, 2, 0, 1], dtype=np.int32),
        start=np.array([0, 2, 4, 6, 8]),
        labels=("gout", "flu", "cold"),  # in the order of the domain
    )
    release = published(columns={"ill": sets}, public={"ill": {"domain": ["gout", "flu", "cold"], "eta": 2}})
    assert release.table().column("ill").to_pylist()[0] == ["gout", "flu"]
    assert release.description["columns"]["ill"] == {
        "role": "sensitive",
        "kind": "set",
        "separator": "|",
        "domain": ["gout", "flu", "cold"],
        "eta": 2,
    }


def test_the_description_names_columns_and_models():
    assert published().description == {
        "format": 1,
        "rows": 4,
        "missing": "?",
        "columns": {
            "age": {"role": "quasi-identifier", "kind": "number"},
            "terms": {"role": "items", "kind": "set", "separator": "|"},
            "note": {"role": "other"},
            "ill": {"role": "sensitive", "kind": "category"},
        },
        "models": [{"model": "k-anonymity", "k": 2}],
    }


def test_the_order_of_rows_is_random_and_repeatable():
    orders = {
        tuple(publish(DATASET, Recoding(), [], bytes([seed]) * KEY).table().column("ill").to_pylist())
        for seed in range(30)
    }
    assert len(orders) > 5
    one, two = (publish(DATASET, Recoding(), [], bytes([7]) * KEY).table() for _ in range(2))
    assert one.equals(two)


def test_a_table_of_any_tool_can_be_a_release():
    table = pa.table({"age": ["[20, 30]", "*", "?"], "terms": ["p|q", "", "p"], "ill": ["flu", "flu", None]})
    release = Release.from_table(table, SCHEMA)
    assert release.column("age").labels == ("[20, 30]", "*", "?")
    assert release.column("age").missing == 2
    assert release.sets("terms").cell(0) == ("p", "q")
    assert release.column("ill").labels == ("flu", "?")
    assert Release.from_table(TABLE, SCHEMA).order == ("age", "terms", "note", "ill")  # identifiers are not looked at


def test_a_table_that_does_not_fit_the_plan_is_no_release():
    with pytest.raises(DataError) as caught:
        Release.from_table(pa.table({"age": [1], "job": ["cook"]}), SCHEMA)
    assert "lacks 2 column(s) of the plan: 'ill', 'terms'" in str(caught.value)
    assert "It has: 'age', 'job'." in str(caught.value)
    with pytest.raises(DataError, match="same name"):
        Release.from_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["age", "age"]), SCHEMA)


def test_columns_are_asked_for_by_name_and_kind():
    release = published()
    with pytest.raises(DataError, match="holds sets"):
        release.column("terms")
    with pytest.raises(DataError, match="holds single values"):
        release.sets("ill")
    with pytest.raises(DataError, match="is not in it"):
        release.column("nobody")
    with pytest.raises(DataError, match="is not in it"):
        release.sets("nobody")


def test_parts_of_a_release_make_up_the_whole():
    release = published()
    parts = list(release.batches(3))
    assert [part.num_rows for part in parts] == [3, 1]
    assert pa.concat_tables(parts).to_pydict() == release.table().to_pydict()


@pytest.mark.parametrize(
    ("cells", "kind", "numbers"),
    [
        (["1", "+2", ""], pa.int64(), [1, 2, None]),
        (["1.5", "2", "2"], pa.float64(), [1.5, 2, 2]),
        (["1", "[2, 3]"], None, ["1", "[2, 3]"]),
        (["12345678901234567891", "12345678901234567892"], None, ["12345678901234567891", "12345678901234567892"]),
    ],
)
def test_numbers_that_came_as_text_can_become_numbers(cells, kind, numbers):
    schema = Schema(columns={"a": ColumnSpec(name="a", role=Role.SENSITIVE, kind=Kind.NUMBER)})
    release = Release.from_table(pa.table({"a": cells}), schema)
    (table,) = release.batches(10, numbers=True)
    assert table.column("a").to_pylist() == numbers
    assert kind is None or table.schema.field("a").type == kind
    assert release.table().column("a").to_pylist() == [cell or None for cell in cells]


@pytest.mark.parametrize(
    "array",
    [
        pa.array([datetime.time(1, 2, 3, 4)]),
        pa.array([datetime.time(1, 2, 3)], pa.time32("ms")),
        pa.array([1], pa.time64("ns")),
        pa.array([datetime.timedelta(days=1, microseconds=5)]),
        pa.array([1.5], pa.float16()),
        pa.array([True]),
        pa.array([2**64 - 1], pa.uint64()),
        pa.array([12345], pa.timestamp("ns", "Europe/Rome")),
    ],
    ids=lambda array: str(array.type),
)
def test_labels_become_values_of_their_type_again(array):
    column = encode(pa.table({"a": array}), Schema(rest=Role.SENSITIVE)).column("a")
    assert typed(column.labels, column.type).equals(array)


def test_a_column_that_is_missing_throughout_is_published():
    for kind in (pa.null(), pa.string(), pa.int64(), pa.date32()):
        table = pa.table({"a": pa.nulls(2, kind), "b": [1, 2]})
        release = publish(encode(table, Schema(rest=Role.SENSITIVE)), Recoding(), [])
        assert release.table().to_pydict() == table.to_pydict()
        assert release.table().schema.field("a").type == (
            pa.dictionary(pa.int32(), pa.string()) if kind == pa.string() else kind
        )


def test_labels_of_a_column_that_is_missing_throughout_show_nothing_either():
    dataset = encode(pa.table({"a": pa.nulls(2), "b": [1, 2]}), Schema(rest=Role.SENSITIVE))
    (nothing,) = dataset.column("a").labels

    shown = publish(dataset, Recoding(columns={"a": Labelled(np.zeros(2, np.int32), (nothing,))}), [])

    assert shown.column("a").missing == 0
