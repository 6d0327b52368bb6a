"""Compiler options, in one place for loops that make a release and for those that judge one.

Kernels are compiled once and kept on disk, beside the source where that can be written, else in the user's cache.
What is kept is a convenience: where nothing can be written, or what is there is damaged or of another version, kernels
are compiled anew and work as well.
"""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
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

    from sfumato.compiling.loops import OPTIONS, CalledByLoops, CompiledLoop, Compiling, CompilingThoroughly
except ValueError as error:
    raise InputError(
        f"The compiler of the inner loops, numba, does not start: {error}.\n"
        f"Set in the environment: {', '.join(name for name in os.environ if name.startswith('NUMBA_')) or 'nothing'}.\n"
        "Correct these settings, or unset them."
    ) from error

_PACKAGE = __name__.partition(".")[0]
_IMPORT = re.compile(rf"^from ({_PACKAGE}[\w.]*) import (\w+)", re.MULTILINE)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a loop nest for one core."""
    return _compile(function)


def lean_kernel(function: Callable[..., Any]) -> Any:
    """Compile a loop nest that makes no arrays and returns none.

    Then nobody counts who holds them, which is an eighth of the time of compiling. The compiler refuses one that makes
    an array, and `Compiling` one that returns an array, or is handed one by a loop that it calls.
    """
    return _compile(function, _nrt=False)


def thorough_kernel(function: Callable[..., Any]) -> Any:
    """Compile a lean loop nest in which a search spends nearly all of its time, and take longer for it.

    `close_regions` compiles for half a second more, and then takes four fifths of the time on twelve columns. Done to
    all loops, it would cost some families two seconds, and gain less.
    """
    return _compile(function, CompilingThoroughly, _nrt=False)


def inline_kernel(function: Callable[..., Any]) -> Any:
    """Write a part of a loop nest, or a small helper, into the loops that call it, and compile these.

    A loop of its own costs the compiler something for each array in its tuples. So what has one caller, or is a few
    lines, is inlined.
    """
    return _compile(function, inline="always")


def _compile(function: Callable[..., Any], compiler: type[Compiling] = Compiling, **options: Any) -> Any:
    if numba.config.DISABLE_JIT:
        return function
    options = {"nopython": True, **OPTIONS, **options}
    compiled = CompiledLoop(function, targetoptions=options, pipeline_class=compiler)
    with suppress(RuntimeError, OSError):  # no folder can be written to, or no source can be read
        compiled._cache = _Kept(function)
    return compiled


class _Kept(FunctionCache):  # type: ignore[misc]
    """What was compiled of a function, on disk."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        name = self._impl.filename_base
        self._cache_file = _CheckedFile(self._cache_path, name, f"{name} {_stamp_of(function.__module__)}")

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
    """Compiled code with what it was made of and for: a damaged file, or one of another loop, is refused, not run.

    Two processes that compile at the same time, or one that is killed meanwhile, leave an index beside other code.
    """

    def save(self, key: Any, data: object) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        made_for, data = super().load(key) or (key, None)
        if made_for != key:
            raise ValueError("the code is for other types")
        return data

    def _save_data(self, name: str, data: object) -> None:
        content = self._dump(data)
        super()._save_data(name, (self._digest(content), content))

    def _load_data(self, name: str) -> Any:
        digest, content = super()._load_data(name)
        if self._digest(content) != digest:
            raise ValueError(f"{name} is damaged, or not of this loop")
        return pickle.loads(content)

    def _digest(self, content: bytes) -> bytes:
        return sha256(f"{self._version} {self._source_stamp} ".encode() + content).digest()


@cache
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
            waiting += _imported_by(name)
    return sha256("".join(sources[name] for name in sorted(sources)).encode()).hexdigest()


@cache
def _source_of(module: str) -> str:
    return inspect.getsource(sys.modules[module])


@cache
def _imported_by(module: str) -> list[str]:
    """Return what a module imports of the package, and what may be modules of it."""
    found = _IMPORT.findall(_source_of(module))
    return [name for imported, what in found for name in (imported, f"{imported}.{what}")]


@dataclass(frozen=True)
class Loop:
    """A loop of the package, or of numba for one of them, that is being compiled."""

    name: str  # with its module
    kept: bool  # whether it is put on disk, by itself or in a loop that calls it


_LISTENING: list[_Listener] = []


class _Listener(event.Listener):  # type: ignore[misc]
    def __init__(self, begun: Callable[[Loop], None], done: Callable[[], None]) -> None:
        self.begun, self.done = begun, done

    def on_start(self, event: Any) -> None:
        compiled = event.data["dispatcher"]
        name = f"{compiled.py_func.__module__}.{compiled.py_func.__qualname__}"
        self.begun(Loop(name, isinstance(compiled, CalledByLoops) or isinstance(compiled._cache, _Kept)))

    def on_end(self, event: Any) -> None:
        self.done()


@contextmanager
def while_compiling(begun: Callable[[Loop], None], done: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Call `begun` for each loop that is compiled inside, rather than loaded from disk, and `done` at its end.

    A loop is begun while those that call it are not done.
    """
    listener = _Listener(begun, done)
    event.register("numba:compile", listener)
    _LISTENING.append(listener)
    try:
        yield
    finally:
        _LISTENING.remove(listener)
        event.unregister("numba:compile", listener)


@contextmanager
def compiled_elsewhere(name: str) -> Iterator[None]:
    """Tell whoever listens that another process compiles loops for this one, inside."""
    for listener in _LISTENING:
        listener.begun(Loop(name, kept=True))
    try:
        yield
    finally:
        for listener in _LISTENING:
            listener.done()


def first_time(purpose: str) -> bool:
    """Whether nobody compiled for a purpose yet; from now on somebody did.

    False where nothing can be kept. The mark that is left tells nothing of the loops themselves: whatever is missing is
    compiled when it is called.
    """
    name = sha256(f"{sys.version} {numba.__version__} {purpose}".encode()).hexdigest()[:32]
    with suppress(RuntimeError, OSError):
        folder = Path(FunctionCache(first_time).cache_path)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"compiled-{name}").touch(exist_ok=False)
        return True
    return False


class _Collector:
    """Keeps the garbage collector away while loops are compiled.

    It would go through all that numba holds, over and over, for a fifteenth of the time. Numba compiles under a lock,
    so that only nested calls must be counted.
    """

    def __init__(self) -> None:
        self.depth, self.on = 0, False

    def stop(self, loop: Loop) -> None:
        if self.depth == 0:
            self.on = gc.isenabled()
            gc.disable()
        self.depth += 1

    def go_on(self) -> None:
        self.depth -= 1
        if self.depth == 0 and self.on:
            gc.enable()


_collector = _Collector()
event.register("numba:compile", _Listener(_collector.stop, _collector.go_on))
