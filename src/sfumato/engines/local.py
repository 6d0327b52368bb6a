"""This machine: how many threads compiled loops may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import event

from sfumato.errors import PolicyError


def available_threads() -> int:
    """Return how many threads can run side by side here."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(usable, int(numba.config.NUMBA_NUM_THREADS)))


@contextmanager
def use_threads(threads: int) -> Iterator[None]:
    """Let compiled loops use so many threads inside, and as many as before afterwards."""
    if threads < 1:
        raise PolicyError(f"{threads} threads were asked for.\nUse at least one.")
    before = numba.get_num_threads()
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    try:
        yield
    finally:
        numba.set_num_threads(before)


class _FirstCompilation(event.Listener):  # type: ignore[misc]
    def __init__(self, tell: Callable[[], None]) -> None:
        self.tell: Callable[[], None] | None = tell

    def on_start(self, event: Any) -> None:
        if self.tell is not None:
            tell, self.tell = self.tell, None
            tell()

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def when_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once if loops must be compiled first, rather than loaded from disk."""
    listener = _FirstCompilation(tell)
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)
