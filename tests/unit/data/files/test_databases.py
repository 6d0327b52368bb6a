"""Tables of databases: SQLite here; servers in tests/system/test_databases.py."""

from __future__ import annotations

import datetime as dt
import sqlite3
import sys
import threading
import types
from pathlib import Path

import pyarrow as pa
import pytest

from sfumato.data.files import Source, how_read, named_database, read_columns, read_digested, read_table, sample
from sfumato.data.files.databases import connections, publishing, reading, sqlite
from sfumato.data.files.databases.ahead import ahead
from sfumato.data.files.databases.base import Refused
from sfumato.data.files.databases.digests import digest_of_rows, text_digests
from sfumato.data.files.databases.failures import NO_ANSWER, refusal, within
from sfumato.errors import DataError
from sfumato.progress import SILENT

SECRET = "hunter2"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user who has no connections yet."""
    for name in ("SFUMATO_DATABASE_CLINIC", "PGSERVICEFILE", "PGSYSCONFDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(connections, "_told", {})
    monkeypatch.setitem(sys.modules, "keyring", None)
    return tmp_path


@pytest.fixture
def stays(tmp_path):
    path = tmp_path / "stays.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("create table stays (name text, age integer, dose real, mixed, codes text, blank text)")
        rows = [("Ann", 30, 1, 7, "a|b", None), ("Bob", 41, 2.5, "x", "", None), ("Cy", None, None, 1.5, None, None)]
        connection.executemany("insert into stays values (?, ?, ?, ?, ?, ?)", rows)
    connection.close()
    return path


def source(path, table="stays", **more):
    return Source(path, database=path.name, table=table, **more)


def of_query(path, query):
    return Source(path, database=path.name, query=query)


def test_a_database_tells_its_kind_and_its_tables_and_views(stays):
    with sqlite3.connect(stays) as connection:
        connection.execute("create view adults as select * from stays where age > 17")
        connection.execute('create table "with.dot" (a)')  # which no plan could name
        connection.execute("create table counted (n integer primary key autoincrement)")  # has a table of SQLite's own
    connection.close()

    assert reading.tried(source(stays)) == ("SQLite", ["adults", "counted", "stays"])


# Reading.


def test_cells_of_sqlite_are_numbers_where_all_of_a_column_are_and_text_otherwise(stays):
    table = read_table(source(stays), drop={"name"})

    assert {field.name: pa.types.is_dictionary(field.type) or field.type for field in table.schema} == {
        "age": pa.int64(),
        "dose": pa.float64(),
        "mixed": True,
        "codes": True,
        "blank": True,
    }
    assert table.to_pydict() == {
        "age": [30, 41, None],
        "dose": [1.0, 2.5, None],
        "mixed": ["7", "x", "1.5"],
        "codes": ["a|b", "", None],
        "blank": [None, None, None],
    }
    assert sample(source(stays), 2).num_rows == 2
    assert read_columns(of_query(stays, "select age as years from stays -- all\n;")) == ["years"]


def test_columns_that_are_dropped_are_not_even_selected(stays, monkeypatch):
    said = []
    execute = sqlite.SqliteSession._execute
    monkeypatch.setattr(
        sqlite.SqliteSession, "_execute", lambda self, sql, *more: (said.append(sql), execute(self, sql, *more))[1]
    )

    read_table(source(stays), drop={"name"})

    assert any('"age"' in sql for sql in said)
    assert not any("name" in sql for sql in said)


def test_bytes_are_refused_with_the_column_named(stays):
    with sqlite3.connect(stays) as connection:
        connection.execute("update stays set mixed = x'00ff' where age = 30")

    with pytest.raises(DataError, match=r"'mixed' was to be read, but it holds bytes"):
        read_table(source(stays))


def test_a_digest_depends_on_every_cell_and_not_on_the_order():
    table = pa.table({"a": [1, 2, 2], "b": ["x", None, "y"], "c": [["p", "q"], None, []], "d": [0.5, None, 2.0]})
    same = table.take([2, 0, 1])
    changes = [
        table.set_column(0, "a", pa.array([1, 2, 3])),
        table.set_column(1, "b", pa.array(["x", "", "y"])),
        table.set_column(2, "c", pa.array([["q", "p"], None, []])),
        table.set_column(2, "c", pa.array([["p", "q"], [], []])),
        table.set_column(1, "b", pa.array(["y", None, "x"])),  # cells that change rows
        table.set_column(3, "d", pa.array([0.5, 0.0, 2.0])),
        table.rename_columns(["a", "b", "c", "e"]),
        table.slice(1),
        pa.concat_tables([table, table.slice(0, 1)]),
    ]

    assert digest_of_rows(same) == digest_of_rows(table)
    assert digest_of_rows(pa.concat_tables([table.slice(0, 1), table.slice(1)])) == digest_of_rows(table)
    assert len({digest_of_rows(each) for each in [table, *changes]}) == len(changes) + 1


def test_a_digest_is_of_cells_however_they_are_held_and_however_many_there_are():
    rows = 70_000  # more than are looked at together
    table = pa.table(
        {
            "few": [f"v{n % 7}" if n % 5 else None for n in range(rows)],
            "all": [f"p{n}" for n in range(rows)],
            "sets": [[f"m{n % 3}", "x"] if n % 2 else None for n in range(rows)],
        }
    )
    coded = pa.table({name: table.column(name).combine_chunks() for name in table.column_names})
    for place, name in enumerate(("few", "all")):
        coded = coded.set_column(place, name, coded.column(name).combine_chunks().dictionary_encode())
    changed = table.slice(0, rows - 1)

    assert digest_of_rows(table) == digest_of_rows(coded)
    assert digest_of_rows(table) == digest_of_rows(pa.concat_tables([coded.slice(30_000), coded.slice(0, 30_000)]))
    assert digest_of_rows(table) != digest_of_rows(pa.concat_tables([changed, table.slice(0, 1)]))


def test_a_digest_stays_the_one_that_earlier_runs_have_kept():
    table = pa.table(
        {
            "a": [1, None, 3],
            "b": ["x", None, "a longer text"],
            "c": [["p", "q"], None, []],
            "d": [0.5, None, 2.0],
            "e": [dt.date(2026, 1, 2), None, dt.date(1999, 12, 31)],
        }
    )

    assert digest_of_rows(table) == "d7433745ea7773951a0029a6b5a8a21b6147bb4c6d7bbcdf68ead1f6baf1ea1c"


def test_texts_of_any_length_have_digests_of_their_own():
    texts = ["", "a", "b", "ab", "a\0", "abcdefgh", "abcdefgi", "abcdefgha", "ä" * 700, "ä" * 699 + "ö", "x" * 1024]
    array = pa.array([*texts, *texts])

    found = text_digests(array).T.tolist()

    assert found[: len(texts)] == found[len(texts) :]
    for lane in (0, 1):
        assert len({digest[lane] for digest in found}) == len(texts)
    assert text_digests(array.slice(3, 4)).T.tolist() == found[3:7]


@pytest.mark.parametrize("texts", [["a"], ["", "b"], ["abcdefgh"], ["abcdefg", "h"], ["abcdefgh", "abcdefghi"]])
def test_a_text_has_the_same_digest_wherever_it_lies_in_memory(texts):
    before, behind = ["xyz"] * 3, ["w" * 20]
    among = pa.array([*before, *texts, *behind])

    assert (text_digests(among)[:, 3:-1] == text_digests(pa.array(texts))).all()
    assert (text_digests(among.slice(3, len(texts))) == text_digests(pa.array(texts))).all()


def test_batches_are_read_ahead_in_their_order_and_errors_come_where_they_arise():
    def batches():
        yield from range(100)
        raise Refused("22012")

    found = []
    with pytest.raises(Refused, match="22012"):
        found.extend(ahead(batches(), cancel=lambda: None))

    assert found == list(range(100))
    assert list(ahead(iter(range(100)), cancel=pytest.fail)) == found
    assert not list(ahead(iter(()), cancel=pytest.fail))


def test_only_a_few_batches_wait_for_whoever_works_on_them():
    taken = []

    def batches():
        for number in range(100):
            taken.append(number)
            yield number

    reader = ahead(batches(), cancel=lambda: None)
    for number in range(10):
        assert next(reader) == number
        assert len(taken) <= number + 5
    reader.close()
    assert len(taken) <= 15


@pytest.mark.parametrize("seen", [1, 2, 5])
def test_who_wants_no_more_is_not_kept_waiting_by_a_driver_that_is(seen):
    before, given_up = threading.active_count(), threading.Event()

    def batches():
        yield from range(seen + 1)
        assert given_up.wait(60), "nobody gave up"
        raise Refused("57014")

    reader = ahead(batches(), cancel=given_up.set)
    for _ in range(seen):
        next(reader)
    reader.close()

    assert given_up.is_set()
    assert threading.active_count() == before


def test_what_is_read_and_its_digest_are_of_one_snapshot(stays):
    with sqlite3.connect(stays) as connection:
        connection.execute("pragma journal_mode = wal")
    before = read_digested(source(stays))[1]
    with reading.reading(source(stays)) as session:
        with sqlite3.connect(stays) as connection:
            connection.execute("delete from stays where age = 30")
        assert read_digested(source(stays, session=session))[1] == before

    assert read_digested(source(stays))[1] != before


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("delete from stays returning age", "no query that it understands"),
        ("select 1 as a) q; drop table stays; select * from (select 1 as a", "no query that it understands"),
        ("selec age from stays", "no query that it understands"),
        ("select years from stays", "no such column"),
        ("select age from stay", "no such table"),
    ],
)
def test_queries_that_write_or_are_none_are_refused_in_our_own_words(stays, query, found):
    with pytest.raises(DataError, match=found) as refused:
        read_table(of_query(stays, query))

    assert "near" not in str(refused.value)
    assert read_table(source(stays)).num_rows == 3


def test_nothing_is_written_even_if_somebody_gets_to_say_so(stays):
    with pytest.raises(DataError, match="only reading is allowed"), reading.reading(source(stays)) as session:
        session.drop("stays")


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (
            lambda path: path.write_bytes(b"no database at all, but long enough to be looked at" * 9),
            "it is no database",
        ),
        (lambda path: path.unlink(), "there is no such file"),
    ],
)
def test_files_that_are_no_database_are_refused(stays, make, found):
    make(stays)
    with pytest.raises(DataError, match=found):
        read_columns(source(stays))


def test_a_database_that_somebody_locks_is_waited_for_and_then_refused(stays, monkeypatch):
    monkeypatch.setattr(sqlite, "SECONDS", 0.05)
    with sqlite3.connect(stays) as connection:
        connection.execute("begin exclusive")
        with pytest.raises(DataError, match="somebody else has it open"):
            read_columns(source(stays))
        connection.rollback()


def test_who_never_answers_is_given_up():
    with pytest.raises(Refused) as refused:
        within(0.05, lambda: threading.Event().wait(5))

    assert refused.value.sqlstate == NO_ANSWER
    assert "within 10 seconds" in str(refusal("It was asked", Path("database:clinic"), refused.value))
    with pytest.raises(ZeroDivisionError):
        within(1, lambda: 1 / 0)
    assert within(1, lambda: 7) == 7


def test_a_state_that_is_not_known_is_told_by_its_number_and_nothing_else():
    assert "SQLSTATE ZZ999" in str(refusal("A", Path("database:x"), Refused("ZZ999")))
    assert SECRET not in str(refusal("A", Path("database:x"), Refused(f"{SECRET}: no")))


def test_digits_become_numbers_where_a_float_holds_all_of_them():
    def made(texts):
        table = pa.table({"a": pa.array(texts, pa.string()).dictionary_encode()})
        column = reading.Column("a", "a", pa.string(), is_decimal=True)
        return reading._with_numbers(table, column).column("a").to_pylist()

    assert made(["1.50", "-20", None, "1.50"]) == [1.5, -20.0, None, 1.5]
    assert made(["7", None, "-3"]) == [7, None, -3]
    assert made(["0.000000000000001234"]) == [1.234e-15]
    assert made(["1234567890123456"]) == ["1234567890123456"]
    assert made(["NaN", "1"]) == ["NaN", "1"]
    assert made([None, None]) == [None, None]


# Names of connections.


def test_a_name_leads_to_an_address_by_the_nearest_place_that_knows_it(home, monkeypatch, stays):
    def engine():
        found = connections.address_of("clinic")
        assert SECRET not in repr(found)
        return found.engine, found.origin

    with pytest.raises(DataError, match="no connection of that name is known"):
        engine()
    with connections.asking(lambda name: f" postgresql://{name}:{SECRET}@host/db "):
        assert engine() == ("postgresql", "typed in")
    assert engine() == ("postgresql", "typed in")  # until the process ends
    ring = types.SimpleNamespace(get_password=lambda service, name: f"DSN={name};PWD={SECRET}")
    monkeypatch.setitem(sys.modules, "keyring", ring)
    assert engine() == ("odbc", "the keyring")
    (home / ".pg_service.conf").write_text(f"[clinic]\nhost=here\npassword={SECRET}\n", encoding="utf-8")
    assert engine() == ("postgresql", "pg_service.conf")
    connections.keep("clinic", f"Driver={{X}};PWD={SECRET}")
    assert engine() == ("odbc", "connections.toml")
    monkeypatch.setenv("SFUMATO_DATABASE_CLINIC", f"sqlite://{stays}")
    assert engine() == ("sqlite", "the environment, as SFUMATO_DATABASE_CLINIC")
    asked = Source("database:clinic", database="clinic", table="stays")
    assert read_columns(asked)[:2] == ["name", "age"]
    assert how_read(asked)[0].reason.endswith("SFUMATO_DATABASE_CLINIC")
    assert [name for name, _ in connections.known_addresses()] == ["clinic"]


def test_connections_are_kept_for_their_owner_alone(home):
    place = Path(connections.keep("clinic", f"postgresql://a:{SECRET}@h/d"))
    connections.keep("other", "sqlite:///x.db")

    assert place.stat().st_mode & 0o777 == 0o600
    assert [name for name, _ in connections.known_addresses()] == ["clinic", "other"]
    with pytest.raises(DataError, match="keyring is not installed"):
        connections.keep("clinic", "sqlite:///x.db", keyring=True)


@pytest.mark.posix
def test_connections_that_others_may_read_are_not_used(home):
    place = Path(connections.keep("clinic", f"postgresql://a:{SECRET}@h/d"))
    place.chmod(0o640)

    with pytest.raises(DataError, match="may be read by others") as refused:
        connections.address_of("clinic")

    assert SECRET not in str(refused.value)


def test_a_file_of_connections_that_is_none_is_refused_without_its_content(home):
    place = Path(connections.keep("clinic", "sqlite:///x.db"))
    place.write_text(f"clinic = '{SECRET}", encoding="utf-8")

    with pytest.raises(DataError, match="is not such as") as refused:
        connections.address_of("clinic")

    assert SECRET not in str(refused.value)


def test_an_address_of_no_kind_that_is_known_is_refused(home, monkeypatch):
    monkeypatch.setenv("SFUMATO_DATABASE_CLINIC", f"mongo://a:{SECRET}@h/d")

    with pytest.raises(DataError, match="its address cannot be understood") as refused:
        read_columns(Source("database:clinic", database="clinic", table="stays"))

    assert SECRET not in str(refused.value)


def test_databases_are_named_in_place_of_files(stays):
    assert named_database(Path("people.csv"), None) is None
    assert named_database(stays, "stays").table == "stays"
    assert named_database(Path("database:clinic"), "a.b").path == Path("database:clinic")
    for data, table in [("database:clinic", None), ("people.csv", "stays"), (f"database:x://a:{SECRET}@h", "t")]:
        with pytest.raises(DataError) as refused:
            named_database(Path(data), table)
        assert SECRET not in str(refused.value)


# Writing.


def test_a_table_is_written_and_read_back_before_anybody_sees_it(stays, tmp_path):
    target = source(tmp_path / "new.db", "made")
    parts = [
        pa.table(
            {"n": [1, None], "f": [0.5, None], "s": [["a", "b"], []], "t": pa.array(["", None]), "b": [True, None]}
        )
    ]
    with publishing.publishing(target, "refuse") as publication:
        release = types.SimpleNamespace(columns={}, n_rows=2, batches=lambda rows, numbers: iter(parts))
        table, about = publication.write(release, SILENT)
        publication.put_in_place("")
        with sqlite3.connect(target.path) as other:
            assert other.execute("select count(*) from sqlite_master").fetchone() == (0,)
        publication.commit()

    assert table.to_pydict() == {
        "n": [1, None],
        "f": [0.5, None],
        "s": ["a|b", ""],
        "t": ["", None],
        "b": ["true", None],
    }
    assert read_digested(target)[1] == about["sha256"]
    with pytest.raises(DataError, match="of that name already"):
        publishing.refuse_early(target, "refuse")
    publishing.refuse_early(target, "replace")


def test_a_view_is_not_replaced_and_that_is_said(tmp_path):
    target = source(tmp_path / "new.db", "seen")
    with sqlite3.connect(target.path) as database:
        database.execute("create view seen as select 1 as n")
    release = types.SimpleNamespace(columns={}, n_rows=1, batches=lambda rows, numbers: iter([pa.table({"n": [1]})]))
    with publishing.publishing(target, "replace") as publication:
        publication.write(release, SILENT)
        with pytest.raises(DataError, match="is no table but something else, such as a view"):
            publication.put_in_place("")
    assert read_table(target).to_pydict() == {"n": [1]}


def committed_but(target, error):
    release = types.SimpleNamespace(columns={}, n_rows=1, batches=lambda rows, numbers: iter([pa.table({"n": [1]})]))
    with publishing.publishing(target, "refuse") as publication:
        publication.write(release, SILENT)
        publication.put_in_place("")
        publication.commit()
        raise error


def test_what_fails_after_the_commit_takes_the_table_along(stays):
    target = source(stays, "made")
    with pytest.raises(publishing.OutputError, match=r"no room.*\n.*was dropped again"):
        committed_but(target, publishing.OutputError("There is no room."))

    with pytest.raises(DataError, match="no such table"):
        read_columns(target)


def test_members_that_hold_the_separator_are_refused(tmp_path):
    parts = [pa.table({"s": [["a|b"]]})]
    release = types.SimpleNamespace(columns={}, n_rows=1, batches=lambda rows, numbers: iter(parts))
    with (
        pytest.raises(DataError, match="'s' has members that contain"),
        publishing.publishing(source(tmp_path / "new.db", "made"), "refuse") as publication,
    ):
        publication.write(release, SILENT)

    assert not (tmp_path / "new.db").exists()
