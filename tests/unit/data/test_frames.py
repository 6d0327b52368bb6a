"""Frames in and out."""

import datetime
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sfumato.data.frames import like, to_arrow
from sfumato.errors import DataError

ROWS = {"age": [31, 42], "job": ["cook", None]}


@pytest.mark.parametrize(
    "frame",
    [pa.table(ROWS), pa.RecordBatch.from_pydict(ROWS), pd.DataFrame(ROWS), pl.DataFrame(ROWS), pl.LazyFrame(ROWS)],
    ids=lambda frame: f"{type(frame).__module__}.{type(frame).__name__}",
)
def test_every_kind_of_frame_goes_in_and_out(frame):
    table = to_arrow(frame)
    assert table.to_pydict() == ROWS
    assert table.schema.metadata is None
    back = like(frame, table)
    assert isinstance(back, pa.Table if isinstance(frame, pa.RecordBatch) else type(frame))
    assert to_arrow(back).to_pydict() == ROWS


@pytest.mark.parametrize("thing", [None, 5, "a.csv", {"a": [1]}, [1, 2], pd.Series([1], name="a")])
def test_what_is_no_frame_is_refused(thing):
    with pytest.raises(DataError, match="A table was expected"):
        to_arrow(thing)


def test_an_index_of_pandas_is_left_out():
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="who"))
    assert to_arrow(frame).column_names == ["a"]


def test_an_index_that_the_plan_names_is_to_become_a_column():
    frame = pd.DataFrame({"who": ["x", "y"], "a": [1, 2]})
    with pytest.raises(DataError, match=r"'who', but it is the index .*\n.*reset_index\(\)"):
        to_arrow(frame.set_index("who"), {"who", "a"})
    assert to_arrow(frame.set_index("who", drop=False), {"who", "a"}).column_names == ["who", "a"]


def test_an_index_of_several_levels_is_never_lost_in_silence():
    with pytest.raises(DataError, match=r"2 levels \(a MultiIndex\).*\n.*reset_index\(\)") as caught:
        to_arrow(pd.DataFrame({"a": ["secret"], "b": ["hidden"], "c": [1]}).set_index(["a", "b"]))
    assert not {"secret", "hidden"} & set(str(caught.value).split())
    with pytest.raises(DataError, match=r"MultiIndex.*\n.*frame.columns = .*reset_index\(\)"):
        to_arrow(pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])))


@pytest.mark.parametrize("name", [None, float("nan"), pd.NA, "", " "])
def test_a_column_of_pandas_without_a_name_is_refused(name):
    with pytest.raises(DataError, match=r"Column number 2 of the frame has no name.*\n.*reset_index\(\)"):
        to_arrow(pd.DataFrame([[1, 2]], columns=["a", name]))


def test_a_column_of_polars_without_a_name_is_refused():
    with pytest.raises(DataError, match="Column number 1 of the frame has no name"):
        to_arrow(pl.DataFrame({"": [1], "a": [2]}))


@pytest.mark.parametrize("file", ["people.csv", Path("people.csv")])
def test_a_file_in_place_of_a_frame_is_told_which_function_reads_files(file):
    with pytest.raises(DataError, match=r"\[source\] path\) and call sf\.run\(plan, out\)"):
        to_arrow(file)


def test_names_become_text_and_must_differ():
    assert to_arrow(pd.DataFrame({0: [1], "b": [2]})).column_names == ["0", "b"]
    with pytest.raises(DataError, match="same name: 'a'"):
        to_arrow(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match="same name: 'a'"):
        to_arrow(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))


def test_a_column_of_several_kinds_is_named_but_not_shown():
    with pytest.raises(DataError) as caught:
        to_arrow(pd.DataFrame({"a": [1, 2], "mixed": ["Xylophonist", 5]}))
    assert "'mixed'" in str(caught.value)
    assert "Xylophonist" not in str(caught.value)


def test_generalized_columns_become_text_and_the_rest_keeps_its_type():
    frame = pd.DataFrame(
        {
            "age": pd.array([31, None], dtype="Int64"),
            "size": pd.array([1, 2], dtype="int8"),
            "job": pd.Categorical(["cook", "nurse"]),
            "day": [datetime.date(2024, 1, 1)] * 2,
        }
    )
    table = to_arrow(frame)
    labels = pa.array(["[30, 39]", "*"]).dictionary_encode()
    back = like(frame, table.set_column(0, "age", labels))
    assert back["age"].tolist() == ["[30, 39]", "*"]
    assert dict(back.dtypes)["size"] == "int8"
    assert isinstance(back["job"].dtype, pd.CategoricalDtype)
    back = like(frame, table.set_column(2, "job", pa.array(["{cook|nurse}", "nurse"]).dictionary_encode()))
    assert back["age"].dtype == "Int64"
    assert back["job"].tolist() == ["{cook|nurse}", "nurse"]

    frame = pl.DataFrame(
        {"age": pl.Series([31, 42], dtype=pl.Int8), "job": pl.Series(["a", "b"], dtype=pl.Categorical)}
    )
    table = to_arrow(frame)
    back = like(frame, table.set_column(0, "age", labels))
    assert dict(back.schema) == {"age": pl.String, "job": pl.Categorical}
    back = like(frame, table.set_column(0, "age", table.column(0).cast(pa.int64())))
    assert back.schema == frame.schema
