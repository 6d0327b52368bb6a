"""Releases on disk: bytes as they should be, and read back."""

import errno
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.data.dataset import CodedSets
from sfumato.data.encoding import encode
from sfumato.data.files import Source, csv_release, digest
from sfumato.data.files import release as release_files
from sfumato.data.files.csv_release import quoted
from sfumato.data.files.release import read_release, write_release
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.disk import atomic_folder
from sfumato.errors import DataError, OutputError

SCHEMA = Schema(
    columns={
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "terms": ColumnSpec(name="terms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
        "note": ColumnSpec(name="note", role=Role.OTHER),
    },
    missing=("?",),
)
TABLE = pa.table({"age": ["30", "?", "20"], "terms": ["q|p", "", "r"], "note": ["x, y", None, ' "z"']})
RELEASE = publish(encode(TABLE, SCHEMA), Recoding(), [{"model": "k-anonymity", "k": 2}])


def of(table, **specs):
    """A release of a table as it is; columns are sensitive unless said otherwise."""
    columns = {name: specs.get(name) or ColumnSpec(name=name, role=Role.SENSITIVE) for name in table.column_names}
    return publish(encode(table, Schema(columns=columns, missing=("?",))), Recoding(), [])


def csv_of(release, folder, missing="?"):
    write_release(release, folder, "csv", missing=missing)
    return (folder / "data.csv").read_bytes().decode()


class Watcher:
    """Listens to how writing goes on."""

    def stage(self, name, total=None):
        self.steps, self.total, self.finished = [], total, False
        return self

    def advance(self, steps=1):
        self.steps.append(steps)

    def done(self):
        self.finished = True


# CSV.


def test_cells_are_quoted_where_they_have_to_be(tmp_path):
    assert csv_of(RELEASE, tmp_path) == 'age,terms,note\n30,p|q,"x, y"\n?,,?\n20,r," ""z"""\n'


def test_names_are_quoted_too(tmp_path):
    assert csv_of(of(pa.table({"a,b": ["1"], ' "c"': ["2"]})), tmp_path).splitlines()[0] == '"a,b"," ""c"""'


def test_the_empty_text_is_a_value_where_it_is_not_missing(tmp_path):
    text = csv_of(of(pa.table({"a": ["", None, "x"], "b": ["1", "2", "3"]})), tmp_path)
    assert text == 'a,b\n"",1\n?,2\nx,3\n'
    back = read_release(tmp_path, Schema(rest=Role.SENSITIVE, missing=("?",))).column("a")
    assert [back.labels[code] for code in back.codes] == ["", "?", "x"]
    assert back.labels[back.missing] == "?"


@pytest.mark.parametrize("kind", [None, Kind.SET])
def test_a_single_column_has_no_empty_lines(tmp_path, kind):
    schema = Schema(columns={"a": ColumnSpec(name="a", role=Role.SENSITIVE, kind=kind)})
    release = publish(encode(pa.table({"a": ["", "x", ""]}), schema), Recoding(), [])
    assert csv_of(release, tmp_path, missing="") == 'a\n""\nx\n""\n'
    assert read_release(tmp_path, schema).n_rows == 3


@pytest.mark.parametrize("separator", ["|", ",", '"', " ", "; "])
def test_set_cells_are_joined_in_the_order_of_labels(tmp_path, separator):
    spec = ColumnSpec(name="a", role=Role.ITEMS, kind=Kind.SET, separator=separator)
    table = pa.table({"a": [["c", "a"], [], ["x\ny", 'q"' if separator != '"' else "q"]], "b": ["1", "2", "3"]})
    release = of(table, a=spec)
    write_release(release, tmp_path, "csv")
    back = read_release(tmp_path).sets("a")
    assert [back.cell(row) for row in range(3)] == [release.sets("a").cell(row) for row in range(3)]
    assert back.separator == separator


def test_a_member_that_holds_the_separator_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"Column 'a' has 1 member\(s\) that contain '\|'"):
        csv_of(of(pa.table({"a": [["x|y", "z"]]})), tmp_path)


def test_carried_columns_of_every_type_are_shown(tmp_path):
    other = {name: ColumnSpec(name=name, role=Role.OTHER) for name in "abcdef"}
    table = pa.table(
        {
            "a": [1.5, None],
            "b": [True, False],
            "c": pa.array([0, 86_400_000_000], pa.timestamp("us")),
            "d": [["x", "y,z"], None],
            "e": pa.chunked_array([['say "hi"'], ["p"]]),
            "f": [b"raw", b"by,te"],
            "g": ["1", "2"],
        }
    )
    text = csv_of(of(table, **other), tmp_path)
    assert text.splitlines()[1:] == [
        '1.5,true,1970-01-01 00:00:00.000000,"x|y,z","say ""hi""",raw,1',
        '?,false,1970-01-02 00:00:00.000000,?,p,"by,te",2',
    ]


