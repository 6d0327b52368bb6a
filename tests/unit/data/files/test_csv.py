"""CSV files, whole and broken: what comes out, and what is said without showing a cell."""

import csv
import io
import time
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.files import Source, digest, how_read, read_columns, read_digested, read_table, sample
from sfumato.data.files import csv as csv_files
from sfumato.data.files import text as text_files
from sfumato.data.files.columns import Texts
from sfumato.errors import DataError
from tables_on_disk import SECRET, cells, refusal, write


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
    source = write(tmp_path, "a.csv", "a,b:c\nx,2:3\n")
    assert read_columns(Source(source.path, separator=":")) == ["a,b", "c"]
    assert cells(read_table(Source(source.path, separator=":"))) == {"a,b": ["x,2"], "c": ["3"]}


@pytest.mark.parametrize("hint", ["sep=;\r\n", "SEP=;\n", '"sep=;"\n'])
def test_the_separator_that_a_first_line_gives_is_taken_and_the_line_is_no_header(tmp_path, hint):
    source = write(tmp_path, "a.csv", "\ufeff" + hint + "a,b;c\nx,2;3\n")
    assert cells(read_table(source)) == {"a,b": ["x,2"], "c": ["3"]}
    assert cells(read_table(replace(source, header=False))) == {"column_1": ["a,b", "x,2"], "column_2": ["c", "3"]}
    assert cells(read_table(replace(source, separator=","))) == {"a": ["x"], "b;c": ["2;3"]}
    assert {found.key: found.reason for found in how_read(source)}["separator"] == (
        "its first line says so, and is left out"
    )
    assert "on line 3, with 1." in refusal(write(tmp_path, "a.csv", f"{hint}a;b\n{SECRET}\n"))
    assert "is empty" in refusal(write(tmp_path, "a.csv", hint))


def test_tabs_separate_the_cells_of_a_tsv_file(tmp_path):
    assert read_columns(write(tmp_path, "a.tsv", "a,b,c\td\n1\t2\n")) == ["a,b,c", "d"]


def test_dropped_columns_are_not_read(tmp_path):
    source = write(tmp_path, "a.csv", b"name,age\n\xff\xfe,39\n")
    assert cells(read_table(source, drop=frozenset({"name", "unknown"}))) == {"age": ["39"]}
    assert "no column left" in refusal(source, drop=frozenset({"name", "age"}))


def test_a_file_of_many_blocks_comes_out_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK", 256)
    rows = [(str(row), f"v{row % 300}", '"x\n"' if row % 7 == 0 else "") for row in range(2000)]
    source = write(tmp_path, "a.csv", "a,b,c\n" + "".join(",".join(row) + "\n" for row in rows))
    table = read_table(source)
    assert table.column("a").to_pylist() == [row[0] for row in rows]
    assert table.column("b").to_pylist() == [row[1] for row in rows]
    assert table.column("c").to_pylist() == [row[2].strip('"') for row in rows]
    assert table.column("b").type.index_type == pa.int16()


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
    source = Source(tmp_path_factory.mktemp("csv") / "a.csv", separator=separator, header=True)  # a cell may be "a"
    source.path.write_bytes(text.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_files, "BLOCK", max(block, 4 * max(len(",".join(row).encode()) + 64 for row in rows)))
        assert [list(row.values()) for row in read_table(source).to_pylist()] == rows


# Files that are wrong.


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
        ("a,b\n1,Xylophonist\n".encode("utf-16")[:-1], "read as utf-16"),
        (b"a,b\n1,2\n1,Xylophonist\xff,3\n", "not UTF-8 text: line 3"),
        (b"a,b;\n1,2;\n" * 2 + b"1,2;Xylophonist\n", "no line of column names"),
        (b"a;b\n" + b"1;2;\n" * 1001 + b"1;2;Xylophonist\n", "a cell behind the last column"),
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


@pytest.mark.parametrize("block", [16, 4 << 20])
@pytest.mark.parametrize("cell", ['"say \\"Xylophonist\\""', '"a \\"b, Xylophonist\\" c"', '"a\n6\\" long"'])
def test_a_quote_behind_a_backslash_is_refused_where_it_would_not_end_its_cell(tmp_path, monkeypatch, cell, block):
    monkeypatch.setattr(text_files, "BLOCK", max(block, 64))
    monkeypatch.setattr(text_files, "SMALL", max(block, 64))
    message = refusal(write(tmp_path, "a.csv", 'a,b\n1,"C:\\"\n' + f"2,{cell}\n" + "3,x\n" * 20))
    assert f"a quote behind a backslash inside a quoted cell, on line {3 + cell.count(chr(10))}," in message


def test_backslashes_at_the_end_of_cells_and_in_plain_ones_are_letters(tmp_path):
    source = write(tmp_path, "a.csv", 'a,b\n"C:\\","x ""\\"" y"\n5\\" pipe,"D:\\"\n"5" pipe",x\n')
    assert cells(read_table(source)) == {"a": ["C:\\", '5\\" pipe', '5 pipe"'], "b": ['x "\\" y', "D:\\", "x"]}


def test_wrong_records_are_not_counted_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "_ENOUGH", 5)
    assert "at least 5 record(s)" in refusal(write(tmp_path, "a.csv", "a,b\n" + "Xylophonist\n" * 50))


