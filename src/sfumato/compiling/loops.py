"""How loops are compiled: by numba's compiler, which here does once what it would do over and over.

Why, and what it gains: `docs/decisions/0015-loops-inside-loops.md`. Numba compiles under a lock, so nobody else's
functions are compiled while its classes do something in our way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, ClassVar

from llvmlite.binding.newpassmanagers import create_new_module_pass_manager
from numba import types
from numba.core import event, transforms
from numba.core import ir as numba_ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.registry import CPUDispatcher
from numba.core.runtime.context import NRTContext
from numba.core.targetconfig import ConfigStack
from numba.core.typing.templates import _OverloadFunctionTemplate

# A division by zero gives inf as in NumPy, so loops need no hidden checks. Without the interpreter lock, threads run
# side by side. Nobody calls loops from C, so the entry that numba would compile for it is left out.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


class CompiledLoop(CPUDispatcher):  # type: ignore[misc]
    """A loop as Python calls it: what is made of it holds all loops that it calls.

    Numba would make a loop that another one calls into machine code with an entry for Python, and then optimize it and
    make it into machine code once more in each loop that calls it, in each that calls those, and so on: up to 29 % of
    the time of compiling. So a loop is to other loops a part, which waits for the one that Python calls.
    """

    @cached_property
    def part(self) -> CPUDispatcher:
        """The loop as other loops call it."""
        return _LoopInLoops(self.py_func, targetoptions=self.targetoptions, pipeline_class=_OfPart)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.part)


class CalledByLoops(CPUDispatcher):  # type: ignore[misc]
    """What loops call, and Python never does: what numba writes for a function of NumPy, say."""

    def add_overload(self, compiled: Any) -> None:
        """Keep what was compiled for loops alone."""
        self.overloads[tuple(compiled.signature.args)] = compiled


class _LoopInLoops(CalledByLoops):
    """A loop as other loops call it."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        # Numba would compile a loop that is called with a plain 0 or False, and be it only before other calls are seen,
        # once more for that number alone.
        return super().get_call_template(
            tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()}
        )


class _Whole(JITCodeLibrary):  # type: ignore[misc]
    """Code of a loop with all that it calls, optimized once, as a whole."""

    def _optimize_functions(self, ll_module: Any) -> None:
        # Variables out of memory first: what follows can then leave out most counts of who holds an array. Done here, a
        # part is tidied once, and not in every loop that takes it in.
        ll_module.data_layout = self._codegen._data_layout
        passes = create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.run(ll_module, self._codegen._pass_builder())


class _Tidied(_Whole):
    """The same, with all that numba does to a loop by itself done before others are taken in."""

    def _optimize_functions(self, ll_module: Any) -> None:
        super()._optimize_functions(ll_module)
        JITCodeLibrary._optimize_functions(self, ll_module)


class _Part(_Whole):
    """Code of a loop with all that it calls, neither optimized nor made into machine code."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(library, "_reload_init"):  # since numba 0.63
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


class Compiling(Compiler):  # type: ignore[misc]
    """Numba's compiler, in our way."""

    library: ClassVar[type[JITCodeLibrary]] = _Whole

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Return a function as it was compiled."""
        self.state.library = self.library(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        with _in_our_way():
            compiled = super().compile_extra(func)
        if not self.state.flags.nrt:
            self.check_lean(func, compiled)
        return compiled

    def check_lean(self, func: Callable[..., Any], compiled: Any) -> None:
        """Refuse a lean loop that returns an array, or is handed one by a loop that it calls: nobody would count it."""
        if _holds_arrays(compiled.signature.return_type):
            raise TypeError(f"{func.__qualname__} returns an array, so it must be a kernel rather than a lean one")
        for call, signature in self.state.calltypes.items():
            called = self.state.typemap[call.func.name] if getattr(call, "op", None) == "call" else None
            if isinstance(called, types.Dispatcher) and _holds_arrays(signature.return_type):
                raise TypeError(
                    f"{func.__qualname__} is handed an array by {called.dispatcher.py_func.__qualname__}, "
                    "so it must be a kernel rather than a lean one"
                )


class CompilingThoroughly(Compiling):
    """The compiler of a loop that is worth more of its time."""

    library = _Tidied


class _OfPart(Compiling):
    """The compiler of a loop for the loops that call it."""

    library = _Part

    def define_pipelines(self) -> Any:
        # Not earlier: what numba writes for a function of NumPy is made once for each set of flags.
        flags = self.state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return super().define_pipelines()

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        compiled = super().compile_extra(func)
        entry = object()  # there is none: it stands for the loop in the compiler's tables
        compiled.target_context.insert_user_function(entry, compiled.fndesc, [compiled.library])
        return compiled._replace(entry_point=entry)


class _OfNumbas(_OfPart):
    """The compiler of what numba writes for a function of NumPy, or of Python."""

    def check_lean(self, func: Callable[..., Any], compiled: Any) -> None:
        """Nothing of numba's that counts nobody makes an array: it would not compile."""


