"""Compiler options, in one place for loops that make a release and for those that judge one.

Kernels are compiled once and kept on disk, beside the source where that can be written, else in the user's cache.
What is kept is a convenience: where nothing can be written, or what is there is damaged or of another version, kernels
are compiled anew and work as well.
"""

from __future__ import annotations

import inspect
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from typing import Any

from sfumato.errors import InputError

try:
    import numba
    from llvmlite import ir as ir
    from numba import types as types
    from numba.core import event
    from numba.core.caching import FunctionCache, IndexDataCacheFile
    from numba.extending import intrinsic as intrinsic
    from numba.extending import overload as overload
except ValueError as error:
    raise InputError(
        f"The compiler of the inner loops, numba, does not start: {error}.\n"
        f"Set in the environment: {', '.join(name for name in os.environ if name.startswith('NUMBA_')) or 'nothing'}.\n"
        "Correct these settings, or unset them."
    ) from error

# A division by zero gives inf as in NumPy, so loops need no hidden checks. Without the interpreter lock, threads run
# side by side.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_PACKAGE = __name__.partition(".")[0]
_IMPORT = re.compile(rf"^from ({_PACKAGE}[\w.]*) import (\w+)", re.MULTILINE)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a loop nest for one core."""
    return _compile(function)


def inline_kernel(function: Callable[..., Any]) -> Any:
    """Compile a small helper into the loops that call it."""
    return _compile(function, inline="always")


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    compiled = numba.njit(**_OPTIONS, **options)(function)
    if compiled is not function:  # it is where NUMBA_DISABLE_JIT is set
        with suppress(RuntimeError, OSError):  # no folder can be written to, or no source can be read
            compiled._cache = _Kept(function)
    return compiled


class _Kept(FunctionCache):  # type: ignore[misc]
    """What was compiled of a function, on disk."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFile(self._cache_path, self._impl.filename_base, _stamp_of(function.__module__))

    @contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        # Numba calls this around loading and saving. Whatever goes wrong there, compiling works; an index that cannot
        # be read is replaced, or else it would be in the way of saving at every run.
        try:
            yield
        except Exception:
            with suppress(OSError):
                self.flush()


class _CheckedFile(IndexDataCacheFile):  # type: ignore[misc]
    """Compiled code with its digest: a damaged file is refused rather than run."""

    def _save_data(self, name: str, data: object) -> None:
        content = self._dump(data)
        super()._save_data(name, (sha256(content).digest(), content))

    def _load_data(self, name: str) -> Any:
        digest, content = super()._load_data(name)
        if sha256(content).digest() != digest:
            raise ValueError(f"{name} is damaged")
        return pickle.loads(content)


def _stamp_of(module: str) -> str:
    """Return a digest of the sources that code compiled from a module holds parts of: its own and what it imports.

    Numba itself looks at the function's own file alone, and would go on with loops of another one as they were.
    """
    sources: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in sys.modules and name not in sources:
            sources[name] = _source_of(name)
            for imported, what in _IMPORT.findall(sources[name]):
                waiting += [imported, f"{imported}.{what}"]
    return sha256("".join(sources[name] for name in sorted(sources)).encode()).hexdigest()


@cache
def _source_of(module: str) -> str:
    return inspect.getsource(sys.modules[module])


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
