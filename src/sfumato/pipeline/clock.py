"""Where the time of a run goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sfumato.progress import SILENT, Progress, Watcher


@dataclass
class Clock:
    """Where the time went, step by step, and who wants to know which one is under way."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    progress: Progress = SILENT

    @contextmanager
    def time(self, step: str) -> Iterator[None]:
        """Count what happens inside as one step."""
        if isinstance(self.progress, Watcher):
            self.progress.enter(step)
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            spent = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
            self.steps.append({"step": step, **spent})
