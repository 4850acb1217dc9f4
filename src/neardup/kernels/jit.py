"""How every kernel is compiled: native, cached on disk, without the interpreter lock.

`Bytes` and `Numbers` are the arrays that nearly all kernels take: text, and offsets or row numbers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile `function` on its first call and keep the result on disk.

    `nogil` lets worker threads run kernels side by side. Floating-point rules stay strict, so
    results do not depend on the machine.
    """
    return _compiled(function)


def borrowing_kernel(function: Function) -> Function:
    """As `kernel`, for code of many small functions that allocate nothing.

    Numba counts a reference for every array that is passed on, which took half the time of the
    scanner. Without its runtime there is nothing to count, and an allocation does not compile.
    """
    return _compiled(function, _nrt=False)


def inlined_kernel(function: Function) -> Function:
    """As `borrowing_kernel`, for the few whose calls cost more than they do: arrays go by value."""
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Function, **options: Any) -> Function:
    """Numba's dispatcher for `function`, with its cache in our folder; the setting is put back."""
    config: Any = numba.config
    setting, config.CACHE_DIR = config.CACHE_DIR, _cache_folder()
    try:
        made = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    finally:
        config.CACHE_DIR = setting
    return cast(Function, made)


@cache
def _cache_folder() -> str:
    """A folder of its own for each state of all kernels.

    Numba looks only at a kernel's own file to see whether it has changed, but compiles what it
    calls into it: after an edit or an upgrade it would go on with the old code of the others.
    """
    here = Path(__file__).parent
    stamps = [
        (source.name, source.stat().st_size, source.stat().st_mtime_ns)
        for source in sorted(here.glob("*.py"))
    ]
    state = hashlib.sha256(repr(stamps).encode()).hexdigest()[:16]
    return str(_writable_base(here) / f"kernels-{state}")


def _writable_base(here: Path) -> Path:
    """Where the user says, beside the sources, or in the user's cache."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"])
    if os.access(here, os.W_OK):
        return here / "__pycache__"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "neardup"


def when_compiling(notify: Callable[[str], None]) -> None:
    """Call `notify` with a kernel's name each time one is compiled (not when cached)."""
    from numba.core import event  # noqa: PLC0415 - only here, and only when asked

    class Listener(event.Listener):
        def on_start(self, occurrence: event.Event) -> None:
            notify(occurrence.data["dispatcher"].py_func.__name__)

        def on_end(self, occurrence: event.Event) -> None:
            """Nothing: the start is the news."""

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