def test_a_type_that_csv_cannot_show_is_refused(tmp_path):
    table = pa.table({"a": [{"x": 1}], "b": ["1"]})
    with pytest.raises(DataError, match="Column 'a' holds values of type struct"):
        csv_of(of(table, a=ColumnSpec(name="a", role=Role.OTHER)), tmp_path)


def test_large_releases_are_written_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(release_files, "_ROWS", 7)
    monkeypatch.setattr(csv_release, "_ROWS", 7)
    monkeypatch.setattr(csv_release, "_MEMBERS", 20)
    rows = [{"a": str(row), "s": [str(item) for item in range(row % 9)], "o": f"n{row}"} for row in range(100)]
    release = of(pa.Table.from_pylist(rows), o=ColumnSpec(name="o", role=Role.OTHER))
    for form in ("csv", "parquet"):
        folder = tmp_path / form
        folder.mkdir()
        watcher = Watcher()
        write_release(release, folder, form, progress=watcher)
        assert watcher.total == sum(watcher.steps) == 100
        assert len(watcher.steps) > 10
        assert watcher.finished
        back = read_release(folder)
        assert [back.sets("s").cell(row) for row in range(100)] == [tuple(row["s"]) for row in rows]
        assert back.carried.column("o").to_pylist() == [row["o"] for row in rows]


def test_quotes_are_put_only_where_needed():
    for text in ("a", "a b", "é", "[20", "1.5", "it's", "a;b", "#"):
        assert quoted(text) == text
    for text in ("", " a", "a ", "a,b", 'a"b', "a\nb", "a\rb", "\ta", "\u00a0"):
        assert quoted(text) == '"' + text.replace('"', '""') + '"'


# Parquet.


def test_a_parquet_release_holds_types_and_nothing_of_the_original(tmp_path):
    table = TABLE.replace_schema_metadata({"pandas": '{"index": "Xylophonist"}'})
    codes = np.array([0, 1, 0], dtype=np.int32)
    recoding = Recoding(columns={"age": Labelled(codes=codes, labels=("[20, 30]", "?"))})
    write_release(publish(encode(table, SCHEMA), recoding, []), tmp_path, "parquet", missing="?")
    assert b"Xylophonist" not in (tmp_path / "data.parquet").read_bytes()
    written = pq.read_table(tmp_path / "data.parquet")
    assert written.to_pydict() == {
        "age": ["[20, 30]", None, "[20, 30]"],
        "terms": [["p", "q"], [], ["r"]],
        "note": ["x, y", None, ' "z"'],
    }
    assert pa.types.is_dictionary(written.schema.field("age").type)
    write_release(RELEASE, tmp_path, "parquet", missing="?")
    assert pq.read_table(tmp_path / "data.parquet").column("age").to_pylist() == [30, None, 20]


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(OutputError, match="formats are csv, parquet, excel"):
        write_release(RELEASE, tmp_path, "xlsx")


# The description.


def test_the_description_is_written_beside_the_data(tmp_path):
    digests = write_release(RELEASE, tmp_path, "csv", missing="?")
    found = json.loads((tmp_path / "release.json").read_text(encoding="utf-8"))
    assert found == {**RELEASE.description, "missing": "?", "files": {"data.csv": digest(tmp_path / "data.csv")}}
    assert digests == {name: digest(tmp_path / name) for name in ("data.csv", "release.json")}


def test_a_release_of_another_tool_gets_a_description_too(tmp_path):
    release = Release.from_table(TABLE, SCHEMA)
    write_release(release, tmp_path, "csv", missing="?")
    assert json.loads((tmp_path / "release.json").read_text(encoding="utf-8"))["columns"]["terms"] == {
        "role": "quasi-sensitive",
        "kind": "set",
        "separator": "|",
    }


def test_numbers_of_all_kinds_can_stand_in_a_description(tmp_path):
    models = [{"t": Fraction(1, 3), "k": np.int64(5), "x": np.array([1.5]), "s": {"b", "a"}, "p": Path("q")}]
    release = publish(encode(TABLE, SCHEMA), Recoding(), models)
    write_release(release, tmp_path, "csv")
    described = json.loads((tmp_path / "release.json").read_text(encoding="utf-8"))["models"][0]
    assert described == {"t": "1/3", "k": 5, "x": [1.5], "s": ["a", "b"], "p": "q"}
    with pytest.raises(TypeError, match="cannot hold a object"):
        write_release(publish(encode(TABLE, SCHEMA), Recoding(), [{"x": object()}]), tmp_path, "csv")


# Reading back.


