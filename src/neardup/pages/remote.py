"""Inputs at a distance: s3://, gs://, hf:// and whatever else fsspec opens."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TypeVar, cast

from neardup.errors import InputError, MissingExtraError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_BLOCK = 8 << 20  # bytes fetched at once
_BUFFER = 1 << 16
Answer = TypeVar("Answer")


def is_remote(path: str) -> bool:
    """Whether a path names a scheme (one letter is a drive)."""
    return _SCHEME.match(path) is not None


class RemotePlace:
    """A file system of fsspec. Whatever its back end raises comes out as OSError."""

    def __init__(self, path: str) -> None:
        match = _SCHEME.match(path)
        self._scheme = match[1] if match else ""
        self._system = _file_system(self._scheme)

    def expand(self, pattern: str) -> list[str]:
        if _ask(lambda: self._system.exists(pattern)):
            return [pattern]
        if not any(sign in pattern for sign in "*?["):
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
    except Exception as error:  # back ends raise what they like
        raise OSError(f"{type(error).__name__}: {error}") from error


def _file_system(scheme: str) -> Any:
    try:
        import fsspec  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError(f"reading {scheme}://", "remote") from None
    try:
        return fsspec.filesystem(scheme)
    except ImportError:
        raise MissingExtraError(f"reading {scheme}://", "remote") from None
    except ValueError:
        raise InputError(f"{scheme}:// is not a kind of storage that can be read") from None
