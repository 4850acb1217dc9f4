"""Where compiled kernels are kept, and which of those that come with a wheel fit this machine.

A compiled kernel lies in a folder that is known by the content of its sources:

    shipped/<module>-<digest>/    in a wheel of `make wheel`, for the oldest supported processor
    <writable>/<module>-<digest>/ compiled on this machine, for its own processor

Numba itself looks only at a kernel's own file to see whether it has changed, but compiles what it
calls into it: after an edit or an upgrade it would go on with the old code of the others. And its
folders are known by the path of the sources, so that a copy elsewhere compiles again.

Nothing here loads numba, so that a command can say at once that it has to compile.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from neardup.errors import OutputError

HERE = Path(__file__).parent
SHIPPED = HERE / "shipped"
FORMAT = 2  # of the files: another number with every change of `kernels.compiler`
AROUND = {HERE / f"{name}.py" for name in ("compiled", "compiler")}


@dataclass(frozen=True)
class Baseline:
    """The oldest processor that shipped kernels run on, and what a machine must have for them."""

    cpu: str  # as LLVM calls it
    features: frozenset[str]


# All x86 processors since Haswell (2013) and Excavator (2015); all of 64-bit Arm.
BASELINES = {
    "x86_64": Baseline(
        "x86-64-v3",
        frozenset("avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse4.2 ssse3".split()),
    ),
    "aarch64": Baseline("generic", frozenset(["neon"])),
}


def baseline() -> Baseline | None:
    """The baseline of machines like this one, if there is any."""
    return BASELINES.get(
        {"AMD64": "x86_64", "arm64": "aarch64"}.get(machine := platform.machine(), machine)
    )


@cache
def shipped_fit() -> bool:
    """Whether there are shipped kernels that this machine can run.

    If numba's environment variables name a processor, kernels are compiled for that one.
    """
    oldest = baseline()
    if oldest is None or not SHIPPED.is_dir():
        return False
    if os.environ.get("NUMBA_CPU_NAME") or os.environ.get("NUMBA_CPU_FEATURES"):
        return False
    return oldest.features <= _features()


@cache
def _features() -> frozenset[str]:
    """What this machine's processor can do, as LLVM calls it."""
    import llvmlite.binding as llvm  # noqa: PLC0415 - `neardup --help` does without

    return frozenset(name for name, there in llvm.get_host_cpu_features().items() if there)


def kernel_files(
    function: Callable[..., object], signature: str, cells: bytes = b""
) -> Iterator[Path]:
    """Where the code of a kernel may be, for arguments of these types: as shipped, if that fits
    this machine, and as compiled here. `cells` is what a function inside another refers to."""
    folder = folder_name(Path(function.__code__.co_filename))
    key = (signature, *_versions(), FORMAT)

    def name(processor: tuple[str, str]) -> str:
        digest = hashlib.sha256(repr((key, processor)).encode() + function.__code__.co_code + cells)
        return f"{function.__qualname__}-{digest.hexdigest()[:24]}.nbc"

    oldest = baseline()
    if oldest is not None and shipped_fit():
        yield SHIPPED / folder / name((oldest.cpu, ""))
    yield writable() / folder / name(_processor())


@cache
def _versions() -> tuple[str, ...]:
    """What compiled code depends on: the interpreter, numba, the machine."""
    return str(sys.implementation.cache_tag), numba_version(), platform.machine(), sys.platform


@cache
def numba_folder() -> Path:
    """Where numba is installed. Finding it does not import it."""
    spec = find_spec("numba")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@cache
def numba_version() -> str:
    """As numba says itself; its metadata would take longer to read."""
    try:
        text = (numba_folder() / "_version.py").read_text()
    except OSError:
        text = ""
    found = re.search(r'"version": "([^"]+)"', text)
    return found[1] if found else version("numba")


