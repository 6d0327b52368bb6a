"""Parquet and Arrow files, whole and broken."""

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from sfumato.data.files import Source, read_columns, read_table, sample
from sfumato.data.files.typed import read_row_groups, row_groups
from sfumato.errors import DataError
from tables_on_disk import SECRET, Watcher, arrow_file, arrow_stream, cells, mutants_refused, refusal, write

TYPED = pa.table(
    {
        "text": ["a", None, "b", "a"],
        "code": pa.array(["x", "y", "x", None]).dictionary_encode(),
        "age": [1, 2, None, 4],
        "weight": [0.5, None, 1.5, 2.0],
        "terms": [["p", "q"], [], None, ["q"]],
        "nothing": pa.nulls(4),
        "long": pa.array(["a", "b", "c", "d"], pa.large_string()),
    }
)


@pytest.mark.parametrize(
    ("name", "write_to"),
    [
        ("a.parquet", lambda table, path: pq.write_table(table, path, row_group_size=3)),
        ("a.arrow", arrow_stream),
        ("a.arrow", arrow_file),
        ("a.feather", feather.write_feather),
    ],
)
def test_typed_files_keep_their_types(tmp_path, name, write_to):
    write_to(TYPED, tmp_path / name)
    source = Source(tmp_path / name)
    table = read_table(source, drop=frozenset({"weight"}))
    assert cells(table) == cells(TYPED.drop_columns(["weight"]))
    assert table.schema.field("age").type == pa.int64()
    assert all(pa.types.is_dictionary(table.schema.field(column).type) for column in ("text", "code", "long"))
    assert read_columns(source) == TYPED.column_names
    assert cells(sample(source, 2)) == cells(TYPED.slice(0, 2))


def test_a_folder_of_parts_is_one_table_in_the_order_of_names(tmp_path):
    pq.write_table(pa.table({"a": [3], "b": ["z"]}), tmp_path / "part-2.parquet")
    pq.write_table(pa.table({"b": ["x", "y"], "a": pa.array([1, 2], pa.int8())}), tmp_path / "part-1.parquet")
    pq.write_table(pa.table({"a": pa.nulls(1), "b": pa.nulls(1)}), tmp_path / "part-3.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part.parquet").write_bytes(b"hidden")
    watcher = Watcher()
    table = read_table(Source(tmp_path), progress=watcher)
    assert cells(table) == {"b": ["x", "y", "z", None], "a": [1, 2, 3, None]}
    assert watcher.steps == pytest.approx(watcher.total)


def test_lists_of_dictionaries_in_several_row_groups_are_read(tmp_path):
    words = pa.array([["a", "b"], ["b"], [], ["c"], ["a"]], pa.list_(pa.string()))
    coded = pa.ListArray.from_arrays(words.offsets, words.values.dictionary_encode())
    pq.write_table(pa.table({"words": coded, "row": range(5)}), tmp_path / "t.parquet", row_group_size=2)
    assert read_table(Source(tmp_path / "t.parquet")).column("words").to_pylist() == words.to_pylist()


def test_pieces_are_row_groups_together_and_a_table_without_rows_has_none(tmp_path):
    pq.write_table(pa.table({"row": range(5)}), tmp_path / "t.parquet", row_group_size=1)
    found = row_groups(tmp_path / "t.parquet", (), 2)

    assert [(first, last) for _, first, last in found.places] == [(0, 2), (2, 4), (4, 5)]
    assert [read_row_groups(found, number).column("row").to_pylist() for number in range(3)] == [[0, 1], [2, 3], [4]]
    pq.write_table(pa.table({"row": range(0)}), tmp_path / "none.parquet")
    with pytest.raises(DataError, match="no rows"):
        row_groups(tmp_path / "none.parquet", (), 2)


def test_parts_that_do_not_fit_together_are_refused(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": [1]}), tmp_path / "2.parquet")
    assert "different columns" in refusal(Source(tmp_path))
    pq.write_table(pa.table({"a": [SECRET]}), tmp_path / "2.parquet")
    assert "disagree about the type of column 'a': 'int64', 'string'" in refusal(Source(tmp_path))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + SECRET.encode() * 9 + b"PAR1", b"a,b\n1,2\n"])
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
def test_broken_typed_files_are_refused(tmp_path, name, content):
    assert "damaged or cut off" in refusal(write(tmp_path, name, content))


def test_a_typed_file_cut_off_in_the_middle_is_refused(tmp_path):
    table = pa.table({"a": [SECRET * 20] * 100, "b": list(range(100))})
    arrow_stream(table, tmp_path / "a.arrow")
    whole = (tmp_path / "a.arrow").read_bytes()
    assert "damaged" in refusal(write(tmp_path, "a.arrow", whole[: len(whole) // 2]))
    pq.write_table(table, tmp_path / "a.parquet", compression="none", use_dictionary=False)
    damaged = bytearray((tmp_path / "a.parquet").read_bytes())
    damaged[4:400] = b"\xff" * 396
    assert "damaged" in refusal(write(tmp_path, "a.parquet", bytes(damaged)))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_typed_files_without_rows_or_with_unclear_names_are_refused(tmp_path, name):
    write_to = pq.write_table if name == "a.parquet" else arrow_stream
    write_to(TYPED.slice(0, 0), tmp_path / name)
    assert "no rows" in refusal(Source(tmp_path / name))
    write_to(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / name)
    assert "same name" in refusal(Source(tmp_path / name))
    write_to(pa.Table.from_arrays([pa.array([1])], names=[""]), tmp_path / name)
    assert "without a name" in refusal(Source(tmp_path / name))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "write_to"),
    [
        ("a.parquet", pq.write_table),
        ("a.arrow", arrow_stream),
        ("b.arrow", arrow_file),
        ("a.feather", feather.write_feather),
    ],
)
def test_flipped_bits_never_end_the_process(tmp_path, name, write_to):
    table = pa.table(
        {
            "name": [f"n{row}" for row in range(60)],
            "city": pa.array(["Rome", "Oslo", None] * 20).dictionary_encode(),
            "age": list(range(60)),
            "terms": [["p", "q"], [], None] * 20,
        }
    )
    write_to(table, tmp_path / name)
    assert mutants_refused(tmp_path / name, 60) > 30
