"""A real PostgreSQL server: types, rights, secrets, and everything or nothing whenever a run is stopped."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import types

import pytest

import sfumato as sf
from commands import told
from killing import killed
from servers import PASSWORD, postgresql
from sfumato.data.files import Source, read_columns, read_digested, read_table
from sfumato.data.files.databases import postgresql as driver
from sfumato.data.files.databases.publishing import refuse_early
from sfumato.data.files.databases.reading import reading, tried
from sfumato.errors import DataError, OutputError
from sfumato.pipeline import case

pytestmark = [pytest.mark.more, pytest.mark.posix, pytest.mark.slow]

TYPES = """
create type mood as enum ('sad', 'ok');
create table kinds (
    id int, price numeric(10, 2), long numeric, cash money, key uuid, more jsonb, words text[], figures int[], m mood,
    day date, at timestamptz, local timestamp, clock time, span interval, bytes bytea, yes bool, single real,
    fixed char(5), host inet
);
insert into kinds values
    (1, 12.50, 12345678901234567890.5, '3.40', '6ecd8c99-4036-403d-bf84-cf8400f67836', '{"a": 1}', '{x,y}', '{1,2}',
     'sad', '2020-01-02', '2020-01-02 03:04:05+00', '2020-01-02 03:04:05', '03:04:05', '1 day', 'abc', true, 1.5,
     'ab', '10.0.0.1'),
    (2, 7, 1, null, null, null, '{}', null, 'ok', null, null, null, null, null, null, null, null, null, null)
"""
AT_WORK = "select count(*) from pg_stat_activity where query like '%{}%' and pid <> pg_backend_pid()"
STOPPED = """
import threading
from sfumato.data.files import Source, read_table
try:
    read_table(Source("database:clinic", database="clinic", query="select 1 as a, pg_sleep(600)::text as b"))
except KeyboardInterrupt:
    print("stopped", threading.active_count())
