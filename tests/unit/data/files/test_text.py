"""The bytes of text files: packed or not, read in blocks, reported as progress."""

import gzip

import pytest

from sfumato.data.files import read_columns, read_table, sample, text
from tables_on_disk import SECRET, Watcher, cells, refusal, write, zstd


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.zst", ".CSV.GZ"])
def test_packed_files_are_unpacked(tmp_path, ending):
    pack = gzip.compress if ending.lower().endswith("gz") else zstd
    source = write(tmp_path, "a" + ending, pack(b"a,b\n1,2\n") + pack(b"3,4\n"))
    assert cells(read_table(source)) == {"a": ["1", "3"], "b": ["2", "4"]}
    assert read_columns(source) == ["a", "b"]


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


def test_progress_goes_by_bytes(tmp_path):
    for name, content in {"a.csv": b"a\n1\n2\n", "a.txt": b"1 2\n3\n", "b.csv.gz": gzip.compress(b"a\n1\n")}.items():
        source, watcher = write(tmp_path, name, content), Watcher()
        read_table(source, progress=watcher)
        assert watcher.total == watcher.steps == len(content)
        assert watcher.finished


def test_a_sample_of_a_large_file_is_cheap(tmp_path, monkeypatch):
    source = write(tmp_path, "a.csv", "a,b\n" + f"1,{SECRET}\n" * 400_000)
    monkeypatch.setattr(text, "BLOCK", 1 << 16)
    opened = []
    real = text.TextBytes.read

    def counting(self, size=text.BLOCK):
        block = real(self, size)
        opened.append(block.size)
        return block

    monkeypatch.setattr(text.TextBytes, "read", counting)
    assert sample(source, 10).num_rows == 10
    assert sum(opened) < source.path.stat().st_size
