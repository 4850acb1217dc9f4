"""One gzip member or zstd frame, decompressed step by step with bounded output.

isal inflates 2.2 times as fast as zlib, and unlike fastwarc's reader it tells a truncated member
from a whole one.
"""

from __future__ import annotations

from typing import Any, BinaryIO

CHUNK = 65_536  # bytes a step; fits the cache, where inflating is fastest
# zstd cannot be told how much to give: 512 bytes in bound what comes out to 16 MB in a bomb
_ZSTD_STEP = 512
_ZSTD_WINDOW = 1 << 27
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_DICTIONARY_FRAME = b"\x5d\x2a\x4d\x18"  # holds the dictionary of a .warc.zst
_DICTIONARY_BYTES = 1 << 24


class BrokenError(Exception):
    """The compressed bytes make no sense."""


class Gzip:
    """One gzip member."""

    step = read_size = CHUNK

    def __init__(self) -> None:
        from isal import isal_zlib  # noqa: PLC0415 - only when something is compressed

        self._inflater = isal_zlib.decompressobj(31)
        self._error: type[Exception] = isal_zlib.error  # type: ignore[assignment] # its stub errs

    def feed(self, data: bytes) -> bytes:
        try:
            return self._inflater.decompress(data, CHUNK)
        except self._error as error:
            raise BrokenError(str(error)) from None

    @property
    def left(self) -> bytes:
        """Input not used yet: of this member, or after its end of the next."""
        if self._inflater.eof:
            return self._inflater.unused_data
        return self._inflater.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._inflater.eof


class Zstd:
    """One zstd frame."""

    step = _ZSTD_STEP
    read_size = 8 * _ZSTD_STEP

    def __init__(self, dictionary: Any = None) -> None:
        import zstandard  # noqa: PLC0415

        packed = zstandard.ZstdDecompressor(dictionary, max_window_size=_ZSTD_WINDOW)
        self._inflater = packed.decompressobj()
        self._error = zstandard.ZstdError

    def feed(self, data: bytes) -> bytes:
        try:
            return self._inflater.decompress(data) if data else b""
        except self._error as error:
            raise BrokenError(str(error)) from None

    @property
    def left(self) -> bytes:
        return self._inflater.unused_data if self._inflater.eof else b""

    @property
    def eof(self) -> bool:
        return self._inflater.eof


def zstd_dictionary(stream: BinaryIO, first: bytes) -> tuple[bytes, Any]:
    """The first bytes, and the dictionary that a .warc.zst carries in its first frame, or None."""
    size = int.from_bytes(first[4:8], "little")
    if not first.startswith(_DICTIONARY_FRAME) or size > _DICTIONARY_BYTES:
        return first, None
    import zstandard  # noqa: PLC0415

    first += stream.read(max(0, 8 + size - len(first)))
    held = first[8 : 8 + size]
    if held.startswith(_ZSTD_MAGIC):
        try:
            packed = zstandard.ZstdDecompressor()
            held = packed.decompress(held, max_output_size=_DICTIONARY_BYTES)
        except zstandard.ZstdError:
            return first, None
    return first, zstandard.ZstdCompressionDict(held)
