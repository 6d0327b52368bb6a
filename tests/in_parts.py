"""An engine that works on a table in parts as a cluster would."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

from sfumato.engines.dividing import DividedEngine


class Here:
    """Runs tasks here, the last first; each goes through bytes, and is done so many times."""

    times = 1

    def each(self, work: Callable[[Any], Any], jobs: Sequence[Any], what: str) -> list[Any]:
        sent = [pickle.dumps((work, job)) for job in jobs]
        done = []
        for _ in range(self.times):
            done = [call(job) for call, job in map(pickle.loads, reversed(sent))]
        return [pickle.loads(pickle.dumps(found)) for found in reversed(done)]


class Repeating(Here):
    """Runs every task twice."""

    times = 2


def in_parts(rows: int, **options: Any) -> DividedEngine:
    """Return an engine with parts, and files, of so many rows."""
    return DividedEngine(Repeating(), rows_a_part=-(-rows // 7), rows_a_file=-(-rows // 3), **options)
