"""Spark, as far as it can be told without Java: what is missing is said, and nobody else knows it."""

from __future__ import annotations

import contextlib
import pickle
import re
import socket
import sqlite3

import pytest

import sfumato as sf
from house import FILES
from in_parts import in_parts
from sfumato.engines import engine_named, spark
from sfumato.engines.spark import SparkEngine, done
from sfumato.errors import DataError, InputError, OutputError, PlanError, PolicyError, SfumatoError


def test_no_other_file_imports_pyspark():
    named = re.compile(r"""^\s*(from|import) pyspark|import_module\("pyspark""", re.M)
    assert [path.name for path in FILES if named.search(path.read_text(encoding="utf-8"))] == ["spark.py"]


def test_what_a_missing_library_is_called_is_said(monkeypatch, tmp_path):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(spark.importlib, "import_module", absent)
    with pytest.raises(InputError, match=r"pip install pyspark\."), SparkEngine().workroom(tmp_path / "work"):
        pass
    assert not (tmp_path / "work").exists()


def test_an_old_pyspark_is_refused(monkeypatch):
    monkeypatch.setattr(spark.importlib, "import_module", lambda name: type("Old", (), {"__version__": "3.5.1"}))
    with pytest.raises(InputError, match=r"3\.5\.1(?s:.*)pip install --upgrade pyspark"):
        spark._pyspark()


@pytest.mark.parametrize(
    ("told", "words"), [(b'openjdk version "11.0.2"', "version 11"), (b"no java", "something else")]
)
def test_an_old_java_is_refused(monkeypatch, told, words):
    monkeypatch.setattr(spark.shutil, "which", lambda name, path=None: "/usr/bin/java")
    monkeypatch.setattr(spark.subprocess, "run", lambda *_, **__: type("Told", (), {"stderr": told}))
    with pytest.raises(InputError, match=words):
        spark._check_java()


def test_the_oldest_java_that_will_do_is_taken(monkeypatch):
    monkeypatch.setattr(spark.shutil, "which", lambda name, path=None: "/usr/bin/java")
    told, asked = f'openjdk version "{spark.JAVA_NEEDED}.0.1"'.encode(), []
    monkeypatch.setattr(
        spark.subprocess, "run", lambda ask, **_: asked.append(ask) or type("Told", (), {"stderr": told})
    )

    spark._check_java()

    assert asked == [["/usr/bin/java", "-version"]]


def test_no_java_is_said(monkeypatch):
    monkeypatch.setattr(spark.shutil, "which", lambda name, path=None: None)
    with pytest.raises(InputError, match="Java 17"):
        spark._check_java()


@pytest.mark.slow
def test_a_master_that_does_not_answer_is_said_in_the_end(monkeypatch):
    monkeypatch.setattr(spark, "PATIENCE", 0.3)
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(InputError, match="nobody answers there"):
            spark._check_answers(f"spark://127.0.0.1:{taken.getsockname()[1]}")


@pytest.mark.parametrize(
    ("told", "kind", "words"),
    [
        ("Job aborted: ExecutorLostFailure (executor 1 exited), exit code 137", InputError, "memory"),
        ("Traceback ... KeyError: 'Ann Smith'", SfumatoError, "KeyError"),
    ],
)
def test_what_spark_says_is_not_passed_on(told, kind, words):
    error = spark._given_up(RuntimeError(told), "code rows")
    assert type(error) is kind
    assert words in str(error)
    assert "Ann" not in str(error)


def refuse(job):
    raise DataError(f"{job} is wrong.")


def test_what_is_wrong_with_data_comes_back_as_a_result():
    sent = [pickle.dumps((str, 1)), pickle.dumps((refuse, 2))]
    assert pickle.loads(done(sent, 0)) == "1"
    assert str(pickle.loads(done(sent, 1))) == "2 is wrong."


def test_settings_of_spark_are_refused_for_this_machine():
    with pytest.raises(PolicyError, match="--master"):
        engine_named("local", {"master": "spark://there:7077"})
    assert engine_named("spark", {"master": None, "distinct_on_driver": 5}).distinct_here == 5


TABLE = {
    "source": {"table": "clinic.stays"},
    "columns": {"age": {"role": "quasi-identifier"}},
    "require": [{"model": "k-anonymity", "k": 2}],
}


def test_a_table_of_the_catalog_is_refused_on_this_machine_with_words(tmp_path):
    plan = sf.Plan.from_dict(TABLE)
    assert plan.source.shown == "table clinic.stays of the catalog"
    with pytest.raises(DataError, match="--engine spark"):
        sf.run(plan, tmp_path / "run")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("also", [{"path": "people.csv"}, {"query": "select 1"}])
def test_a_table_is_in_one_place(also):
    with pytest.raises(PlanError, match=r"Keep one|no database"):
        sf.Plan.from_dict({**TABLE, "source": {**TABLE["source"], **also}})


class Session:
    """Stands for a session of Spark without the table."""

    def table(self, name):
        raise RuntimeError("AnalysisException: /warehouse/secret")


def test_a_table_that_the_catalog_lacks_is_named_without_the_words_of_spark(tmp_path):
    engine = SparkEngine(session=Session())
    with pytest.raises(InputError, match=r"clinic\.stays") as raised:
        sf.run(sf.Plan.from_dict(TABLE), tmp_path / "run", engine=engine)
    assert "secret" not in str(raised.value)
    assert not list(tmp_path.iterdir())


def database_plan(path, **more):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("create table people (age integer)")
        database.executemany("insert into people values (?)", [(age,) for age in (30, 30, 40, 40)])
        database.commit()
    return {**TABLE, "source": {"database": str(path), "table": "people"}, **more}


def test_a_database_as_source_is_refused_before_work_with_what_to_do(tmp_path):
    plan = sf.Plan.from_dict(database_plan(tmp_path / "people.db"))
    with pytest.raises(DataError, match=r"reads files(.|\n)*--engine local"):
        sf.run(plan, tmp_path / "run", engine=in_parts(4))
    assert [path.name for path in tmp_path.iterdir()] == ["people.db"]


def test_a_database_as_target_is_refused_before_work_with_what_to_do(tmp_path):
    given = database_plan(tmp_path / "people.db", release={"database": str(tmp_path / "people.db"), "table": "shown"})
    plan = sf.Plan.from_dict(given)
    with pytest.raises(OutputError, match=r"writes files(.|\n)*--engine local"):
        sf.run(plan, tmp_path / "run", engine=in_parts(4))
    assert [path.name for path in tmp_path.iterdir()] == ["people.db"]


def test_an_existing_output_stays_as_it_is(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="run"):
        sf.run(sf.Plan.from_dict(TABLE), tmp_path / "run", engine=SparkEngine(session=Session()))
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["mine.txt"]
