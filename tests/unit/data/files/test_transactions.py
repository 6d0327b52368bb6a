"""Transaction files: one record a line."""

from dataclasses import replace

import pytest

from sfumato.data.files import Source, read_columns, read_table, sample, text
from tables_on_disk import cells, refusal, write, zstd


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


@pytest.mark.parametrize("separator", ["\t", ";", ",", "|"])
def test_a_table_that_is_called_like_transactions_is_questioned(tmp_path, separator):
    lines = [["name", "age"], ["Xylophonist", "34"], ["Ann Lee", "35"]]
    content = "\r\n".join(map(separator.join, lines)) + "\r\n"
    source = write(tmp_path, "a.txt", content.encode("utf-16"))
    assert '[source] format = "csv" or "transactions"' in refusal(source)
    assert read_columns(replace(source, format="csv")) == ["name", "age"]
    assert read_table(replace(source, format="transactions", separator=separator)).num_rows == 3


@pytest.mark.slow
@pytest.mark.parametrize("block", [5, 64, 4 << 20])
def test_long_lines_and_many_blocks_come_out_whole(tmp_path, monkeypatch, block):
    monkeypatch.setattr(text, "BLOCK", block)
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
    monkeypatch.setattr(text, "HEAD", 8)
    monkeypatch.setattr(text, "BLOCK", 8)
    assert "both blanks and tabs" in refusal(write(tmp_path, "a.txt", "1 2\n" * 9 + "1\t2\n"))
    assert "both blanks and tabs" in refusal(Source(write(tmp_path, "a.txt", "1\t2 3\n").path, separator=" "))
