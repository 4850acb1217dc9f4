"""HTTP content codings, undone within a limit."""

from __future__ import annotations

import zlib

from neardup.pages.inflaters import BrokenError, Gzip, Zstd


def inflate_bounded(data: bytes, encoding: str, limit: int) -> bytes:
    """Decode one HTTP content-encoding; at most `limit` + 1 bytes, so the caller sees excess.

    Raises ValueError when the data make no sense and EOFError when they end early.
    """
    if encoding == "br":
        return _unbrotli(data, limit)
    if encoding == "deflate":
        return _undeflate(data, limit)
    member = Zstd() if encoding == "zstd" else Gzip()
    return _inflate_one(data, member, limit)


def _inflate_one(data: bytes, member: Gzip | Zstd, limit: int) -> bytes:
    pieces, size, left = [], 0, data
    while not member.eof and size <= limit:
        given, rest = left[: member.step], left[member.step :]
        try:
            piece = member.feed(given)
        except BrokenError as error:
            raise ValueError(str(error)) from None
        left = member.left + rest
        if not piece and not given:
            raise EOFError
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)[: limit + 1]


def _undeflate(data: bytes, limit: int) -> bytes:
    """RFC 9110 says zlib; some servers send bare deflate."""
    for window in (15, -15):
        inflater = zlib.decompressobj(window)
        try:
            body = inflater.decompress(data, limit + 1)
        except zlib.error:
            continue
        if not inflater.eof and len(body) <= limit:
            raise EOFError
        return body
    raise ValueError("not deflate")


def _unbrotli(data: bytes, limit: int) -> bytes:
    import brotli  # noqa: PLC0415

    decompressor = brotli.Decompressor()
    pieces, size, given = [], 0, data
    try:
        while size <= limit and not decompressor.is_finished():
            piece = decompressor.process(given, output_buffer_limit=limit + 1 - size)
            given = b""
            if not piece and decompressor.can_accept_more_data():
                raise EOFError
            pieces.append(piece)
            size += len(piece)
    except brotli.error as error:
        raise ValueError(str(error)) from None
    return b"".join(pieces)
