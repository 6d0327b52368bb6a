"""Jobs: commands in processes of their own, found again by who comes after."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

import pytest

from sfumato import processes
from sfumato.webapp.jobs import Jobs
from sfumato.webapp.project import Project

# Stands for `python -m sfumato`: writes what it is told to, sleeps, and ends as it is told.
COMMAND = (
    "import sys, time, signal; words = sys.argv[1:]\n"
    "signal.signal(signal.SIGINT, signal.SIG_IGN if words[2] == 'deaf' else lambda *_: sys.exit(130))\n"
    "print(words[0], flush=True); time.sleep(float(words[1])); sys.exit(int(words[3]))"
)


@pytest.fixture
def project(tmp_path):
    return Project.at(tmp_path)


def jobs_of(project):
    return Jobs(project, command=(sys.executable, "-c", COMMAND))


async def until(jobs, job, *states):
    end = time.monotonic() + 20
    while jobs.get(job.id).state not in states:
        assert time.monotonic() < end, jobs.get(job.id)
        await asyncio.sleep(0.02)
    return jobs.get(job.id)


def asked(jobs, printed="{}", seconds=0.0, manner="heeds", exit_code=0, **more):
    return jobs.ask("run", [printed, str(seconds), manner, str(exit_code)], watched=False, **more)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exit_code", "state"),
    [(0, "finished"), (1, "refused"), (2, "wrong"), (3, "broke"), (130, "cancelled"), (77, "died")],
)
def test_how_a_job_ends_is_said(project, exit_code, state):
    async def story():
        jobs = jobs_of(project)
        await jobs.open()
        job = await until(jobs, asked(jobs, '{"error": "k was given.\\nWrite 5."}', exit_code=exit_code), state)
        await jobs.close()
        return job, jobs.result(job)

    job, result = asyncio.run(story())

    assert job.exit == exit_code
    assert result["error"] == "k was given.\nWrite 5."
    assert job.meaning


@pytest.mark.slow
def test_jobs_wait_for_each_other_and_go_in_order(project):
    async def story():
        jobs = jobs_of(project)
        await jobs.open()
        first, second = asked(jobs, seconds=0.4), asked(jobs)
        await until(jobs, first, "running")
        assert jobs.get(second.id).state == "queued"
        await until(jobs, second, "finished")
        assert jobs.get(first.id).state == "finished"
        await jobs.close()

    asyncio.run(story())


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize("manner", ["heeds", "deaf"])
def test_a_job_is_stopped_and_leaves_nothing(project, monkeypatch, manner):
    monkeypatch.setattr("sfumato.webapp.jobs.GRACE", 0.5)
    left = project.folder / ".target.tmp-01234567"
    lock = project.folder / ".target.lock-01234567"

    async def story():
        jobs = jobs_of(project)
        await jobs.open()
        job = await until(jobs, asked(jobs, seconds=30, manner=manner, target="target"), "running")
        await asyncio.sleep(0.3)  # it says what it does with Ctrl-C first
        left.mkdir()
        lock.touch()
        await jobs.cancel(job)
        ended = await until(jobs, job, "cancelled")
        await jobs.close()
        return ended

    job = asyncio.run(story())

    assert processes.born(job.pid) != job.since
    assert not left.exists()
    assert not lock.exists()


def test_what_waits_can_be_stopped_before_it_starts(project):
    async def story():
        jobs = jobs_of(project)
        job = asked(jobs)
        await jobs.cancel(job)
        return jobs.get(job.id)

    assert asyncio.run(story()).state == "cancelled"


@pytest.mark.slow
@pytest.mark.posix
def test_a_server_that_died_leaves_its_jobs_to_the_next(project):
    async def first():
        jobs = jobs_of(project)
        await jobs.open()
        job = await until(jobs, asked(jobs, '{"done": 1}', seconds=1.0), "running")
        jobs.keep_running = True  # as after kill -9: nobody stops it
        await jobs.close()
        return job

    async def second(job):
        jobs = jobs_of(project)
        await jobs.open()
        assert jobs.get(job.id).state == "running"
        found = await until(jobs, job, "finished", "lost", "died")
        await jobs.close()
        return found

    job = asyncio.run(first())
    assert processes.born(job.pid) == job.since

    assert asyncio.run(second(job)).state == "finished"


def test_a_process_with_the_same_number_is_not_taken_for_the_job(project):
    async def story():
        jobs = jobs_of(project)
        job = asked(jobs)
        file = jobs.folder / job.id / "job.json"
        kept = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(
            json.dumps({**kept, "state": "running", "pid": os.getpid(), "since": "long ago"}), encoding="utf-8"
        )
        again = jobs_of(project)
        await again.open()
        found = again.get(job.id)
        await again.close()
        return found

    assert asyncio.run(story()).state == "lost"


def test_what_a_job_told_is_told_again_from_where_somebody_was(project):
    async def story():
        jobs = jobs_of(project)
        await jobs.open()
        job = await until(jobs, asked(jobs), "finished")
        (jobs.folder / job.id / "progress.jsonl").write_text("one\ntwo\nthree\nhalf a li", encoding="utf-8")
        events = [event async for event in jobs.stream(job, 1)]
        await jobs.close()
        return events

    assert asyncio.run(story()) == [
        "id: 2\nevent: progress\ndata: two\n\n",
        "id: 3\nevent: progress\ndata: three\n\n",
        "event: end\ndata: finished\n\n",
    ]


def test_records_are_for_their_owner(project):
    jobs = jobs_of(project)
    job = asked(jobs)

    if os.name == "posix":
        assert (jobs.folder / job.id).stat().st_mode & 0o777 == 0o700
    assert (jobs.folder / job.id / "job.json").stat().st_mode & 0o077 == 0 or os.name != "posix"
