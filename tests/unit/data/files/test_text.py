"""The bytes of text files: packed or not, read in blocks, reported as progress."""

import gzip
from dataclasses import replace

import pytest

from sfumato.data.files import digest, read_columns, read_digested, read_table, sample, text
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


TEXT = "größe;Straße\n1,80 m;Café „Zoë“ 5 €\n"


@pytest.mark.parametrize(
    ("encoding", "found"),
    [("utf-8-sig", "utf-8"), *((name, name) for name in ("utf-8", "windows-1252", "utf-16", "utf-16-le", "utf-16-be"))],
)
def test_encodings_are_found(tmp_path, encoding, found):
    source = write(tmp_path, "a.csv", TEXT.encode(encoding))
    assert text.encoding_of(source).value == found
    assert cells(read_table(source)) == {"größe": ["1,80 m"], "Straße": ["Café „Zoë“ 5 €"]}


def test_latin_1_is_read_as_windows_1252_which_agrees(tmp_path):
    assert read_columns(write(tmp_path, "a.csv", "größe,b\nx,y\n".encode("latin-1"))) == ["größe", "b"]


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("cp850", "Müller Straße"),
        ("cp1250", "Polska Małgorzata"),
        ("mac-roman", "Müller"),
        ("iso-8859-15", "5 €"),
        ("cp1253", "Γιώργος Παπαδόπουλος"),
        ("gbk", "城市城市城市城市城市城市"),
        ("utf-8", "Zoë"),
    ],
)
def test_what_cannot_be_told_is_asked_for(tmp_path, encoding, words):
    content = f"name,b\n{SECRET} {words},1\n".encode(encoding) + (b"Zo\xeb,2\n" if encoding == "utf-8" else b"")
    source = write(tmp_path, "a.csv", content)
    assert "[source] encoding =" in refusal(source)
    if encoding != "utf-8":
        assert cells(read_table(replace(source, encoding=encoding)))["name"] == [f"{SECRET} {words}"]
    for unknown in ("klingon", "base64"):
        assert f"unknown encoding, '{unknown}'" in refusal(replace(source, encoding=unknown))
    assert "was to be read as utf-16" in refusal(replace(source, encoding="utf-16"))  # which has no mark


@pytest.mark.slow
def test_decoded_files_of_many_blocks_come_out_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 64)
    monkeypatch.setattr(text, "HEAD", 100)
    names = [f"é{row}ü" for row in range(500)]
    lines = "näme;x\n" + "".join(f"{name};y\n" for name in names)
    for encoding in ("windows-1252", "utf-16"):
        source = write(tmp_path, "a.csv", lines.encode(encoding))
        table, sha256 = read_digested(source)
        assert cells(table)["näme"] == names
        assert sha256 == digest(source.path)
        items = write(tmp_path, "a.txt", "é ü\nü\n".encode(encoding))
        assert cells(read_table(items)) == {"items": [["é", "ü"], ["ü"]]}


def test_what_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "MOST_UNPACKED", 1 << 20)
    monkeypatch.setattr(text, "BLOCK", 1 << 16)
    bomb = b"a,b\n" + b"1,2\n" * 2_000_000
    assert "500 times its size" in refusal(write(tmp_path, "a.csv.gz", gzip.compress(bomb)))
    assert "500 times its size" in refusal(write(tmp_path, "a.csv.zst", zstd(bomb)))


def test_whoever_reads_ahead_gets_nothing_more_once_a_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 1 << 12)
    streams, taken = [], []
    real = text.TextBytes._read

    def counting(self, size):
        streams.append(self)
        block = real(self, size)
        taken.append(block.size)
        return block

    monkeypatch.setattr(text.TextBytes, "_read", counting)
    refusal(write(tmp_path, "a.csv", 'a,b\n1,"' + "x\n" * 20_000))
    before = len(taken)
    assert streams[-1].read().size == 0
    assert len(taken) == before
