"""Where inputs are: on this machine, or where fsspec reaches. Both answer the same questions."""

from __future__ import annotations

import glob
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from neardup.pages.remote import RemotePlace, is_remote


class Place(Protocol):
    """A kind of storage."""

    def expand(self, pattern: str) -> list[str]:
        """The paths a name or glob stands for; none when nothing is there."""

    def is_folder(self, path: str) -> bool:
        """Whether files may be below it."""

    def walk(self, folder: str) -> Iterator[str]:
        """Relative paths of all files below a folder, sorted, hidden ones left out."""

    def join(self, folder: str, relative: str) -> str:
        """The path of a file below a folder."""

    def identity(self, path: str) -> str:
        """The same for all spellings of one path."""

    def open(self, path: str) -> BinaryIO:
        """The file's bytes; OSError when it cannot be read."""


def place_of(path: str) -> Place:
    """Where a path leads."""
    if path == "-":
        return StandardInput()
    return RemotePlace(path) if is_remote(path) else LocalPlace()


class LocalPlace:
    """Files of this machine."""

    def expand(self, pattern: str) -> list[str]:
        if os.path.lexists(pattern):  # also when its name has brackets in it
            return [pattern]
        return sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - names stay as written

    def is_folder(self, path: str) -> bool:
        return Path(path).is_dir()

    def walk(self, folder: str) -> Iterator[str]:
        return self._walk(folder, "")

    def _walk(self, folder: str, prefix: str) -> Iterator[str]:
        try:
            with os.scandir(folder) as entries:
                found = sorted(_sort_name(each) for each in entries if each.name[0] != ".")
        except OSError:
            yield prefix.rstrip("/")  # opening it will say why it cannot be read
            return
        for name in found:
            if name.endswith("/"):
                yield from self._walk(os.path.join(folder, name), prefix + name)  # noqa: PTH118
            else:
                yield prefix + name

    def join(self, folder: str, relative: str) -> str:
        return os.path.join(folder, relative)  # noqa: PTH118 - `./` stays as written

    def identity(self, path: str) -> str:
        return os.path.abspath(path)  # noqa: PTH100 - links are files of their own

    def open(self, path: str) -> BinaryIO:
        file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")  # noqa: PTH123, SIM115
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISREG(mode):
            return file
        file.close()
        if stat.S_ISFIFO(mode) and path.startswith("/dev/fd/"):  # a shell's <(command)
            return open(path, "rb")  # noqa: PTH123
        raise OSError("not a regular file")


def _sort_name(entry: os.DirEntry[str]) -> str:
    """Folders end in a slash, so that names sort as whole paths do."""
    return entry.name + "/" if entry.is_dir(follow_symlinks=False) else entry.name


class StandardInput:
    """`-`."""

    def expand(self, pattern: str) -> list[str]:
        return [pattern]

    def is_folder(self, path: str) -> bool:
        return False

    def walk(self, folder: str) -> Iterator[str]:
        return iter(())

    def join(self, folder: str, relative: str) -> str:
        return relative

    def identity(self, path: str) -> str:
        return path

    def open(self, path: str) -> BinaryIO:
        return open(sys.stdin.fileno(), "rb", closefd=False)
