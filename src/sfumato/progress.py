"""How long work tells that it goes on, without knowing who listens.

Work calls `stage`; a command line shows a bar, a file gets a line, a test counts, a library call stays silent. Work of
several parts announces them first, to whoever wants to know how much of the whole is done.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

# What is done in a part of the work, for somebody who waits and does not know our names.
WORDS: Mapping[str, str] = {
    "read": "Reading the table",
    "gather": "Putting the rows of each person together",
    "encode": "Sorting out the values of each column",
    "knowledge": "Looking up what everybody knows",
    "publish": "Putting the new table together",
    "write": "Writing the new table",
    "audit": "Judging it independently",
    "measure": "Measuring what was lost",
    "attack": "Trying what an intruder would",
    "look": "Looking at each column",
    "sweep": "Trying the combinations",
}
_EVERY = 0.2  # seconds between two lines about the same stage


class Stage(Protocol):
    """One named piece of work under way."""

    def advance(self, steps: float = 1) -> None:
        """Say that `steps` of the announced total are done."""

    def done(self) -> None:
        """Say that the piece is finished."""


class Progress(Protocol):
    """Somebody who wants to know how work goes on."""

    def stage(self, name: str, total: float | None = None) -> Stage:
        """Begin a piece of work with `total` steps (None: not known)."""


@runtime_checkable
class Watcher(Progress, Protocol):
    """Somebody who also wants to know the parts of the whole, and which one is under way."""

    def announce(self, parts: Mapping[str, str]) -> None:
        """Say which parts there will be, in order, each with words for it."""

    def enter(self, part: str) -> None:
        """Say that a part begins; the one before it is done."""


def announce(progress: Progress, parts: Sequence[str], words: Mapping[str, str] = WORDS) -> None:
    """Say which parts there will be, if somebody wants to know."""
    if isinstance(progress, Watcher):
        progress.announce({part: words.get(part) or WORDS.get(part, part) for part in parts})


class _SilentStage:
    def advance(self, steps: float = 1) -> None:
        pass

    def done(self) -> None:
        pass


class Silent:
    """Nobody listens: the default in Python."""

    def stage(self, name: str, total: float | None = None) -> Stage:
        """Begin a piece of work that nobody watches."""
        return _SilentStage()


SILENT = Silent()


class Lines:
    """Appends what happens to a file, one JSON object a line, for whoever follows it from another process.

    `parts` lists the parts of the work; `step` says how far the present piece of a part is; `end` is the last line,
    with the exit code. A file that cannot be written stops no work.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parts: tuple[str, ...] = ()
        self.part: str | None = None
        self.began = time.monotonic()

    def announce(self, parts: Mapping[str, str]) -> None:
        """Write down the parts of the work."""
        self.parts = tuple(parts)
        self.tell({"event": "parts", "parts": [{"id": part, "words": words} for part, words in parts.items()]})

    def enter(self, part: str) -> None:
        """Write down that a part begins."""
        self.part = part
        self.tell_step(part, part, 0, None)

    def stage(self, name: str, total: float | None = None) -> Stage:
        """Write down how a piece of the present part goes on; one with the name of a later part begins that one."""
        done = self.parts.index(self.part) + 1 if self.part in self.parts else 0
        if self.part is None or name in self.parts[done:]:
            self.part = name
        return _LineStage(self, self.part, name, total)

    def tell_step(self, part: str, name: str, done: float, total: float | None) -> None:
        """Write down how far a piece of work is."""
        self.tell({"event": "step", "part": part, "piece": name, "done": done, "total": total})

    def end(self, exit_code: int) -> None:
        """Write down that nothing more will follow."""
        self.tell({"event": "end", "exit": exit_code})

    def tell(self, event: Mapping[str, Any]) -> None:
        """Append a line: in one piece, so that who reads at the same time never sees a part of it with more to come."""
        line = json.dumps({**event, "seconds": round(time.monotonic() - self.began, 3)}, ensure_ascii=False)
        with suppress(OSError):
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, f"{line}\n".encode())
            finally:
                os.close(file)


class _LineStage:
    def __init__(self, lines: Lines, part: str, name: str, total: float | None) -> None:
        self.lines, self.part, self.name, self.total = lines, part, name, total
        self.reached: float = 0
        self.told = time.monotonic()
        lines.tell_step(part, name, 0, total)

    def advance(self, steps: float = 1) -> None:
        self.reached += steps
        now = time.monotonic()
        if now - self.told >= _EVERY:
            self.told = now
            self.lines.tell_step(self.part, self.name, self.reached, self.total)

    def done(self) -> None:
        reached = self.reached if self.total is None else self.total
        self.lines.tell_step(self.part, self.name, reached, reached)


# Reading such lines again.


@dataclass(frozen=True, kw_only=True)
class Way:
    """How far work is: its parts in order, each with its state, and the whole."""

    parts: tuple[Mapping[str, Any], ...] = ()
    share: float | None = None  # None: not known

    @property
    def now(self) -> str:
        """What is done at the moment."""
        return next((str(part["words"]) for part in self.parts if part["state"] == "now"), "")


def way_of(lines: Sequence[str], *, done: bool = False) -> Way:
    """Return how far such lines say that work is.

    >>> way = way_of(['{"event": "parts", "parts": [{"id": "a", "words": "Read"}, {"id": "b", "words": "Judge"}]}',
    ...     '{"event": "step", "part": "a", "done": 1, "total": 2, "seconds": 0.5}'])
    >>> way.now, way.share
    ('Read', 0.25)
    """
    parts: dict[str, dict[str, Any]] = {}
    current = None
    for line in lines:
        try:
            event = json.loads(line)
            kind = event["event"]
            if kind == "parts":
                for part in event["parts"]:
                    waits = {"words": part["words"], "state": "waits", "share": 0.0, "seconds": None}
                    parts.setdefault(str(part["id"]), waits)
            elif kind == "step":
                current = str(event["part"])
                part = parts.setdefault(current, {"words": current, "state": "waits", "share": 0.0, "seconds": None})
                total = event.get("total")
                part["share"] = min(1.0, event["done"] / total) if total else None
                part["seconds"] = event.get("seconds")
        except (ValueError, KeyError, TypeError):
            continue  # a line that nobody understands tells nothing
    names = list(parts)
    for place, name in enumerate(names):
        if done or (current is not None and place < names.index(current)):
            parts[name] |= {"state": "done", "share": 1.0}
        elif name == current:
            parts[name]["state"] = "now"
    shares = [part["share"] or 0.0 for part in parts.values()]
    return Way(parts=tuple(parts.values()), share=sum(shares) / len(shares) if shares else None)
