"""Jobs: commands that could have been typed, each in its own process, one after the other.

Whatever is known of a job is in files: a server that dies takes no job along, and the next one finds it again by the
number of its process and when that started.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import secrets
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sfumato import processes
from sfumato.data.files.databases.connections import apart
from sfumato.disk import clear_leftovers
from sfumato.progress import Way, way_of
from sfumato.webapp.project import ID, Project, write_private

POLL = 0.2  # seconds between two looks at a process
GRACE = 5.0  # seconds that a command has to end by itself
KEPT = 100  # jobs that are remembered
QUEUED, RUNNING, CANCELLING = "queued", "running", "cancelling"
FINISHED, LOST, DIED, CANCELLED = "finished", "lost", "died", "cancelled"
UNDER_WAY = frozenset({QUEUED, RUNNING, CANCELLING})
_STATE_OF = {0: FINISHED, 1: "refused", 2: "wrong", 3: "broke", 130: CANCELLED}
WORDS: Mapping[str, str] = {
    QUEUED: "Waits for another job to end.",
    RUNNING: "Under way.",
    CANCELLING: "Is being stopped.",
    FINISHED: "Done.",
    "refused": "A promise does not hold, or cannot be kept. Nothing was published.",
    "wrong": "The plan or the data is not as it should be. Nothing was published.",
    "broke": "Something unexpected happened: a bug in sfumato. Nothing was published.",
    CANCELLED: "Stopped. Nothing was left behind.",
    DIED: "Ended by the system, perhaps for lack of memory. Nothing was published.",
    LOST: "Its process is gone, and nobody saw how it ended. It can be started again.",
}


@dataclass(frozen=True, kw_only=True)
class Job:
    """One command, and what became of it."""

    id: str
    kind: str  # run, sweep, audit, attack, draft ...
    words: tuple[str, ...]  # after `sfumato`
    plan: str = ""  # the name of the plan's file
    digest: str = ""  # of the plan when it was asked for
    target: str = ""  # what it writes, relative to the project
    then: str = ""  # the page to go to when it is done
    watched: bool = True  # whether the command tells how far it is
    made: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds"))
    state: str = QUEUED
    pid: int | None = None
    since: str | None = None  # when its process started, in the system's words
    exit: int | None = None
    seconds: float | None = None

    @property
    def command(self) -> str:
        """The command as somebody would type it."""
        return shlex.join(("sfumato", *self.words))

    @property
    def under_way(self) -> bool:
        """Whether it has not ended."""
        return self.state in UNDER_WAY

    @property
    def meaning(self) -> str:
        """What its state means, in words."""
        return WORDS[self.state]


class Jobs:
    """The jobs of a project."""

    def __init__(self, project: Project, command: Sequence[str] = (sys.executable, "-m", "sfumato")) -> None:
        self.project, self.command = project, tuple(command)
        self.folder = project.hidden / "jobs"
        self._jobs: dict[str, Job] = {}
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._waiting = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.prepares, self._prepared = False, set[str]()
        self.keep_running = False  # whether jobs go on when the server ends
        self.closing = False

    # What there is.

    def all(self) -> list[Job]:
        """Return all jobs, the youngest first."""
        return sorted(self._jobs.values(), key=lambda job: (job.made, job.id), reverse=True)

    def get(self, name: str) -> Job | None:
        """Return a job by its id."""
        return self._jobs.get(name)

    def running(self) -> list[Job]:
        """Return the jobs that have not ended."""
        return [job for job in self.all() if job.under_way]

    def of_target(self, target: str) -> Job | None:
        """Return the job that made something, if it is still known."""
        return next((job for job in self.all() if job.target == target), None)

    def result(self, job: Job) -> Mapping[str, Any]:
        """Return the JSON object that a command printed; nothing while there is none."""
        with suppress(OSError, ValueError):
            found = json.loads((self.folder / job.id / "result.json").read_text(encoding="utf-8"))
            return found if isinstance(found, dict) else {}
        return {}

    def events(self, job: Job) -> list[str]:
        """Return what a command told of its progress so far, a line each."""
        with suppress(OSError):
            text = (self.folder / job.id / "progress.jsonl").read_text(encoding="utf-8")
            return text.split("\n")[:-1]  # what stands behind the last end of a line is not whole
        return []

    def way(self, job: Job) -> Way:
        """Return how far a job is."""
        return way_of(self.events(job), done=job.state == FINISHED)

    # Asking for one.

    def ask(self, kind: str, words: Sequence[str], **more: Any) -> Job:
        """Put a command into the queue."""
        for old in self.all()[KEPT:]:
            if not old.under_way:
                self._forget(old)
        job = Job(id=f"{kind}-{secrets.token_hex(4)}", kind=kind, words=tuple(words), **more)
        (self.folder / job.id).mkdir(mode=0o700)
        self._keep(job)
        self._waiting.set()
        return job

    def prepare(self, plan: str, kind: str) -> None:
        """Have the engine prepared for a kind of plan, once: the first run of it would wait for that."""
        if self.prepares and kind and kind not in self._prepared:
            self._prepared.add(kind)
            self.ask("warm", ["warm", plan], plan=plan, watched=False)

    def again(self, job: Job) -> Job:
        """Put the same command into the queue once more."""
        return self.ask(job.kind, job.words, plan=job.plan, target=job.target, then=job.then, watched=job.watched)

    async def cancel(self, job: Job) -> None:
        """Stop a job: ask it to end, after some seconds end it, and sweep up what it left."""
        job = self._jobs[job.id]
        if job.state == QUEUED:
            self._keep(replace(job, state=CANCELLED))
            return
        if job.state != RUNNING or job.pid is None:
            return
        self._keep(job := replace(job, state=CANCELLING))
        pid = job.pid
        assert pid is not None
        processes.interrupt(pid)
        until = time.monotonic() + GRACE
        while self._alive(job) and time.monotonic() < until:
            await asyncio.sleep(POLL / 2)
        if self._alive(job):
            processes.kill(pid)
        while self._jobs[job.id].state == CANCELLING and not self.closing:
            await asyncio.sleep(POLL / 2)

    # Carrying them out.

    async def open(self) -> None:
        """Find the jobs of earlier servers, and begin to work."""
        for path in self.folder.glob("*/job.json"):
            with suppress(OSError, ValueError, TypeError):
                found = json.loads(path.read_text(encoding="utf-8"))
                job = Job(**{**found, "words": tuple(found["words"])})
                if ID.fullmatch(job.id):
                    self._jobs[job.id] = job
        for job in self.running():
            if job.state != QUEUED and self._alive(job):
                self._begin(self._watch(job))
            else:
                self._end(job, None)
        self._begin(self._work())

    async def close(self) -> None:
        """Stop to work; jobs under way are stopped, too, unless somebody wanted them to go on."""
        if not self.keep_running:
            for job in self.running():
                await self.cancel(job)
        self.closing = True
        for task in self._tasks:
            task.cancel()

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        """Start what waits, one at a time: the loops of one take all cores."""
        while True:
            await self._waiting.wait()
            self._waiting.clear()
            for job in reversed(self.all()):
                while any(other.state in (RUNNING, CANCELLING) for other in self._jobs.values()):
                    await asyncio.sleep(POLL)
                if self._jobs[job.id].state == QUEUED:
                    await self._watch(self._start(job))

    def _start(self, job: Job) -> Job:
        folder = self.folder / job.id
        watched = ("--progress", str(folder / "progress.jsonl")) if job.watched else ()
        command = (*self.command, *job.words, *watched, "--json")
        try:
            files = (folder / "result.json", folder / "stderr.txt")
            child = processes.start(command, self.project.folder, *files, *apart())
        except OSError:
            return self._keep(replace(job, state=DIED))
        self._children[job.id] = child
        return self._keep(replace(job, state=RUNNING, pid=child.pid, since=processes.born(child.pid)))

    async def _watch(self, job: Job) -> None:
        """Wait until a job has ended, and note how."""
        while self._alive(job):
            await asyncio.sleep(POLL)
        child = self._children.pop(job.id, None)
        self._end(self._jobs[job.id], child.returncode if child is not None else None)

    def _alive(self, job: Job) -> bool:
        if (child := self._children.get(job.id)) is not None:
            return child.poll() is None
        return job.pid is not None and job.since is not None and processes.born(job.pid) == job.since

    def _end(self, job: Job, code: int | None) -> None:
        """Note how a job ended: by its exit code, else by what it left."""
        if job.state not in UNDER_WAY:
            return
        if code is None:
            code = self._told_exit(job)
        state = LOST if code is None else _STATE_OF.get(code, DIED)
        if state != FINISHED and job.state == CANCELLING:
            state = CANCELLED
        if state != FINISHED and job.target:
            clear_leftovers(self.project.folder / job.target)
        took = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(job.made)
        self._keep(replace(job, state=state, exit=code, seconds=took.total_seconds()))
        self._waiting.set()

    def _told_exit(self, job: Job) -> int | None:
        for line in reversed(self.events(job)):
            with suppress(ValueError, KeyError, TypeError):
                event = json.loads(line)
                if event["event"] == "end":
                    return int(event["exit"])
        result = self.result(job)
        return int(result.get("exit_code", 0 if result.get("satisfied", True) else 1)) if result else None

    def _keep(self, job: Job) -> Job:
        write_private(self.folder / job.id / "job.json", json.dumps(asdict(job), indent=1))
        self._jobs[job.id] = job
        return job

    def _forget(self, job: Job) -> None:
        shutil.rmtree(self.folder / job.id, ignore_errors=True)
        del self._jobs[job.id]

    async def stream(self, job: Job, last: int) -> AsyncIterator[str]:
        """Yield what a job tells, from the line after `last` on, as server-sent events; the last one is its end."""
        while not self.closing:
            now = self._jobs.get(job.id)
            lines = self.events(job)
            for number, line in enumerate(lines[last:], start=last + 1):
                yield f"id: {number}\nevent: progress\ndata: {line}\n\n"
            last = max(last, len(lines))
            if now is None or not now.under_way:
                yield f"event: end\ndata: {now.state if now is not None else LOST}\n\n"
                return
            yield ": still here\n\n"
            await asyncio.sleep(POLL)
