"""Tables that are digested while they are read: the digest is that of the bytes on disk."""

import gzip
import threading

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from sfumato.data import files
from sfumato.data.files import Source, digest, read_digested, read_table, text
from sfumato.errors import DataError
from tables_on_disk import arrow_file, arrow_stream, cells, write, zstd

TABLE = pa.table({"a": [str(row) for row in range(500)], "b": ["x", "y"] * 250})
LINES = b"a,b\n" + b"".join(b"%d,x\n" % row for row in range(500))


def folder_of_parts(table, path):
    path.mkdir()
    pq.write_table(table.slice(0, 200), path / "1.parquet")
    pq.write_table(table.slice(200), path / "2.parquet")


SOURCES = {
    "a.csv": lambda path: path.write_bytes(LINES),
    "b.csv": lambda path: path.write_bytes(b"\xef\xbb\xbf" + LINES.rstrip()),
    "a.csv.gz": lambda path: path.write_bytes(gzip.compress(LINES) + gzip.compress(b"1,2\n")),
    "a.csv.zst": lambda path: path.write_bytes(zstd(LINES)),
    "a.txt": lambda path: path.write_bytes(b"1 2 3\n4\n" * 50),
    "a.dat.gz": lambda path: path.write_bytes(gzip.compress(b"1 2 3\n4\n" * 50)),
    "a.parquet": lambda path: pq.write_table(TABLE, path),
    "parts": lambda path: folder_of_parts(TABLE, path),
    "a.arrow": lambda path: arrow_file(TABLE, path),
    "b.arrow": lambda path: arrow_stream(TABLE, path),
    "a.feather": lambda path: feather.write_feather(TABLE, path),
}


@pytest.mark.slow
@pytest.mark.parametrize("block", [16, 4 << 20])
@pytest.mark.parametrize("name", SOURCES)
def test_table_and_digest_are_those_of_the_file(tmp_path, monkeypatch, name, block):
    SOURCES[name](tmp_path / name)
    monkeypatch.setattr(text, "BLOCK", max(block, 64 if "csv" in name else 0))
    source = Source(tmp_path / name)
    table, sha256 = read_digested(source)
    assert sha256 == digest(tmp_path / name)
    assert cells(table) == cells(read_table(source))


def test_bytes_of_dropped_columns_count(tmp_path):
    for name in ("a.csv", "a.parquet"):
        SOURCES[name](tmp_path / name)
        assert read_digested(Source(tmp_path / name), drop=frozenset({"a"}))[1] == digest(tmp_path / name)


@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.parquet", "parts", "a.arrow"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, name):
    SOURCES[name](tmp_path / name)
    real = files._read

    def slow(asked):
        table = real(asked)
        changed = tmp_path / name / "2.parquet" if name == "parts" else tmp_path / name
        changed.write_bytes(changed.read_bytes() + b"more")
        return table

    monkeypatch.setattr(files, "_read", slow)
    with pytest.raises(DataError, match="changed while it was read"):
        read_digested(Source(tmp_path / name))


def test_a_broken_file_ends_the_digest_beside_it(tmp_path, monkeypatch):
    stopped = threading.Event()

    def waits(path, stop):
        assert stop.wait(60)
        stopped.set()

    monkeypatch.setattr(files, "digest", waits)
    with pytest.raises(DataError, match="damaged or cut off"):
        read_digested(write(tmp_path, "a.parquet", b"PAR1"))
    assert stopped.is_set()
