"""How every kernel is compiled: native, cached on disk, without the interpreter lock.

Compiled kernels are called without numba, whose import takes longer than a small run: a `Kernel`
finds its machine code by the types of its arguments. Numba is imported when there is none yet
(`kernels.compiler`).

What numba has compiled is an object file with a function that takes Python's objects. LLVM loads
it, as numba would do. The functions that it calls are in numba's own extension modules, which can
be loaded one by one: importing numba as a whole takes half a second, ten times as long as all of
this.

`Bytes` and `Numbers` are the arrays that nearly all kernels take: text, and offsets or row numbers.
"""

from __future__ import annotations

import builtins
import ctypes
import pickle
import sys
from collections.abc import Callable, Iterable
from functools import cache, cached_property, update_wrapper
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, TypeVar, cast

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from neardup.kernels.compiled import kernel_files, numba_folder

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
Function = TypeVar("Function", bound=Callable[..., object])

_ARRAY = np.ndarray
_LOADING = RLock()
LISTENERS: list[Callable[[str], None]] = []


def kernel(function: Function) -> Function:
    """Compile `function` on its first call and keep the result on disk.

    `nogil` lets worker threads run kernels side by side. Floating-point rules stay strict, so
    results do not depend on the machine. Arguments are passed by position. An array that must not
    be written is taken as any other: a kernel writes only to what it is given to fill.
    """
    return _compiled(function)


def borrowing_kernel(function: Function) -> Function:
    """As `kernel`, for code of many small functions that allocate nothing.

    Numba counts a reference for every array that is passed on, which took half the time of the
    scanner. Without its runtime there is nothing to count, and an allocation does not compile.
    Whether it is inlined is for LLVM to decide: without a word on it, numba would inline all that
    an inlined kernel calls, and the scanner was 210 KB of machine code.
    """
    return _compiled(function, _nrt=False, forceinline=False)


def inlined_kernel(function: Function) -> Function:
    """As `borrowing_kernel`, for the few whose calls cost more than they do: arrays go by value."""
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Function, **options: Any) -> Function:
    # Without the wrapper for C, which nobody calls, compiling takes a twentieth less.
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    return cast(Function, Kernel(function, options))


