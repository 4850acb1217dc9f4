"""Compressing what is written, the same bytes for the same content."""

from __future__ import annotations

import gzip
from typing import Any, BinaryIO, Protocol


class Packer(Protocol):
    """Makes compressed bytes of plain ones."""

    def whole(self, data: bytes) -> bytes:
        """A member of its own, as WARC wants for each record."""

    def open(self, stream: BinaryIO) -> Any:
        """A stream to write plain bytes to, ending in `close`, which leaves `stream` open."""


def packer_of(suffix: str) -> Packer:
    """For "", ".gz" or ".zst"."""
    packers: dict[str, Packer] = {"": Plain(), ".gz": Gzip(), ".zst": Zstd()}
    return packers[suffix]


class Plain:
    """No compression."""

    def whole(self, data: bytes) -> bytes:
        return data

    def open(self, stream: BinaryIO) -> Any:
        return _Unclosed(stream)


class _Unclosed:
    def __init__(self, stream: BinaryIO) -> None:
        self.write = stream.write

    def close(self) -> None:
        """Nothing: the stream is the caller's."""


class Gzip:
    """Gzip without a name or a time."""

    def whole(self, data: bytes) -> bytes:
        return gzip.compress(data, 6, mtime=0)

    def open(self, stream: BinaryIO) -> Any:
        return gzip.GzipFile("", "wb", 6, stream, mtime=0)


class Zstd:
    """Zstandard."""

    def whole(self, data: bytes) -> bytes:
        return bytes(_zstd().compress(data))

    def open(self, stream: BinaryIO) -> Any:
        return _zstd().stream_writer(stream, closefd=False)


def _zstd() -> Any:
    import zstandard  # noqa: PLC0415

    return zstandard.ZstdCompressor(level=6)
