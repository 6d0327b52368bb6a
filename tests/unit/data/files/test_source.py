"""Paths: what is refused before anything is read, and digests."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.data.files import Source, digest, read_columns, read_table, sample
from sfumato.data.files.source import ignored_keys, needed
from sfumato.errors import DataError
from tables_on_disk import refusal, write


def test_a_missing_file_is_refused(tmp_path):
    assert "no such file" in refusal(Source(tmp_path / "none.csv"))
    for ask in (read_columns, sample):
        with pytest.raises(DataError, match="no such file"):
            ask(Source(tmp_path / "none.csv"))
    with pytest.raises(DataError, match="no such file"):
        digest(tmp_path / "none.csv")


def test_a_missing_file_is_told_from_where_its_path_starts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refusal(Source("none.csv")).endswith("Correct the path, relative to the folder that you are in.")
    assert refusal(Source(tmp_path / "none.csv")).endswith("Correct the path.")
    asked = [{"model": "k-anonymity", "k": 2}]
    columns = {"age": {"role": "quasi-identifier"}}
    plan = sf.Plan.from_dict({"source": {"path": "none.csv"}, "columns": columns, "require": asked}, tmp_path)
    assert refusal(plan.source).endswith("Correct the path, relative to the plan.")
    with pytest.raises(DataError, match="relative to the folder that you are in"):
        sf.draft("none.csv")
    with pytest.raises(DataError, match="relative to the folder that you are in"):
        sf.audit("none.csv", plan)


@pytest.mark.parametrize("name", ["a.docx", "a", "a.parquet.gz", "a.gz", "a.csv.bz2"])
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


@pytest.mark.posix
def test_what_is_no_ordinary_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    assert "no ordinary file" in refusal(Source(tmp_path / "pipe.csv"))


@pytest.mark.no_root
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


@pytest.mark.parametrize(
    ("name", "ignored"),
    [
        ("a.csv", ["sheet", "labels"]),
        ("a.txt", ["header", "header_row", "decimal", "dates", "sheet", "labels"]),
        ("a.xlsx", ["separator", "encoding", "labels"]),
        ("a.dta", ["separator", "header", "header_row", "decimal", "dates", "sheet"]),
        ("a.parquet", ["separator", "encoding", "header", "header_row", "decimal", "dates", "sheet", "labels"]),
    ],
)
def test_each_format_is_written_in_ways_of_its_own(tmp_path, name, ignored):
    source = write(tmp_path, name, "")
    how = {"separator": ";", "encoding": "utf-8", "header": False, "decimal": ",", "dates": "day-month-year"}
    assert ignored_keys(replace(source, **how, header_row=2, sheet="1", labels=False)) == ignored
    assert ignored_keys(source) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import no_such_module_at_all", "not installed"),
        ("raise ImportError('libodbc.so.2: cannot open shared object file')", "libodbc"),
        ("raise OSError('libodbc.so.2: cannot open shared object file')", "does not start"),
    ],
)
def test_a_library_that_is_there_and_does_not_start_is_not_called_missing(tmp_path, monkeypatch, text, said):
    (tmp_path / "a_driver_of_ours.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(DataError, match=said) as refused:
        needed("a_driver_of_ours", Path("database:clinic"))

    assert ("not installed" in str(refused.value)) is (said == "not installed")