"""
PLAN = """
[source]
database = "clinic"
table = "clinic.stays"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
[columns.codes]
role = "other"
kind = "set"
[columns.cost]
role = "other"
[columns.illness]
role = "sensitive"
[[require]]
model = "k-anonymity"
k = 3
[release]
database = "clinic"
table = "research.stays_2026"
"""


@pytest.fixture(scope="module")
def server():
    with postgresql() as server:
        chance = random.Random(3)
        rows = ", ".join(
            f"('name {n}', {chance.randint(20, 40)}, '{chance.choice(['{a,b}', '{c}', '{}'])}', "
            f"{chance.choice(['1.50', '20'])}, '{chance.choice(['flu', 'cold'])}')"
            for n in range(200)
        )
        server.does(
            *TYPES.split(";\n"),
            "create schema clinic",
            "create schema research",
            "create materialized view clinic.old as select 1 as a",
            "create sequence clinic.numbers",
            "create function clinic.writes() returns int language plpgsql as "
            "$$ begin delete from clinic.stays; return 1; end $$",
            "create function clinic.fails() returns int language plpgsql as "
            "$$ begin raise exception 'name of somebody'; end $$",
            "create table clinic.stays (name text, age int, codes text[], cost numeric, illness text)",
            f"insert into clinic.stays values {rows}",
            f"create role guest login password '{PASSWORD}'",
            "grant usage on schema clinic to guest",
        )
        yield server


@pytest.fixture
def clinic(server, monkeypatch, tmp_path):
    """A plan in a folder, and a connection of its name; tables that were published before are gone."""
    monkeypatch.setenv("SFUMATO_DATABASE_CLINIC", server.address())
    server.does("drop schema research cascade", "create schema research")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def of(table=None, **more):
    return Source("database:clinic", database="clinic", table=table, **more)


def run(folder, **options):
    return sf.run(sf.Plan.load(folder / "plan.toml"), folder / "out", measure=False, attack=False, **options)


def published(server):
    found = server.does("select table_name from information_schema.tables where table_schema = 'research'")
    return [name for (name,) in found]


def test_what_arrow_has_a_type_for_keeps_it_and_the_rest_is_text(clinic):
    first, second = read_table(of("kinds")).to_pylist()

    assert {name: value for name, value in first.items() if name not in ("day", "at", "local")} == {
        "id": 1,
        "price": 12.5,
        "long": "12345678901234567890.5",
        "cash": 3.4,
        "key": "6ecd8c99-4036-403d-bf84-cf8400f67836",
        "more": '{"a": 1}',
        "words": ["x", "y"],
        "figures": ["1", "2"],
        "m": "sad",
        "clock": "03:04:05",
        "span": "1 day",
        "bytes": "\\x616263",
        "yes": True,
        "single": 1.5,
        "fixed": "ab",
        "host": "10.0.0.1/32",
    }
    assert [str(first[name]) for name in ("day", "at", "local")] == [
        "2020-01-02",
        "2020-01-02 03:04:05+00:00",
        "2020-01-02 03:04:05",
    ]
    assert (second["words"], second["figures"], second["cash"]) == ([], None, None)


def test_a_release_goes_from_a_server_to_a_server_and_no_secret_goes_along(clinic, server):
    made = told("anonymize", clinic / "plan.toml", "--out", clinic / "out")
    plan = ("--plan", clinic / "plan.toml")

    described = json.loads((clinic / "out" / "release" / "release.json").read_text(encoding="utf-8"))
    kept = json.loads((clinic / "out" / "private" / "run.json").read_text(encoding="utf-8"))
    columns = "select column_name, data_type from information_schema.columns where table_name = 'stays_2026'"
    assert dict(server.does(columns)) == {
        "age": "text",
        "codes": "ARRAY",
        "cost": "double precision",
        "illness": "text",
    }
    comment = server.does("select obj_description('research.stays_2026'::regclass)")[0][0]
    assert comment == f"sfumato {kept['release']['files']['release.json']}"
    assert (described["table"]["name"], described["table"]["database"]) == ("research.stays_2026", "clinic")
    assert sf.describe(clinic / "out").rows == 200  # who receives the folder needs a connection of that name
    assert described["rows"] == made["source"]["rows"] == 200
    assert server.does("select has_table_privilege('guest', 'research.stays_2026', 'select')") == [(False,)]
    assert told("audit", clinic / "out", *plan)["satisfied"]
    assert told("audit", "database:clinic", "--table", "research.stays_2026", *plan)["satisfied"]
    answer = told("connections", "test", "clinic")
    assert answer["engine"] == "PostgreSQL"
    assert answer["tables"] == ["clinic.old", "clinic.stays", "public.kinds", "research.stays_2026"]
    told("init", "database:clinic", "--table", "clinic.stays", "--out", clinic / "draft.toml")
    assert sf.Plan.load(clinic / "draft.toml").source.database == "clinic"
    secret = re.compile(rf"{PASSWORD}|name \d+|127\.0\.0\.1".encode())
    for path in (clinic / "out").rglob("*.*"):
        assert not secret.search(path.read_bytes()), path


def test_identifiers_are_not_selected_and_the_snapshot_does_not_move(clinic, server, monkeypatch):
    said = []
    batches = driver.PostgresqlSession.batches
    monkeypatch.setattr(
        driver.PostgresqlSession,
        "batches",
        lambda self, relation, columns, limit=None: (
            said.extend(column.selected for column in columns),
            batches(self, relation, columns, limit),
        )[1],
    )
    before = read_digested(of("clinic.stays"), drop={"name"})[1]
    assert said == ['"age"', '"codes"::text[]', '"cost"::numeric::text', '"illness"']
    with reading(of("clinic.stays")) as session:
        read_columns(of("clinic.stays", session=session))
        server.does("update clinic.stays set age = age + 1")
        assert read_digested(of("clinic.stays", session=session), drop={"name"})[1] == before
    assert read_digested(of("clinic.stays"), drop={"name"})[1] != before
    server.does("update clinic.stays set age = age - 1")
    assert read_digested(of("clinic.stays"), drop={"name"})[1] == before  # though in another order


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("delete from clinic.stays returning age", "no query that it understands"),
        ("with gone as (delete from clinic.stays returning age) select * from gone", "only reads"),
        ("select 1 as a) q; drop table clinic.stays; select * from (select 1 as a", "no query that it understands"),
        ("select nextval('clinic.numbers') as a", "would write, and only reading"),
        ("select clinic.writes() as a", "would write, and only reading"),
        ("select clinic.fails() as a", "a function fails"),
        ("select age from clinic.stays for update", "would write, and only reading"),
        ("select age into clinic.ages from clinic.stays", "no query that it understands"),
        ("select (name || 'x')::int as a from clinic.stays", "does not fit the type"),
        ("select years from clinic.stays", "no such column"),
        ("select age from clinic.stay", "no such table"),
    ],
)
def test_queries_that_write_or_fail_are_refused_without_what_the_server_says(clinic, server, query, found):
    with pytest.raises(DataError, match=found) as refused:
        read_table(of(query=query))

    assert "name " not in str(refused.value)
    assert "ERROR" not in str(refused.value)
    assert server.does("select count(*) from clinic.stays") == [(200,)]


def test_a_table_that_somebody_locks_is_waited_for_and_then_refused(clinic, server, monkeypatch):
    from adbc_driver_postgresql import dbapi

    monkeypatch.setattr(driver, "SECONDS", 1.0)
    with dbapi.connect(server.address()) as other, other.cursor() as cursor:
        cursor.execute("lock table clinic.stays in access exclusive mode")
        with pytest.raises(DataError, match="somebody else works at it"):
            read_table(of("clinic.stays"))
    assert read_table(of("clinic.stays")).num_rows == 200


def test_what_lasts_for_ever_is_refused_rather_than_taken_for_a_day(clinic):
    columns = {"until": {"role": "quasi-identifier"}}
    for until in ("'infinity'::date", "'-infinity'::timestamp", "'infinity'::timestamptz"):
        query = f"select {until} as until union all select now()"
        source = {"database": "clinic", "query": query}
        plan = sf.Plan.from_dict({"source": source, "columns": columns, "require": [{"model": "k-anonymity", "k": 2}]})
        with pytest.raises(DataError, match="Column 'until': it holds days before the year 1"):
            sf.run(plan, clinic / "out")


def test_who_has_no_right_is_told_so(server, clinic, monkeypatch):
    monkeypatch.setenv("SFUMATO_DATABASE_CLINIC", server.address("guest"))

    with pytest.raises(DataError, match="there is no right"):
        read_columns(of("clinic.stays"))
    with pytest.raises(DataError, match="there is no right"):
        refuse_early(of("research.stays_2026"), "refuse")


@pytest.mark.parametrize(
    ("address", "found"),
    [
        (lambda server: server.address(password="hunter3-wrong"), "refuses the login"),
        (lambda server: server.address(user="nobody-known"), "refuses the login"),
        (lambda server: server.address(database="nowhere"), "no such database"),
        (lambda server: server.address(password="hun%zzter3"), "address cannot be understood"),
        (lambda server: f"postgresql://a:{PASSWORD}@no-such-host.invalid/x", "no host of the name"),
        (lambda server: f"postgresql://a:{PASSWORD}@127.0.0.1:1/x", "no connection to it"),
    ],
)
def test_connections_that_fail_tell_why_and_never_the_address(server, monkeypatch, address, found):
    monkeypatch.setenv("SFUMATO_DATABASE_CLINIC", address(server))

    with pytest.raises(DataError, match=found) as refused:
        tried(of())

    assert not re.search(r"hun%?\w*ter|nobody-known|nowhere|invalid/|127\.0", str(refused.value))


def comes_to(server, words, sessions):
    """Whether so many others are at a query with these words, now or soon."""
    for _ in range(600):
        if server.does(AT_WORK.format(words)) == [(sessions,)]:
            return True
        time.sleep(0.05)
    return False


def test_who_stops_a_query_that_takes_for_ever_ends_it_on_the_server_too(clinic, server):
    command = [sys.executable, "-c", STOPPED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8") as reader:
        try:
            assert comes_to(server, 'select "a" as "a"%pg_sleep', 1)
            reader.send_signal(signal.SIGINT)
            told, _ = reader.communicate(timeout=30)
        finally:
            reader.kill()

    assert told.split() == ["stopped", "1"]  # thread is left
    assert comes_to(server, "pg_sleep", 0)


def test_who_is_stopped_between_two_batches_leaves_nothing_behind(clinic, server):
    class StoppedError(Exception):
        pass

    class Stage:
        def advance(self, steps=1):
            raise StoppedError

        def done(self):
            pass

    before = threading.active_count()
    listener = types.SimpleNamespace(stage=lambda name, total=None: Stage())
    query = "select n, repeat('x', 1000) as x from generate_series(1, 200000) n"  # more than is read ahead
    with pytest.raises(StoppedError):
        read_table(of(query=query), progress=listener)

    assert threading.active_count() == before
    assert comes_to(server, "generate_series", 0)


def test_a_server_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(driver, "SECONDS", 0.2)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        address = f"postgresql://a:{PASSWORD}@127.0.0.1:{deaf.getsockname()[1]}/x"
        monkeypatch.setenv("SFUMATO_DATABASE_CLINIC", address)
        with pytest.raises(DataError, match="no answer within"):
            tried(of())


def test_a_table_that_others_build_on_is_not_replaced(clinic, server):
    server.does(
        "create table research.stays_2026 (a int)", "create view research.seen as select * from research.stays_2026"
    )
    (clinic / "plan.toml").write_text(PLAN + 'if_exists = "replace"\n', encoding="utf-8")
    with pytest.raises(DataError, match="built on that table"):
        run(clinic)

    assert sorted(published(server)) == ["seen", "stays_2026"]
    assert not (clinic / "out").exists()
    server.does("drop view research.seen")
    run(clinic)
    assert server.does("select count(*) from research.stays_2026") == [(200,)]


@pytest.fixture
def ward(clinic, server, monkeypatch):
    """The same server by ODBC, and a plan that reads and writes so."""
    try:
        import arrow_odbc  # noqa: F401
    except (ImportError, OSError):
        pytest.skip("arrow-odbc or the driver manager of ODBC is not installed")
    drivers = subprocess.run(["odbcinst", "-q", "-d"], capture_output=True, encoding="utf-8", check=False).stdout
    if "[PostgreSQL Unicode]" not in drivers:
        pytest.skip("no ODBC driver of PostgreSQL is installed")
    parts = {"Server": "127.0.0.1", "Port": server.port, "Database": "postgres", "Uid": "postgres", "Pwd": PASSWORD}
    told = "".join(f"{key}={value};" for key, value in parts.items())
    monkeypatch.setenv("SFUMATO_DATABASE_WARD", f"odbc:Driver={{PostgreSQL Unicode}};{told}")
    text = PLAN.replace('"clinic"', '"ward"').replace('table = "clinic.stays"', 'query = "select * from clinic.stays"')
    (clinic / "plan.toml").write_text(text, encoding="utf-8")
    return clinic


def test_a_release_goes_by_odbc_as_well(ward, server):
    run(ward)
    plan = sf.Plan.load(ward / "plan.toml")

    assert all(verdict.satisfied for verdict in sf.audit(ward / "out", plan))
    assert published(server) == ["stays_2026"]
    assert server.does("select count(distinct cost), max(length(codes)) from research.stays_2026") == [(2, 5)]
    with pytest.raises(DataError, match="of that name already"):
        run(ward, overwrite=True)
    (ward / "plan.toml").write_text(
        (ward / "plan.toml").read_text(encoding="utf-8") + 'if_exists = "replace"\n', encoding="utf-8"
    )
    run(ward, overwrite=True)
    assert published(server) == ["stays_2026"]


def test_what_fails_by_odbc_leaves_no_staging_table(ward, server, monkeypatch):
    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(case, "judge", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(ward)

    assert published(server) == []
    assert not (ward / "out").exists()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("select age from clinic.stay", "no such table"),
        ("select (name || 'x')::int as a from clinic.stays", "does not fit"),
        ("select repeat('a', 9000) as a", "does not fit"),  # longer than a cell may be: refused, never cut
        ("delete from clinic.stays returning age", "no query that it understands"),
        ("select bytes from kinds", "holds bytes"),
    ],
)
def test_what_odbc_refuses_is_told_in_our_own_words(ward, query, found):
    with pytest.raises(DataError, match=found) as refused:
        read_table(Source("database:ward", database="ward", query=query))

    assert "ERROR" not in str(refused.value)
    assert "State" not in str(refused.value)


def test_decimals_by_odbc_are_numbers(ward):
    table = read_table(Source("database:ward", database="ward", query="select id, price, clock from kinds"))

    assert table.to_pydict() == {"id": [1, 2], "price": [12.5, 7.0], "clock": ["03:04:05.000000", None]}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ((PASSWORD, "hunter3-wrong"), "refuses the login"),
        (("Driver={PostgreSQL Unicode}", "Driver={Nobody Has It}"), "address cannot be understood"),
    ],
)
def test_connections_by_odbc_that_fail_tell_why_and_never_the_address(ward, monkeypatch, change, found):
    monkeypatch.setenv("SFUMATO_DATABASE_WARD", os.environ["SFUMATO_DATABASE_WARD"].replace(*change))

    with pytest.raises(DataError, match=found) as refused:
        tried(Source("database:ward", database="ward"))

    assert not re.search("hunter|Nobody", str(refused.value))


@pytest.mark.parametrize(
    ("when", "step", "committed"),
    [
        ("after", "write", False),
        ("after", "put in place", False),
        ("after", "commit", True),
        ("before", "name the folder", True),
        ("after", "name the folder", True),
    ],
)
def test_killed_between_two_steps_there_is_everything_or_nothing(clinic, server, when, step, committed):
    killed(lambda: run(clinic, threads=1), when, step)

    assert published(server) == (["stays_2026"] if committed else [])
    if not committed:
        assert not (clinic / "out").exists()
        run(clinic)
    elif not (clinic / "out").exists():
        with pytest.raises(OutputError, match="its folder was put in place"):
            run(clinic)
    plan = sf.Plan.load(clinic / "plan.toml")
    assert all(verdict.satisfied for verdict in sf.audit(clinic / "out", plan))
    assert published(server) == ["stays_2026"]


@pytest.mark.parametrize(
    ("when", "step", "old"),
    [("before", "commit", True), ("after", "commit", False), ("before", "drop the old table", False)],
)
def test_killed_while_it_replaces_a_table_there_is_the_old_or_the_new_one(clinic, server, when, step, old):
    server.does("create table research.stays_2026 (age text)")
    (clinic / "plan.toml").write_text(PLAN + 'if_exists = "replace"\n', encoding="utf-8")
    killed(lambda: run(clinic, threads=1), when, step)

    assert "stays_2026" in published(server)
    if (clinic / "out").exists():
        run(clinic, overwrite=True)
    elif old:
        run(clinic)
    else:
        with pytest.raises(OutputError, match="its folder was put in place"):
            run(clinic)
    assert published(server) == ["stays_2026"]
    plan = sf.Plan.load(clinic / "plan.toml")
    assert all(verdict.satisfied for verdict in sf.audit(clinic / "out", plan))
