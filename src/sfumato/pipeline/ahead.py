"""Compiling while data are read: `sfumato warm` beside a command that waits for its table."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sfumato import __version__
from sfumato.compiling import compiled_elsewhere, first_time
from sfumato.engines.base import Engine
from sfumato.plan import Plan
from sfumato.processes import in_a_group_of_its_own, kill

LARGE = 1 << 24  # bytes of a source that takes longer to read than another process takes to start


@contextmanager
def compiling_ahead(plan: Plan, engine: Engine) -> Iterator[None]:
    """Read data inside; what the plan needs is compiled meanwhile, if it may be missing, and waited for at the end.

    It is a process of its own, and the two share nothing but the loops on disk. What fails inside ends it.
    """
    child = _started(plan) if engine.holds_rows and _takes_its_time(plan) else None
    try:
        yield
        if child is not None and child.poll() is None:
            with compiled_elsewhere("ahead"):
                child.wait()
    finally:
        if child is not None and child.poll() is None:
            kill(child.pid)
            child.wait()


def for_the_first_time(plan: Plan) -> bool:
    """Whether something of a plan was never compiled for, as far as is known; from now on it was."""
    pairs = [(model.name, step.anonymizer) for step in plan.steps() for model in step.policy]
    new = [pair for pair in pairs if first_time(f"{__version__} {pair!r}")]  # all of them are marked
    return bool(new)


def _takes_its_time(plan: Plan) -> bool:
    source = plan.source
    if plan.path is None or source is None or source.file is None or not source.file.is_file():
        return False
    return source.file.stat().st_size >= LARGE


def _started(plan: Plan) -> subprocess.Popen[bytes] | None:
    if not sys.executable or not for_the_first_time(plan):
        return None
    words = [sys.executable, "-m", "sfumato", "warm", str(plan.path)]
    silence = subprocess.DEVNULL
    return subprocess.Popen(words, stdin=silence, stdout=silence, stderr=silence, **in_a_group_of_its_own())
