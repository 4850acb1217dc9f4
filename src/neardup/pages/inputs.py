"""Finds the files that paths, globs, folders and URLs stand for.

A place is a kind of storage: this machine, standard input, or whatever fsspec opens (s3://, gs://,
hf:// and others). All places offer the same few operations and fail with OSError only.
"""

from __future__ import annotations

import glob
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar, cast

from neardup.errors import InputError, MissingExtraError
from neardup.pages.archive import RECORD_START
from neardup.pages.formats import format_of_name

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_BLOCK = 8 << 20  # bytes fetched at once
_BUFFER = 1 << 16
IGNORED = "ignored"  # the format of files in a folder that no format claims by name
Answer = TypeVar("Answer")


def is_remote(path: str) -> bool:
    """Whether a path names a scheme (one letter is a drive)."""
    return _SCHEME.match(path) is not None


class RemotePlace:
    """A file system of fsspec; all errors of its back end become OSError."""

    def __init__(self, path: str) -> None:
        match = _SCHEME.match(path)
        self._scheme = match[1] if match else ""
        self._system = _file_system(self._scheme)

    def expand(self, pattern: str) -> list[str]:
        if _ask(lambda: self._system.exists(pattern)):
            return [pattern]
        if not _is_glob(pattern):
            return []
        return sorted(self._named(path) for path in _ask(lambda: self._system.glob(pattern)))

    def is_folder(self, path: str) -> bool:
        return bool(_ask(lambda: self._system.isdir(path)))

    def walk(self, folder: str) -> Iterator[str]:
        root = self._system._strip_protocol(folder).rstrip("/") + "/"
        for path in sorted(_ask(lambda: self._system.find(folder))):
            relative = str(path).removeprefix(root)
            if not any(part.startswith(".") for part in relative.split("/")):
                yield relative

    def join(self, folder: str, relative: str) -> str:
        return folder.rstrip("/") + "/" + relative

    def identity(self, path: str) -> str:
        return self._named(self._system._strip_protocol(path))

    def open(self, path: str) -> BinaryIO:
        file = _ask(lambda: self._system.open(path, "rb", block_size=_BLOCK))
        return cast(BinaryIO, io.BufferedReader(_Steady(file), _BUFFER))

    def _named(self, path: str) -> str:
        return str(self._system.unstrip_protocol(path))


class _Steady(io.RawIOBase):
    """A remote file whose reading fails with OSError only."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readinto(self, buffer: Any) -> int:
        data = _ask(lambda: self._file.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(_ask(lambda: self._file.seek(offset, whence)))

    def tell(self) -> int:
        return int(self._file.tell())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _ask(question: Callable[[], Answer]) -> Answer:
    try:
        return question()
    except OSError:
        raise
    except Exception as error:  # back ends raise errors of their own
        raise OSError(f"{type(error).__name__}: {error}") from error


def _file_system(scheme: str) -> Any:
    try:
        import fsspec  # noqa: PLC0415 - an extra

        return fsspec.filesystem(scheme)
    except ImportError:
        raise MissingExtraError(f"reading {scheme}://", "remote") from None
    except ValueError:
        raise InputError(f"{scheme}:// is not a storage that can be read") from None


class Place(Protocol):
    """A kind of storage."""

    def expand(self, pattern: str) -> list[str]:
        """The existing paths that a name or a glob stands for."""

    def is_folder(self, path: str) -> bool:
        """Whether files may be below it."""

    def walk(self, folder: str) -> Iterator[str]:
        """Relative paths of all files below a folder, sorted, hidden ones left out."""

    def join(self, folder: str, relative: str) -> str:
        """The path of a file below a folder."""

    def identity(self, path: str) -> str:
        """A path that is the same for all spellings of a path."""

    def open(self, path: str) -> BinaryIO:
        """The file's bytes; OSError when it cannot be read."""


def place_of(path: str) -> Place:
    if path == "-":
        return StandardInput()
    return RemotePlace(path) if is_remote(path) else LocalPlace()


class LocalPlace:
    def expand(self, pattern: str) -> list[str]:
        if os.path.lexists(pattern):  # also when its name has brackets in it
            return [pattern]
        return sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - names stay as written

    def is_folder(self, path: str) -> bool:
        return Path(path).is_dir()

    def walk(self, folder: str) -> Iterator[str]:
        pending = [""]  # relative paths, the next one last; folders end in a slash
        while pending:
            relative = pending.pop()
            if relative and not relative.endswith("/"):
                yield relative
                continue
            try:
                with os.scandir(os.path.join(folder, relative)) as entries:  # noqa: PTH118
                    names = sorted(_sort_name(each) for each in entries if each.name[0] != ".")
            except OSError:
                yield relative.rstrip("/")  # opening it will say why it cannot be read
                continue
            pending += [relative + name for name in reversed(names)]

    def join(self, folder: str, relative: str) -> str:
        return os.path.join(folder, relative)  # noqa: PTH118 - `./` stays as written

    def identity(self, path: str) -> str:
        return os.path.abspath(path)  # noqa: PTH100 - links are files of their own

    def open(self, path: str) -> BinaryIO:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            return os.fdopen(descriptor, "rb")
        os.close(descriptor)
        if stat.S_ISFIFO(mode) and path.startswith("/dev/fd/"):  # a shell's <(command)
            return open(path, "rb")  # noqa: PTH123
        raise OSError("not a regular file")


