"""Where a plan reads from and publishes to, and that it holds no password."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.errors import PlanError
from sfumato.plan import Plan

SECRET = "hunter2"
REST = {"columns": {"age": {"role": "quasi-identifier"}}, "require": [{"model": "k-anonymity", "k": 2}]}


def plan(source=None, release=None, base="."):
    return Plan.from_dict({"source": source or {}, "release": release or {}, **REST}, base)


def test_a_source_is_a_table_or_a_query_of_a_connection_or_of_a_file(tmp_path):
    named = plan({"database": "clinic", "table": "clinic.stays"}).source
    filed = plan({"database": "stays.sqlite", "query": "select 1"}, base="folder").source
    (tmp_path / "stays.sql").write_text("select age from stays", encoding="utf-8")
    told = plan({"database": "clinic", "query": "stays.sql"}, base=tmp_path)

    assert (named.path, named.file, named.shown) == (
        Path("database:clinic"),
        None,
        "database:clinic, table clinic.stays",
    )
    assert (filed.path, filed.file) == (Path("folder/stays.sqlite"), Path("folder/stays.sqlite"))
    assert told.source.query == "select age from stays"
    assert told.files == {"source.query": tmp_path / "stays.sql"}


def test_a_release_that_is_a_table_is_no_file_unless_the_plan_says_so():
    table = {"database": "research.db", "table": "stays_2026"}

    assert plan(release=table).release.format is None
    assert plan(release=table | {"format": "csv"}).release.format == "csv"
    assert plan(release=table, base="folder").target.path == Path("folder/research.db")
    assert plan().release.format == "csv"
    assert plan().target is None


@pytest.mark.parametrize(
    ("source", "release", "place"),
    [
        ({"database": "clinic"}, {}, "source.table"),
        ({"database": "clinic", "table": "a", "query": "select 1"}, {}, "source.table"),
        ({"database": "clinic", "table": "a", "path": "a.csv"}, {}, "source.path"),
        ({"path": "a.csv", "table": "a"}, {}, "source.table"),
        ({"database": "two words", "table": "a"}, {}, "source.database"),
        ({"database": "clinic", "query": "absent.sql"}, {}, "source.query"),
        ({}, {"database": "research"}, "release.table"),
        ({}, {"table": "a"}, "release.table"),
        ({}, {"database": "a b", "table": "a"}, "release.database"),
        ({}, {"database": "research", "table": "a", "if_exists": "append"}, "release.if_exists"),
    ],
)
def test_what_does_not_say_one_place_is_refused_there(source, release, place):
    with pytest.raises(PlanError) as refused:
        plan(source, release)

    assert place in [problem.place for problem in refused.value.problems]


@pytest.mark.parametrize(
    "document",
    [
        {"source": {"database": f"postgresql://ann:{SECRET}@host/clinic", "table": "a"}},
        {"source": {"database": f"Driver={{X}};Server=s;PWD={SECRET}", "table": "a"}},
        {"source": {"database": f"host=s password = {SECRET}", "table": "a"}},
        {"source": {"path": f"postgresql://ann:{SECRET}@host/clinic"}},
        {"source": {"database": "clinic", "query": f"select * from dblink('password={SECRET}', 'select 1')"}},
        {"release": {"database": f"mssql://ann:{SECRET}@host/x", "table": "a"}},
        {"draft": {"questions": [f"is postgresql://ann:{SECRET}@host right?"]}},
    ],
)
def test_a_password_in_a_plan_is_refused_and_not_repeated(document):
    with pytest.raises(PlanError, match="never written down here") as refused:
        Plan.from_dict({**document, **REST})

    assert SECRET not in str(refused.value)


def test_an_address_without_a_password_is_no_name_either():
    with pytest.raises(PlanError, match="given as an address") as refused:
        plan({"database": "postgresql://secret-host/clinic", "table": "a"})

    assert "secret-host" not in str(refused.value)


def test_a_query_in_a_file_holds_no_password_either(tmp_path):
    (tmp_path / "stays.sql").write_text(f"select dblink('password={SECRET}')", encoding="utf-8")

    with pytest.raises(PlanError, match="never written down here") as refused:
        plan({"database": "clinic", "query": "stays.sql"}, base=tmp_path)

    assert SECRET not in str(refused.value)
