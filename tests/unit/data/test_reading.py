"""Files in every format, whole and broken: what comes out, and what is said without showing a cell."""

import csv
import gzip
import io
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data import reading
from sfumato.data.reading import Source, digest, read_columns, read_table, sample
from sfumato.errors import DataError

SECRET = "Xylophonist"  # stands in cells; must never stand in a message


def zstd(content: bytes) -> bytes:
    return pa.compress(content, codec="zstd", asbytes=True)


def write(folder: Path, name: str, content: str | bytes) -> Source:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Source(path)


def cells(table: pa.Table) -> dict[str, list[object]]:
    return {name: table.column(name).to_pylist() for name in table.column_names}


def refusal(source: Source, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        read_table(source, **options)
    message = str(caught.value)
    assert SECRET not in message
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert "\n" in message, "a message says what was found and what to do"
    return message


class Watcher:
    """Counts what work says of its progress."""

    def __init__(self) -> None:
        self.total: float | None = None
        self.steps = 0.0
        self.finished = False

    def stage(self, name: str, total: float | None = None) -> "Watcher":
        self.total = total
        return self

    def advance(self, steps: float = 1) -> None:
        self.steps += steps

    def done(self) -> None:
        self.finished = True


# CSV.


def test_cells_of_a_csv_file_stay_text_exactly_as_written(tmp_path):
    source = write(tmp_path, "a.csv", "age,zip,note\n 39,00123,1.50\n40,,é \n")
    table = read_table(source)
    assert cells(table) == {"age": [" 39", "40"], "zip": ["00123", ""], "note": ["1.50", "é "]}
    assert all(pa.types.is_dictionary(kind) for kind in table.schema.types)


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n", "a,b\r\n1,2\r\n", "a,b\n1,2", "\ufeffa,b\n1,2\n", "a,b\r1,2\r", "\n\na,b\n\n1,2\n\n\n"]
)
def test_line_ends_byte_order_marks_and_blank_lines_do_not_matter(tmp_path, text):
    assert cells(read_table(write(tmp_path, "a.csv", text))) == {"a": ["1"], "b": ["2"]}


def test_quoted_cells_hold_separators_quotes_and_line_breaks(tmp_path):
    source = write(tmp_path, "a.csv", 'a,"b, ""c"""\n"x\ny","say ""hi"""\n5" pipe,"1,2"\n')
    assert cells(read_table(source)) == {"a": ["x\ny", '5" pipe'], 'b, "c"': ['say "hi"', "1,2"]}


def test_empty_lines_are_records_of_a_single_column(tmp_path):
    assert cells(read_table(write(tmp_path, "a.csv", 'a\n1\n\n""\n2\n'))) == {"a": ["1", "", "", "2"]}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(tmp_path, separator):
    rows = [["name", "set, of"], ["x", "1;2"], ["y", "3"]]
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows(rows)
    assert cells(read_table(write(tmp_path, "a.csv", text.getvalue()))) == {"name": ["x", "y"], "set, of": ["1;2", "3"]}


def test_a_given_separator_is_taken(tmp_path):
    source = write(tmp_path, "a.csv", "a,b:c\n1,2:3\n")
    assert read_columns(Source(source.path, separator=":")) == ["a,b", "c"]
    assert cells(read_table(Source(source.path, separator=":"))) == {"a,b": ["1,2"], "c": ["3"]}


def test_tabs_separate_the_cells_of_a_tsv_file(tmp_path):
    assert read_columns(write(tmp_path, "a.tsv", "a,b,c\td\n1\t2\n")) == ["a,b,c", "d"]


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.zst", ".CSV.GZ"])
def test_packed_files_are_unpacked(tmp_path, ending):
    pack = gzip.compress if ending.lower().endswith("gz") else zstd
    source = write(tmp_path, "a" + ending, pack(b"a,b\n1,2\n") + pack(b"3,4\n"))
    assert cells(read_table(source)) == {"a": ["1", "3"], "b": ["2", "4"]}
    assert read_columns(source) == ["a", "b"]


def test_dropped_columns_are_not_read(tmp_path):
    source = write(tmp_path, "a.csv", b"name,age\n\xff\xfe,39\n")
    assert cells(read_table(source, drop=frozenset({"name", "unknown"}))) == {"age": ["39"]}
    assert "no column left" in refusal(source, drop=frozenset({"name", "age"}))


def test_a_file_of_many_blocks_comes_out_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_BLOCK", 256)
    rows = [(str(row), f"v{row % 300}", '"x\n"' if row % 7 == 0 else "") for row in range(2000)]
    source = write(tmp_path, "a.csv", "a,b,c\n" + "".join(",".join(row) + "\n" for row in rows))
    table = read_table(source)
    assert table.column("a").to_pylist() == [row[0] for row in rows]
    assert table.column("b").to_pylist() == [row[1] for row in rows]
    assert table.column("c").to_pylist() == [row[2].strip('"') for row in rows]
    assert table.column("b").type.index_type == pa.int16()


