"""Pages in WARC and ARC files, and WARC records for writing pages back.

Response, resource and conversion (WET) records become pages; other HTTP statuses and media types
are skipped and counted. A revisit record repeats a page stored elsewhere in the inputs: it is
remembered under short keys of what it repeats, and resolved in a second pass over the archives,
which happens only if there are revisits. So memory grows with the open revisits (about 0.5 KB each,
up to `REVISIT_BYTES`), never with the pages.
"""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b, sha1
from threading import Lock
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.archive import Problem, Record, parse_headers, records, target_of
from neardup.pages.fields import WarcBytes, long_url, parse_time
from neardup.pages.http import (
    Response,
    charset_of,
    decode_body,
    is_html,
    media_type,
    parse_response,
)
from neardup.pages.inputs import File, resumes
from neardup.pages.limits import URL_LENGTH, Limits
from neardup.pages.readers import guarded
from neardup.pages.streams import Chunks, chunks


@dataclass(frozen=True, slots=True)
class Revisit:
    """A record that repeats another."""

    source: Source
    url: str
    date: str
    head: bytes


REVISIT_BYTES = 512_000_000  # of revisits that may wait for the pages they repeat
_REVISIT_OVERHEAD = 500  # approximate bytes of a revisit besides its URL, date and head
_DATE_LENGTH = 64  # characters; a WARC date has at most 30


class Revisits:
    """The revisits so far, by the keys of what they repeat; `size` is about their bytes."""

    def __init__(self) -> None:
        self.size = 0
        self._waiting: dict[bytes, list[Revisit]] = {}
        self._open: dict[Source, str] = {}  # with their URLs

    def add(self, revisit: Revisit, keys: list[bytes]) -> None:
        self.size += len(revisit.url) + len(revisit.head) + _REVISIT_OVERHEAD
        self._open[revisit.source] = revisit.url
        for key in keys:
            self._waiting.setdefault(key, []).append(revisit)

    def __bool__(self) -> bool:
        return bool(self._open)

    def take(self, keys: list[bytes]) -> Iterator[Revisit]:
        """Remove and return the revisits that wait for a record with one of these keys."""
        for key in keys:
            for revisit in sorted(self._waiting.pop(key, []), key=lambda each: _place(each.source)):
                if self._open.pop(revisit.source, None) is not None:
                    yield revisit

    def unresolved(self) -> Iterator[Skip]:
        """The unresolved revisits, in the order of files and records."""
        for source in sorted(self._open, key=_place):
            detail = "what it repeats is not in the input"
            yield Skip(source, SkipReason.UNRESOLVED_REVISIT, detail, self._open[source])


def _place(source: Source) -> tuple[str, int]:
    return source.path, source.record


def own_keys(headers: dict[str, str]) -> list[bytes]:
    """The keys under which a record can be referred to."""
    return _keys(headers, "warc-record-id", "warc-target-uri", "warc-date")


def wanted_keys(headers: dict[str, str]) -> list[bytes]:
    """The keys of what a revisit repeats."""
    prefix = "warc-refers-to"
    return _keys(headers, prefix, f"{prefix}-target-uri", f"{prefix}-date")


def _keys(headers: dict[str, str], *names: str) -> list[bytes]:
    """Keys of a record by its id, by its URL and date, and by the digest of its payload."""
    record_id, uri, date = (headers.get(name, "") for name in names)
    digest = headers.get("warc-payload-digest", "").lower()
    ways = [("id", record_id), ("at", uri.strip("<>") if date else "", date), ("digest", digest)]
    return [
        blake2b("\n".join(way).encode("utf-8", "replace"), digest_size=8).digest()
        for way in ways
        if way[1]
    ]


NO_DATE = "1970-01-01T00:00:00Z"  # WARC requires a date; the clock's would differ from run to run
_OF_RECORD = frozenset({"warc-type", "warc-record-id", "content-length", "content-type"})
_OF_REVISITS = ("warc-refers-to", "warc-profile", "warc-block-digest", "warc-truncated")


def compose(fields: dict[str, str], block: bytes, version: str = "1.0") -> bytes:
    """A WARC record with these fields.

    A record id that is missing is derived from the fields, so that a rerun gives the same one.
    """
    seed = "\n".join(f"{name}: {value}" for name, value in fields.items())
    record_id = fields.get("WARC-Record-ID", f"<urn:uuid:{uuid5(NAMESPACE_URL, seed)}>")
    fields = {**fields, "WARC-Record-ID": record_id, "Content-Length": str(len(block))}
    lines = "".join(
        f"{name}: {' '.join(value.split())}\r\n" for name, value in fields.items() if value
    )
    return f"WARC/{version}\r\n{lines}\r\n".encode("utf-8", "replace") + block + b"\r\n\r\n"


