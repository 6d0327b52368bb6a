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

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install '.[databases]'")

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

    with pytest.raises(DataError, match=r"pip install duckdb\."):
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


# What is in the bytes of a file.

MARK = "OLDVALUE"


def holding(folder, mark=MARK):
    """The files of a folder that have a text in their bytes, hidden ones among them."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and mark.encode() in path.read_bytes())


@pytest.fixture
def marked(folder):
    """A release that is to be replaced, each of whose values has a mark, beside things that must stay."""
    statements = (
        f"create table stays_2026 as select '{MARK}' || i as age from range(400) t(i)",
        "create schema lab",
        "create type mood as enum ('bad', 'good')",
        "create sequence numbers start 5",
        "select nextval('numbers')",
        "create table lab.tests (id integer primary key, m mood, n integer default nextval('numbers'), check (id > 0))",
        "insert into lab.tests (id, m) select i, 'good' from range(1, 1001) t(i)",
        "create index by_mood on lab.tests (m)",
        "create table lab.visits (test integer references lab.tests (id))",
        "insert into lab.visits values (7)",
        "comment on table lab.tests is 'kept'",
        "comment on column lab.tests.m is 'kept as well'",
        "create view seen as select count(*) as many from stays_2026",
        "create view a_view as select * from seen",
        "create macro twice(x) as 2 * x",
        "create table gone as select 1 as a",
        "create view of_nothing as select * from gone",
        "drop table gone",
    )
    with duckdb.connect(str(folder / "research.duckdb")) as connection:
        for sql in statements:
            connection.execute(sql)
    (folder / "plan.toml").write_text(PLAN + 'if_exists = "replace"\n', encoding="utf-8")
    return folder


def test_a_replaced_release_is_in_no_byte_and_everything_else_survives(marked):
    path = marked / "research.duckdb"
    if sys.platform != "win32":
        path.chmod(0o640)
    assert holding(marked) == ["research.duckdb"]
    run(marked)

    assert holding(marked) == []
    assert sorted(each.name for each in marked.iterdir()) == ["out", "plan.toml", "research.duckdb", "stays.duckdb"]
    assert sys.platform == "win32" or path.stat().st_mode & 0o777 == 0o640
    for sql, found in (
        ("select many from a_view", [(120,)]),
        ("select count(*), min(m), min(n), max(n) from lab.tests", [(1000, "good", 6, 1005)]),
        ("select twice(4), nextval('numbers')", [(8, 1006)]),
        ("select comment from duckdb_tables() where table_name = 'tests'", [("kept",)]),
        ("select comment from duckdb_columns() where comment is not null", [("kept as well",)]),
        ("select index_name from duckdb_indexes()", [("by_mood",)]),
        ("select count(*) from duckdb_views() where view_name = 'of_nothing'", [(1,)]),
    ):
        assert asked(path, sql) == found, sql
    for wrong in ("insert into lab.visits values (5000)", "insert into lab.tests (id) values (1)"):
        with pytest.raises(duckdb.ConstraintException):
            asked(path, wrong)


def test_a_file_keeps_its_format_and_what_was_dropped_before_goes_too(folder):
    path = folder / "research.duckdb"
    with duckdb.connect() as connection:
        connection.execute(f"attach '{path}' as old (storage_version 'v1.0.0', block_size 16384)")
        connection.execute(f"create table old.stays_2026 as select '{MARK}' || i as age from range(400) t(i)")
        connection.execute("checkpoint old")
        connection.execute("drop table old.stays_2026")
    assert MARK.encode() in path.read_bytes()
    run(folder)

    assert holding(folder) == []
    assert asked(path, "select block_size from pragma_database_size()") == [(16384,)]
    version = "select tags['storage_version'] from duckdb_databases() where database_name = 'research'"
    assert asked(path, version) == [("v1.0.0+",)]


@pytest.mark.slow
@pytest.mark.parametrize("existing", [True, False])
def test_what_an_audit_refuses_is_in_no_byte(folder, monkeypatch, existing):
    """As many rows as DuckDB writes into its file before a commit."""
    from sfumato.data.files.databases.duckdb import DuckdbSession

    if existing:
        asked(folder / "research.duckdb", "create table other as select 1 as a")
    table = f"(select i % 50 as age, '{MARK}' || (i % 977) as illness from range(300_000) t(i))"
    plan = PLAN.replace('table = "ward.stays"', f'query = "select * from {table} q"')
    for column in ("name", "codes"):
        plan = plan.replace(f"[columns.{column}]\n", "").replace('role = "identifier"\n', "")
    (folder / "plan.toml").write_text(plan.replace('role = "other"\n', ""), encoding="utf-8")
    create = DuckdbSession.create

    def create_with_one_more(self, table, parts, separators):
        yield from create(self, table, parts, separators)
        if self._schema(f'"{table}"').names != ["tried"]:
            self._execute(f"insert into \"{table}\" values ('99', 'flu')")

    monkeypatch.setattr(DuckdbSession, "create", create_with_one_more)
    with pytest.raises(Unsatisfiable):
        run(folder)

    assert [name for name in holding(folder) if name != "plan.toml"] == []
    assert tables(folder) == (["other"] if existing else [])


@pytest.mark.posix
@pytest.mark.parametrize("step", ["commit", "name the folder"])
def test_killed_behind_the_commit_the_file_has_no_old_byte_and_the_next_run_tidies_up(marked, step):
    killed(lambda: run(marked, threads=1), "after", step)

    assert MARK.encode() not in (marked / "research.duckdb").read_bytes()
    if (marked / "out").exists():
        run(marked, overwrite=True)
    else:
        with pytest.raises(OutputError, match="its folder was put in place"):
            run(marked)
    assert holding(marked) == []


def test_a_file_that_cannot_be_copied_whole_is_refused_early_and_stays(marked, monkeypatch):
    from sfumato.data.files.databases.duckdb_writing import DuckdbWriter

    content = DuckdbWriter._content
    monkeypatch.setattr(DuckdbWriter, "_content", lambda self, name, *, rows: [name, content(self, name, rows=rows)])
    with pytest.raises(DataError, match="it holds something that cannot be copied"):
        run(marked)

    assert asked(marked / "research.duckdb", "select many from a_view") == [(400,)]
    assert not [path for path in marked.iterdir() if path.name.startswith(".")]


def test_a_file_that_another_program_has_open_is_refused(marked):
    connection = duckdb.connect(str(marked / "research.duckdb"), read_only=True)
    try:
        with pytest.raises(DataError, match="somebody else has it open"):
            run(marked)
    finally:
        connection.close()


def test_a_file_that_another_program_made_or_changed_meanwhile_is_kept(folder, monkeypatch):
    """The one that is new is not replaced, and the one that was changed is not put back."""
    from sfumato.data.files.databases.publishing import Publication

    put_in_place, path = Publication.put_in_place, folder / "research.duckdb"

    def and_another(self, about):
        put_in_place(self, about)
        asked(path, "create table theirs as select 1 as a")

    with monkeypatch.context() as patch:
        patch.setattr(Publication, "put_in_place", and_another)
        with pytest.raises(DataError, match="somebody else has it open"):
            run(folder)
    assert tables(folder) == ["theirs"]

    def changed(*arguments, **options):
        asked(path, "create table more as select 1 as a")
        raise OutputError("There is no room for the folder.")

    monkeypatch.setattr(disk, "_put_in_place", changed)
    with pytest.raises(OutputError, match="could not be dropped again"):
        run(folder)
    assert tables(folder) == ["more", "stays_2026", "theirs"]


@pytest.mark.posix
def test_a_link_to_a_file_stays_a_link(marked):
    (marked / "real").mkdir()
    (marked / "research.duckdb").rename(marked / "real" / "research.duckdb")
    (marked / "research.duckdb").symlink_to("real/research.duckdb")
    run(marked)

    assert (marked / "research.duckdb").is_symlink()
    assert holding(marked) == []
    assert asked(marked / "research.duckdb", "select many from a_view") == [(120,)]
