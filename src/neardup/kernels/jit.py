"""How every kernel is compiled: native, cached on disk, without the interpreter lock.

Compiled kernels are called without numba, whose import takes longer than a small run: a `Kernel`
finds its machine code by the types of its arguments (`kernels.machine_code`). Numba is imported
when there is none yet (`kernels.compiler`).

`Bytes` and `Numbers` are the arrays that nearly all kernels take: text, and offsets or row numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from importlib import import_module
from threading import RLock
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.machine_code import load_code, type_names

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
        kinds = tuple(
            [
                (each.dtype, each.flags.num, each.ndim) if type(each) is _ARRAY else _kind(each)
                for each in arguments
            ]
        )
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


def _kind(value: Any) -> object:
    """What machine code depends on of an argument that is not an array."""
    if type(value) is int:
        return int if -(1 << 63) <= value < 1 << 63 else object
    if isinstance(value, tuple):
        return type(value), *map(_kind, value)
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
