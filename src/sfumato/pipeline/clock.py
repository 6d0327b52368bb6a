"""Where the time of a run goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Clock:
    """Where the time went, step by step."""

    steps: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def time(self, step: str) -> Iterator[None]:
        """Count what happens inside as one step."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            spent = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
            self.steps.append({"step": step, **spent})
