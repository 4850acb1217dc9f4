"""How every kernel is compiled: native, cached on disk, without the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile `function` on its first call and keep the result in numba's cache.

    `nogil` lets worker threads run kernels side by side. Floating-point rules stay strict, so
    results do not depend on the machine.
    """
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


_BORROWING: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}


def borrowing_kernel(function: Function) -> Function:
    """As `kernel`, for code of many small functions that allocate nothing.

    Numba counts a reference for every array that is passed on, which took half the time of the
    scanner. Without its runtime there is nothing to count, and an allocation does not compile.
    """
    return cast(Function, numba.njit(**_BORROWING)(function))


def inlined_kernel(function: Function) -> Function:
    """As `borrowing_kernel`, for the few whose calls cost more than they do: arrays go by value."""
    return cast(Function, numba.njit(forceinline=True, **_BORROWING)(function))


def when_compiling(notify: Callable[[str], None]) -> None:
    """Call `notify` with a kernel's name each time one is compiled (not when cached)."""
    from numba.core import event  # noqa: PLC0415 - only here, and only when asked

    class Listener(event.Listener):
        def on_start(self, occurrence: event.Event) -> None:
            notify(occurrence.data["dispatcher"].py_func.__name__)

        def on_end(self, occurrence: event.Event) -> None:
            """Nothing: the start is the news."""

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
