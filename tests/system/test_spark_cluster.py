"""A real cluster of Spark on this machine: one master and two workers, each a process of its own."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import pyarrow.parquet as pa_parquet
import pytest

import sfumato as sf
from anonymizing import JOBS, Job
from families import plan_in
from in_parts import Here, may_publish, plan_for
from sfumato.data.files.release import read_release
from sfumato.engines import spark
from sfumato.engines.dividing import DividedEngine
from sfumato.engines.spark import SparkEngine
from sfumato.errors import InputError, OutputError, Unsatisfiable
from sfumato.models import KAnonymity, QSCloseness

JAVA = shutil.which("java")
pytestmark = [
    pytest.mark.more,
    pytest.mark.posix,
    pytest.mark.skipif(JAVA is None, reason="Spark needs Java, which is not here: install openjdk-17-jre-headless"),
    pytest.mark.skipif(
        importlib.util.find_spec("pyspark") is None, reason="pyspark is not here: pip install '.[spark]'"
    ),
]
SETTINGS = "--conf spark.executor.memory=1g --conf spark.driver.memory=1g --conf spark.driver.host=127.0.0.1"
PARTS, FILES = 30, 60  # rows of a part, and of a file


class Cluster:
    """Processes of Spark, each a group of its own, so that a worker ends with its executors."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"spark://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen] = []
        self._start("master.Master", "--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0")

    def add_worker(self) -> subprocess.Popen:
        work = self.folder / f"worker-{len(self.processes)}"
        return self._start(
            *("worker.Worker", "--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(work)), self.url
        )

    def _start(self, name: str, *words: str) -> subprocess.Popen:
        home = Path(importlib.util.find_spec("pyspark").submodule_search_locations[0])
        process = subprocess.Popen(
            [JAVA, "-Xmx256m", "-cp", f"{home}/jars/*", f"org.apache.spark.deploy.{name}", *words],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"},
        )
        self.processes.append(process)
        return process

    def end(self) -> None:
        for process in reversed(self.processes):
            kill(process)


def kill(process: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="module", autouse=True)
def small(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"{SETTINGS} pyspark-shell")
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setattr(spark, "PATIENCE", 120.0)  # a machine that does many things at once starts slowly
        yield


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.add_worker()
        made.add_worker()
        yield made
    finally:
        made.end()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_families_on_a_cluster_and_a_worker_killed_in_the_middle_change_no_byte(cluster, tmp_path, monkeypatch):
    plan = sf.Plan.load(plan_in(tmp_path, "hospital"))
    here = DividedEngine(Here(), rows_a_part=PARTS, rows_a_file=FILES)
    sf.run(plan, tmp_path / "here", seed=5, engine=here, measure=False, attack=False)
    engine = SparkEngine(master=cluster.url)
    engine.rows_a_part, engine.rows_a_file = PARTS, FILES
    usual, killed = engine.cluster.each, []

    def each(work, jobs, what):
        if what == "put rows in order":  # beside the task that the worker has by then
            timer = threading.Timer(0.5, lambda: killed.append(kill(cluster.processes[-1])))
            timer.start()
            try:
                return usual(work, jobs, what)
            finally:
                timer.join()
        return usual(work, jobs, what)

    monkeypatch.setattr(engine.cluster, "each", each)
    sf.run(plan, tmp_path / "there", seed=5, engine=engine, measure=False, attack=False)

    assert killed
    assert contents(tmp_path / "there" / "release") == contents(tmp_path / "here" / "release")
    assert len(list((tmp_path / "there" / "release" / "data.parquet").iterdir())) > 1
    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "there", plan))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_the_command_line_runs_on_a_cluster(cluster, tmp_path):
    plan = plan_in(tmp_path, "classes")
    out = tmp_path / "run"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sfumato", "anonymize", plan, "--out", out, "--engine", "spark"),
            *("--master", cluster.url, "--seed", "5", "--json"),
        ],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["release"]["format"] == "parquet"
    assert not told["pending"]
    assert set(told["release"]["files"]) == {"data.parquet/part-00000.parquet", "release.json", "README.md"}
    again = subprocess.run(
        [sys.executable, "-m", "sfumato", "audit", out, "--plan", plan, "--json"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert again.returncode == 0, again.stderr


def test_a_frame_of_spark_goes_in_and_one_comes_out(tmp_path):
    from pyspark.sql import SparkSession

    plan = sf.Plan.load(plan_in(tmp_path, "classes"))
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = session.read.csv(str(plan.source.path), header=True)
        run = sf.anonymize(frame, plan, seed=5)
        shown = run.release.data
        assert isinstance(shown, type(frame))
        assert shown.count() == frame.count()
        assert all(verdict.satisfied for verdict in run.verdicts)
        pa_parquet.write_table(shown.toArrow(), tmp_path / "shown.parquet")
    finally:
        session.stop()
    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "shown.parquet", plan))


