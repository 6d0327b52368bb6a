"""Apache Spark: tasks run on a cluster. No other file knows it.

Spark says who does which task, and does it again when an executor is lost. It sees numbers of tasks and nothing else:
rows lie in codes in a work folder beside the output, which the driver and all executors can reach, and tasks read and
write there. So neither plans of queries nor shuffle files, logs or pages of Spark hold a value of the table.
"""

from __future__ import annotations

import importlib
import os
import pickle
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from sfumato.anonymizers.choosing import Step
from sfumato.data.dataset import Dataset
from sfumato.data.files import Source
from sfumato.data.schema import Role, Schema
from sfumato.engines.dividing import DISTINCT_HERE, DividedEngine
from sfumato.engines.regions import Job, Result
from sfumato.engines.tasks import Splits
from sfumato.errors import DataError, InputError, OutputError, SfumatoError
from sfumato.progress import Progress

PATIENCE = 20.0  # seconds that a master, or its first executor, may take to answer
NEWEST_NEEDED = (4, 0)  # of pyspark
JAVA_NEEDED = 17
_LOST = re.compile(
    r"ExecutorLost|OutOfMemory|\bMemoryError|exit code 137|Python worker exited|Worker.*(lost|decommission)", re.I
)


class SparkCluster:
    """Runs tasks by a session of Spark: the one that is there, else one of its own, which ends with the work."""

    def __init__(self, master: str | None = None, session: Any = None) -> None:
        self.master, self.session, self.own = master, session, False

    def begin(self) -> None:
        """Have a session, or raise what is missing."""
        if self.session is not None:
            return
        sql = _pyspark().sql
        active = sql.SparkSession.getActiveSession()
        if active is not None and self.master is None:
            self.session = active
            return
        _check_java()
        master = self.master or "local[*]"
        _check_answers(master)
        settings = {
            "spark.ui.showConsoleProgress": "false",
            "spark.ui.enabled": "false",
            "spark.log.level": "OFF",  # what goes wrong is told in our own words
        }
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else Spark takes whatever is called python3
        if "PYTHONPATH" in os.environ:  # executors shall find what the driver found
            settings["spark.executorEnv.PYTHONPATH"] = os.environ["PYTHONPATH"]
        builder = sql.SparkSession.builder.appName("sfumato").master(master)
        for key, value in settings.items():
            builder = builder.config(key, value)
        try:
            self.session = builder.getOrCreate()
        except Exception as error:
            raise InputError(
                f"Spark was to start with the master {master}, but it did not ({type(error).__name__}).\n"
                "Check the master and the logs of Spark, or use --engine local."
            ) from None
        self.own = True
        self._wait_for_executors(master)

    def end(self) -> None:
        """Stop a session of its own."""
        if self.own and self.session is not None:
            self.session.stop()
            self.session, self.own = None, False

    def _wait_for_executors(self, master: str) -> None:
        """Raise unless there is an executor beside the driver, within the time that one may wait."""
        if master.startswith("local"):
            return
        tracker, end = self.session.sparkContext._jsc.sc().statusTracker(), time.monotonic() + PATIENCE
        while len(tracker.getExecutorInfos()) < 2:  # the first one is the driver
            if time.monotonic() > end:
                self.end()
                raise InputError(
                    f"Spark has the master {master}, but no executor came within {PATIENCE:.0f} s.\n"
                    "Start workers, free some of their cores and memory, or use --engine local."
                )
            time.sleep(0.1)

    def each(self, work: Callable[[Job], Result], jobs: Sequence[Job], what: str) -> list[Result]:
        """Return what comes of each job, in order; a task for each, which Spark repeats where it was lost."""
        if not jobs:
            return []
        sent = [pickle.dumps((work, job)) for job in jobs]

        context = self.session.sparkContext
        context.setJobDescription(f"sfumato: {what}")
        try:
            found = context.parallelize(range(len(sent)), len(sent)).map(partial(done, sent)).collect()
        except KeyboardInterrupt:
            raise
        except Exception as error:
            raise _given_up(error, what) from None
        results = [pickle.loads(each) for each in found]
        for result in results:
            if isinstance(result, SfumatoError):
                raise result
        return results


def done(sent: Sequence[bytes], number: int) -> bytes:
    """Do one of the tasks, wherever this is; what is wrong with the data is a result, too."""
    work, job = pickle.loads(sent[number])
    try:
        found = work(job)
    except SfumatoError as error:
        found = error
    return pickle.dumps(found)


def _given_up(error: Exception, what: str) -> SfumatoError:
    """Return the error for tasks that Spark gave up; its own words are not passed on: they may hold anything."""
    if _LOST.search(str(error)):
        return InputError(
            f"Spark gave up to {what}: executors were lost again and again, which mostly means out of memory.\n"
            "Give them more (spark.executor.memory, spark.executor.pyspark.memory), or fewer cores each. "
            "Nothing was published."
        )
    if number := re.search(r"\[Errno (\d+)\]", str(error)):
        return OutputError(
            f"Spark gave up to {what}: a file of the work folder could not be read or written "
            f"({os.strerror(int(number[1]))}).\nName an output folder that the driver and all executors reach by the "
            "same path, with room for the table in codes, twice. Nothing was published."
        )
    kind = re.search(r"\b([A-Za-z_.]*(?:Error|Exception))\b", str(error).split("Traceback")[-1])
    return SfumatoError(
        f"Spark gave up to {what} ({kind[1] if kind else type(error).__name__}). Nothing was published.\n"
        "Look into the logs of the executors; sfumato must be installed there in the same version."
    )


