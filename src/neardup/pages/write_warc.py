"""Kept pages as WARC records."""

from __future__ import annotations

from typing import BinaryIO
from urllib.parse import quote

from neardup.model import RawPage
from neardup.pages.original import WarcBytes
from neardup.pages.packing import Packer
from neardup.pages.times import format_time
from neardup.pages.warc_form import NO_DATE, compose


class WarcWriter:
    """Records as they were; pages of other forms as resource records, texts as conversions."""

    def __init__(self, stream: BinaryIO, packer: Packer) -> None:
        self._stream = stream
        self._packer = packer

    def write(self, raw: RawPage, html_text: str | None = None) -> None:
        """Write a page; its bytes go out as they came, so the decoded text is not needed."""
        del html_text
        record = raw.original.record if isinstance(raw.original, WarcBytes) else _record(raw)
        self._stream.write(self._packer.whole(record))

    def finish(self) -> None:
        """Nothing is left."""


def _record(raw: RawPage) -> bytes:
    kind = "text/html" if raw.is_html else "text/plain"
    fields = {
        "WARC-Type": "resource" if raw.is_html else "conversion",
        # WARC has no place for an id: a page without URL keeps it in a URN
        "WARC-Target-URI": raw.url or "urn:neardup:" + quote(raw.id, safe="/:.@"),
        "WARC-Date": format_time(raw.time) if raw.time else NO_DATE,
        "Content-Type": f"{kind}; charset={raw.charset}" if raw.charset else kind,
    }
    return compose(fields, raw.body)