def test_a_table_of_the_catalog_is_a_source_and_every_question_is_answered_there_too(tmp_path):
    from pyspark.sql import SparkSession

    plan_file = plan_in(tmp_path, "classes")
    there = sf.Plan.load(plan_file)
    text = plan_file.read_text(encoding="utf-8").replace('path = "source.csv"', 'table = "people"')
    plan_file.write_text(text, encoding="utf-8")
    plan = sf.Plan.load(plan_file)
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        session.read.csv(str(there.source.path), header=True).createOrReplaceTempView("people")
        run = sf.run(plan, tmp_path / "run", seed=5, engine="spark", measure=False, attack=False)
        assert run.facts["source"]["table"] == "people"
        verdicts = sf.audit(tmp_path / "run", plan, engine="spark")
        measured = sf.measure(tmp_path / "run", plan, engine="spark")
        missing = sf.Plan.from_dict({**plan_of(plan_file), "source": {"table": "nobody"}})
        with pytest.raises(InputError, match="no such table"):
            sf.run(missing, tmp_path / "other", engine="spark")
    finally:
        session.stop()
    assert [verdict.as_dict() for verdict in verdicts] == [
        verdict.as_dict() for verdict in sf.audit(tmp_path / "run", there)
    ]
    here = [each.as_dict() for each in sf.measure(tmp_path / "run", there)]
    for each in here:
        each["notes"].remove("The plan has changed since the run was made.")  # it names a file, not the table
    assert [each.as_dict() for each in measured] == here
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".") or path.name == "other"]


def plan_of(path: Path) -> dict:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_questions_by_the_command_line_have_the_answers_of_one_machine(cluster, tmp_path):
    plan = plan_in(tmp_path, "cells")
    sf.run(sf.Plan.load(plan), tmp_path / "run", seed=5, engine=DividedEngine(Here(), rows_a_file=FILES))
    there = ["--engine", "spark", "--master", cluster.url]
    for words in (["audit", tmp_path / "run", "--plan", plan], ["reconstruct", tmp_path / "run", "--columns", "job"]):
        told = []
        for where in ([], there):
            done = subprocess.run(
                [sys.executable, "-m", "sfumato", *words, *where, "--json"],
                capture_output=True,
                encoding="utf-8",
                check=False,
            )
            assert done.returncode == 0, done.stderr
            told.append(json.loads(done.stdout))
        assert told[0] == told[1]


@pytest.fixture(scope="class")
def events(tmp_path_factory):
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="class")
def session(cluster, events):
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
    }
    builder = SparkSession.builder.master(cluster.url)
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    yield made
    made.stop()