class Deferred:
    """Something of numba's that kernels use. It is made when one of them is compiled."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @cached_property
    def made(self) -> Any:
        return self._make()

    @property
    def _numba_type_(self) -> Any:
        """What numba asks of a global that it does not know."""
        from neardup.kernels.compiler import type_of  # noqa: PLC0415 - loads numba

        return type_of(self.made)


class Kernel(Deferred):
    """A compiled function: a dispatcher of numba's, once it has to be compiled."""

    def __init__(self, function: Callable[..., object], options: dict[str, Any]) -> None:
        super().__init__(self._dispatcher)
        update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._ready: dict[tuple[object, ...], Callable[..., Any]] = {}
        self._by_types: dict[str, Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        kinds = _kinds(arguments)
        run = self._ready.get(kinds)
        if run is None:
            with _LOADING:
                run = self._ready[kinds] = self._loaded(arguments)
        return run(*arguments)

    def __reduce__(self) -> str:
        """Pickled by its name, as functions are: another process has code of its own."""
        return self.py_func.__qualname__

    def _loaded(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        names = type_names(arguments)
        run = self._by_types.get(names)
        if run is None and names and not self.py_func.__closure__:
            run = load_code(self.py_func, names)
        if run is None:
            from neardup.kernels.compiler import entry_point  # noqa: PLC0415 - loads numba

            run = entry_point(self.made, arguments)
        if names:
            self._by_types[names] = run
        return run

    def _dispatcher(self) -> Any:
        from neardup.kernels.compiler import dispatcher  # noqa: PLC0415 - loads numba

        return dispatcher(self.py_func, self._options)


def _kinds(values: tuple[Any, ...]) -> tuple[object, ...]:
    """What machine code depends on of arguments. Tables of a kernel are tuples of many arrays."""
    return tuple(
        [
            (each.dtype, each.flags.num, each.ndim) if type(each) is _ARRAY else _kind(each)
            for each in values
        ]
    )


def _kind(value: Any) -> object:
    """What machine code depends on of an argument that is not an array."""
    if type(value) is int:
        return int if -(1 << 63) <= value < 1 << 63 else object
    if isinstance(value, tuple):
        return type(value), _kinds(value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.flags.num, value.ndim
    return type(value)


class _Later:
    """A module that is imported when something of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


# For intrinsics, whose definitions are called when a kernel is compiled.
types: Any = _Later("numba.core.types")
cgutils: Any = _Later("numba.core.cgutils")


def intrinsic(definition: Callable[..., Any]) -> Any:
    """As `numba.extending.intrinsic`: a function of kernels that is written in LLVM's terms."""
    return Deferred(lambda: import_module("numba.extending").intrinsic(definition))


def of_numba(module: str, name: str) -> Any:
    """A function of numba's own that kernels call."""
    return Deferred(lambda: getattr(import_module(module), name))


def when_compiling(notify: Callable[[str], None]) -> None:
    """Call `notify` with a kernel's name each time one is compiled (not when cached)."""
    LISTENERS.append(notify)


# Calling compiled code without the compiler.
SCALARS = {float: "float64", bool: "bool", type(None): "none"}


class Code(NamedTuple):
    """A compiled kernel."""

    module: str
    name: str
    entry: str  # the symbol of the function that takes Python's objects
    environment: str  # the symbol of the pointer to its constants
    constants: list[tuple[str, list[object]]]  # of this environment and of those it refers to
    needs: list[str]  # the symbols that it does not define itself
    machine_code: bytes


def load_code(function: Callable[..., object], names: str) -> Any:
    """The compiled function for arguments of these types, or None if there is none on disk."""
    for place in kernel_files(function, names):
        try:
            with place.open("rb") as file:
                code = pickle.load(file)
        except (OSError, EOFError, pickle.UnpicklingError):
            continue
        if code is not None and (engine := _engine()) is not None and engine.fits(code):
            return engine.load(code)
    return None


def type_names(values: Iterable[Any]) -> str:
    """Numba's names for the types of values, arrays taken as writable. Nothing if there is a type
    among them that is not known here."""
    names = [_type_name(each) for each in values]
    return ", ".join(names) if all(names) else ""


def _type_name(value: Any) -> str:
    kind = type(value)
    if isinstance(value, np.ndarray):
        return _array_name(value)
    if kind is int:
        return "int64" if -(1 << 63) <= value < 1 << 63 else ""
    if kind in SCALARS:
        return SCALARS[kind]
    if isinstance(value, np.bool_ | np.number):
        return str(value.dtype)
    if isinstance(value, tuple) and (names := type_names(value)):
        first = _type_name(value[0])
        same = names == ", ".join([first] * len(value))
        name = kind.__name__ if kind is not tuple else "UniTuple" if same else "Tuple"
        return f"{name}({f'{first} x {len(value)}' if same else names})"
    return ""


def _array_name(array: np.ndarray[Any, Any]) -> str:
    if not array.dtype.isnative or array.dtype.kind not in "biuf" or not array.flags.aligned:
        return ""
    flags = array.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    return f"array({array.dtype}, {array.ndim}d, {layout})"


class _Engine:
    """LLVM's engine with the machine code of kernels, and what that calls."""

    def __init__(self) -> None:
        self._functions = _extension("_dynfunc")
        helpers = _extension("_helperlib")
        runtime = _extension("core", "runtime", "_nrt_python")
        runtime.memsys_use_cpython_allocator()
        self._symbols = {
            "_Py_NoneStruct": id(None),
            **{f"numba_{name}": at for name, at in helpers.c_helpers.items()},
            **{f"numba_{name}": at for name, at in self._functions.c_helpers.items()},
            **{
                name if name.startswith("_") else f"NRT_{name}": at
                for name, at in runtime.c_helpers.items()
            },
            **{
                f"PyExc_{each.__name__}": id(each)
                for each in vars(builtins).values()
                if isinstance(each, type) and issubclass(each, BaseException)
            },
        }
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_triple(llvm.get_process_triple())
        machine = target.create_target_machine(jit=True, opt=0)  # kernels are compiled already
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_unpickling()), machine)
        self._engine.finalize_object()
        self._symbols["numba_unpickle"] = self._engine.get_function_address("known_object")
        for name, at in self._symbols.items():
            llvm.add_symbol(name, at)
        self._kept: list[object] = []  # machine code has their addresses

    def fits(self, code: Code) -> bool:
        """Whether all that the code needs is here: LLVM ends the process if it is not."""
        return all(name in self._symbols or llvm.address_of_symbol(name) for name in code.needs)

    def load(self, code: Code) -> Any:
        """The compiled function."""
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code.machine_code))
        self._engine.finalize_object()
        environments = {}
        for symbol, constants in code.constants:
            made = environments[symbol] = self._functions.Environment({"__name__": code.module})
            made.consts.extend(constants)
            place = self._engine.get_global_value_address(symbol)
            ctypes.c_void_p.from_address(place).value = id(made)
        self._kept.append(environments)
        entry = self._engine.get_function_address(code.entry)
        own = environments[code.environment]
        return self._functions.make_function(np, code.name, "", entry, own, ())


