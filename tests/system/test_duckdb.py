"""DuckDB files, in and out, as the other databases: everything or nothing."""

from __future__ import annotations

import random
import sys

import pyarrow as pa
import pytest

import sfumato as sf
from commands import told
from killing import killed
from sfumato import disk
from sfumato.data.files import Source, read_columns, read_digested, read_table, sample
from sfumato.data.files.databases import reading
from sfumato.errors import DataError, OutputError, Unsatisfiable

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install 'sfumato[databases]'")

PLAN = """
[source]
database = "stays.duckdb"
table = "ward.stays"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
[columns.codes]
role = "other"
[columns.illness]
role = "sensitive"
[[require]]
model = "k-anonymity"
k = 3
[release]
database = "research.duckdb"
table = "stays_2026"
"""


def asked(path, sql):
    connection = duckdb.connect(str(path))
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


@pytest.fixture
def folder(tmp_path):
    chance = random.Random(3)
    connection = duckdb.connect(str(tmp_path / "stays.duckdb"))
    connection.execute("create schema ward")
    connection.execute("create table ward.stays (name text, age integer, codes text[], illness text)")
    for n in range(120):
        row = [f"name {n}", chance.randint(20, 40), chance.choice([["a", "b"], [], None]), chance.choice(["flu", "ok"])]
        connection.execute("insert into ward.stays values (?, ?, ?, ?)", row)
    connection.close()
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def run(folder, **options):
    plan = sf.Plan.load(folder / "plan.toml")
    return sf.run(plan, folder / "out", measure=False, attack=False, **options)


def tables(folder):
    path = folder / "research.duckdb"
    return sorted(name for (name,) in asked(path, "select table_name from duckdb_tables()")) if path.exists() else []


def of_query(folder, query):
    return Source(folder / "stays.duckdb", database="stays.duckdb", query=query)


def test_every_verb_reads_and_writes_duckdb(folder):
    before = (folder / "stays.duckdb").read_bytes()
    told("anonymize", folder / "plan.toml", "--out", folder / "out")
    plan = ("--plan", folder / "plan.toml")

    assert told("audit", folder / "out", *plan)["satisfied"]
    assert told("audit", folder / "research.duckdb", "--table", "stays_2026", *plan)["satisfied"]
    assert told("measure", folder / "out", *plan)["measurements"]
    told("init", folder / "stays.duckdb", "--table", "ward.stays", "--out", folder / "draft.toml")
    assert sf.Plan.load(folder / "draft.toml").source.table == "ward.stays"
    kinds = dict(
        asked(folder / "research.duckdb", "select column_name, data_type from duckdb_columns() where not internal")
    )
    assert kinds == {"age": "VARCHAR", "codes": "VARCHAR[]", "illness": "VARCHAR"}
    (comment,) = asked(folder / "research.duckdb", "select comment from duckdb_tables()")[0]
    assert "sfumato" in comment
    assert (folder / "stays.duckdb").read_bytes() == before
    left = sorted(path.name for path in folder.iterdir())
    assert left == ["draft.toml", "out", "plan.toml", "research.duckdb", "sfumato.schema.json", "stays.duckdb"]


def test_a_name_leads_to_a_duckdb_file(folder, monkeypatch):
    monkeypatch.setenv("SFUMATO_DATABASE_WARD", f"duckdb://{folder / 'stays.duckdb'}")

    tried = told("connections", "test", "ward")

    assert (tried["engine"], tried["tables"]) == ("DuckDB", ["ward.stays"])
    assert read_columns(Source("database:ward", database="ward", table="ward.stays"))[0] == "name"


def test_types_of_duckdb_are_kept_or_become_text(folder):
    query = (
        "select 1::smallint as a, 1.50::decimal(9, 2) as b, 'x'::enum('x', 'y') as c, date '2020-01-31' as d, "
        "time '10:00' as e, [1, 2] as f, true as g, {'p': 1} as h, 7::hugeint as i, timestamp '2020-01-31 10:00' as j, "
        "null as k, 'é' as l"
    )

    table = read_table(of_query(folder, query))

    assert {name: str(column[0]) for name, column in zip(table.column_names, table.columns, strict=True)} == {
        "a": "1",
        "b": "1.5",
        "c": "x",
        "d": "2020-01-31",
        "e": "10:00:00",
        "f": "['1', '2']",
        "g": "True",
        "h": "{'p': 1}",
        "i": "7",
        "j": "2020-01-31 10:00:00",
        "k": "None",
        "l": "é",
    }
    assert [table.schema.field(name).type for name in "abdg"] == [pa.int16(), pa.float64(), pa.date32(), pa.bool_()]
    with pytest.raises(DataError, match="'b' was to be read, but it holds bytes"):
        read_table(of_query(folder, "select 'x'::blob as b"))


def test_batches_come_whole_and_in_one_snapshot(folder):
    many = of_query(folder, "select i, i % 7 as j from range(200_000) t(i)")

    assert read_table(many).column("i").to_pylist() == list(range(200_000))
    assert sample(many, 5).num_rows == 5
    assert read_digested(many)[1] == read_digested(many)[1]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("delete from ward.stays returning age", "no query that it understands"),
        ("select 1 as a) q; drop table ward.stays; select * from (select 1 as a", "only reading is allowed"),
        ("select 1 as a) q; copy ward.stays to '{out}'; select * from (select 1 as a", "no right to do that"),
        ("select * from read_csv('{plan}')", "no right to do that"),
        ("select * from held", "no such table"),
        ("select from from", "no query that it understands"),
        ("select years from ward.stays", "no such column"),
        ("select age from ward.stay", "no such table"),
        ("select cast(name as integer) as a from ward.stays", "does not fit the type"),
    ],
)
def test_queries_that_write_or_look_elsewhere_are_refused_in_our_own_words(folder, query, found):
    held = pa.table({"a": [1]})  # a variable of Python's is no table
    with pytest.raises(DataError, match=found) as refused:
        read_table(of_query(folder, query.format(out=folder / "out.csv", plan=folder / "plan.toml")))

    assert "name 1" not in str(refused.value)
    assert held.num_rows == 1
    assert not (folder / "out.csv").exists()
    assert asked(folder / "stays.duckdb", "select count(*) from ward.stays") == [(120,)]