def test_a_record_beyond_all_bounds_hints_at_an_open_quote(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK", 64)
    message = refusal(write(tmp_path, "a.csv", "a,b\n1,2\n" + '1,"' + f"{SECRET}\n" * 50))
    assert "never closed" in message


@pytest.mark.parametrize("separator", ["", "::", '"', "\n", "é"])
def test_a_separator_that_cannot_be_is_refused(tmp_path, separator):
    source = write(tmp_path, "a.csv", "a,b\n1,2\n")
    assert "one character" in refusal(Source(source.path, separator=separator))


def test_a_sample_is_the_head_of_the_table(tmp_path):
    source = write(tmp_path, "a.csv", "a,b\n" + "".join(f"{row},{SECRET}\n" for row in range(5000)))
    assert sample(source, 7).column("a").to_pylist() == [str(row) for row in range(7)]
    assert sample(source).num_rows == 1000
    assert sample(write(tmp_path, "b.csv", "a\n1\n"), 7).num_rows == 1


def test_cells_of_sets_keep_the_dictionaries_of_their_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK", 256)
    path = tmp_path / "visits.csv"
    path.write_text(
        "age,symptoms\n" + "".join(f"{row % 7},a{row}|b|c{row % 5}\n" for row in range(200)), encoding="utf-8"
    )
    together, apart = (read_table(Source(path, sets=names)) for names in (frozenset(), frozenset({"symptoms"})))
    assert apart.to_pydict() == together.to_pydict()
    assert together["symptoms"].num_chunks == 1
    assert apart["symptoms"].num_chunks > 3
    assert apart["age"].num_chunks == 1


@pytest.mark.parametrize("text", ["a;b;\n1;2;\n3;;\n", "a;b\n1;2;\n3;;\n"], ids=["header too", "records only"])
def test_a_separator_behind_the_last_cell_belongs_to_nobody(tmp_path, text):
    assert cells(read_table(write(tmp_path, "a.csv", text))) == {"a": ["1", "3"], "b": ["2", ""]}


@pytest.mark.parametrize(
    "text",
    [
        f"{SECRET};1980-12-31;34\nAnn;1981-01-02;35\n",
        f"{SECRET};Rome\n{SECRET};Rome\n",
        "31.12.1980\n01.01.1981\n",
        f"{SECRET};Fulda;m;xy\nAnn;Bonn;w;ab\nEve;Jena;m;cd\n",
        f"{SECRET};E11.9\nAnn;I10.0\n",
        f"{SECRET};ann@a.example\nAnn;bob@long.example\n",
    ],
    ids=["dates and numbers", "again below", "one column", "one cell again", "codes", "addresses"],
)
def test_a_header_that_looks_like_a_record_is_questioned(tmp_path, text):
    source = write(tmp_path, "a.csv", text)
    assert "[source] header = true, or header = false" in refusal(source)
    assert read_columns(replace(source, header=True)) == text.split("\n")[0].split(";")
    read = read_table(replace(source, header=False))
    assert read.column_names == [f"column_{n + 1}" for n in range(read.num_columns)]
    assert read.num_rows == text.count("\n")


def test_a_box_that_is_ticked_with_its_own_name_has_a_header(tmp_path):
    source = write(tmp_path, "a.csv", "age;city;hiv\n34;Rome;hiv\n35;Oslo;\n")
    assert read_columns(source) == ["age", "city", "hiv"]


def test_names_that_are_years_are_questioned_but_words_above_numbers_are_not(tmp_path):
    assert "no line of column names" in refusal(write(tmp_path, "a.csv", "land,2019,2020\nit,1,2\n"))
    assert read_columns(write(tmp_path, "a.csv", "land,y2019,q1\nit,1,2\n")) == ["land", "y2019", "q1"]


def test_lines_above_the_names_of_columns_are_suspected(tmp_path):
    path = tmp_path / "export.csv"
    path.write_text("names\na;b\n" + "1;2\n" * 20, encoding="utf-8")  # or of row names, which have no name

    with pytest.raises(DataError, match="Say which line names the columns"):
        read_table(Source(path))
    assert read_table(Source(path, header_row=2)).column_names == ["a", "b"]


def test_a_record_that_is_longer_than_a_block_is_read_in_larger_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "SMALL", 64)
    long = "x" * 1_000
    source = write(tmp_path, "a.csv", "a,b\n" + "1,2\n" * 100 + f'"{long}\n",3\n' + "4,5\n" * 100)

    table, sha256 = read_digested(source)

    assert cells(table)["a"] == ["1"] * 100 + [f"{long}\n"] + ["4"] * 100
    assert sha256 == digest(source.path)


@pytest.mark.slow
def test_no_more_than_a_few_blocks_are_read_ahead_of_their_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "SMALL", 1 << 10)
    monkeypatch.setattr(text_files, "_PATIENCE", 30)
    read, taken, ahead = [], [], []
    add, next_block = Texts.add, text_files.TextBytes._next

    def slow(texts, chunk):
        time.sleep(0.01)
        taken.append(len(chunk))
        ahead.append(len(read) - len(taken))
        add(texts, chunk)

    monkeypatch.setattr(Texts, "add", slow)
    monkeypatch.setattr(text_files.TextBytes, "_next", lambda self, size: read.append(size) or next_block(self, size))
    table = read_table(write(tmp_path, "a.csv", "a\n" + "12345\n" * 10_000))

    assert table.num_rows == sum(taken) == 10_000
    assert max(ahead[2:]) <= 6  # of some sixty; a few belong to the header


def test_blocks_without_a_record_keep_nobody_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "SMALL", 64)
    monkeypatch.setattr(text_files, "_PATIENCE", 0.001)
    source = write(tmp_path, "a.csv", "a,b\n1,2\n" + "\n" * 5_000 + "3,4\n" + "\n" * 5_000)
    assert cells(read_table(replace(source, header=True))) == {"a": ["1", "3"], "b": ["2", "4"]}
