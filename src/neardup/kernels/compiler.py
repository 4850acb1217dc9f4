"""Compiling kernels with numba, and keeping what it makes on disk.

A file has two parts: what `kernels.jit` needs to call a kernel, and all that numba has of
it, for kernels that call this one and are compiled later.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import get_ident
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import event, serialize, types
from numba.core.caching import _Cache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

from neardup.kernels.compiled import folder_name, kernel_files, writable
from neardup.kernels.jit import LISTENERS, Code

LOG = logging.getLogger("neardup")

# Those of numba have no types.
_dump: Callable[[object], bytes] = serialize.dumps
_start_runtime: Callable[[Any], None] = rtsys.initialize
_result: Callable[..., Any] = CompileResult
_known_environment: Callable[[str], Any] = lookup_environment
_type_of_value: Callable[[object], Any] = numba.typeof
_tuple_of: Callable[..., Any] = types.BaseTuple.from_types


def dispatcher(function: Callable[..., object], options: dict[str, Any]) -> Any:
    """Numba's dispatcher for `function`, with its compiled code in our folders."""
    made = numba.njit(**options)(function)
    made._cache = KernelCache(function)
    return made


def entry_point(compiled: Any, arguments: Sequence[object]) -> Any:
    """The compiled function for arguments of these types."""
    return compiled.compile(tuple(_writable(_type_of_value(each)) for each in arguments))


def _writable(kind: Any) -> Any:
    """The type with arrays that can be written: other types would be compiled once more."""
    if isinstance(kind, types.Array):
        return kind.copy(readonly=False)
    if isinstance(kind, types.BaseTuple):
        several: Any = kind
        made = [_writable(each) for each in several]
        return _tuple_of(made, getattr(several, "instance_class", None))
    return kind


def type_of(value: object) -> Any:
    """The type of something that kernels call."""
    context = cpu_target.typing_context
    context.refresh()
    return context.resolve_value_type(value)


class KernelCache(_Cache):
    """The compiled code of a kernel on disk, a file for each signature and processor.

    Several processes may compile at once: a file appears whole, under a name that says what is in
    it. (Numba's own cache numbers its files in an index, where two processes can swap them.)
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    @property
    def cache_path(self) -> str:
        return str(writable() / folder_name(Path(self._function.__code__.co_filename)))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature, as shipped or as compiled here; None if there is neither."""
        for place in kernel_files(self._function, _names(sig), self._cells()):
            try:
                with place.open("rb") as file:
                    pickle.load(file)  # what `kernels.jit` needs
                    stored = _Unpickler(file).load()
            except (OSError, EOFError, pickle.UnpicklingError):
                continue
            return _restored(target_context, *stored)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if data.library.has_dynamic_globals or any(not each.can_cache for each in data.lifted):
            raise TypeError(
                f"{self._function.__qualname__} cannot be kept on disk: it refers to a "
                "large array or a pointer outside of itself; pass that as an argument"
            )
        place = [*kernel_files(self._function, _names(sig), self._cells())][-1]
        passing = place.with_name(f"{place.name}.{os.getpid()}.{get_ident()}")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            stored = data._reduce()
            passing.write_bytes(pickle.dumps(_code(data.library, stored)) + _dump(stored))
            passing.replace(place)
        except OSError as error:  # a full disk: the kernel works, and is compiled again next time
            with suppress(OSError):
                passing.unlink()
            LOG.warning("cannot keep a compiled kernel in %s: %s", place.parent, error.strerror)

    def _cells(self) -> bytes:
        cells = [cell.cell_contents for cell in self._function.__closure__ or ()]
        return _dump(cells) if cells else b""

    def enable(self) -> None:
        """Always on."""

    def disable(self) -> None:
        """Always on."""

    def flush(self) -> None:
        """Numba calls this to compile anew; files of changed sources are in other folders."""


def _names(signature: Sequence[Any]) -> str:
    return ", ".join(map(str, signature))


def _code(library: Any, stored: tuple[Any, ...]) -> Code | None:
    """What it takes to call a compiled kernel; None if only numba can."""
    code, description, environment, _, objectmode, lifted, _, reload_init, referenced = stored
    if objectmode or lifted or reload_init:
        return None
    module = library._final_module
    return Code(
        module=description.modname,
        name=description.qualname,
        entry=description.llvm_cpython_wrapper_name,
        environment=environment.env_name,
        constants=[(each.env_name, each.consts) for each in {environment, *referenced}],
        needs=[
            each.name
            for each in (*module.functions, *module.global_variables)
            if each.is_declaration and not each.name.startswith("llvm.")
        ],
        machine_code=code[2][0],
    )


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


class _Listener(event.Listener):
    def on_start(self, occurrence: event.Event) -> None:
        for notify in LISTENERS:
            notify(occurrence.data["dispatcher"].py_func.__name__)

    def on_end(self, occurrence: event.Event) -> None:
        """Nothing: the start is the news."""


event.register("numba:compile", _Listener())  # type: ignore[no-untyped-call]