def as_warc(record: Record) -> bytes:
    """The record as in its file; an ARC record is converted to WARC."""
    if record.head:
        return record.head + record.block + b"\r\n\r\n"
    is_response = parse_response(record.block) is not None
    kind = "application/http; msgtype=response" if is_response else record.headers["content-type"]
    fields = {
        "WARC-Type": "response" if is_response else "resource",
        "WARC-Date": record.headers["warc-date"] or NO_DATE,
        "WARC-Target-URI": target_of(record.headers),
        "WARC-IP-Address": record.headers["warc-ip-address"],
        "Content-Type": kind,
    }
    return compose(fields, record.block)


def repeated(revisit_head: bytes, record: Record) -> bytes:
    """A revisit as a full record: its own head, and the block of what it repeats."""
    fields = {"WARC-Type": record.type}
    for name, value in parse_headers(revisit_head).items():
        if name not in _OF_RECORD and not name.startswith(_OF_REVISITS):
            fields[_header_case(name)] = value
    fields["Content-Type"] = record.headers.get("content-type", "")
    return compose(fields, record.block)


IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NEAR = "urn:neardup:revisit:near-duplicate"  # the payload is another one, and it is not kept
_OF_CAPTURE = ("WARC-Target-URI", "WARC-Date", "WARC-IP-Address", "WARC-Concurrent-To")


@dataclass(frozen=True, slots=True)
class Reference:
    """A record as revisits refer to it."""

    id: str
    uri: str
    date: str
    digest: str  # of the payload, as the record declares it, or SHA-1


def payload_of(record: bytes) -> tuple[bytes, bytes]:
    """The head of the HTTP response in a record, with its empty line, and the payload.

    Both are as stored: codings count, so that equal payloads are equal to every reader.
    """
    block = record.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n\r\n")
    response = parse_response(block)
    if response is None:
        return b"", block
    return block[: len(block) - len(response.body)], response.body


def reference_to(record: bytes) -> Reference:
    """How revisits refer to a whole record."""
    headers = parse_headers(record.partition(b"\r\n\r\n")[0])
    return Reference(
        headers.get("warc-record-id", ""),
        target_of(headers),
        headers.get("warc-date", ""),
        headers.get("warc-payload-digest", "") or _sha1(payload_of(record)[1]),
    )


def compose_revisit(
    record: bytes, to: Reference, profile: str, more: dict[str, str] | None = None
) -> bytes:
    """A `revisit` record in place of a whole one: its head, the head of its HTTP response, and a
    reference to the payload."""
    headers = parse_headers(record.partition(b"\r\n\r\n")[0])
    head, payload = payload_of(record)
    fields = {"WARC-Type": "revisit"}
    fields |= {name: headers.get(name.lower(), "") for name in _OF_CAPTURE}
    fields |= {
        "WARC-Payload-Digest": to.digest if profile == IDENTICAL else _sha1(payload),
        "WARC-Block-Digest": _sha1(head),
        "WARC-Profile": profile,
        "WARC-Refers-To": to.id,
        "WARC-Refers-To-Target-URI": to.uri,
        "WARC-Refers-To-Date": to.date,
        "WARC-Truncated": "length",
        "Content-Type": headers.get("content-type", ""),
    }
    if record_id := headers.get("warc-record-id"):
        fields["WARC-Record-ID"] = record_id
    return compose(fields | (more or {}), head, version="1.1")


def _sha1(data: bytes) -> str:
    return "sha1:" + b32encode(sha1(data, usedforsecurity=False).digest()).decode()


def _header_case(name: str) -> str:
    words = [
        word.upper() if word in ("warc", "uri", "ip", "id") else word.capitalize()
        for word in name.split("-")
    ]
    return "-".join(words)


_NOT_PAGES = frozenset({"warcinfo", "request", "metadata"})