def _sort_name(entry: os.DirEntry[str]) -> str:
    """Folders end in a slash, so that names sort as whole paths do."""
    return entry.name + "/" if entry.is_dir(follow_symlinks=False) else entry.name


class StandardInput(LocalPlace):
    """`-`, a single file."""

    def expand(self, pattern: str) -> list[str]:
        return [pattern]

    def is_folder(self, path: str) -> bool:
        return False

    def identity(self, path: str) -> str:
        return path

    def open(self, path: str) -> BinaryIO:
        return open(sys.stdin.fileno(), "rb", closefd=False)


@dataclass(frozen=True, slots=True)
class File:
    """A file to read. `name` is the page's id when the file is a page.

    `format` is a name of `formats.FORMATS`, or None if only the content can show it.
    """

    path: str
    name: str
    format: str | None
    place: Place

    def open(self) -> BinaryIO:
        """The file's bytes; OSError when it cannot be read."""
        return self.place.open(self.path)

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine and can be read from any offset."""
        return type(self.place) is LocalPlace and os.path.isfile(self.path)  # noqa: PTH113

    @property
    def source(self) -> str:
        """The path as results show it."""
        return printable(self.path)


def printable(path: str) -> str:
    """The path with bytes that are not UTF-8 written as `\\xff`, so that names stay distinct."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return path


@dataclass(frozen=True, slots=True)
class _InputPath:
    """A path that an input stands for: itself, or one that the glob matches."""

    path: str
    place: Place
    is_folder: bool
    identity: str


def resumes(data: bytes) -> bool:
    """Whether a compressed member begins with a record, so that reading can go on there."""
    return RECORD_START.match(data) is not None or data.startswith(b"{")


def find_files(inputs: Sequence[str]) -> Iterator[File]:
    """Every file once, sorted. An input without files is an error, raised at once."""
    paths = _input_paths(inputs)
    return (file for path in paths for file in _files_of(path))


def input_at(path: Path, inputs: Sequence[str]) -> str | None:
    """The input that writing to a path on this machine would overwrite, if any."""
    output = os.path.realpath(path)
    for each in _input_paths(inputs):
        if not isinstance(each.place, LocalPlace) or each.path == "-":
            continue
        source = os.path.realpath(each.path)
        if source == output or source.startswith(output + os.sep):
            return each.path
        inside = each.is_folder and output.startswith(source + os.sep)
        if inside and path.is_file() and format_of_name(output):
            return str(path)
    return None


def _input_paths(inputs: Sequence[str]) -> list[_InputPath]:
    """Sorted by path, each once; without files in a folder that is an input as well."""
    paths = sorted((path for text in inputs for path in _expand(text)), key=lambda each: each.path)
    folders = {each.identity for each in paths if each.is_folder}
    by_identity = {each.identity: each for each in reversed(paths)}  # the first of each counts
    return [
        each
        for each in paths
        if by_identity[each.identity] is each and not _is_within(each, folders)
    ]


def _expand(text: str) -> list[_InputPath]:
    place = place_of(text)
    try:
        paths = [
            _InputPath(path, place, place.is_folder(path), place.identity(path))
            for path in place.expand(text)
        ]
        with_pages = [each for each in paths if not each.is_folder or _has_pages(each)]
    except OSError as error:
        raise InputError(f"{text}: {error.strerror or error}") from None
    except RecursionError:  # of Python's glob
        raise InputError(f"{text}: the folders are nested too deeply for **") from None
    if with_pages:
        return with_pages
    missing = "nothing matches" if _is_glob(text) else "no such file or folder"
    raise InputError(f"{text}: {'there are no pages in this folder' if paths else missing}")


def _is_glob(text: str) -> bool:
    return any(sign in text for sign in "*?[")


def _is_within(path: _InputPath, folders: set[str]) -> bool:
    if not path.is_folder and not format_of_name(path.path):
        return False  # only files whose names tell the format are taken from a folder
    above = path.identity
    while "/" in above:
        above = above.rpartition("/")[0]
        if above in folders:
            return True
    return False


def _has_pages(folder: _InputPath) -> bool:
    return any(file.format != IGNORED for file in _files_of(folder))


def _files_of(path: _InputPath) -> Iterator[File]:
    if not path.is_folder:
        name = path.path.rpartition("/")[2]
        form = "jsonl" if path.path == "-" else format_of_name(path.path) or None
        yield File(path.path, printable(name), form, path.place)
        return
    for relative in path.place.walk(path.path):
        form = format_of_name(relative) or IGNORED
        yield File(path.place.join(path.path, relative), printable(relative), form, path.place)
