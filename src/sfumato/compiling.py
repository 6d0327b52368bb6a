"""Compiler options, in one place for loops that make a release and for those that judge one.

Kernels are compiled once and kept on disk, beside the source where that can be written, else in the user's cache.
Where neither can be written, or what is there is damaged, they are compiled anew in every process and work as well.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numba
from numba.core import event

# A division by zero gives inf as in NumPy, so loops need no hidden checks. Without the interpreter lock, threads run
# side by side.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    try:
        compiled = numba.njit(cache=True, **_OPTIONS, **options)(function)
    except RuntimeError:  # numba found no folder that it can write compiled code to
        return numba.njit(**_OPTIONS, **options)(function)
    # The store is a convenience: a full disk or a damaged file there must not end a run. Numba forgives such errors on
    # Windows only, in this method.
    if hasattr(compiled, "_cache"):  # not so where NUMBA_DISABLE_JIT is set
        compiled._cache._guard_against_spurious_io_errors = _forgiving
    return compiled


@contextmanager
def _forgiving() -> Iterator[None]:
    with suppress(OSError, EOFError, pickle.UnpicklingError):
        yield


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a loop nest for one core."""
    return _compile(function)


def inline_kernel(function: Callable[..., Any]) -> Any:
    """Compile a small helper into the loops that call it."""
    return _compile(function, inline="always")


def parallel_kernel(function: Callable[..., Any]) -> Any:
    """Compile a loop nest whose `prange` loops run on all threads; each iteration writes its own cells only."""
    return _compile(function, parallel=True)


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
