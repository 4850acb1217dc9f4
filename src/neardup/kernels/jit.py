"""How every kernel is compiled: native, cached on disk, without the interpreter lock.

`Bytes` and `Numbers` are the arrays that nearly all kernels take: text, and offsets or row numbers.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
HERE = Path(__file__).parent
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
    setting, config.CACHE_LOCATOR_CLASSES = config.CACHE_LOCATOR_CLASSES, f"{__name__}.Locator"
    try:
        made = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    finally:
        config.CACHE_LOCATOR_CLASSES = setting
    return cast(Function, made)


class Locator:
    """Where numba keeps a compiled kernel: a folder for each state of its module and of the modules
    that this imports.

    Numba looks only at a kernel's own file to see whether it has changed, but compiles what it
    calls into it: after an edit or an upgrade it would go on with the old code of the others. And
    its own folders are known by the path of the sources, so a copy elsewhere compiles again.
    """

    def __init__(self, function: Callable[..., object], file: str) -> None:
        self._py_file = file  # numba's name, for its warnings
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable[..., object], file: str) -> Locator:
        return cls(function, file)

    def ensure_cache_path(self) -> None:
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        source = Path(self._py_file)
        return str(_writable_base() / f"{source.stem}-{self.get_source_stamp()}")

    def get_source_stamp(self) -> str:
        return _state(Path(self._py_file))

    def get_disambiguator(self) -> str:
        return str(self._line)


@cache
def _state(source: Path) -> str:
    """A digest of a module and of all kernels it imports, directly or through others."""
    digest = hashlib.sha256(source.read_bytes())
    for imported in sorted(_imported(source)):
        digest.update(imported.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _imported(source: Path) -> frozenset[Path]:
    """The modules of kernels that `source` imports, directly or through others."""
    lines = re.findall(
        r"^from neardup\.kernels(?:\.(\w+) import|( import .*))", source.read_text(), re.M
    )
    names = [name for module, several in lines for name in (module, *re.findall(r"\w+", several))]
    modules = [HERE / f"{name}.py" for name in names if (HERE / f"{name}.py").exists()]
    return frozenset(modules).union(*map(_imported, modules))


@cache
def _writable_base() -> Path:
    """Where the user says, beside the sources, or in the user's cache."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"])
    if os.access(HERE, os.W_OK):
        return HERE / "__pycache__" / "compiled"
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