def _holds_arrays(kind: Any) -> bool:
    if isinstance(kind, types.BaseTuple):
        return any(_holds_arrays(each) for each in kind)
    return not isinstance(kind, types.Number | types.Boolean | types.NoneType)


@contextmanager
def _in_our_way() -> Iterator[None]:
    """Let numba do things in our way, inside."""
    if NRTContext.get_meminfos is _holders:  # a loop that calls the one that is compiled is being compiled itself
        yield
        return
    usual = [(kind, name, vars(kind).get(name)) for kind, name, _ in _OUR_WAY]
    for kind, name, ours in _OUR_WAY:
        setattr(kind, name, ours)
    try:
        yield
    finally:
        for kind, name, before in usual:
            if before is None:  # inherited
                delattr(kind, name)
            else:
                setattr(kind, name, before)


def _itself(self: Any, memo: Any) -> Any:
    """To inline a function, numba copies it block by block, and with each block all names and places in the source.

    Names are only added to and places never change: sharing both saves a quarter of the time of compiling.
    """
    return self


_RESOLVED: dict[Any, tuple[Any, ...]] = {}
_FLAGS: dict[Any, Any] = {}
_resolve = types.Function.get_call_type


def _resolve_once(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """Find out once what an operator gives for some types: a fifth of the time, or an eighth.

    Numba tries some ten ways for each place where an operator, or a function that it knows, stands in the source, and
    a loop has hundreds of places, where mostly whole numbers are added and compared.
    """
    options = ConfigStack.top_or_none()  # those of the loop under way
    if id(options) not in _FLAGS:
        equal = _FLAGS.setdefault(options, options)
        _FLAGS[id(options)] = equal, options  # held, so that nothing else has its id
    key = id(self), id(_FLAGS[id(options)][0]), args, tuple(kws.items())
    if key not in _RESOLVED:
        _RESOLVED[key] = _resolve(self, context, args, kws), self
    return _RESOLVED[key][0]


_HOLDERS: dict[int, tuple[Any, ...]] = {}


def _holders(self: Any, builder: Any, ty: Any, val: Any) -> list[Any]:
    """Return who holds the arrays in a value, without the code that numba writes to look into all else in it.

    That is eight of the nine instructions before each count of who holds an array, and does nothing.
    """
    if id(ty) not in _HOLDERS:
        models = self._context.data_model_manager
        model = models[ty]
        inner = [models[kind].contains_nrt_meminfo() for kind, _ in model.traverse(builder)]
        _HOLDERS[id(ty)] = model, model.has_nrt_meminfo(), inner, ty
    model, counted, inner, _ = _HOLDERS[id(ty)]
    found = [(ty, model.get_nrt_meminfo(builder, val))] if counted else []
    if any(inner):
        for (kind, get), holds in zip(model.traverse(builder), inner, strict=True):
            if holds:
                found += self.get_meminfos(builder, kind, get(val))
    return found


_tidy_up = PostProcessor.run


def _tidy_up_late(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Find out where variables end when that is asked for, and not after each of nine changes of a function."""
    if self.func_ir.is_generator:
        _tidy_up(self, emit_dels, extend_lifetimes)
        return
    self.func_ir.blocks = transforms.canonicalize_cfg(self.func_ir.blocks)
    self.func_ir.variable_lifetime = VariableLifetime(self.func_ir.blocks)
    self.func_ir.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


def _but_locks(tell: Callable[..., None]) -> Callable[..., None]:
    """Tell nobody that LLVM is called, and no longer: it is thousands of times for a loop."""
    return lambda kind, *about, **more: None if kind == "numba:llvm_lock" else tell(kind, *about, **more)


def _as_parts(self: Any) -> Any:
    """Let what numba writes for a function of NumPy be a part, too."""
    return lambda **options: (
        lambda function: CalledByLoops(
            function, targetoptions={**options, "nopython": True, "boundscheck": None}, pipeline_class=_OfNumbas
        )
    )


_OUR_WAY: tuple[tuple[Any, str, Any], ...] = (
    (event, "start_event", _but_locks(event.start_event)),
    (event, "end_event", _but_locks(event.end_event)),
    (numba_ir.Scope, "__deepcopy__", _itself),
    (numba_ir.Loc, "__deepcopy__", _itself),
    (types.Function, "get_call_type", _resolve_once),
    (NRTContext, "get_meminfos", _holders),
    (PostProcessor, "run", _tidy_up_late),
    (_OverloadFunctionTemplate, "_get_jit_decorator", _as_parts),
)