@cache
def folder_name(source: Path) -> str:
    """The folder of a module's kernels: its name, and a digest of all that goes into them."""
    digest = hashlib.sha256(source.read_bytes())
    for imported in sorted(_imported(source)):
        digest.update(imported.read_bytes())
    return f"{source.stem}-{digest.hexdigest()[:16]}"


@cache
def _imported(source: Path) -> frozenset[Path]:
    """The modules of kernels that `source` imports, directly or through others.

    Not those `AROUND` kernels, which store and load them: what is in kernels does not depend on
    them.
    """
    lines = re.findall(
        r"^from neardup\.kernels(?:\.(\w+) import|( import .*))", source.read_text(), re.M
    )
    names = [name for module, several in lines for name in (module, *re.findall(r"\w+", several))]
    modules = [HERE / f"{name}.py" for name in names if (HERE / f"{name}.py").exists()]
    modules = [module for module in modules if module not in AROUND]
    return frozenset(modules).union(*map(_imported, modules))


@cache
def writable() -> Path:
    """Where kernels compiled here are kept: as the user says, beside the sources, in the user's
    cache, or, if none of these can be written, in a temporary folder."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    places = [HERE / "__pycache__" / "compiled"]
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    if Path(home).is_absolute():  # a user without a home has none
        places.append(Path(home, "neardup"))
    return next(filter(_can_be_written, places), None) or _temporary()


def _can_be_written(folder: Path) -> bool:
    there = next(above for above in (folder, *folder.parents) if above.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _temporary() -> Path:
    """The user's folder among the temporary ones, or one for this process if another user has
    made it: what lies there is run."""
    if hasattr(os, "getuid"):
        folder = Path(tempfile.gettempdir(), f"neardup-{os.getuid()}")
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if status.st_uid == os.getuid() and status.st_mode & 0o170077 == 0o040000:
            return folder
    folder = Path(tempfile.mkdtemp(prefix="neardup-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# Parts of all kernels that are known to be compiled


def is_ready(part: str) -> bool:
    """Whether the kernels of a part (`cli.warm_up`) are compiled: here, or shipped."""
    oldest = baseline()
    if oldest is not None and shipped_fit() and (SHIPPED / _mark(part, oldest.cpu, "")).exists():
        return True
    return (writable() / _mark(part, *_processor())).exists()


def note_ready(part: str) -> None:
    """Remember that the kernels of a part are compiled."""
    writable().mkdir(parents=True, exist_ok=True)
    (writable() / _mark(part, *_processor())).touch()


@contextmanager
def compiling_alone() -> Iterator[None]:
    """Wait while another process compiles the same kernels; then they may be there already.

    An error if nothing can be kept on disk, as on a full one.
    """
    try:
        writable().mkdir(parents=True, exist_ok=True)
        lock = (writable() / _mark("lock", *_processor())).open("w")
    except OSError as error:
        raise cannot_keep(error) from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def cannot_keep(error: OSError) -> OutputError:
    """The error of kernels that cannot be kept on disk."""
    return OutputError(f"cannot keep compiled kernels in {writable()}: {error.strerror}")


@cache
def _processor() -> tuple[str, str]:
    """The name and the features of the processor that numba compiles for."""
    import llvmlite.binding as llvm  # noqa: PLC0415 - `neardup --help` does without

    name = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    chosen = os.environ.get("NUMBA_CPU_FEATURES")
    return name, " ".join(sorted(_features())) if chosen is None else chosen


def _mark(part: str, cpu: str, features: str) -> str:
    parts = (*_versions(), FORMAT, cpu, features)
    return f"ready-{part}-{hashlib.sha256(repr((parts, _all_sources())).encode()).hexdigest()[:16]}"


@cache
def _all_sources() -> str:
    """A digest of every kernel's source."""
    sources = (source for source in HERE.glob("*.py") if source not in AROUND)
    names = sorted(map(folder_name, sources))
    return hashlib.sha256(repr(names).encode()).hexdigest()
