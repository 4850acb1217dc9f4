"""How every kernel is compiled: native, cached on disk, without the interpreter lock.

`Bytes` and `Numbers` are the arrays that nearly all kernels take: text, and offsets or row numbers.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import get_ident
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core import serialize
from numba.core.caching import _Cache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime.nrt import rtsys
from numpy.typing import NDArray

from neardup.kernels.compiled import SHIPPED, baseline, folder_name, shipped_fit, writable

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
LOG = logging.getLogger("neardup")
Function = TypeVar("Function", bound=Callable[..., object])

# Those of numba have no types.
_dump: Callable[[object], bytes] = serialize.dumps
_start_runtime: Callable[[Any], None] = rtsys.initialize
_result: Callable[..., Any] = CompileResult
_known_environment: Callable[[str], Any] = lookup_environment


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
    """Numba's dispatcher for `function`, with its compiled code in our folders."""
    # Without the wrapper for C, which nobody calls, compiling takes a twentieth less.
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    made = numba.njit(**options)(function)
    made._cache = KernelCache(function)
    return cast(Function, made)


class KernelCache(_Cache):
    """The compiled code of a kernel on disk, a file for each signature and processor.

    Several processes may compile at once: a file appears whole, under a name that says what is in
    it. (Numba's own cache numbers its files in an index, where two processes can swap them.)
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self._folder = folder_name(Path(function.__code__.co_filename))

    @property
    def cache_path(self) -> str:
        return str(writable() / self._folder)

    def load_overload(self, sig: object, target_context: Any) -> Any:
        """The code for a signature, as shipped or as compiled here; None if there is neither."""
        for place in self._places(sig, target_context.codegen().magic_tuple()):
            try:
                stored = _Unpickler(io.BytesIO(place.read_bytes())).load()
            except (OSError, EOFError, pickle.UnpicklingError):
                continue
            return _restored(target_context, *stored)
        return None

    def save_overload(self, sig: object, data: Any) -> None:
        if data.library.has_dynamic_globals or any(not each.can_cache for each in data.lifted):
            raise TypeError(
                f"{self._function.__qualname__} cannot be kept on disk: it refers to a "
                "large array or a pointer outside of itself; pass that as an argument"
            )
        place = writable() / self._folder / self._file_name(sig, data.codegen.magic_tuple())
        passing = place.with_name(f"{place.name}.{os.getpid()}.{get_ident()}")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            passing.write_bytes(_dump(data._reduce()))
            passing.replace(place)
        except OSError as error:  # a full disk: the kernel works, and is compiled again next time
            with suppress(OSError):
                passing.unlink()
            LOG.warning("cannot keep a compiled kernel in %s: %s", place.parent, error.strerror)

    def _places(self, sig: object, processor: tuple[str, ...]) -> Iterator[Path]:
        oldest = baseline()
        if oldest is not None and shipped_fit():
            yield SHIPPED / self._folder / self._file_name(sig, (processor[0], oldest.cpu, ""))
        yield writable() / self._folder / self._file_name(sig, processor)

    def _file_name(self, sig: object, processor: tuple[str, ...]) -> str:
        code = self._function.__code__.co_code
        cells = [cell.cell_contents for cell in self._function.__closure__ or ()]
        key = (str(sig), processor, sys.implementation.cache_tag, numba.__version__)
        digest = hashlib.sha256(repr(key).encode() + code + (_dump(cells) if cells else b""))
        return f"{self._function.__qualname__}-{digest.hexdigest()[:24]}.nbc"

    def enable(self) -> None:
        """Always on."""

    def disable(self) -> None:
        """Always on."""

    def flush(self) -> None:
        """Numba calls this to compile anew; files of changed sources are in other folders."""


# Numba's own way to load compiled code also loads what it may need to compile: all that it knows of
# NumPy (and SciPy, where that is installed) and the LLVM code of each kernel. A run over a few
# pages took a second longer.


class _Unpickler(pickle.Unpickler):
    """Reads a compiled kernel without importing the modules of all functions that it calls."""

    def find_class(self, module: str, name: str) -> Any:
        return _environment if name == "_rebuild_env" else super().find_class(module, name)


def _environment(module: str, constants: list[object], name: str) -> Any:
    """Numba's record of a compiled function. The globals in it are for code that is not compiled
    throughout, so those of a module that is not loaded are left out."""
    made = _known_environment(name)
    if made is None:
        loaded = sys.modules.get(module)
        made = Environment(vars(loaded) if loaded else {"__name__": module})
        made.consts[:] = constants
        made.env_name = name
        Environment._memo[name] = made
    return made


class _StoredLibrary(JITCodeLibrary):
    """Machine code from disk; its LLVM code is read if a kernel that calls it is compiled."""

    def __init__(self, codegen: Any, name: str, machine_code: bytes, bitcode: bytes) -> None:
        super().__init__(codegen, name)  # type: ignore[no-untyped-call]
        self._bitcode = bitcode
        self.enable_object_caching()  # type: ignore[no-untyped-call]
        self._set_compiled_object(machine_code)  # type: ignore[no-untyped-call]
        self._finalize_final_module()  # type: ignore[no-untyped-call]

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self._bitcode)
        return self._shared_module


def _restored(
    target_context: Any,
    code: tuple[str, str, tuple[bytes, bytes]],
    description: Any,
    environment: Any,
    signature: Any,
    objectmode: bool,
    lifted: tuple[Any, ...],
    type_annotation: Any,
    reload_init: list[Callable[[], None]],
    referenced_envs: list[Any],
) -> Any:
    """What numba has of a kernel after compiling it, from what it stores of that."""
    _start_runtime(target_context)
    for start in reload_init:
        start()
    name, _, (machine_code, bitcode) = code
    codegen = target_context.codegen()
    library = _StoredLibrary(codegen, name, machine_code, bitcode)
    codegen._engine._defined_symbols |= {
        description.llvm_func_name,
        description.llvm_cpython_wrapper_name,
    }
    entry_point = target_context.get_executable(library, description, environment)
    for each in referenced_envs:
        codegen.set_env(each.env_name, each)
    return _result(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=library,
        environment=environment,
        entry_point=entry_point,
        fndesc=description,
        type_annotation=type_annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        typing_error=None,
        call_helper=None,
        metadata=None,
        reload_init=reload_init,
        referenced_envs=referenced_envs,
    )


def when_compiling(notify: Callable[[str], None]) -> None:
    """Call `notify` with a kernel's name each time one is compiled (not when cached)."""
    from numba.core import event  # noqa: PLC0415 - only here, and only when asked

    class Listener(event.Listener):
        def on_start(self, occurrence: event.Event) -> None:
            notify(occurrence.data["dispatcher"].py_func.__name__)

        def on_end(self, occurrence: event.Event) -> None:
            """Nothing: the start is the news."""

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
