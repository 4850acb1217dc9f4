"""HTTP responses in WARC records: status, headers, and the body decoded within a limit."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from neardup.pages.archive import parse_headers
from neardup.pages.limits import CODINGS, HEAD_BYTES
from neardup.pages.streams import BrokenError, Gzip, Zstd


def inflate_bounded(data: bytes, encoding: str, limit: int) -> bytes:
    """Decode one HTTP content-encoding; at most `limit` + 1 bytes, so the caller sees excess.

    Raises ValueError for invalid data and EOFError for truncated data.
    """
    if encoding == "br":
        return _unbrotli(data, limit)
    if encoding == "deflate":
        return _undeflate(data, limit)
    member = Zstd() if encoding == "zstd" else Gzip()
    pieces, size, at = [], 0, 0
    view = memoryview(data)
    while not member.eof and size <= limit:
        step = member.measure(view[at:])
        try:
            piece = member.feed(view[at : at + step])
        except BrokenError as error:
            raise ValueError(str(error)) from None
        at += step - len(member.left)
        if not piece and not step:
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
    pieces, size, chunk = [], 0, data
    try:
        while size <= limit and not decompressor.is_finished():
            piece = decompressor.process(chunk, output_buffer_limit=limit + 1 - size)
            chunk = b""
            if not piece and decompressor.can_accept_more_data():
                raise EOFError
            pieces.append(piece)
            size += len(piece)
    except brotli.error as error:
        raise ValueError(str(error)) from None
    return b"".join(pieces)


_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_MEDIA_TYPE = re.compile(r"[^;,\s]+")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([^\s;,\"']+)", re.I)
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CODINGS = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate", "br": "br", "zstd": "zstd"}
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
_VAGUE_TYPES = frozenset({"", "unknown", "no-type", "content/unknown", "application/octet-stream"})
_XML_TYPES = frozenset({"text/xml", "application/xml"})
_HTML_OPENING = re.compile(
    # Atomic groups: a comment ends at its first "-->", without backtracking
    rb"(?:\xef\xbb\xbf)?(?>(?:\s|<!--(?>.*?-->)|<\?xml(?>.*?\?>))*)"
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|table|div|h1|p|br|a|font|b)[\s>]",
    re.I | re.S,
)
_XHTML_OPENING = re.compile(rb"<!doctype\s+html|<html[\s>]", re.I)


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: dict[str, str]
    body: bytes  # as sent, before decoding


def parse_response(block: bytes) -> Response | None:
    """Parse a response; None if the block does not start like one."""
    status = _STATUS.match(block)
    if not status:
        return None
    end = _HEAD_END.search(block, 0, HEAD_BYTES)
    if end is None:
        return Response(int(status[1]), parse_headers(block[:HEAD_BYTES]), b"")
    return Response(int(status[1]), parse_headers(block[: end.start()]), block[end.end() :])


def media_type(content_type: str) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`."""
    match = _MEDIA_TYPE.search(content_type)
    return match[0].lower() if match else ""


def charset_of(content_type: str) -> str:
    """The charset that a Content-Type names, or ""."""
    match = _CHARSET.search(content_type)
    return match[1] if match else ""


def is_html(kind: str, body: bytes) -> bool:
    """Whether the media type is HTML, or is vague or XML and the content looks like HTML."""
    if kind in _HTML_TYPES:
        return True
    if kind in _VAGUE_TYPES:
        return _HTML_OPENING.match(body, 0, 2048) is not None
    return kind in _XML_TYPES and _XHTML_OPENING.search(body, 0, 1024) is not None


def decode_body(response: Response, limit: int) -> bytes:
    """The body without transfer and content codings; more than `limit` bytes mean too large.

    Raises ValueError for an invalid body and EOFError for a truncated one.
    """
    body = response.body
    if "chunked" in response.headers.get("transfer-encoding", "").lower():
        body = _unchunk(body)
    names = map(str.strip, response.headers.get("content-encoding", "").lower().split(","))
    codings = [_CODINGS[name] for name in names if name in _CODINGS]
    if len(codings) > CODINGS:
        raise ValueError(f"{len(codings):,} content codings; the limit is {CODINGS}")
    for coding in reversed(codings):
        body = _uncode(body, coding, limit)
    return body


def _uncode(body: bytes, coding: str, limit: int) -> bytes:
    if not body:
        return body
    try:
        return inflate_bounded(body, coding, limit)
    except (ValueError, EOFError):
        # Crawlers often decode the body but leave the header
        if _HTML_OPENING.match(body, 0, 2048):
            return body
        raise


def _unchunk(body: bytes) -> bytes:
    if not _CHUNK_SIZE.match(body):
        return body  # already decoded by the crawler
    pieces: list[bytes] = []
    at = 0
    while size := _CHUNK_SIZE.match(body, at):
        length = int(size[1], 16)
        if length == 0:
            return b"".join(pieces)
        at = size.end() + length
        if at > len(body):
            raise EOFError
        pieces.append(body[size.end() : at])
        at += 2 if body[at : at + 2] == b"\r\n" else body[at : at + 1] == b"\n"
    if body[at:].strip():
        raise ValueError("broken chunks")
    return b"".join(pieces)  # only the closing chunk is missing
