"""Limits on what readers accept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`page_bytes` bounds a page after all decompression, while it is being decompressed."""

    page_bytes: int = 20_000_000

    @property
    def line_bytes(self) -> int:
        """The longest JSON line read: escapes can double a page, and other fields need room."""
        return 2 * self.page_bytes + 1_000_000

    @property
    def block_bytes(self) -> int:
        """The longest WARC block read whole: a page with its HTTP head."""
        return self.page_bytes + HEAD_BYTES


URL_LENGTH = 8192  # characters; browsers and servers accept no longer ones
HEAD_BYTES = 65_536  # the longest head of a WARC record or HTTP response that is read