class WarcReader:
    """Reads archives, one after another or side by side; the revisits are shared."""

    def __init__(self, limits: Limits, keep_original: bool = False) -> None:
        self._limits = limits
        self._keep_original = keep_original
        self._archives: list[File] = []
        self.revisits = Revisits()
        self._lock = Lock()

    def read(self, file: File, content: Chunks, first: int = 0) -> Iterator[RawPage | Skip]:
        """The pages of an archive; its revisits are kept for `finish`.

        `first` is the number of the first record.
        """
        self._archives.append(file)
        for item in records(content, self._limits, first):
            source = Source(file.source, item.number)
            if isinstance(item, Problem):
                yield Skip(source, item.reason, item.detail, item.uri[:URL_LENGTH])
            elif item.type == "revisit":
                if skip := self._note_revisit(item, source):
                    yield skip
            elif item.type not in _NOT_PAGES:
                yield self._page(item, source)

    def finish(self) -> Iterator[RawPage | Skip]:
        """The pages that revisits repeat, from a second pass over the archives."""
        for file in sorted(self._archives, key=lambda each: each.path):
            if self.revisits:
                yield from guarded(file, self._resolve_file(file))
        yield from self.revisits.unresolved()

    def _resolve_file(self, file: File) -> Iterator[RawPage | Skip]:
        with file.open() as stream:
            yield from self.resolve(chunks(stream, resumes))

    def resolve(self, content: Chunks) -> Iterator[RawPage | Skip]:
        """The pages of an archive that revisits repeat."""
        for item in records(content, self._limits):
            if not self.revisits:
                return
            if isinstance(item, Record) and item.type in ("response", "resource"):
                for revisit in self.revisits.take(own_keys(item.headers)):
                    yield self._repeat(item, revisit)

    def _note_revisit(self, record: Record, source: Source) -> Skip | None:
        """Store a revisit, or return why not."""
        url, date = target_of(record.headers), record.headers.get("warc-date", "")
        if len(url) > URL_LENGTH:
            return long_url(source, url)
        if record.headers.get("warc-profile") == NEAR:
            detail = "the content of this near-duplicate was not kept"
            return Skip(source, SkipReason.UNRESOLVED_REVISIT, detail, url)
        if self.revisits.size > REVISIT_BYTES:
            detail = f"the revisits still open take more than {REVISIT_BYTES:,} bytes"
            return Skip(source, SkipReason.UNRESOLVED_REVISIT, detail, url)
        head = record.head if self._keep_original else b""
        revisit = Revisit(source, url, date[:_DATE_LENGTH], head)
        with self._lock:
            self.revisits.add(revisit, wanted_keys(record.headers))
        return None

    def _repeat(self, record: Record, revisit: Revisit) -> RawPage | Skip:
        """A page with the URL and the date of the revisit, and the body of what it repeats."""
        headers = {**record.headers, "warc-target-uri": revisit.url, "warc-date": revisit.date}
        page = self._page(replace(record, headers=headers), revisit.source)
        if isinstance(page, RawPage) and self._keep_original:
            return replace(page, original=WarcBytes(repeated(revisit.head, record)))
        return page

    def _page(self, record: Record, source: Source) -> RawPage | Skip:
        url = target_of(record.headers)
        if len(url) > URL_LENGTH:
            return long_url(source, url)
        content = self._content(record)
        if isinstance(content, _Refusal):
            return Skip(source, content.reason, content.detail, url)
        date = record.headers.get("warc-date", "")
        name = url or f"{source.path.rpartition('/')[2]}:{source.record}"
        return RawPage(
            id=name,
            body=content.body,
            is_html=content.is_html,
            source=source,
            url=url,
            again=f"{name}@{date}" if date else f"{source.path}:{source.record}",
            time=parse_time(date),
            charset=content.charset,
            original=WarcBytes(as_warc(record)) if self._keep_original else None,
        )

    def _content(self, record: Record) -> _Content | _Refusal:
        if record.type == "continuation":
            return _Refusal(SkipReason.BAD_RECORD, "a segment of a record; segments are not joined")
        response = parse_response(record.block) if record.type in ("response", "arc") else None
        if response is None:
            response = Response(200, {}, record.block)
        if response.status != 200:
            return _Refusal(SkipReason.HTTP_STATUS, str(response.status))
        if record.oversize:
            return self._too_large(record, response)
        try:
            body = decode_body(response, self._limits.page_bytes)
        except EOFError:
            return _Refusal(SkipReason.TRUNCATED, "the encoded body ends early")
        except ValueError as error:
            return _Refusal(SkipReason.BAD_RECORD, f"the body cannot be decoded: {error}")
        return self._judge(record, response, body)

    def _too_large(self, record: Record, response: Response) -> _Refusal:
        """A large image is not a page; of a large page only the beginning was read."""
        kind = media_type(_content_type(record, response))
        if kind and not is_html(kind, response.body) and not _is_text(record, kind):
            return _Refusal(SkipReason.NOT_HTML, kind)
        return _Refusal(SkipReason.TOO_LARGE, f"above {self._limits.page_bytes} bytes")

    def _judge(self, record: Record, response: Response, body: bytes) -> _Content | _Refusal:
        content_type = _content_type(record, response)
        kind = media_type(content_type)
        text = _is_text(record, kind)
        if not body and (text or is_html(kind, body) or not kind):
            return _Refusal(SkipReason.EMPTY, "no content")
        if not text and not is_html(kind, body):
            return _Refusal(SkipReason.NOT_HTML, kind or "no media type, and not HTML to look at")
        if len(body) > self._limits.page_bytes:
            return _Refusal(SkipReason.TOO_LARGE, f"above {self._limits.page_bytes} bytes")
        # WET records are UTF-8 by definition
        return _Content(body, not text, charset_of(content_type) or ("utf-8" if text else ""))


class _Content(NamedTuple):
    body: bytes
    is_html: bool
    charset: str


class _Refusal(NamedTuple):
    reason: SkipReason
    detail: str


def _content_type(record: Record, response: Response) -> str:
    """The content type according to the server, else according to the archive."""
    if "content-type" in response.headers:
        return response.headers["content-type"]
    archived = record.headers.get("content-type", "")
    if media_type(archived) != "application/http":
        return archived
    return record.headers.get("warc-identified-payload-type", "")


def _is_text(record: Record, kind: str) -> bool:
    return record.type == "conversion" and kind == "text/plain"