class TestInOneSession:
    """What one session on the cluster is enough for; it keeps a log of events."""

    def test_logs_of_spark_hold_no_value_and_nothing_is_shuffled(self, cluster, session, events, tmp_path):
        plan = plan_in(tmp_path, "hospital")
        planted = {"name": "Zebulon Planted", "zip": "9ZQ65", "drugs": "plantedine", "ward": "planted ward"}
        path = plan.parent / "stays.csv"
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows[:: len(rows) // 3]:
            row.update(planted)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        engine = SparkEngine(session=session)
        sf.run(sf.Plan.load(plan), tmp_path / "run", engine=engine, measure=False, attack=False)
        logged = b"".join(contents(events).values())
        told = logged + b"".join(
            content for name, content in contents(cluster.folder).items() if name.endswith(("stdout", "stderr"))
        )
        assert b"sfumato: put rows in order" in logged
        for value in (*planted.values(), *(rows[1][name] for name in ("name", "therapy", "payer", "job"))):
            assert value.encode() not in told
        assert re.findall(rb'"Shuffle Bytes Written":[ ]*[1-9]', logged) == []

    @pytest.mark.parametrize("job", {job.anonymizer: job for job in reversed(JOBS)}.values(), ids=str)
    def test_every_anonymizer_holds_its_promises(self, job, session, tmp_path):
        plan, run, engine = plan_for(job, tmp_path), tmp_path / "run", SparkEngine(session=session)
        engine.rows_a_part, engine.rows_a_file = 80, 100
        if may_publish(job):
            sf.run(plan, run, seed=5, engine=engine, measure=False, attack=False)
            assert all(verdict.satisfied for verdict in sf.audit(run, plan))
        else:
            with pytest.raises(Unsatisfiable, match="audit"):
                sf.run(plan, run, seed=5, engine=engine, measure=False, attack=False)

    def test_classes_that_terms_do_not_make_safe_are_joined_across_tasks_as_on_one_machine(self, session, tmp_path):
        close, margin = QSCloseness(column="symptoms", t="0.12"), {"margin": 0.3}
        plan = plan_for(Job("term-suppression", (close, KAnonymity(k=2)), margin), tmp_path / "given")
        sf.run(plan, tmp_path / "here", seed=5, measure=False, attack=False)
        engine = SparkEngine(session=session)
        engine.rows_a_part, engine.rows_a_file, engine.rows_together = PARTS, FILES, 20
        sf.run(plan, tmp_path / "there", seed=5, engine=engine, measure=False, attack=False)
        assert engine.homes[0].places[-1].startswith("2-")
        shown = [read_release(tmp_path / run / "release").table().to_pylist() for run in ("here", "there")]
        assert shown[0] == shown[1]
        assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "there", plan))

    def test_what_is_measured_and_attacked_there_is_what_one_machine_finds(self, session, tmp_path):
        plan, run = sf.Plan.load(plan_in(tmp_path, "classes")), tmp_path / "run"
        here = DividedEngine(Here(), rows_a_part=PARTS, rows_a_file=FILES)
        sf.run(plan, run, seed=5, engine=here, measure=False, attack=False)
        for ask in (sf.measure, sf.attack):
            engine = SparkEngine(session=session)
            engine.rows_a_part = PARTS
            told = [[each.as_dict() for each in ask(run, plan, **where)] for where in ({}, {"engine": engine})]
            assert told[0]
            assert told[1] == told[0]
        assert sorted(path.name for path in run.parent.iterdir()) == ["classes", "run"]

    @pytest.mark.parametrize(
        ("trouble", "job", "kind", "words"),
        [
            (bytearray, 1 << 60, InputError, r"out of memory(.|\n)*spark.executor.memory"),
            (signal.raise_signal, signal.SIGKILL, InputError, r"out of memory(.|\n)*spark.executor.memory"),
            (os.listdir, "nowhere", OutputError, r"No such file(.|\n)*same path"),
        ],
        ids=["more memory than there is", "killed as the system does when memory ends", "a disk that is not there"],
    )
    def test_executors_in_trouble_are_said_and_nothing_is_left(
        self, trouble, job, kind, words, session, tmp_path, monkeypatch
    ):
        engine = SparkEngine(session=session)
        usual = engine.cluster.each

        def each(work, jobs, what):
            return usual(trouble, [job], what) if what == "code rows" else usual(work, jobs, what)

        monkeypatch.setattr(engine.cluster, "each", each)
        plan = sf.Plan.load(plan_in(tmp_path, "classes"))
        with pytest.raises(kind, match=rf"code rows(.|\n)*{words}"):
            sf.run(plan, tmp_path / "run", engine=engine)
        assert [path.name for path in tmp_path.iterdir()] == ["classes"]

    def test_too_many_distinct_rows_are_decided_about_in_regions_as_here(self, session, tmp_path):
        plan = sf.Plan.load(plan_in(tmp_path, "classes"))
        here = DividedEngine(Here(), rows_a_part=PARTS, rows_a_file=FILES, distinct_here=40)
        sf.run(plan, tmp_path / "here", seed=5, engine=here, measure=False, attack=False)
        engine = SparkEngine(session=session, distinct_on_driver=40)
        engine.rows_a_part, engine.rows_a_file = PARTS, FILES
        run = sf.run(plan, tmp_path / "there", seed=5, engine=engine, measure=False, attack=False)
        assert run.facts["steps"][0]["facts"]["regions"]["regions"] > 1
        assert contents(tmp_path / "there" / "release") == contents(tmp_path / "here" / "release")


def test_a_master_without_workers_is_given_up_and_nothing_is_left(tmp_path, monkeypatch):
    alone = Cluster(tmp_path)
    try:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with socket.socket() as try_it:
                if try_it.connect_ex(("127.0.0.1", alone.port)) == 0:
                    break
            time.sleep(0.2)
        monkeypatch.setattr(spark, "PATIENCE", 2.0)
        plan = sf.Plan.load(plan_in(tmp_path, "classes"))
        with pytest.raises(InputError, match="no executor came"):
            sf.run(plan, tmp_path / "run", engine=SparkEngine(master=alone.url))
    finally:
        alone.end()
    assert not (tmp_path / "run").exists()