def test_a_release_is_found_by_each_of_its_names(tmp_path):
    folder = tmp_path / "run" / "release"
    folder.mkdir(parents=True)
    write_release(RELEASE, folder, "csv", missing="?")
    for path in (tmp_path / "run", folder, folder / "data.csv"):
        release = read_release(path, SCHEMA)
        assert release.description["rows"] == 3
        assert release.sets("terms").cell(0) == ("p", "q")


def test_a_file_of_any_tool_is_read_by_the_plan(tmp_path):
    (tmp_path / "other.csv").write_text("age;terms;note\n[20, 30];p|q;x\n?;;y\n", encoding="utf-8")
    release = read_release(tmp_path / "other.csv", SCHEMA)
    assert release.column("age").labels == ("[20, 30]", "?")
    assert release.description == {}
    (tmp_path / "other.csv").write_text("age:terms:note\n20:p:x\n", encoding="utf-8")
    assert read_release(tmp_path / "other.csv", SCHEMA, like=Source(tmp_path, ":")).column("age").labels == ("20",)
    # Another tool need not separate as the source does.
    (tmp_path / "other.csv").write_text("age,terms,note\n20,p,x\n", encoding="utf-8")
    assert read_release(tmp_path / "other.csv", SCHEMA, like=Source(tmp_path, ";")).column("age").labels == ("20",)
    (tmp_path / "other.csv").write_text('"age","größe"\n20,"1,5"\n', encoding="utf-8")  # nor be written in its bytes
    like = Source(tmp_path, ";", encoding="windows-1252")
    wide = Schema(columns={name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER) for name in ("age", "größe")})
    assert read_release(tmp_path / "other.csv", wide, like=like).column("größe").labels == ("1.5",)
    with pytest.raises(DataError, match=r"no release.json"):
        read_release(tmp_path / "other.csv")
    (tmp_path / "items.txt").write_text("a b\nc\n", encoding="utf-8")
    items = Schema(columns={"items": ColumnSpec(name="items", role=Role.ITEMS)})
    assert read_release(tmp_path / "items.txt", items).sets("items").cell(0) == ("a", "b")


def test_a_randomized_column_is_read_as_sets(tmp_path):
    schema = Schema(columns={"job": ColumnSpec(name="job", role=Role.SENSITIVE_QUASI_IDENTIFIER)})
    sets = CodedSets(
        name="job",
        role=Role.SENSITIVE_QUASI_IDENTIFIER,
        items=np.array([0, 1, 1, 2], dtype=np.int32),
        start=np.array([0, 2, 4]),
        labels=("cook", "nurse", "none"),
    )
    dataset = encode(pa.table({"job": ["cook", "none"]}), schema)
    write_release(publish(dataset, Recoding(columns={"job": sets}), []), tmp_path, "csv")
    assert read_release(tmp_path, schema).sets("job").cell(0) == ("cook", "nurse")


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"format": 1, "columns": {"a": {"role": "x"}}}', "\xff"],
)
def test_a_broken_description_is_refused(tmp_path, content):
    write_release(RELEASE, tmp_path, "csv")
    (tmp_path / "release.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(DataError, match="no description of a release"):
        read_release(tmp_path, SCHEMA)


def test_a_release_has_one_data_file(tmp_path):
    write_release(RELEASE, tmp_path, "csv")
    write_release(RELEASE, tmp_path, "parquet")
    with pytest.raises(DataError, match="holds 2 data files"):
        read_release(tmp_path, SCHEMA)
    (tmp_path / "data.csv").unlink()
    (tmp_path / "data.parquet").unlink()
    with pytest.raises(DataError, match="holds 0 data files"):
        read_release(tmp_path, SCHEMA)
    with pytest.raises(DataError, match="no such file"):
        read_release(tmp_path / "nowhere", SCHEMA)


def test_a_disk_that_fills_up_while_writing_is_said_as_such(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(csv_release, "_write_all", full)
    with pytest.raises(OutputError, match="Free some space"), atomic_folder(tmp_path / "out") as folder:
        write_release(RELEASE, folder, "csv")
    assert not list(tmp_path.iterdir())


def test_a_table_of_a_database_that_nobody_names_can_be_put_into_the_folder(tmp_path):
    about = {"format": 1, "rows": 2, "columns": {"age": {"role": "quasi-identifier", "kind": "number"}}, "models": []}
    (tmp_path / "release.json").write_text(json.dumps(about | {"table": {"name": "people"}}), encoding="utf-8")
    with pytest.raises(DataError, match=r"which database[^.]*\.\nGive the plan [^.]*put the table into the folder as"):
        read_release(tmp_path)
    (tmp_path / "data.csv").write_text('age\n"[20, 29]"\n"[20, 29]"\n', encoding="utf-8")

    assert read_release(tmp_path).column("age").labels == ("[20, 29]",)
    (tmp_path / "data.parquet").write_bytes(b"")
    with pytest.raises(DataError, match="holds 2 data files"):
        read_release(tmp_path)
