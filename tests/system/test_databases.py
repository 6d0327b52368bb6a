"""From a database into a database: everything or nothing, whenever it is stopped."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import suppress

import pytest

import sfumato as sf
from commands import told
from killing import killed
from sfumato import disk
from sfumato.data.files.databases import sqlite
from sfumato.errors import DataError, OutputError, Unsatisfiable

PLAN = """
[source]
database = "stays.sqlite"
table = "stays"
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
database = "research.db"
table = "stays_2026"
"""


@pytest.fixture
def folder(tmp_path):
    chance = random.Random(3)
    rows = [
        (f"name {n}", chance.randint(20, 40), chance.choice(["a|b", "c", None]), chance.choice(["flu", "cold"]))
        for n in range(200)
    ]
    connection = sqlite3.connect(tmp_path / "stays.sqlite")
    connection.execute("create table stays (name text, age integer, codes text, illness text)")
    connection.executemany("insert into stays values (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def run(folder, **options):
    plan = sf.Plan.load(folder / "plan.toml")
    return sf.run(plan, folder / "out", measure=False, attack=False, **options)


def tables(folder):
    if not (folder / "research.db").exists():
        return []
    with sqlite3.connect(folder / "research.db") as connection:
        return [name for (name,) in connection.execute("select name from sqlite_master")]


def test_every_verb_reads_a_run_whose_release_is_a_table(folder):
    made = told("anonymize", folder / "plan.toml", "--out", folder / "out")
    plan = ("--plan", folder / "plan.toml")
    table = (folder / "research.db", "--table", "stays_2026")

    assert sorted(path.name for path in (folder / "out" / "release").iterdir()) == ["README.md", "release.json"]
    assert made["release"]["table"] == "research.db, table stays_2026"
    assert {"database", "table", "snapshot", "sha256"} <= set(made["source"])
    assert told("audit", folder / "out", *plan)["satisfied"]
    assert told("audit", *table, *plan)["satisfied"]
    measured = [told("measure", *each, *plan)["measurements"] for each in ((folder / "out",), table)]
    assert [each["value"] for each in measured[0]] == [each["value"] for each in measured[1]]
    assert told("attack", folder / "out", *plan)["attacks"]
    assert told("explain", folder / "plan.toml")["release"]["table"] == "research.db, table stays_2026"
    assert told("sweep", folder / "plan.toml", "--vary", "k=2,3", "--out", folder / "sweep", "--jobs", 1)["holding"]
    told("init", folder / "stays.sqlite", "--table", "stays", "--out", folder / "draft.toml")
    assert sf.Plan.load(folder / "draft.toml").source.table == "stays"


def test_connections_are_added_tried_and_listed_without_their_addresses(folder, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.delenv("SFUMATO_DATABASE_WARD", raising=False)
    command = [sys.executable, "-m", "sfumato", "connections", "add", "ward"]
    done = subprocess.run(
        command, input=f"sqlite://{folder / 'stays.sqlite'}\n", capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    assert "stays.sqlite" not in done.stdout
    assert told("connections", "test", "ward") == {
        "name": "ward",
        "engine": "SQLite",
        "from": "connections.toml",
        "tables": ["stays"],
    }
    listed = told("connections", "list")["connections"]
    assert {"name": "ward", "engine": "sqlite", "from": "connections.toml"} in listed
    with pytest.raises(DataError, match="no connection of that name is known"):
        told("connections", "test", "wards")


def test_a_table_that_was_changed_is_said_to_be_and_one_that_is_gone_is_missed(folder):
    run(folder)
    plan = sf.Plan.load(folder / "plan.toml")
    with sqlite3.connect(folder / "research.db") as connection:
        connection.execute("update stays_2026 set illness = 'cold' where illness = 'flu'")

    assert not all(verdict.satisfied for verdict in sf.audit(folder / "out", plan))
    with sqlite3.connect(folder / "research.db") as connection:
        connection.execute("drop table stays_2026")
    with pytest.raises(DataError, match="no such table"):
        sf.audit(folder / "out", plan)


def test_a_table_is_replaced_only_where_the_plan_says_so(folder):
    run(folder, seed=1)
    with pytest.raises(DataError, match="of that name already"):
        run(folder, overwrite=True)
    text = (folder / "plan.toml").read_text(encoding="utf-8")
    (folder / "plan.toml").write_text(text + 'if_exists = "replace"\nformat = "csv"\n', encoding="utf-8")
    run(folder, overwrite=True, seed=2)

    assert tables(folder) == ["stays_2026"]
    left = sorted(path.name for path in (folder / "out" / "release").iterdir())
    assert left == ["README.md", "data.csv", "release.json"]


def test_audits_judge_what_the_database_holds(folder, monkeypatch):
    """A database that stores another table than it was given publishes nothing."""
    create = sqlite.SqliteSession.create

    def create_with_one_more(self, table, parts, separators):
        yield from create(self, table, parts, separators)
        if "sfumato" in table and not separators.get("tried"):
            self._execute(f'insert into "{table}" select 99, null, "flu" from "{table}" limit 1')

    monkeypatch.setattr(sqlite.SqliteSession, "create", create_with_one_more)
    with pytest.raises(Unsatisfiable):
        run(folder)

    assert tables(folder) == []
    assert not (folder / "out").exists()
    assert not (folder / "research.db").exists()


def test_a_folder_that_does_not_get_its_name_takes_the_table_along(folder, monkeypatch):
    def full(*arguments, **options):
        raise OutputError("There is no room for the folder.")

    monkeypatch.setattr(disk, "_put_in_place", full)
    with pytest.raises(OutputError, match="was dropped again"):
        run(folder)

    assert tables(folder) == []
    assert not (folder / "out").exists()


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
    assert json.loads((folder / "out" / "private" / "run.json").read_text(encoding="utf-8"))["verdicts"]
    left = sorted(path.name for path in folder.iterdir() if ".lock-" not in path.name)  # the next run sweeps these up
    assert left == ["out", "plan.toml", "research.db", "stays.sqlite"]


def content(folder):
    with sqlite3.connect(folder / "research.db") as connection:
        return sorted(map(str, connection.execute("select * from stays_2026")))


@pytest.fixture
def replacing(folder):
    """A run whose table another one is to replace: with one row, which no release has."""
    with sqlite3.connect(folder / "research.db") as connection:
        connection.execute("create table stays_2026 (age text)")
        connection.execute("insert into stays_2026 values ('the old one')")
        connection.execute("create view seen as select count(*) as many from stays_2026")
    (folder / "plan.toml").write_text(PLAN + 'if_exists = "replace"\n', encoding="utf-8")
    return folder


def test_a_folder_that_does_not_get_its_name_puts_the_old_table_back(replacing, monkeypatch):
    def full(*arguments, **options):
        raise OutputError("There is no room for the folder.")

    monkeypatch.setattr(disk, "_put_in_place", full)
    with pytest.raises(OutputError, match="has its name back"):
        run(replacing)

    assert content(replacing) == ["('the old one',)"]
    assert sorted(tables(replacing)) == ["seen", "stays_2026"]
    assert not (replacing / "out").exists()


@pytest.mark.posix
@pytest.mark.parametrize(
    ("when", "step", "committed"),
    [
        ("after", "put in place", False),
        ("before", "commit", False),
        ("after", "commit", True),
        ("before", "name the folder", True),
        ("after", "name the folder", True),
        ("before", "drop the old table", True),
        ("after", "drop the old table", True),
    ],
)
def test_killed_while_it_replaces_a_table_there_is_the_old_or_the_new_one(replacing, when, step, committed):
    killed(lambda: run(replacing, threads=1), when, step)

    assert (content(replacing) != ["('the old one',)"]) == committed
    if not (replacing / "out").exists():
        with suppress(OutputError):  # where the table is there, the folder is put beside it and nothing else is done
            run(replacing)
    else:
        run(replacing, overwrite=True)
    assert sorted(tables(replacing)) == ["seen", "stays_2026"]
    assert len(content(replacing)) == 200
    with sqlite3.connect(replacing / "research.db") as connection:
        assert connection.execute("select many from seen").fetchone() == (200,)
    plan = sf.Plan.load(replacing / "plan.toml")
    assert all(verdict.satisfied for verdict in sf.audit(replacing / "out", plan))


# What is in the bytes of a file, whatever SQLite does where nobody asks.

MARK = "OLDVALUE"


def forgetful(connect):
    """SQLite as it is built in some systems: rows that are dropped stay in the bytes."""

    def connected(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.execute("pragma secure_delete = off")
        return connection

    return connected


def holding(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes())


@pytest.mark.parametrize("journal", ["delete", "wal", "persist"])
def test_a_replaced_release_is_in_no_byte(folder, monkeypatch, journal):
    connection = sqlite3.connect(folder / "research.db")
    connection.execute(f"pragma journal_mode = {journal}")
    connection.execute("create table stays_2026 (age text)")
    connection.executemany("insert into stays_2026 values (?)", [(f"{MARK}{n}",) for n in range(2000)])
    connection.commit()
    connection.close()
    (folder / "plan.toml").write_text(PLAN + 'if_exists = "replace"\n', encoding="utf-8")
    assert holding(folder) == ["research.db"]
    monkeypatch.setattr(sqlite.sqlite3, "connect", forgetful(sqlite3.connect))
    run(folder)

    assert holding(folder) == []


def test_a_reader_that_keeps_the_old_bytes_alive_is_told_of(folder, monkeypatch):
    """A transaction that reads the old table holds on to its pages until it ends."""
    connection = sqlite3.connect(folder / "research.db", isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute(f"create table stays_2026 as select '{MARK}' as age")
    connection.execute("begin")
    connection.execute("select * from stays_2026").fetchall()
    (folder / "plan.toml").write_text(PLAN + 'if_exists = "replace"\n', encoding="utf-8")
    monkeypatch.setattr(sqlite, "SECONDS", 0.1)
    try:
        with pytest.raises(DataError, match=r"was published, but .* somebody else has it open"):
            run(folder)
    finally:
        connection.close()
    assert (folder / "out" / "release").is_dir()


def test_what_an_audit_refuses_is_in_no_byte(folder, monkeypatch):
    """A file with free pages: SQLite keeps no old content of these that a rollback could put back."""
    connection = sqlite3.connect(folder / "research.db")
    connection.execute("create table big (a text)")
    connection.executemany("insert into big values (?)", [("x" * 1000,)] * 8000)
    connection.commit()
    connection.execute("drop table big")
    connection.commit()
    connection.close()
    create = sqlite.SqliteSession.create

    def create_a_lot(self, table, parts, separators):
        yield from create(self, table, parts, separators)
        if "tried" not in self.names(f'"{table}"'):
            rows = ((f"{MARK} {n} {'y' * 900}", None, "flu") for n in range(6000))
            self._connection.executemany(f'insert into "{table}" values (?, ?, ?)', rows)

    monkeypatch.setattr(sqlite.SqliteSession, "create", create_a_lot)
    with pytest.raises(Unsatisfiable):
        run(folder)

    assert holding(folder) == []


# Names that are not text.


@pytest.mark.parametrize("named", ["column", "view"])
def test_names_that_are_not_utf_8_are_refused_by_every_verb_that_meets_them(folder, named):
    path = folder / "stays.sqlite"
    with sqlite3.connect(path) as connection:
        wrong = (
            "alter table stays rename column codes to codeQ" if named == "column" else "create view codeQ as select 1"
        )
        connection.execute(wrong)
    connection.close()
    path.write_bytes(path.read_bytes().replace(b"codeQ", b"code\xff"))
    plan, table = ("--plan", folder / "plan.toml"), (path, "--table", "stays")
    verbs = [
        ("anonymize", folder / "plan.toml", "--out", folder / "out"),
        ("init", *table, "--out", folder / "draft.toml"),
        ("explain", folder / "plan.toml"),
        ("check", folder / "plan.toml"),
        *((verb, *table, *plan) for verb in ("audit", "measure", "attack")),
    ]
    if named == "view":
        verbs = [("connections", "test", "ward")]
    for words in verbs:
        done = subprocess.run(
            [sys.executable, "-m", "sfumato", *map(str, words)],
            env=os.environ | {"SFUMATO_DATABASE_WARD": f"sqlite://{path}"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 2, (words, done.stderr)
        assert "not UTF-8 text" in " ".join(done.stderr.split()), words