def test_nothing_is_written_even_if_somebody_gets_to_say_so(folder):
    stays = Source(folder / "stays.duckdb", database="stays.duckdb", table="ward.stays")
    with pytest.raises(DataError, match="only reading is allowed"), reading.reading(stays) as session:
        session.drop("ward.stays")


@pytest.mark.parametrize("content", [b"no database at all" * 500, b"", b"\0" * 20000])
def test_files_that_are_no_database_are_refused(folder, content):
    (folder / "stays.duckdb").write_bytes(content)

    with pytest.raises(DataError, match=r"it is no database|no such table"):
        run(folder)


def test_a_file_that_somebody_writes_is_refused(folder):
    connection = duckdb.connect(str(folder / "stays.duckdb"))
    try:
        with pytest.raises(DataError, match="somebody else has it open"):
            run(folder)
    finally:
        connection.close()


def test_who_has_no_duckdb_is_told_how_to_get_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)

    with pytest.raises(DataError, match=r"pip install 'sfumato\[databases\]'"):
        run(folder)


def test_a_release_goes_into_the_file_that_the_rows_come_from(folder):
    (folder / "plan.toml").write_text(PLAN.replace("research.duckdb", "stays.duckdb"), encoding="utf-8")
    run(folder)

    assert asked(folder / "stays.duckdb", "select count(*) from stays_2026") == [(120,)]


def test_audits_judge_what_the_database_holds(folder, monkeypatch):
    """A database that stores another table than it was given publishes nothing."""
    from sfumato.data.files.databases.duckdb import DuckdbSession

    create = DuckdbSession.create

    def create_with_one_more(self, table, parts, separators):
        yield from create(self, table, parts, separators)
        if self._schema(f'"{table}"').names != ["tried"]:
            self._execute(f"insert into \"{table}\" values ('99', null, 'flu')")

    monkeypatch.setattr(DuckdbSession, "create", create_with_one_more)
    with pytest.raises(Unsatisfiable):
        run(folder)

    assert not (folder / "out").exists()
    assert not list(folder.glob("research.duckdb*"))


@pytest.mark.posix
@pytest.mark.parametrize(
    ("when", "step", "committed"),
    [
        ("before", "write", False),
        ("after", "write", False),
        ("after", "judge", False),
        ("after", "put in place", False),
        ("before", "commit", False),
        ("after", "commit", True),
        ("before", "name the folder", True),
        ("after", "name the folder", True),
    ],
)
def test_killed_between_two_steps_there_is_everything_or_nothing(folder, when, step, committed):
    killed(lambda: run(folder, threads=1), when, step)

    assert tables(folder) == (["stays_2026"] if committed else [])
    if not committed:
        assert not (folder / "out").exists()
        run(folder)
    elif not (folder / "out").exists():
        with pytest.raises(OutputError, match="its folder was put in place"):
            run(folder)
    plan = sf.Plan.load(folder / "plan.toml")
    assert all(verdict.satisfied for verdict in sf.audit(folder / "out", plan))


@pytest.fixture
def replacing(folder):
    """A run whose table another one is to replace: with one row, which no release has."""
    asked(folder / "research.duckdb", "create table stays_2026 as select 'the old one' as age")
    asked(folder / "research.duckdb", "create view seen as select count(*) as many from stays_2026")
    (folder / "plan.toml").write_text(PLAN + 'if_exists = "replace"\n', encoding="utf-8")
    return folder


def test_a_folder_that_does_not_get_its_name_puts_the_old_table_back(replacing, monkeypatch):
    def full(*arguments, **options):
        raise OutputError("There is no room for the folder.")

    monkeypatch.setattr(disk, "_put_in_place", full)
    with pytest.raises(OutputError, match="has its name back"):
        run(replacing)

    assert asked(replacing / "research.duckdb", "select * from stays_2026") == [("the old one",)]
    assert tables(replacing) == ["stays_2026"]
    assert not (replacing / "out").exists()


@pytest.mark.posix
@pytest.mark.parametrize(
    ("when", "step", "committed"),
    [
        ("after", "put in place", False),
        ("before", "commit", False),
        ("after", "commit", True),
        ("before", "drop the old table", True),
        ("after", "drop the old table", True),
    ],
)
def test_killed_while_a_table_is_replaced_there_is_the_old_one_or_the_new_one(replacing, when, step, committed):
    killed(lambda: run(replacing, threads=1), when, step)

    rows = asked(replacing / "research.duckdb", "select many from seen")
    assert rows == ([(120,)] if committed else [(1,)])
    if (replacing / "out").exists() or not committed:
        run(replacing, overwrite=True)
    else:
        with pytest.raises(OutputError, match="its folder was put in place"):
            run(replacing)
    assert tables(replacing) == ["stays_2026"]
    assert asked(replacing / "research.duckdb", "select many from seen") == [(120,)]


def test_a_table_with_an_index_is_not_replaced_and_said_so(replacing):
    asked(replacing / "research.duckdb", "create index i on stays_2026 (age)")

    with pytest.raises(DataError, match="built on that table"):
        run(replacing)

    assert asked(replacing / "research.duckdb", "select * from stays_2026") == [("the old one",)]
