"""Pages of WARC and ARC files.

Response, resource and conversion (WET) records become pages; other HTTP statuses and other media
types are skipped and counted. A revisit record repeats a page that stands elsewhere in the inputs:
what it repeats is noted by key, and found in a second pass over the archives that is only made
when there are revisits. So memory grows with the number of revisits (some 0.5 KB each), never with
the pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.archive import Problem, Record, records
from neardup.pages.http import (
    Response,
    charset_of,
    decode_body,
    is_html,
    media_type,
    parse_response,
)
from neardup.pages.limits import Limits
from neardup.pages.original import WarcBytes
from neardup.pages.revisits import Revisit, Revisits, own_keys, target_of, wanted_keys
from neardup.pages.times import parse_time
from neardup.pages.unpack import Chunks
from neardup.pages.warc_form import as_warc, repeated

_NOT_PAGES = frozenset({"warcinfo", "request", "metadata"})


class WarcReader:
    """Reads one archive after another; the revisits are shared."""

    def __init__(self, limits: Limits, *, keep_original: bool = False) -> None:
        self._limits = limits
        self._keep_original = keep_original
        self.revisits = Revisits()

    def read(self, path: str, chunks: Chunks) -> Iterator[RawPage | Skip]:
        """The pages of an archive; its revisits are noted for `resolve`."""
        for item in records(chunks, self._limits):
            source = Source(path, item.number)
            if isinstance(item, Problem):
                yield Skip(source, item.reason, item.detail, item.uri)
            elif item.type == "revisit":
                self._note_revisit(item, source)
            elif item.type not in _NOT_PAGES:
                yield self._page(item, source)

    def resolve(self, chunks: Chunks) -> Iterator[RawPage | Skip]:
        """A second pass over an archive: the pages that revisits repeat."""
        for item in records(chunks, self._limits):
            if not self.revisits:
                return
            if isinstance(item, Record) and item.type in ("response", "resource"):
                for revisit in self.revisits.take(own_keys(item.headers)):
                    yield self._repeat(item, revisit)

    def _note_revisit(self, record: Record, source: Source) -> None:
        headers = record.headers
        revisit = Revisit(source, target_of(headers), headers.get("warc-date", ""), record.head)
        self.revisits.add(revisit, wanted_keys(headers))

    def _repeat(self, record: Record, revisit: Revisit) -> RawPage | Skip:
        """The revisit's own URL and date with the body of what it repeats."""
        headers = {**record.headers, "warc-target-uri": revisit.url, "warc-date": revisit.date}
        page = self._page(replace(record, headers=headers), revisit.source)
        if isinstance(page, RawPage) and self._keep_original:
            return replace(page, original=WarcBytes(repeated(revisit.head, record)))
        return page

    def _page(self, record: Record, source: Source) -> RawPage | Skip:
        url = target_of(record.headers)
        answer = self._content(record)
        if isinstance(answer, _Refusal):
            return Skip(source, answer.reason, answer.detail, url)
        date = record.headers.get("warc-date", "")
        name = url or f"{source.path.rpartition('/')[2]}:{source.record}"
        return RawPage(
            id=name,
            body=answer.body,
            is_html=answer.is_html,
            source=source,
            url=url,
            again=f"{name}@{date}" if date else f"{source.path}:{source.record}",
            time=parse_time(date),
            charset=answer.charset,
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
        """A large image is no page at all; of a large page there is only the beginning."""
        kind = media_type(_content_type(record, response))
        if kind and not is_html(kind, response.body) and not _is_text(record, kind):
            return _Refusal(SkipReason.NOT_HTML, kind)
        return _Refusal(SkipReason.TOO_LARGE, f"above {self._limits.page_bytes} bytes")

    def _judge(self, record: Record, response: Response, body: bytes) -> _Content | _Refusal:
        stated = _content_type(record, response)
        kind = media_type(stated)
        text = _is_text(record, kind)
        if not body and (text or is_html(kind, body) or not kind):
            return _Refusal(SkipReason.EMPTY, "no content")
        if not text and not is_html(kind, body):
            return _Refusal(SkipReason.NOT_HTML, kind or "no media type, and not HTML to look at")
        if len(body) > self._limits.page_bytes:
            return _Refusal(SkipReason.TOO_LARGE, f"above {self._limits.page_bytes} bytes")
        # WET records are UTF-8 by definition
        return _Content(body, not text, charset_of(stated) or ("utf-8" if text else ""))


@dataclass(frozen=True, slots=True)
class _Content:
    body: bytes
    is_html: bool
    charset: str


@dataclass(frozen=True, slots=True)
class _Refusal:
    reason: SkipReason
    detail: str


def _content_type(record: Record, response: Response) -> str:
    """As the server says, else as the archive says."""
    if "content-type" in response.headers:
        return response.headers["content-type"]
    stated = record.headers.get("content-type", "")
    if media_type(stated) != "application/http":
        return stated
    return record.headers.get("warc-identified-payload-type", "")


def _is_text(record: Record, kind: str) -> bool:
    return record.type == "conversion" and kind == "text/plain"
