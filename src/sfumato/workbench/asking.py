"""The same questions to another process: it holds the table, may be killed at any time, and begins again.

Questions and answers are JSON objects, one a line: `{"ask": "uniqueness", "names": ["age"]}` and `{"answer": ...}`, or
`{"error": ..., "kind": ...}`. Whatever else goes wrong ends the process, and the next question starts another one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from sfumato import errors
from sfumato.data.files.databases.connections import apart
from sfumato.errors import InputError, PlanError, Problem, SfumatoError
from sfumato.processes import in_a_group_of_its_own

if TYPE_CHECKING:
    from sfumato.workbench.bench import Workbench

MOST_MEMORY = 8_000_000_000  # bytes after which the next question starts another process


class Lost(SfumatoError):  # noqa: N818 - says what is the case, not that something went wrong
    """The process that knew the table ended twice before it had answered."""


QUESTIONS: Mapping[str, Callable[..., Any]] = {
    "columns": lambda bench: [asdict(each) for each in bench.columns()],
    "values": lambda bench, name, most=500: bench.values(name, most),
    "uniqueness": lambda bench, names: asdict(bench.uniqueness(names)),
    "coverage": lambda bench, name, hierarchy=None: asdict(bench.coverage(name, hierarchy)),
    "groups": lambda bench, name, hierarchy=None, most=500: bench.groups(name, hierarchy, most),
    "looks": lambda bench, names: bench.looks(names),
    "known_by": lambda bench, name: bench.known_by(name),
    "trial": lambda bench: bench.trial().as_dict(),
    "reach": lambda bench: [each.as_dict() for each in bench.reach()],
}


def serve(path: Path, questions: TextIO, answers: TextIO) -> None:
    """Answer questions about a plan until there are no more."""
    from sfumato.workbench.bench import Workbench

    bench = Workbench(path)
    for answer in _answers(bench, questions):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answers(bench: Workbench, questions: TextIO) -> Iterator[dict[str, Any]]:
    for line in questions:
        asked = json.loads(line)
        try:
            yield {"answer": QUESTIONS[asked.pop("ask")](bench, **asked), "memory": _memory()}
        except PlanError as error:
            problems = [[problem.place, problem.text] for problem in error.problems]
            yield {"kind": "PlanError", "problems": problems, "where": error.where}
        except SfumatoError as error:
            yield {"kind": type(error).__name__, "error": str(error)}


def _memory() -> int:
    """Return the most bytes that this process has had, where the system says it."""
    if sys.platform == "win32":
        return 0
    import resource

    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found if sys.platform == "darwin" else found * 1024


class Asking:
    """Questions about one plan to a process of their own, started with the first; several threads may ask."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._process: subprocess.Popen[str] | None = None
        self._turn = threading.Lock()
        self._abandoned = False

    def ask(self, question: str, **details: Any) -> Any:
        """Return the answer as plain data, or raise what the question raised; a process that dies is started again."""
        line = json.dumps({"ask": question, **details}) + "\n"
        with self._turn:
            for _ in range(2):
                answer = self._answer(line) if not self._abandoned else None
                if answer is not None:
                    return _told(answer)
                self._end()
        raise Lost(
            f"{self.path.name} was to be looked at, but the process that does so ended twice, perhaps for lack of "
            "memory.\nClose other programs, or look at a part of the table."
        )

    def close(self) -> None:
        """End the process, if there is one."""
        with self._turn:
            self._end()

    def abandon(self) -> None:
        """End the process whatever it works at: nobody will ask again, and who waits for an answer gets none."""
        self._abandoned = True
        if (process := self._process) is not None:
            process.kill()

    @property
    def pid(self) -> int | None:
        """The number of the process, if there is one."""
        return self._process.pid if self._process is not None else None

    def _answer(self, line: str) -> dict[str, Any] | None:
        """Return what the process says; None if it has died, or dies of it."""
        process = self._process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(line)
            process.stdin.flush()
            found = process.stdout.readline()
        except OSError:
            return None
        if not found.endswith("\n"):
            return None
        answer: dict[str, Any] = json.loads(found)
        if answer.get("memory", 0) > MOST_MEMORY:
            self._end()
        return answer

    def _started(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "sfumato.workbench", str(self.path)]
        environment, told = apart()
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("SFUMATO_DEBUG") else subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            **in_a_group_of_its_own(),  # Ctrl-C is for whoever asks
        )
        assert process.stdin is not None
        with suppress(OSError):  # whether it lives is seen with the first question
            process.stdin.write(told)
            process.stdin.flush()
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was not read any more
                if pipe is not None:
                    pipe.close()
        process.wait()


def _told(answer: Mapping[str, Any]) -> Any:
    if "answer" in answer:
        return answer["answer"]
    if answer["kind"] == "PlanError":
        raise PlanError([Problem(place, text) for place, text in answer["problems"]], answer["where"])
    kind = getattr(errors, answer["kind"], InputError)
    raise kind(answer["error"])