def test_progress_goes_by_bytes(tmp_path):
    for name, content in {"a.csv": b"a\n1\n2\n", "a.txt": b"1 2\n3\n", "b.csv.gz": gzip.compress(b"a\n1\n")}.items():
        source, watcher = write(tmp_path, name, content), Watcher()
        read_table(source, progress=watcher)
        assert watcher.total == watcher.steps == len(content)
        assert watcher.finished


@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=6), min_size=3, max_size=3),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from([16, 4 << 20]),
)
def test_what_python_writes_is_what_we_read(tmp_path_factory, rows, separator, block):
    text = io.StringIO()
    csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([["a", "b", "c"], *rows])
    source = Source(tmp_path_factory.mktemp("csv") / "a.csv", separator=separator)
    source.path.write_bytes(text.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_BLOCK", max(block, 4 * max(len(",".join(row).encode()) + 64 for row in rows)))
        assert [list(row.values()) for row in read_table(source).to_pylist()] == rows


# CSV files that are wrong.


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"a,b\n", "no rows"),
        (b"a,b", "no rows"),
        (b"a,b,a\n1,2,3\n", "same name: 'a'"),
        (b"a,,b, \n1,2,3,4\n", "without a name: 2 of 4, the first at position 2"),
        (b"a,b\n1,2\n\nXylophonist\n1,2,3\n", "2 record(s) with more or fewer cells than its header of 2"),
        (b"a,b\n1,2\n\nXylophonist\n1,2,3\n", "The first is on line 4, with 1."),
        (b'a,"b\nc"\n"x\ny",2\nXylophonist,1,2\n', "The first is on line 5, with 3."),
        (b"a\nXylophonist\n\n1,2\n", "The first is on line 4, with 2."),
        (b"a,b\n1,2\n1,Xylophonist\xff\n", "not UTF-8 text: line 3"),
        (b"a\xff,b\n1,2\n", "not UTF-8 text: line 1"),
        (b"a,b\n1,2\nXylophonist,\x00\n", "zero bytes, the first on line 3"),
        ("a,b\n1,Xylophonist\n".encode("utf-16"), "UTF-16"),
        (b'a,b\n1,2\n1,"Xylophonist\n3,4\n', "never closed"),
        (b'a,b\n1,2\n1,"Xylophonist', "never closed"),
        (b'a,b\n1,2\n1,"Xylophonist""', "never closed"),
        (b'a,"b\n1,2\n', "header with a quote"),
    ],
)
def test_a_broken_csv_file_is_refused_without_showing_a_cell(tmp_path, content, said):
    assert said in refusal(write(tmp_path, "a.csv", content))


def test_a_quoted_cell_at_the_end_may_close_in_every_way(tmp_path):
    for end in ['1,"x"', '1,"x"\n', '1,"x"""', '1,""\n', '1,""""\r\n', '1,x"', '1,x""\n']:
        assert read_table(write(tmp_path, "a.csv", "a,b\n" + end)).num_rows == 1


def test_wrong_records_are_not_counted_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_ENOUGH", 5)
    assert "at least 5 record(s)" in refusal(write(tmp_path, "a.csv", "a,b\n" + "Xylophonist\n" * 50))


def test_a_record_beyond_all_bounds_hints_at_an_open_quote(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_BLOCK", 64)
    message = refusal(write(tmp_path, "a.csv", "a,b\n1,2\n" + '1,"' + f"{SECRET}\n" * 50))
    assert "never closed" in message


@pytest.mark.parametrize("separator", ["", "::", '"', "\n", "é"])
def test_a_separator_that_cannot_be_is_refused(tmp_path, separator):
    source = write(tmp_path, "a.csv", "a,b\n1,2\n")
    assert "one character" in refusal(Source(source.path, separator=separator))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 999)[:-12]),
        ("a.csv.gz", b"not gzip"),
        ("a.csv.zst", zstd(b"a,b\n" + b"1,2\n" * 999)[:-6]),
        ("a.txt.gz", gzip.compress(b"1 2\n" * 999)[:-12]),
        ("a.txt.zst", b"not zstd"),
    ],
    ids=["gz cut off", "no gz", "zst cut off", "items cut off", "no zst"],
)
def test_damaged_packed_files_are_refused(tmp_path, name, content):
    assert "damaged or cut off" in refusal(write(tmp_path, name, content))


# Paths.


def test_a_missing_file_is_refused(tmp_path):
    assert "no such file" in refusal(Source(tmp_path / "none.csv"))
    for ask in (read_columns, sample):
        with pytest.raises(DataError, match="no such file"):
            ask(Source(tmp_path / "none.csv"))
    with pytest.raises(DataError, match="no such file"):
        digest(tmp_path / "none.csv")


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.parquet.gz", "a.gz", "a.csv.bz2"])
def test_an_unknown_ending_is_refused(tmp_path, name):
    assert "Known: .csv" in refusal(write(tmp_path, name, "a,b\n1,2\n"))


def test_a_format_can_be_given_for_an_unknown_ending(tmp_path):
    source = write(tmp_path, "a.data", "a,b\n1,2\n")
    assert read_columns(Source(source.path, format="csv")) == ["a", "b"]
    with pytest.raises(DataError, match="Did you mean 'csv'"):
        read_columns(Source(source.path, format="cvs"))