def _pyspark() -> Any:
    try:
        found = importlib.import_module("pyspark")
        importlib.import_module("pyspark.sql")
    except ImportError:
        raise InputError(
            "--engine spark was asked for, but pyspark is not installed.\nInstall it: pip install pyspark."
        ) from None
    version = tuple(int(number) for number in re.findall(r"\d+", found.__version__)[:2])
    if version < NEWEST_NEEDED:
        raise InputError(
            f"--engine spark was asked for, but pyspark is {found.__version__}.\n"
            f"Version {'.'.join(map(str, NEWEST_NEEDED))} or newer is needed: pip install --upgrade pyspark."
        )
    return found


def _check_java() -> None:
    """Raise unless Java is there, and new enough."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    asked = f"--engine spark needs Java {JAVA_NEEDED} or newer"
    if java is None:
        raise InputError(
            f"{asked}, but there is none{' in JAVA_HOME' if home else ''}.\n"
            f"Install one (such as openjdk-{JAVA_NEEDED}-jre-headless), or use --engine local."
        )
    told = subprocess.run([java, "-version"], capture_output=True, check=False).stderr
    version = re.search(rb'version "(\d+)', told)
    if version is None or int(version[1]) < JAVA_NEEDED:
        raise InputError(
            f"{asked}, but {java} is {f'version {int(version[1])}' if version else 'something else'}.\n"
            "Install a newer one, or name it in the environment as JAVA_HOME."
        )


def _check_answers(master: str) -> None:
    """Raise unless a master that is named by its address answers."""
    if not master.startswith("spark://"):
        return
    end, reached = time.monotonic() + PATIENCE, False
    addresses = [urlsplit(f"spark://{each}") for each in master.removeprefix("spark://").split(",")]
    while not reached and time.monotonic() < end:
        for address in addresses:
            try:
                with socket.create_connection((address.hostname, address.port or 7077), timeout=2):
                    reached = True
            except (OSError, ValueError):
                time.sleep(0.2)
    if not reached:
        raise InputError(
            f"The master {master} was asked for, but nobody answers there after {PATIENCE:.0f} s.\n"
            "Start it, correct its address (spark://HOST:PORT), or leave --master out to run on this machine."
        )


class SparkEngine(DividedEngine):
    """Apache Spark."""

    name: ClassVar[str] = "spark"

    def __init__(
        self, *, master: str | None = None, distinct_on_driver: int = DISTINCT_HERE, session: Any = None
    ) -> None:
        super().__init__(SparkCluster(master, session), distinct_here=distinct_on_driver)

    @contextmanager
    def workroom(self, folder: Path) -> Iterator[None]:
        """Work in a folder that executors can reach, too, with a session of Spark."""
        assert isinstance(self.cluster, SparkCluster)
        self.cluster.begin()
        try:
            with super().workroom(folder):
                yield
        finally:
            self.cluster.end()

    def column_names(self, source: Source) -> list[str]:
        """Return the names of the columns of a source: a file, or a table of the catalog."""
        return list(self._table(source).columns) if source.in_catalog else super().column_names(source)

    def read(self, source: Source, drop: Collection[str], progress: Progress) -> tuple[Any, str | None]:
        """Return where the rows of a source are; those of a table of the catalog are written once to the room."""
        if not source.in_catalog:
            return super().read(source, drop, progress)
        return self._kept(self._table(source), drop, source.missing), None

    def _table(self, source: Source) -> Any:
        assert isinstance(self.cluster, SparkCluster)
        try:
            return self.cluster.session.table(source.table)
        except Exception as error:
            raise InputError(
                f"The source is {source.shown}, but the session of Spark has no such table that it can read "
                f"({type(error).__name__}).\nCorrect [source] table, or give Spark the catalog (spark.sql.catalog..., "
                "enableHiveSupport); in Python, start the session first."
            ) from None

    def encode(
        self, table: Any, schema: Schema, steps: Sequence[Step], progress: Progress, *, once: bool = False
    ) -> Dataset:
        """Write the table in codes; a frame of Spark is written once before, for its rows have no other order."""
        splits = table if isinstance(table, Splits) else self._written(table, schema)
        return super().encode(splits, schema, steps, progress, once=once)

    def _written(self, frame: Any, schema: Schema) -> Splits:
        dropped = [name for name in frame.columns if name in schema.named(Role.IDENTIFIER)]
        return self._kept(frame, dropped, schema.missing)

    def _kept(self, frame: Any, dropped: Collection[str], missing: tuple[str, ...]) -> Splits:
        raw = self.room / "raw"
        try:
            frame.drop(*dropped).write.parquet(raw.as_uri())
        except Exception as error:
            raise DataError(
                f"The frame was to be written to the work folder, but Spark could not ({type(error).__name__}).\n"
                "Name a folder that the driver and all executors reach, and columns of types that Parquet knows."
            ) from None
        return self._splits(Source(raw, missing=missing), ())
