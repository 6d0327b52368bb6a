"""Blanks behind separators: whose they are, and what is left of a file without them."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.files import Source, how_read, read_columns, read_table
from sfumato.data.files import text as text_files
from sfumato.data.files.blanks import Blanks
from tables_on_disk import SECRET, cells, refusal, write

CELL = st.text(st.sampled_from('ab ,"\n5'), max_size=6)


def quoted(cell: str) -> str:
    plain = cell and cell.strip() == cell and not set(cell) & set(',"\n')
    return cell if plain else '"' + cell.replace('"', '""') + '"'


@given(st.lists(st.lists(CELL, min_size=2, max_size=3), min_size=1, max_size=4), st.lists(st.integers(1, 9)))
def test_however_blocks_are_cut_cells_come_out_as_python_reads_them(rows, sizes):
    content = "".join(",  ".join(map(quoted, row)) + "\n" for row in rows).encode()
    blanks, shown, start = Blanks(","), b"", 0
    for size in [*sizes, len(content)]:
        if block := content[start : start + size]:
            shown += blanks.left_out(block)
        start += size
    assert list(csv.reader(io.StringIO(shown.decode(), newline=""))) == rows


def test_quotes_inside_a_cell_are_letters():
    assert Blanks(";").left_out(b'5" pipe; 6"; x\n') == b'5" pipe;6";x\n'


@pytest.mark.parametrize("header", ["age, class, note\n", "age,class,note\n"], ids=["header too", "records only"])
@pytest.mark.parametrize("block", [32, 4 << 20])
def test_blanks_behind_every_separator_are_no_part_of_names_and_cells(tmp_path, monkeypatch, header, block):
    monkeypatch.setattr(text_files, "BLOCK", block)
    source = write(tmp_path, "a.csv", header + '39, State-gov, "x, y"\n40,   Private,\n41, , z w\n' * 40)
    assert cells(read_table(source)) == {
        "age": ["39", "40", "41"] * 40,
        "class": ["State-gov", "Private", ""] * 40,
        "note": ["x, y", "", "z w"] * 40,
    }
    assert {found.key: found.reason for found in how_read(source)}["separator"].endswith(
        "; blanks follow each, and are left out"
    )


def test_they_are_found_without_a_header_and_in_other_encodings(tmp_path):
    for encoding in ("utf-8-sig", "utf-16", "windows-1252"):
        content = "39; Zürich; 1,5\n40; Bern; 2,5\n"
        source = Source(write(tmp_path, "a.csv", content.encode(encoding)).path, header=False)
        assert cells(read_table(source)) == {
            "column_1": ["39", "40"],
            "column_2": ["Zürich", "Bern"],
            "column_3": ["1.5", "2.5"],
        }


@pytest.mark.parametrize(
    "text", ["a,b,c\n1, x,2\n3, y,4\n", "a, b, c\n1,x,y\n", 'a,b\n1," x"\n', "a,b\n1, x\n,\n2,y\n", "a\n x\n"]
)
def test_blanks_before_some_cells_only_stay(tmp_path, text):
    first, *rows = csv.reader(io.StringIO(text))
    source = write(tmp_path, "a.csv", text)
    assert read_columns(source) == first
    assert [list(row.values()) for row in read_table(source).to_pylist()] == rows


def test_a_wrong_record_among_blanks_is_found_on_its_line(tmp_path):
    message = refusal(write(tmp_path, "a.csv", f'a, b\n1, "x,\ny"\n2, {SECRET}, 3\n'))
    assert "The first is on line 4, with 3." in message