def test_a_folder_needs_parquet_parts(tmp_path):
    assert "no .parquet files" in refusal(Source(tmp_path))
    (tmp_path / "year=2024").mkdir()
    assert "not searched" in refusal(Source(tmp_path))
    with pytest.raises(DataError, match="is a folder"):
        read_table(Source(tmp_path, format="csv"))


def test_what_is_no_ordinary_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    assert "no ordinary file" in refusal(Source(tmp_path / "pipe.csv"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.parquet", "a.arrow"])
def test_a_file_without_permission_is_refused(tmp_path, name):
    source = write(tmp_path, name, "a,b\n1,2\n")
    source.path.chmod(0)
    assert "cannot be read" in refusal(source)


def test_a_digest_follows_content_and_names(tmp_path):
    first, second = write(tmp_path, "a.csv", "x").path, write(tmp_path, "b.csv", "x").path
    assert digest(first) == digest(second) == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "1.parquet").write_bytes(b"x")
    before = digest(folder)
    (folder / "_SUCCESS").write_bytes(b"")
    assert digest(folder) == before
    (folder / "1.parquet").rename(folder / "2.parquet")
    assert digest(folder) != before


# Typed files.

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


def arrow_stream(table: pa.Table, path: Path) -> None:
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def arrow_file(table: pa.Table, path: Path) -> None:
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


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


# Transactions.


@pytest.mark.parametrize(
    ("text", "separator", "records"),
    [
        ("1 2 3\n\n4\n", None, [["1", "2", "3"], [], ["4"]]),
        ("1 2 3 \r\n4", None, [["1", "2", "3"], ["4"]]),
        ("a\tb c\n", "\t", [["a", "b c"]]),
        ("a\tb\nc\n", None, [["a", "b"], ["c"]]),
        ("milk, red wine,,\nbread\n", ",", [["milk", "red wine"], ["bread"]]),
        ("a::b\nb::é\n", "::", [["a", "b"], ["b", "é"]]),
        ("\ufeffa b\n", None, [["a", "b"]]),
        ("\n", None, [[]]),
        ("a\rb c\r", None, [["a"], ["b", "c"]]),
        ("a b", None, [["a", "b"]]),
    ],
)
def test_a_transaction_file_has_one_record_a_line(tmp_path, text, separator, records):
    source = Source(write(tmp_path, "a.txt", text).path, separator=separator)
    assert cells(read_table(source)) == {"items": records}
    assert read_columns(source) == ["items"]


@pytest.mark.parametrize("block", [5, 64, 4 << 20])
def test_long_lines_and_many_blocks_come_out_whole(tmp_path, monkeypatch, block):
    monkeypatch.setattr(reading, "_BLOCK", block)
    records = [[str(item) for item in range(start, start + start % 9)] for start in range(200)]
    records.append([str(item) for item in range(100_000 if block > 5 else 100)])
    source = write(tmp_path, "a.dat.zst", zstd("\n".join(map(" ".join, records)).encode()))
    assert read_table(source).column("items").to_pylist() == records
    assert sample(source, 10).column("items").to_pylist() == records[:10]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"1 2\t3\n", "both blanks and tabs"),
        (b"1\t2\n3 4\n", "both blanks and tabs"),
        (b"1 Xylophonist\xff\n", "not UTF-8 text: line 1"),
        (b"1 2\n1 \x002\n", "zero bytes, the first on line 2"),
    ],
)
def test_a_broken_transaction_file_is_refused(tmp_path, content, said):
    assert said in refusal(write(tmp_path, "a.txt", content))


def test_tabs_found_late_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_HEAD", 8)
    monkeypatch.setattr(reading, "_BLOCK", 8)
    assert "both blanks and tabs" in refusal(write(tmp_path, "a.txt", "1 2\n" * 9 + "1\t2\n"))
    assert "both blanks and tabs" in refusal(Source(write(tmp_path, "a.txt", "1\t2 3\n").path, separator=" "))


# Samples.


def test_a_sample_is_the_head_of_the_table(tmp_path):
    source = write(tmp_path, "a.csv", "a,b\n" + "".join(f"{row},{SECRET}\n" for row in range(5000)))
    assert sample(source, 7).column("a").to_pylist() == [str(row) for row in range(7)]
    assert sample(source).num_rows == 1000
    assert sample(write(tmp_path, "b.csv", "a\n1\n"), 7).num_rows == 1


def test_a_sample_of_a_large_file_is_cheap(tmp_path, monkeypatch):
    source = write(tmp_path, "a.csv", "a,b\n" + f"1,{SECRET}\n" * 400_000)
    monkeypatch.setattr(reading, "_BLOCK", 1 << 16)
    opened = []
    real = reading._Bytes.read

    def counting(self, size=reading._BLOCK):
        block = real(self, size)
        opened.append(block.size)
        return block

    monkeypatch.setattr(reading._Bytes, "read", counting)
    assert sample(source, 10).num_rows == 10
    assert sum(opened) < source.path.stat().st_size