@cache
def _engine() -> _Engine | None:
    """The engine, or None with a numba that has other parts than those known here."""
    try:
        return _Engine()
    except (ImportError, AttributeError):
        return None


def _extension(*path: str) -> Any:
    """An extension module of numba's, without the rest of it.

    It has the name that numba gives it, so that numba shares it, and is not left in `sys.modules`,
    where it would be without its package.
    """
    name = ".".join(["numba", *path])
    if name in sys.modules:
        return sys.modules[name]
    files = (Path(numba_folder(), *path[:-1], path[-1] + end) for end in EXTENSION_SUFFIXES)
    file = next((each for each in files if each.exists()), None)
    if file is None:
        raise ImportError(f"no {name}")
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop(name, None)
    return module


# Objects that compiled code refers to: the classes of what it returns or raises. Each array that a
# kernel returns asks for one, so machine code looks them up; it calls Python for those not met yet.
SLOTS = 1 << 12
_objects: dict[int, object] = {}  # by the address of their pickles, which are part of the code
_known = np.zeros((SLOTS, 2), np.uint64)  # addresses of pickles and of their objects

KNOWN_OBJECT = """
define ptr @known_object(ptr %pickle, i32 %size, ptr %digest) {{
  %address = ptrtoint ptr %pickle to i64
  %mixed = mul i64 %address, -7046029254386353131
  %number = lshr i64 %mixed, {shift}
  %slot = getelementptr [2 x i64], ptr inttoptr (i64 {known} to ptr), i64 %number
  %key = load i64, ptr %slot
  %is_known = icmp eq i64 %key, %address
  br i1 %is_known, label %known, label %unknown
known:
  %place = getelementptr i64, ptr %slot, i64 1
  %object = load ptr, ptr %place
  call void inttoptr (i64 {incref} to ptr)(ptr %object)
  ret ptr %object
unknown:
  %made = call ptr inttoptr (i64 {unpickle} to ptr)(ptr %pickle, i32 %size, ptr %digest)
  ret ptr %made
}}
"""


def _unpickling() -> str:
    return KNOWN_OBJECT.format(
        shift=64 - SLOTS.bit_length() + 1,
        known=_known.ctypes.data,
        incref=ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value,
        unpickle=ctypes.cast(_unpickle, ctypes.c_void_p).value,
    )


def _unpickled(pickled: int, size: int, _: int) -> object:
    """An object that compiled code refers to. Numba's own function for this imports numba."""
    made = _objects.get(pickled)
    if made is None:
        made = _objects[pickled] = pickle.loads(ctypes.string_at(pickled, size))
    slot = (pickled * 11400714819323198485 % 2**64) // (2**64 // SLOTS)
    _known[slot] = pickled, id(made)
    return made


_unpickle = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(
    _unpickled
)
