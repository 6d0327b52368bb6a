"""Room that the system gives and takes back page by page, beside what allocators hold for others."""

from __future__ import annotations

import ctypes
import mmap
import sys
from contextlib import suppress
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

POOL: Final = pa.system_memory_pool()  # Arrow's own gives each thread and each size of array megabytes to begin with
_FIRST = 1 << 16  # bytes


def give_back() -> None:
    """Let the system have what batches took on their way, which allocators keep for the next ones."""
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, TypeError, OSError):  # only the C library of GNU has it
        ctypes.CDLL(None).malloc_trim(0)


def empty(size: int, kind: Any) -> NDArray[Any]:
    """Return so many zeros in pages of their own: those that are never written take no room."""
    return np.frombuffer(pages(size * np.dtype(kind).itemsize), dtype=kind, count=size)


class Growing:
    """Bytes to which more are added at the end; where the system can move pages, there are never two of them.

    >>> grown = Growing()
    >>> grown.add(np.arange(3, dtype=np.int8))
    >>> grown.add(np.arange(2, dtype=np.int8))
    >>> grown.array(np.int8).tolist()
    [0, 1, 2, 0, 1]
    """

    def __init__(self) -> None:
        self.size = 0
        self._pages = pages(_FIRST)

    def add(self, values: NDArray[Any]) -> None:
        """Take what an array holds; nobody else may hold anything of what came before."""
        size = self.size + values.nbytes
        if size > len(self._pages):
            self._pages = _larger(self._pages, max(size, 2 * len(self._pages)))
        if values.nbytes:
            self._pages[self.size : size] = np.ascontiguousarray(values).data.cast("B")
        self.size = size

    def array(self, kind: Any) -> NDArray[Any]:
        """Return all of it as numbers of one kind, in place."""
        return np.frombuffer(self._pages, dtype=kind, count=self.size // np.dtype(kind).itemsize)

    def buffer(self) -> pa.Buffer:
        """Return all of it as Arrow has it, in place."""
        return pa.py_buffer(self._pages).slice(0, self.size)


def pages(size: int) -> mmap.mmap:
    """Return so many bytes, all zero, which go back to the system when nobody holds them."""
    size = max(size, 1)
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _larger(held: mmap.mmap, size: int) -> mmap.mmap:
    try:
        held.resize(size)
    except (SystemError, OSError):  # which a system says that cannot do it
        more = pages(size)
        more[: len(held)] = memoryview(held)
        return more
    return held
